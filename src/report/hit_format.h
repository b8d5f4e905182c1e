/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit_format - the fields of a kernel tracepoint.
 *
 * The kernel describes each tracepoint's record by a text of lines like
 *
 *	field:char comm[16];	offset:8;	size:16;	signed:0;
 *	field:__data_loc char[] name;	offset:24;	size:4;	signed:0;
 *
 * A capture keeps that text beside the raw bytes, so that hits can be read
 * where the kernel that wrote them is not at hand.  A __data_loc (or __rel_loc)
 * is four bytes that say where in the record the value lies, and how long it
 * is.  Both the text and the bytes may be damaged or cut: a line that is not
 * understood is passed over, and a value that is not wholly there is left out,
 * or cut if it is a string or an array.
 */
#ifndef SONDE_REPORT_HIT_FORMAT_H
#define SONDE_REPORT_HIT_FORMAT_H

#include "base/base.h"

enum hit_type {
	HIT_SIGNED,
	HIT_UNSIGNED,
	HIT_POINTER,
	HIT_STRING,
	HIT_BYTES, /* an array of anything but char, or a struct */
};

struct hit_value {
	const char *name; /* borrowed from the format */
	enum hit_type type;
	uint64_t number;   /* sign-extended, if HIT_SIGNED */
	const char *bytes; /* borrowed from the hit's data */
	size_t len;
};

struct hit_format;

struct hit_format *hit_format_new(const char *text);
void hit_format_free(struct hit_format *format);
DEFINE_FREEP(hit_format)

/* The number of fields, without the common_ ones that every tracepoint has. */
size_t hit_format_count(const struct hit_format *format);

/* The value of field i in a hit's data; false if it is not there. */
bool hit_format_value(const struct hit_format *format, size_t i, const void *data, size_t size,
		      struct hit_value *ret);

#endif
