/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump - the records of a capture, one line each, for people or as JSON.
 *
 * One pass in the order of the file, whatever its length.  Only if it comes to
 * a stack, whose functions are named at the end of the file, it reads ahead for
 * those names.
 */
#ifndef SONDE_REPORT_DUMP_H
#define SONDE_REPORT_DUMP_H

#include <stdio.h>

#include "event/capture.h"

/*
 * Which records to show: all that meet every condition.  Losses belong to no
 * thread but may have struck any, so a choice of threads does not hide them.
 * Stacks are shown if a record that meets the conditions refers to them.
 */
struct dump_filter {
	const uint32_t *threads, *processes; /* borrowed; none stands for all */
	size_t thread_count, process_count;
	uint32_t kinds;  /* bits 1 << enum record_kind; 0 for all */
	nsec_t from, to; /* since the begin of the capture; UINT64_MAX is its end */
};

int dump_write(const struct capture *cap, const struct dump_filter *filter, bool json, FILE *file,
	       struct err *err);

#endif
