/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/calls.h"

#include <stdlib.h>

#include "annotate/own_time.h"
#include "base/sort.h"

enum { ERROR_MAX = 4095 }; /* results from -ERROR_MAX to -1 are errors */

void calls_done(struct calls *calls)
{
	vec_done(&calls->items);
	calls->omitted = 0;
}

static int64_t error_of(int64_t result)
{
	return result < 0 && result >= -ERROR_MAX ? result : 0;
}

static bool is_longer(const struct call *a, const struct call *b)
{
	return a->time > b->time;
}

static bool is_before(const struct call *a, const struct call *b)
{
	return a->thread.i != b->thread.i ? a->thread.i < b->thread.i : a->start < b->start;
}

/* Keeps the longer half, and the last one, which can go on. */
static void prune(struct calls *calls)
{
	size_t count = calls->items.count, kept = count / 2;
	struct call last = calls->items.items[count - 1];

	sort_items(calls->items.items, count - 1, is_longer);
	for (size_t i = kept; i < count - 1; i++)
		calls->omitted += calls->items.items[i].count;
	sort_items(calls->items.items, kept, is_before);
	calls->items.items[kept] = last;
	calls->items.count = kept + 1;
}

static void add(struct calls *calls, thread_id thread, const struct syscall *call, nsec_t span_end,
		bool is_adjacent)
{
	nsec_t end = call->end < span_end ? call->end : span_end;
	struct call *last = calls->items.count ? &calls->items.items[calls->items.count - 1] : NULL;

	if (!is_adjacent || last->nr != call->nr ||
	    error_of(last->least) != error_of(call->result)) {
		if (calls->items.count >= CALLS_MAX)
			prune(calls);
		last = vec_push(&calls->items);
		*last = (struct call){ .start = call->start,
				       .least = call->result,
				       .most = call->result,
				       .thread = thread,
				       .nr = call->nr };
	}
	last->end = end;
	last->time += end - call->start;
	last->least = call->result < last->least ? call->result : last->least;
	last->most = call->result > last->most ? call->result : last->most;
	last->count++;
}

void calls_find(const struct span_set *spans, span_id span, struct calls *ret)
{
	_cleanup_(own_times_done) struct own_times own = { 0 };
	nsec_t span_end = span_set_at(spans, span)->end;

	*ret = (struct calls){ 0 };
	own_times_find(spans, span, &own);
	for (size_t i = 0; i < own.items.count; i++) {
		const struct own_time *time = &own.items.items[i];
		const struct timeline *timeline =
			model_thread(spans->model, time->thread)->timelines[TIMELINE_SYSCALLS];
		bool is_adjacent = false;

		/* they are in the order of their ends, and one ends before the next begins */
		TIMELINE_EACH_BETWEEN(struct syscall, call, timeline, time->start, UINT64_MAX)
		{
			if (call->start >= time->end)
				break;
			if (call->start < time->start || call->start > call->end)
				continue;
			add(ret, time->thread, call, span_end, is_adjacent);
			is_adjacent = true;
		}
	}
}

/* The last item of the thread that starts at t or before; NULL if there is none. */
static const struct call *find(const struct calls *calls, thread_id thread, nsec_t t)
{
	size_t low = 0, high = calls->items.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct call *at = &calls->items.items[middle];

		if (at->thread.i < thread.i || (at->thread.i == thread.i && at->start <= t))
			low = middle + 1;
		else
			high = middle;
	}
	return low && calls->items.items[low - 1].thread.i == thread.i
		       ? &calls->items.items[low - 1]
		       : NULL;
}

uint32_t calls_at(const struct calls *calls, const struct model *model, thread_id thread,
		  nsec_t start, nsec_t end)
{
	const struct call *call = find(calls, thread, start);
	const struct timeline *timeline = model_thread(model, thread)->timelines[TIMELINE_SYSCALLS];
	timeline_pos pos;

	if (!call || end > call->end || !timeline_from(timeline, end, &pos))
		return 0;

	const struct syscall *one = timeline_at(timeline, pos); /* not between two of them */

	return one->start <= start && one->start >= call->start ? call - calls->items.items + 1 : 0;
}
