/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_cursor - reads numbers and strings from bytes in memory.
 *
 * A read beyond the end fails and does not move the cursor.
 */
#ifndef SONDE_READ_FILE_BYTE_CURSOR_H
#define SONDE_READ_FILE_BYTE_CURSOR_H

#include <string.h>

#include "base/view.h"
#include "event/tracepoint.h"

struct byte_cursor {
	const char *at, *end;
	bool swap; /* the bytes are in the other byte order */
};

static inline size_t byte_cursor_left(const struct byte_cursor *c)
{
	return c->end - c->at;
}

static inline bool byte_cursor_take(struct byte_cursor *c, uint64_t len, struct view *ret)
{
	if (len > byte_cursor_left(c))
		return false;
	*ret = (struct view){ c->at, len };
	c->at += len;
	return true;
}

/* A number of 1, 2, 4 or 8 bytes. */
static inline bool byte_cursor_number(struct byte_cursor *c, size_t size, uint64_t *ret)
{
	struct view bytes;

	if (!byte_cursor_take(c, size, &bytes))
		return false;
	*ret = tracepoint_number(bytes.s, size, false, c->swap);
	return true;
}

/* A string that ends with a NUL. */
static inline bool byte_cursor_string(struct byte_cursor *c, const char **ret)
{
	const char *end = memchr(c->at, '\0', byte_cursor_left(c));

	if (!end)
		return false;
	*ret = c->at;
	c->at = end + 1;
	return true;
}

/* Takes this string and its NUL if they come next. */
static inline bool byte_cursor_word(struct byte_cursor *c, const char *word)
{
	size_t len = strlen(word) + 1;

	if (len > byte_cursor_left(c) || memcmp(c->at, word, len) != 0)
		return false;
	c->at += len;
	return true;
}

/* A length, which is a number of this size, and that many bytes. */
static inline bool byte_cursor_block(struct byte_cursor *c, size_t size, struct view *ret)
{
	struct byte_cursor ahead = *c;
	uint64_t len;

	if (!byte_cursor_number(&ahead, size, &len) || !byte_cursor_take(&ahead, len, ret))
		return false;
	*c = ahead;
	return true;
}

#endif
