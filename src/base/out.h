/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out - text onto a file, quickly.
 *
 * A dump writes millions of short pieces.  printf() spends more time on each
 * than it takes to find out what to write, so pieces are put together here in
 * one large buffer, which goes out when it is full.  A failed write is kept
 * until somebody asks: out_flush() at the end tells of a full disk, and nobody
 * has to check each piece.
 *
 * Names in a capture come from strangers: a thread may call itself anything,
 * escape sequences included.  out_escaped() makes such a name safe for a
 * terminal and keeps it on its line.
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
	int error; /* negative errno of the first write that failed */
	char buf[1 << 16];
};

void out_init(struct out *o, FILE *file);

/* Write what is held back; 0, or the negative errno of the first write that failed. */
int out_flush(struct out *o);
int out_finish(struct out *o, struct err *err); /* likewise, with a sentence */

void out_u64(struct out *o, uint64_t n);
void out_i64(struct out *o, int64_t n);
void out_hex(struct out *o, uint64_t n);                                 /* 1f, without 0x */
void out_u64_wide(struct out *o, uint64_t n, size_t columns, char fill); /* right-aligned */
void out_fill(struct out *o, size_t count, char c);

/* A string of anybody's making, with what is not printable as \n, \t, \xNN; returns its width. */
size_t out_escaped(struct out *o, const char *s, size_t len);

void out_spill(struct out *o, const char *s, size_t len); /* for out_bytes() alone */

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
 * The number of bytes of the well-formed UTF-8 character at s, or 0 where there
 * is none: a stray byte, an overlong form, half a surrogate pair, a cut end.
 */
size_t utf8_length(const char *s, size_t len);

/* The code point of a well-formed character of that many bytes. */
uint32_t utf8_code(const char *s, size_t char_len);

/* Whether that character acts on a terminal or on the direction of a line, and is not visible. */
bool utf8_control(const char *s, size_t char_len);

#endif
