/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random - ids for spans and traces.
 *
 * Each thread has its own generator (xoroshiro128++ by Blackman and Vigna), seeded by
 * the kernel, and again after a fork: otherwise parent and child would generate the
 * same ids.
 */
#include "agent/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

/* Spread the entropy of a number over all bits (splitmix64). */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static void seed(struct agent_thread *t)
{
	int saved = errno;
	const void *given = (const void *)getauxval(AT_RANDOM); /* inherited by children */

	if (getrandom(t->random, sizeof(t->random), GRND_NONBLOCK) != sizeof(t->random)) {
		if (given)
			memcpy(t->random, given, sizeof(t->random));
		t->random[0] ^= mix(clock_now());
		t->random[1] ^= mix((uint64_t)(uintptr_t)t ^ (uint64_t)agent_process.pid << 40);
	}
	t->random[0] |= 1; /* the generator is stuck at all zeros */
	t->random_generation = epoch_generation(agent_process.epoch);
	errno = saved;
}

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

uint64_t random_next(struct agent_thread *t)
{
	if (unlikely(!t->random_generation ||
		     t->random_generation != epoch_generation(agent_process.epoch)))
		seed(t);

	uint64_t a = t->random[0], b = t->random[1];
	uint64_t next = rotate(a + b, 17) + a;

	b ^= a;
	t->random[0] = rotate(a, 49) ^ b ^ (b << 21);
	t->random[1] = rotate(b, 28);
	return next;
}
