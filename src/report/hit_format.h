/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit_format - the values of a hit.
 *
 * A capture keeps the kernel's description of a tracepoint beside the raw bytes
 * (event/tracepoint.h).  Both may be damaged or cut: a value that is not wholly
 * there is left out, or cut if it is a string or an array.
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
