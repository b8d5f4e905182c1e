/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_format - the values of a probe event.
 *
 * A capture contains the kernel's description of a tracepoint and the raw bytes of its
 * events (event/tracepoint.h).  Both can be damaged or truncated: an incomplete value is
 * omitted, or shortened if it is a string or an array.
 */
#ifndef SONDE_REPORT_PROBE_FORMAT_H
#define SONDE_REPORT_PROBE_FORMAT_H

#include "base/base.h"

enum probe_value_type {
	PROBE_SIGNED,
	PROBE_UNSIGNED,
	PROBE_POINTER,
	PROBE_STRING,
	PROBE_BYTES, /* an array of anything but char, or a struct */
};

struct probe_value {
	const char *name; /* borrowed from the format */
	enum probe_value_type type;
	uint64_t number;   /* sign-extended, if PROBE_SIGNED */
	const char *bytes; /* borrowed from the event's data */
	size_t len;
};

struct probe_format;

struct probe_format *probe_format_new(const char *text);
void probe_format_free(struct probe_format *format);
DEFINE_FREEP(probe_format)

/* The number of fields, without the common_ fields of every tracepoint. */
size_t probe_format_count(const struct probe_format *format);

/* The value of field i in an event's data; false if it is missing. */
bool probe_format_value(const struct probe_format *format, size_t i, const void *data, size_t size,
			struct probe_value *ret);

#endif
