/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracepoint - parses the kernel's format file of a tracepoint.
 *
 * The kernel describes the record of each tracepoint in a text such as
 *
 *	name: sched_wakeup
 *	ID: 371
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *		...
 *		field:char comm[16];	offset:8;	size:16;	signed:0;
 *		field:__data_loc char[] name;	offset:24;	size:4;	signed:0;
 *
 * Captures, trace.dat and perf.data contain that text beside the raw bytes, so that they can
 * be read on another host.  A __data_loc or __rel_loc is four bytes with the offset and the
 * length of the value in the record.  The text can be damaged or truncated; the parser skips
 * lines that it cannot parse.
 */
#ifndef SONDE_EVENT_TRACEPOINT_H
#define SONDE_EVENT_TRACEPOINT_H

#include <string.h>

#include "base/base.h"
#include "base/vec.h"

enum tracepoint_location { TRACEPOINT_INLINE, TRACEPOINT_DATA_LOC, TRACEPOINT_REL_LOC };

struct tracepoint_field {
	const char *name; /* points into the text of the tracepoint */
	uint32_t offset;  /* of the value, or of the four bytes that locate it */
	uint32_t size;    /* bytes */
	uint32_t element; /* array: bytes of one element; 0 if they are not numbers */
	uint8_t location; /* enum tracepoint_location */
	bool is_signed;
	bool is_array;
	bool is_text; /* an array of char */
	bool is_pointer;
	bool is_common; /* one of the fields of every tracepoint */
};

struct tracepoint {
	char *text;       /* copy, split into strings by the parser */
	const char *name; /* "" if missing */
	uint32_t id;      /* 0 if missing */
	VEC(struct tracepoint_field) fields;
};

/* Parses at most len bytes; long_size is the size of a long on the traced host, 4 or 8. */
void tracepoint_init(struct tracepoint *t, const char *text, size_t len, unsigned long_size);
void tracepoint_done(struct tracepoint *t);

/* Whether a field is a single number, not an array or a struct. */
static inline bool tracepoint_is_number(const struct tracepoint_field *f)
{
	return !f->is_array && f->size <= 8 && f->size && !(f->size & (f->size - 1));
}

struct tracepoint_bytes {
	const char *at; /* in the event's data */
	size_t len;     /* bytes, limited to the data */
};

/*
 * Finds the bytes of a field in an event's data; false if the data ends before it.  With swap, the
 * data has the other byte order than this host.
 */
bool tracepoint_locate(const struct tracepoint_field *field, const void *data, size_t size,
		       bool swap, struct tracepoint_bytes *ret);

/* A number of 1, 2, 4 or 8 bytes, sign-extended if is_signed. */
static inline uint64_t tracepoint_number(const void *at, size_t size, bool is_signed, bool swap)
{
	uint8_t u1;
	uint16_t u2;
	uint32_t u4;
	uint64_t u8;

	switch (size) {
	case 1:
		memcpy(&u1, at, 1);
		return is_signed ? (uint64_t)(int8_t)u1 : u1;
	case 2:
		memcpy(&u2, at, 2);
		u2 = swap ? __builtin_bswap16(u2) : u2;
		return is_signed ? (uint64_t)(int16_t)u2 : u2;
	case 4:
		memcpy(&u4, at, 4);
		u4 = swap ? __builtin_bswap32(u4) : u4;
		return is_signed ? (uint64_t)(int32_t)u4 : u4;
	default:
		memcpy(&u8, at, 8);
		return swap ? __builtin_bswap64(u8) : u8;
	}
}

#endif
