/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor - a place in a file of numbers and strings, and where that ends.
 *
 * Taking more than there is fails, and leaves the cursor where it was.
 */
#ifndef SONDE_READ_FILE_CURSOR_H
#define SONDE_READ_FILE_CURSOR_H

#include <string.h>

#include "base/view.h"
#include "event/tracepoint.h"

struct cursor {
	const char *at, *end;
	bool swap; /* the byte order is not ours */
};

static inline size_t cursor_left(const struct cursor *c)
{
	return c->end - c->at;
}

static inline bool cursor_take(struct cursor *c, uint64_t len, struct view *ret)
{
	if (len > cursor_left(c))
		return false;
	*ret = (struct view){ c->at, len };
	c->at += len;
	return true;
}

/* A number of 1, 2, 4 or 8 bytes. */
static inline bool cursor_number(struct cursor *c, size_t size, uint64_t *ret)
{
	struct view bytes;

	if (!cursor_take(c, size, &bytes))
		return false;
	*ret = tracepoint_number(bytes.s, size, false, c->swap);
	return true;
}

/* A string and the NUL that ends it. */
static inline bool cursor_string(struct cursor *c, const char **ret)
{
	const char *end = memchr(c->at, '\0', cursor_left(c));

	if (!end)
		return false;
	*ret = c->at;
	c->at = end + 1;
	return true;
}

/* Whether this string comes next, NUL and all; it is taken if so. */
static inline bool cursor_word(struct cursor *c, const char *word)
{
	size_t len = strlen(word) + 1;

	if (len > cursor_left(c) || memcmp(c->at, word, len) != 0)
		return false;
	c->at += len;
	return true;
}

/* A number of this size, and so many bytes. */
static inline bool cursor_block(struct cursor *c, size_t size, struct view *ret)
{
	struct cursor ahead = *c;
	uint64_t len;

	if (!cursor_number(&ahead, size, &len) || !cursor_take(&ahead, len, ret))
		return false;
	*c = ahead;
	return true;
}

#endif
