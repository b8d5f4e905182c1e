/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sort.h"

#include <string.h>

#include "base/vec.h"

struct item {
	nsec_t time;
	size_t offset; /* in the stream's bytes */
};

/* A record that came far out of order. */
struct straggler {
	struct item item;
	uint64_t order; /* in which they came */
};

struct stream {
	unsigned char *bytes; /* records as they came */
	size_t used, room;
	VEC(struct item) items;           /* most of them in order of time; */
	size_t first;                     /* those before this are handed over */
	VEC(struct straggler) stragglers; /* the others, a heap: the earliest is first */
	uint64_t came;                    /* stragglers so far */
	size_t gone;                      /* records handed over whose bytes are still there */
};

/* How many younger records a record passes at most; more than an interrupted CPU writes. */
enum { STEPS_MAX = 64 };

struct sorter {
	struct stream *streams;
	size_t count;
	nsec_t last; /* time of the last record handed over */
	uint64_t late;
	unsigned char *spare; /* where the next stream is packed to */
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

static void heap_add(struct stream *s, struct item item)
{
	struct straggler new = { item, s->came++ };

	vec_push(&s->stragglers);

	struct straggler *heap = s->stragglers.items;
	size_t at = s->stragglers.count - 1;

	for (; at > 0 && is_earlier(&new, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = new;
}

static struct item heap_take(struct stream *s)
{
	struct straggler *heap = s->stragglers.items, last = heap[--s->stragglers.count];
	struct item item = heap[0].item;
	size_t count = s->stragglers.count, at = 0;

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && is_earlier(&heap[child + 1], &heap[child]))
			child++;
		if (!is_earlier(&heap[child], &last))
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	return item;
}

/* Whether a record of that time finds its place within a few steps from the end. */
static bool is_near(const struct stream *s, nsec_t time)
{
	size_t count = s->items.count;

	return count - s->first <= STEPS_MAX || s->items.items[count - 1 - STEPS_MAX].time <= time;
}

void sorter_add(struct sorter *sorter, size_t stream, const struct record *record)
{
	struct stream *s = &sorter->streams[stream];
	size_t size = record_size(record);
	struct item item = { record->time, s->used };

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

/* Copy a record to the spare bytes, of which so many are in use; where it is now. */
static struct item move_item(struct sorter *sorter, const struct stream *s, struct item item,
			     size_t *used)
{
	const struct record *record = (const void *)(s->bytes + item.offset);
	struct item moved = { item.time, *used };

	memcpy(sorter->spare + *used, record, record_size(record));
	*used += record_size(record);
	return moved;
}

/* Move what is left of a stream to its begin, once that is less than what has gone. */
static void stream_pack(struct sorter *sorter, struct stream *s)
{
	size_t left = s->items.count - s->first;

	if (left + s->stragglers.count > s->gone)
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
	s->gone = 0;
	s->used = used;

	unsigned char *bytes = s->bytes;
	size_t room = s->room;

	s->bytes = sorter->spare;
	s->room = sorter->spare_room;
	sorter->spare = bytes;
	sorter->spare_room = room;
}

static nsec_t items_time(const struct stream *s)
{
	return s->first < s->items.count ? s->items.items[s->first].time : UINT64_MAX;
}

static nsec_t stream_time(const struct stream *s)
{
	nsec_t time = items_time(s);

	if (s->stragglers.count && s->stragglers.items[0].item.time < time)
		time = s->stragglers.items[0].item.time;
	return time;
}

/* A straggler came after all others of its time. */
static struct item stream_take(struct stream *s)
{
	s->gone++;
	return stream_time(s) < items_time(s) ? heap_take(s) : s->items.items[s->first++];
}

/* The stream with the earliest record, and the time of the earliest in any other. */
static struct stream *earliest(struct sorter *sorter, nsec_t *ret_next)
{
	struct stream *best = &sorter->streams[0];
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
		struct stream *s = earliest(sorter, &next);

		if (stream_time(s) == UINT64_MAX || stream_time(s) > horizon)
			break;
		if (next > horizon)
			next = horizon;
		do {
			struct item item = stream_take(s);
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
