/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_sort - sorts mostly ordered records by time.
 *
 * A batch consists of the contents of the CPUs' rings, which are mostly in order.
 * Occasionally an event interrupts another one and enters the ring first.  So
 * insertion sort fixes short inversions in place, which divides the array into sorted
 * runs, and runs are merged pairwise until one is left.  Runs that do not overlap in
 * time need no merge; otherwise only the overlap moves.  The worst case is that of
 * merge sort.
 */
#include "base/search.h"
#include "read/perf/stream.h"

enum { NEAR = 16 }; /* maximum distance that an entry moves back within a run */

/* Merges two adjacent runs. */
static void merge(struct perf_entry *a, size_t a_count, size_t b_count, struct perf_entry *spare)
{
	struct perf_entry *b = a + a_count;
	size_t skip = partition_point(a_count, i, a[i].time <= b[0].time);

	if (skip == a_count)
		return;
	b_count = partition_point(b_count, i, b[i].time < a[a_count - 1].time);
	a += skip;
	a_count -= skip;
	memcpy(spare, a, a_count * sizeof(*a));

	const struct perf_entry *x = spare, *x_end = spare + a_count, *y = b, *y_end = b + b_count;

	while (x < x_end && y < y_end) {
		bool later = y->time < x->time;

		*a++ = *(later ? y : x);
		y += later;
		x += !later;
	}
	memcpy(a, x, (x_end - x) * sizeof(*x));
}

/* The length of the run at the start, after fixing its short inversions. */
static size_t run_length(struct perf_entry *e, size_t count)
{
	size_t i = 1;

	for (; i < count; i++) {
		struct perf_entry entry = e[i];
		size_t to = i;

		while (to > 0 && i - to < NEAR && e[to - 1].time > entry.time)
			to--;
		if (to > 0 && e[to - 1].time > entry.time)
			break;
		if (to == i)
			continue;
		memmove(&e[to + 1], &e[to], (i - to) * sizeof(*e));
		e[to] = entry;
	}
	return i;
}

void perf_sort(struct perf_entry *entries, size_t count, struct perf_entry *spare)
{
	VEC(size_t) ends = { 0 };

	for (size_t at = 0; at < count;) {
		at += run_length(entries + at, count - at);
		*vec_push(&ends) = at;
	}
	while (ends.count > 1) {
		size_t kept = 0, begin = 0;

		for (size_t i = 0; i < ends.count; i += 2) {
			size_t end = ends.items[i + 1 < ends.count ? i + 1 : i];

			if (i + 1 < ends.count)
				merge(entries + begin, ends.items[i] - begin, end - ends.items[i],
				      spare);
			ends.items[kept++] = begin = end;
		}
		ends.count = kept;
	}
	vec_done(&ends);
}
