/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_value - parses values of text traces into fields of struct raw_event.
 *
 * Values are numbers, and words that the kernel prints instead: AF_INET, TCP_LISTEN, the
 * letters of a thread's state.  These functions run for every field of every line, so they
 * find the end of a value themselves.  They return that end, or NULL if the value is invalid
 * or a number is too large.
 */
#ifndef SONDE_READ_TEXT_VALUE_H
#define SONDE_READ_TEXT_VALUE_H

#include <string.h>

#include "base/view.h"
#include "read/raw/raw.h"

/* How a value is written. */
enum text_form {
	TEXT_NUMBER = 'd',          /* decimal, hexadecimal with 0x, or a word for a number */
	TEXT_NONZERO = 'n',         /* the same, but 0 is not stored */
	TEXT_HEX = 'x',             /* with or without 0x */
	TEXT_STATE = 's',           /* state of a thread in the letters of the kernel */
	TEXT_STATE_TRACE_CMD = 'S', /* the same in the letters of trace-cmd */
	TEXT_DEVICE = 'v',          /* 254,0 */
	TEXT_ADDRESS = 'i',         /* 127.0.0.1 or ::1 */
	TEXT_LIST = 'a',            /* hexadecimal numbers: a, 7ffc5efe4b00, 8 */
	TEXT_COMM = 'c',            /* name of a thread, up to 15 arbitrary bytes */
	TEXT_PATH = 'p',            /* up to the last occurrence of the next literal */
	TEXT_TEXT = 't',            /* up to the first occurrence of the next literal */
};

static inline bool text_starts_with(struct view text, const char *prefix)
{
	return text.len >= strlen(prefix) && memcmp(text.s, prefix, strlen(prefix)) == 0;
}

static inline bool text_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline const char *text_skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

static inline const char *text_decimal(const char *p, const char *end, uint64_t *ret)
{
	const char *begin = p;
	uint64_t n = 0;

	for (; p < end && text_is_digit(*p); p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return NULL;
	*ret = n;
	return p > begin ? p : NULL;
}

const char *text_hex(const char *p, const char *end, uint64_t *ret);

/*
 * Parses a value in one of the forms TEXT_NUMBER to TEXT_LIST and stores it in the field of
 * the event, unless field is NULL.
 */
const char *text_parse(struct raw_event *e, const struct raw_field *field, enum text_form form,
		       const char *p, const char *end);

/* The usual form of a field. */
enum text_form text_form_of(const struct raw_field *field);

/* Stores a value of known extent, in whatever form it is. */
void text_parse_any(struct raw_event *e, const struct raw_field *field, struct raw_text value);

#endif
