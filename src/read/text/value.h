/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_value - what stands in a text trace, as fields of a struct raw_event.
 *
 * Numbers, and the words that the kernel prints in place of some: AF_INET,
 * TCP_LISTEN, the letters of a thread's state.  These run for every field of
 * every line, so they stop by themselves where a value ends rather than have it
 * cut out first.  All of them return where that is, or NULL if it is no such
 * value, among them numbers that do not fit.
 */
#ifndef SONDE_READ_TEXT_VALUE_H
#define SONDE_READ_TEXT_VALUE_H

#include "read/raw/raw.h"

/* How a value is written. */
enum text_form {
	TEXT_NUMBER = 'd',  /* decimal, or hex with 0x, or a word that stands for one */
	TEXT_NONZERO = 'n', /* likewise, but 0 is put nowhere */
	TEXT_HEX = 'x',     /* with 0x or without */
	TEXT_STATE = 's',   /* a thread's, in the kernel's letters, or */
	TEXT_STATE_2 = 'S', /* in those of trace-cmd */
	TEXT_DEVICE = 'v',  /* 254,0 */
	TEXT_ADDRESS = 'i', /* 127.0.0.1 or ::1 */
	TEXT_LIST = 'a',    /* a, 7ffc5efe4b00, 8: hex */
	TEXT_COMM = 'c',    /* a thread's name, up to 15 bytes of anything */
	TEXT_PATH = 'p',    /* anything */
	TEXT_TEXT = 't',    /* anything without what comes after it */
};

static inline bool text_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline const char *text_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/* Decimal digits alone. */
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
 * Takes a value in one of the forms that end by themselves (TEXT_NUMBER to
 * TEXT_LIST) and puts it into the event where field says; NULL puts it nowhere.
 */
const char *text_take(struct raw_event *e, const struct raw_field *field, enum text_form form,
		      const char *p, const char *end);

/* The form in which a field mostly is; it is said in no other way if only its name is known. */
enum text_form text_form_of(const struct raw_field *field);

/* Puts a value that was cut out into the event, in whichever form it may be. */
void text_put(struct raw_event *e, const struct raw_field *field, struct raw_text value);

#endif
