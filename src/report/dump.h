/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump - records, one line each, for people or as JSON.
 *
 * One pass in the order of their time, however many there are.  Only if it
 * comes to a stack, whose functions are named behind everything else, it reads
 * ahead for those names.
 */
#ifndef SONDE_REPORT_DUMP_H
#define SONDE_REPORT_DUMP_H

#include <stdio.h>

#include "base/base.h"
#include "event/stream.h"

/*
 * Which records to show: all that meet every condition.  Losses belong to no
 * thread but may have struck any, so a choice of threads does not hide them.
 * Stacks are shown if a record that meets the conditions refers to them.
 */
struct dump_filter {
	const uint64_t *threads, *processes; /* borrowed; none stands for all */
	size_t thread_count, process_count;
	uint32_t kinds;  /* bits 1 << enum record_kind; 0 for all */
	nsec_t from, to; /* since the start; UINT64_MAX is the end */
};

struct dump_style {
	bool json;
	nsec_t start; /* when recording began, on the common line; 0 is with the first record */
	/* The name of a host by its number, NULL for none; left out where it need not be said. */
	const char *(*host)(const void *arg, uint16_t host);
	const void *arg; /* for host; borrowed */
};

/* `ahead` is the same stream anew, of which nothing is asked if there are no stacks to show. */
int dump_write(const struct record_stream *records, const struct record_stream *ahead,
	       const struct dump_filter *filter, const struct dump_style *style, FILE *file,
	       struct err *err);

#endif
