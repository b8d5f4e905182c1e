/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

#include "base/base.h"

uint64_t hash_tables[8][256];

static uint64_t key[2];

struct siphash {
	uint64_t a, b, c, d;
};

static uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void mix(struct siphash *s)
{
	s->a += s->b;
	s->c += s->d;
	s->b = rotate(s->b, 13) ^ s->a;
	s->d = rotate(s->d, 16) ^ s->c;
	s->a = rotate(s->a, 32);
	s->c += s->b;
	s->a += s->d;
	s->b = rotate(s->b, 17) ^ s->c;
	s->d = rotate(s->d, 21) ^ s->a;
	s->c = rotate(s->c, 32);
}

static void add_word(struct siphash *s, uint64_t word)
{
	s->d ^= word;
	mix(s);
	s->a ^= word;
}

uint64_t hash_bytes(const void *data, size_t size)
{
	struct siphash s = { key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
			     key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573 };
	const char *at = data;
	uint64_t word, last = (uint64_t)size << 56;

	for (size_t left = size; left >= 8; left -= 8, at += 8) {
		memcpy(&word, at, sizeof(word));
		add_word(&s, word);
	}
	for (size_t i = 0; i < size % 8; i++)
		last |= (uint64_t)(unsigned char)at[i] << 8 * i;
	add_word(&s, last);
	s.c ^= 0xff;
	mix(&s);
	mix(&s);
	mix(&s);
	return s.a ^ s.b ^ s.c ^ s.d;
}

/* Early at boot getrandom() would block; AT_RANDOM, 16 random bytes from the kernel, replaces it.
 */
__attribute__((constructor(101))) static void choose_key(void)
{
	const void *fallback = (const void *)getauxval(AT_RANDOM);

	if (getrandom(key, sizeof(key), GRND_NONBLOCK) != sizeof(key) && fallback)
		memcpy(key, fallback, sizeof(key));
	for (uint64_t i = 0; i < ARRAY_LEN(hash_tables); i++)
		for (uint64_t byte = 0; byte < ARRAY_LEN(hash_tables[0]); byte++) {
			uint64_t indexes[] = { i, byte };

			hash_tables[i][byte] = hash_bytes(indexes, sizeof(indexes));
		}
}
