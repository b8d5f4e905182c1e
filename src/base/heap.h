/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap - binary heaps in plain arrays, with the first item on top.
 *
 * is_before(a, b) takes pointers to two items.  To build a heap, sift down every
 * item from the last to the first.  After the top has changed, sift it down; after
 * an item was appended, sift it up.
 */
#ifndef SONDE_BASE_HEAP_H
#define SONDE_BASE_HEAP_H

#include <stddef.h>

/* Moves the item at an index down until no child is before it. */
#define heap_sift_down(items, count, index, is_before) \
	({ \
		size_t at_ = (index), count_ = (count); \
		__typeof__((items)[0]) moved_ = (items)[at_]; \
		for (size_t child_; (child_ = 2 * at_ + 1) < count_; at_ = child_) { \
			if (child_ + 1 < count_ && \
			    is_before(&(items)[child_ + 1], &(items)[child_])) \
				child_++; \
			if (!is_before(&(items)[child_], &moved_)) \
				break; \
			(items)[at_] = (items)[child_]; \
		} \
		(items)[at_] = moved_; \
	})

/* Moves the item at an index up until it is not before its parent. */
#define heap_sift_up(items, index, is_before) \
	({ \
		size_t at_ = (index); \
		__typeof__((items)[0]) moved_ = (items)[at_]; \
		for (; at_ && is_before(&moved_, &(items)[(at_ - 1) / 2]); at_ = (at_ - 1) / 2) \
			(items)[at_] = (items)[(at_ - 1) / 2]; \
		(items)[at_] = moved_; \
	})

#endif
