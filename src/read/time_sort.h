/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_sort - sorts the lines or spans of a file by time.
 *
 * An LSD radix sort, eleven bits at a time and only over the bits in which the times
 * differ.  It is linear and stable, and moves 16 bytes per item.
 */
#ifndef SONDE_READ_TIME_SORT_H
#define SONDE_READ_TIME_SORT_H

#include "base/base.h"
#include "event/event.h"

struct time_sort_item {
	nsec_t time;
	uint64_t index; /* of the span, or offset of the line in the file */
};

/* Takes an allocated array and returns the sorted one, which can be another. */
struct time_sort_item *time_sort(struct time_sort_item *items, size_t count);

#endif
