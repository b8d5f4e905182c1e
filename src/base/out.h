/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out - fast buffered text output.
 *
 * A dump writes millions of short strings and numbers, for which printf() is too
 * slow.  They are collected in one large buffer, which is written when it is
 * full.  The first write error is remembered until out_flush(), so callers check
 * once at the end instead of after each call.
 *
 * Names in a capture are untrusted: a thread can put escape sequences into its
 * own name.  out_escaped() makes a name safe for a terminal and keeps it on one
 * line.
 */
#ifndef SONDE_BASE_OUT_H
#define SONDE_BASE_OUT_H

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/err.h"

struct out {
	FILE *file; /* borrowed */
	size_t used;
	int error; /* negative errno of the first failed write */
	char buf[1 << 16];
};

void out_init(struct out *o, FILE *file);

/* Write the buffer to the file.  Returns 0 or the negative errno of the first failed write. */
int out_flush(struct out *o);
int out_finish(struct out *o, struct err *err); /* same, with a message */

void out_u64(struct out *o, uint64_t n);
void out_i64(struct out *o, int64_t n);
void out_hex(struct out *o, uint64_t n);                                 /* 1f, without 0x */
void out_u64_wide(struct out *o, uint64_t n, size_t columns, char fill); /* right-aligned */
void out_fill(struct out *o, size_t count, char c);

/* An untrusted string; control characters become \n, \t, \xNN.  Returns its width in columns. */
size_t out_escaped(struct out *o, const char *s, size_t len);

void out_spill(struct out *o, const char *s, size_t len); /* slow path of out_bytes() */

static inline void out_bytes(struct out *o, const char *s, size_t len)
{
	if (len > sizeof(o->buf) - o->used) {
		out_spill(o, s, len);
		return;
	}
	memcpy(o->buf + o->used, s, len);
	o->used += len;
}

static inline void out_str(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}

static inline void out_char(struct out *o, char c)
{
	out_bytes(o, &c, 1);
}

/*
 * The length in bytes of the UTF-8 character at s; 0 if it is malformed: a stray
 * byte, an overlong form, a surrogate, or a truncated character.
 */
size_t utf8_length(const char *s, size_t len);

/* Whether all characters are well-formed. */
bool utf8_is_valid(const char *s, size_t len);

/* The code point of a well-formed character of char_len bytes. */
uint32_t utf8_code(const char *s, size_t char_len);

/* Whether the character is an invisible control: of the terminal, or of the text direction. */
bool utf8_control(const char *s, size_t char_len);

#endif
