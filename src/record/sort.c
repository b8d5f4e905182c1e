/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sort.h"

#include <string.h>

#include "base/heap.h"
#include "base/vec.h"

struct sort_item {
	nsec_t time;
	size_t offset; /* in the stream's `bytes` */
};

/* A record that is far out of order. */
struct straggler {
	struct sort_item item;
	uint64_t order; /* of arrival */
};

struct sort_stream {
	unsigned char *bytes; /* records in the order of arrival */
	size_t used, room;
	VEC(struct sort_item) items;      /* sorted by time */
	size_t first;                     /* index of the first item that is not flushed */
	VEC(struct straggler) stragglers; /* heap of all other records, earliest first */
	uint64_t arrived;                 /* number of stragglers so far */
	size_t flushed;                   /* flushed records that are still in `bytes` */
};

/* How many later records a new record can pass; more than an interrupted CPU writes. */
enum { STEPS_MAX = 64 };

struct sorter {
	struct sort_stream *streams;
	size_t count;
	nsec_t last; /* latest time of all flushed records */
	uint64_t late;
	unsigned char *spare; /* buffer for packing the next stream */
	size_t spare_room;
};

struct sorter *sorter_new(size_t streams)
{
	struct sorter *sorter = must_alloc(sizeof(*sorter));

	sorter->count = streams;
	sorter->streams = must_alloc(streams * sizeof(*sorter->streams));
	return sorter;
}

void sorter_free(struct sorter *sorter)
{
	if (!sorter)
		return;
	for (size_t i = 0; i < sorter->count; i++) {
		free(sorter->streams[i].bytes);
		vec_done(&sorter->streams[i].items);
		vec_done(&sorter->streams[i].stragglers);
	}
	free(sorter->spare);
	free(sorter->streams);
	free(sorter);
}

static size_t record_size(const struct record *record)
{
	return record->words * 8u;
}

static bool is_earlier(const struct straggler *a, const struct straggler *b)
{
	return a->item.time != b->item.time ? a->item.time < b->item.time : a->order < b->order;
}

static void heap_add(struct sort_stream *s, struct sort_item item)
{
	*vec_push(&s->stragglers) = (struct straggler){ item, s->arrived++ };
	heap_sift_up(s->stragglers.items, s->stragglers.count - 1, is_earlier);
}

static struct sort_item heap_take(struct sort_stream *s)
{
	struct straggler *heap = s->stragglers.items;
	struct sort_item item = heap[0].item;

	heap[0] = heap[--s->stragglers.count];
	heap_sift_down(heap, s->stragglers.count, 0, is_earlier);
	return item;
}

/* Whether the position of a record is within STEPS_MAX items of the end. */
static bool is_near(const struct sort_stream *s, nsec_t time)
{
	size_t count = s->items.count;

	return count - s->first <= STEPS_MAX || s->items.items[count - 1 - STEPS_MAX].time <= time;
}

void sorter_add(struct sorter *sorter, size_t stream, const struct record *record)
{
	struct sort_stream *s = &sorter->streams[stream];
	size_t size = record_size(record);
	struct sort_item item = { record->time, s->used };

	if (s->used + size > s->room) {
		s->room = s->room ? 2 * s->room : 64 * 1024;
		s->bytes = must_realloc(s->bytes, s->room);
	}
	memcpy(s->bytes + s->used, record, size);
	s->used += size;
	if (!is_near(s, item.time)) {
		heap_add(s, item);
		return;
	}
	vec_push(&s->items);

	size_t at = s->items.count - 1;

	for (; at > s->first && s->items.items[at - 1].time > item.time; at--)
		s->items.items[at] = s->items.items[at - 1];
	s->items.items[at] = item;
}

/* Copy a record to the end of the spare buffer, and return its new item. */
static struct sort_item move_item(struct sorter *sorter, const struct sort_stream *s,
				  struct sort_item item, size_t *used)
{
	const struct record *record = (const void *)(s->bytes + item.offset);
	struct sort_item moved = { item.time, *used };

	memcpy(sorter->spare + *used, record, record_size(record));
	*used += record_size(record);
	return moved;
}

/* Remove flushed records from `bytes`, once they are the majority. */
static void stream_pack(struct sorter *sorter, struct sort_stream *s)
{
	size_t left = s->items.count - s->first;

	if (left + s->stragglers.count > s->flushed)
		return;
	if (sorter->spare_room < s->used) {
		sorter->spare_room = s->room;
		sorter->spare = must_realloc(sorter->spare, sorter->spare_room);
	}

	size_t used = 0;

	for (size_t i = 0; i < left; i++)
		s->items.items[i] = move_item(sorter, s, s->items.items[s->first + i], &used);
	for (size_t i = 0; i < s->stragglers.count; i++)
		s->stragglers.items[i].item =
			move_item(sorter, s, s->stragglers.items[i].item, &used);
	s->items.count = left;
	s->first = 0;
	s->flushed = 0;
	s->used = used;

	unsigned char *bytes = s->bytes;
	size_t room = s->room;

	s->bytes = sorter->spare;
	s->room = sorter->spare_room;
	sorter->spare = bytes;
	sorter->spare_room = room;
}

static nsec_t items_time(const struct sort_stream *s)
{
	return s->first < s->items.count ? s->items.items[s->first].time : UINT64_MAX;
}

static nsec_t stream_time(const struct sort_stream *s)
{
	nsec_t time = items_time(s);

	if (s->stragglers.count && s->stragglers.items[0].item.time < time)
		time = s->stragglers.items[0].item.time;
	return time;
}

/* At equal times items go first: stragglers arrived after all items of their time. */
static struct sort_item stream_take(struct sort_stream *s)
{
	s->flushed++;
	return stream_time(s) < items_time(s) ? heap_take(s) : s->items.items[s->first++];
}

/* The stream with the earliest record, and the earliest time in all other streams. */
static struct sort_stream *earliest(struct sorter *sorter, nsec_t *ret_next)
{
	struct sort_stream *best = &sorter->streams[0];
	nsec_t time = stream_time(best), next = UINT64_MAX;

	for (size_t i = 1; i < sorter->count; i++) {
		nsec_t t = stream_time(&sorter->streams[i]);

		if (t < time) {
			next = time;
			time = t;
			best = &sorter->streams[i];
		} else if (t < next) {
			next = t;
		}
	}
	*ret_next = next;
	return best;
}

int sorter_flush(struct sorter *sorter, nsec_t horizon, sorter_fn *fn, void *arg, struct err *err)
{
	for (;;) {
		nsec_t next;
		struct sort_stream *s = earliest(sorter, &next);

		if (stream_time(s) == UINT64_MAX || stream_time(s) > horizon)
			break;
		if (next > horizon)
			next = horizon;
		do {
			struct sort_item item = stream_take(s);
			int r = fn(arg, (const void *)(s->bytes + item.offset), err);

			if (r < 0)
				return r;
			sorter->late += item.time < sorter->last;
			sorter->last = item.time > sorter->last ? item.time : sorter->last;
		} while (stream_time(s) <= next && stream_time(s) != UINT64_MAX);
	}
	for (size_t i = 0; i < sorter->count; i++)
		stream_pack(sorter, &sorter->streams[i]);
	return 0;
}

uint64_t sorter_late(const struct sorter *sorter)
{
	return sorter->late;
}
