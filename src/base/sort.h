/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort - a stable merge sort of plain arrays, faster than qsort() by an inlined comparison.
 *
 *	sort_items(times.items, times.count, is_before);
 *
 * is_before(a, b) takes pointers to two items.  Runs that are in order already are merged as they
 * are, so an array in order takes one pass.
 */
#ifndef SONDE_BASE_SORT_H
#define SONDE_BASE_SORT_H

#include <string.h>

#include "base/base.h"

/* The end of the run that starts at an index. */
#define sort_run_end_(items, count, from, is_before) \
	({ \
		size_t end_ = (from) + 1; \
		while (end_ < (count) && !is_before(&(items)[end_], &(items)[end_ - 1])) \
			end_++; \
		end_ < (count) ? end_ : (count); \
	})

/* Merges two adjacent runs of `from` into `to`. */
#define sort_merge_(from, to, low, middle, high, is_before) \
	do { \
		size_t a_ = (low), b_ = (middle); \
		for (size_t at_ = (low); at_ < (high); at_++) \
			(to)[at_] = b_ == (high) || (a_ < (middle) && \
						     !is_before(&(from)[b_], &(from)[a_])) \
					    ? (from)[a_++] \
					    : (from)[b_++]; \
	} while (0)

/* Each pass halves the number of runs. */
#define sort_items(items, count, is_before) \
	do { \
		size_t count_ = (count); \
		__typeof__(&(items)[0]) from_ = (items), room_ = NULL, to_; \
		while (count_ && sort_run_end_(from_, count_, 0, is_before) < count_) { \
			if (!room_) \
				room_ = must_alloc(count_ * sizeof(*room_)); \
			to_ = from_ == room_ ? (items) : room_; \
			for (size_t low_ = 0, middle_, high_; low_ < count_; low_ = high_) { \
				middle_ = sort_run_end_(from_, count_, low_, is_before); \
				high_ = middle_ < count_ \
						? sort_run_end_(from_, count_, middle_, is_before) \
						: count_; \
				sort_merge_(from_, to_, low_, middle_, high_, is_before); \
			} \
			from_ = to_; \
		} \
		if (from_ == room_ && room_) \
			memcpy((items), room_, count_ * sizeof(*room_)); \
		free(room_); \
	} while (0)

#endif
