/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search - binary search in a sorted array.
 *
 *	size_t first = partition_point(events.count, i, events.items[i].time < start);
 *
 * is the index of the first event at or after start, and events.count if all of
 * them are earlier.
 */
#ifndef SONDE_BASE_SEARCH_H
#define SONDE_BASE_SEARCH_H

#include <stddef.h>

/*
 * The smallest index below count at which the condition is false, or count if it
 * is true everywhere.  The condition is an expression in the variable `i`; the
 * array must be sorted such that it is true first and false afterwards.
 */
#define partition_point(count, i, condition) \
	({ \
		size_t low_ = 0, high_ = (count); \
		while (low_ < high_) { \
			size_t i = (low_ + high_) / 2; \
			if (condition) \
				low_ = i + 1; \
			else \
				high_ = i; \
		} \
		low_; \
	})

#endif
