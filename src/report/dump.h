/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump - records, one line each, as text or JSON.
 *
 * The records are read once, in time order, in constant memory.  If there are
 * stacks to show, a second reader first reads the whole stream for their symbols, which
 * come last.
 */
#ifndef SONDE_REPORT_DUMP_H
#define SONDE_REPORT_DUMP_H

#include <stdio.h>

#include "base/base.h"
#include "event/stream.h"

/*
 * The records to show: those that meet all conditions.  Losses can affect any thread, so
 * a thread filter does not hide them.  Stacks are shown if a shown record refers to them.
 */
struct dump_filter {
	const uint64_t *threads, *processes; /* borrowed; an empty list means all */
	size_t thread_count, process_count;
	uint32_t kinds;  /* bits 1 << enum record_kind; 0 for all */
	nsec_t from, to; /* ns since the start; UINT64_MAX means the end */
};

struct dump_style {
	bool json;
	nsec_t start; /* start of the recording, on the common clock; 0: the first record */
	/* The name of a host by its number. Can be NULL, or return NULL, to omit the name. */
	const char *(*host)(const void *arg, uint16_t host);
	const void *arg; /* for host; borrowed */
};

/* `ahead` is a second reader of the same stream, read only if there are stacks to show. */
int dump_write(const struct record_stream *records, const struct record_stream *ahead,
	       const struct dump_filter *filter, const struct dump_style *style, FILE *file,
	       struct err *err);

#endif
