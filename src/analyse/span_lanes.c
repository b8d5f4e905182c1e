/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/span_lanes.h"

#include "analyse/span_work.h"
#include "base/heap.h"

static bool has_smaller_key(const struct span_lanes_item *a, const struct span_lanes_item *b)
{
	return a->key < b->key;
}

static void heap_push(span_lanes_heap *heap, uint64_t key, uint32_t lane)
{
	*vec_push(heap) = (struct span_lanes_item){ key, lane };
	heap_sift_up(heap->items, heap->count - 1, has_smaller_key);
}

static uint32_t heap_pop(span_lanes_heap *heap)
{
	uint32_t lane = heap->items[0].lane;

	heap->items[0] = heap->items[--heap->count];
	if (heap->count)
		heap_sift_down(heap->items, heap->count, 0, has_smaller_key);
	return lane;
}

static int by_first(const void *a, const void *b, void *arg)
{
	const struct span_lanes *lanes = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	nsec_t first = lanes->all.items[x]->first, other = lanes->all.items[y]->first;

	return first != other ? (first < other ? -1 : 1) : (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int by_thread(const void *a, const void *b)
{
	const struct residency *const *x = a, *const *y = b;

	return ((*x)->thread.i > (*y)->thread.i) - ((*x)->thread.i < (*y)->thread.i);
}

/* Starts again, because a section begins before the last one. */
static void rewind_lanes(struct span_lanes *lanes)
{
	lanes->at = 0;
	lanes->next = 0;
	lanes->last = NULL;
	lanes->inside.count = lanes->waiting.count = 0;
	for (uint32_t i = 0; i < lanes->all.count; i++)
		heap_push(&lanes->waiting, 0, i);
}

void span_lanes_init(struct span_lanes *lanes, const struct model *model, span_id span)
{
	uint32_t first = model_span_ref(model, model_span(model, span)->ref)->first_residency;

	*lanes = (struct span_lanes){ .span = span, .entered = UINT64_MAX };
	for (uint32_t i = first; i; i = model_residency(model, i)->next) {
		const struct residency *residency = model_residency(model, i);

		if (residency->first < lanes->entered)
			lanes->entered = residency->first;
		if (residency->last > lanes->left)
			lanes->left = residency->last;
		if (!model_thread_is_followed(model, residency->thread))
			continue;
		*vec_push(&lanes->by_first) = lanes->all.count;
		*vec_push(&lanes->all) = residency;
	}
	if (lanes->all.count) {
		qsort(lanes->all.items, lanes->all.count, sizeof(lanes->all.items[0]), by_thread);
		qsort_r(lanes->by_first.items, lanes->by_first.count, sizeof(uint32_t), by_first,
			lanes);
	}
	rewind_lanes(lanes);
}

void span_lanes_done(struct span_lanes *lanes)
{
	vec_done(&lanes->all);
	vec_done(&lanes->by_first);
	vec_done(&lanes->waiting);
	vec_done(&lanes->inside);
	vec_done(&lanes->taken);
}

/* Queues a lane until its context at time t ends; if it is in the span, without delay. */
static void wait_from(struct span_lanes *lanes, const struct model *model, uint32_t lane, nsec_t t)
{
	struct context_stretch c;

	if (!model_context_from(model, lanes->all.items[lane]->thread, t, &c))
		return;

	span_id span = model_span_ref(model, c.context.ref)->span;
	nsec_t until = model_span_is_within(model, span, lanes->span) ? c.context.start : c.end;

	if (until < UINT64_MAX)
		heap_push(&lanes->waiting, until, lane);
}

void span_lanes_take(struct span_lanes *lanes, const struct model *model, nsec_t from, nsec_t to)
{
	/* lanes of the last section are not in the heap */
	for (size_t i = 0; i < lanes->taken.count; i++)
		wait_from(lanes, model, lanes->taken.items[i], from);
	lanes->taken.count = 0;
	if (from < lanes->at)
		rewind_lanes(lanes);
	lanes->at = from;
	while (lanes->waiting.count && lanes->waiting.items[0].key < to)
		*vec_push(&lanes->taken) = heap_pop(&lanes->waiting);
	if (lanes->taken.count)
		qsort(lanes->taken.items, lanes->taken.count, sizeof(uint32_t), by_number);
}

/* Whether a left the span after b; with ties, the span's own thread wins. */
static bool is_later(const struct residency *a, const struct residency *b, thread_id own)
{
	if (a->last != b->last)
		return a->last > b->last;
	return a->thread.i == own.i || (b->thread.i != own.i && a->thread.i < b->thread.i);
}

thread_id span_lanes_last(struct span_lanes *lanes, const struct model *model)
{
	thread_id own = model_span(model, lanes->span)->thread;
	nsec_t t = lanes->at;

	for (; lanes->next < lanes->by_first.count; lanes->next++) {
		uint32_t lane = lanes->by_first.items[lanes->next];
		const struct residency *residency = lanes->all.items[lane];

		if (residency->first >= t)
			break;
		/* of several threads inside, prefer the span's own, then the first */
		heap_push(&lanes->inside, residency->thread.i == own.i ? 0 : residency->thread.i,
			  lane);
	}
	while (lanes->inside.count) {
		const struct residency *residency = lanes->all.items[lanes->inside.items[0].lane];

		if (residency->last >= t)
			return residency->thread;
		if (!lanes->last || is_later(residency, lanes->last, own))
			lanes->last = residency;
		heap_pop(&lanes->inside);
	}
	return lanes->last ? lanes->last->thread : (thread_id){ 0 };
}
