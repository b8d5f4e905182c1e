/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/out.h"

enum { SEQUENCE_MAX = 32 };

void keys_feed(struct keys *k, const char *bytes, size_t count)
{
	size_t room = sizeof(k->bytes) - k->count;

	count = count < room ? count : room;
	memcpy(k->bytes + k->count, bytes, count);
	k->count += count;
}

static void take(struct keys *k, size_t count)
{
	k->count -= count;
	memmove(k->bytes, k->bytes + count, k->count);
}

/* ESC [ A, or ESC O A in the mode of some terminals. */
static uint32_t letter_key(char letter)
{
	switch (letter) {
	case 'A':
		return KEY_UP;
	case 'B':
		return KEY_DOWN;
	case 'C':
		return KEY_RIGHT;
	case 'D':
		return KEY_LEFT;
	case 'H':
		return KEY_HOME;
	case 'F':
		return KEY_END;
	default:
		return KEY_NONE;
	}
}

/* ESC [ 5 ~ */
static uint32_t number_key(long number)
{
	switch (number) {
	case 1:
	case 7:
		return KEY_HOME;
	case 4:
	case 8:
		return KEY_END;
	case 5:
		return KEY_PAGE_UP;
	case 6:
		return KEY_PAGE_DOWN;
	default:
		return KEY_NONE;
	}
}

/* The length of the sequence after ESC [ up to its final byte; 0 if it is incomplete. */
static size_t sequence_length(const struct keys *k)
{
	for (size_t i = 2; i < k->count; i++)
		if ((k->bytes[i] >= '@' && k->bytes[i] <= '~') || i == SEQUENCE_MAX)
			return i + 1;
	return 0;
}

/* Input that begins with ESC.  *ret_used is 0 if it is incomplete. */
static uint32_t escape_key(const struct keys *k, size_t *ret_used)
{
	if (k->count == 1)
		return KEY_NONE;
	if (k->bytes[1] == 'O') {
		*ret_used = k->count > 2 ? 3 : 0;
		return k->count > 2 ? letter_key(k->bytes[2]) : KEY_NONE;
	}
	if (k->bytes[1] != '[') { /* two keys, typed fast */
		*ret_used = 1;
		return KEY_ESC;
	}
	*ret_used = sequence_length(k);
	if (!*ret_used)
		return KEY_NONE;

	char last = k->bytes[*ret_used - 1];

	return last == '~' ? number_key(strtol(k->bytes + 2, NULL, 10)) : letter_key(last);
}

/* A character, or KEY_NONE for a malformed byte.  *ret_used is 0 if it is incomplete. */
static uint32_t character(const struct keys *k, size_t *ret_used)
{
	unsigned char first = k->bytes[0];
	size_t wanted = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	size_t n = utf8_length(k->bytes, k->count);

	if (n) {
		*ret_used = n;
		return utf8_code(k->bytes, n);
	}
	*ret_used = k->count < wanted && first >= 0xc2 ? 0 : 1;
	return KEY_NONE;
}

uint32_t keys_next(struct keys *k, bool is_silent)
{
	while (k->count) {
		size_t used = 0;
		uint32_t key = k->bytes[0] == KEY_ESC ? escape_key(k, &used) : character(k, &used);

		if (!used && !is_silent)
			return KEY_NONE;
		if (!used && k->bytes[0] == KEY_ESC)
			key = KEY_ESC;
		take(k, used ? used : 1);
		if (key == '\n')
			return KEY_ENTER;
		if (key == '\b')
			return KEY_BACKSPACE;
		if (key)
			return key;
	}
	return KEY_NONE;
}
