/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sort.h"

#include <string.h>

#include "base/vec.h"

struct item {
	nsec_t time;
	size_t offset; /* in the stream's bytes */
};

struct stream {
	unsigned char *bytes; /* records as they came */
	size_t used, room;
	VEC(struct item) items; /* the same in order of time; */
	size_t first;           /* those before this are handed over */
};

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
	}
	free(sorter->spare);
	free(sorter->streams);
	free(sorter);
}

static size_t record_size(const struct record *record)
{
	return record->words * 8u;
}

void sorter_add(struct sorter *sorter, size_t stream, const struct record *record)
{
	struct stream *s = &sorter->streams[stream];
	size_t size = record_size(record);

	if (s->used + size > s->room) {
		s->room = s->room ? 2 * s->room : 64 * 1024;
		s->bytes = must_realloc(s->bytes, s->room);
	}
	memcpy(s->bytes + s->used, record, size);
	vec_push(&s->items);

	size_t at = s->items.count - 1;

	for (; at > s->first && s->items.items[at - 1].time > record->time; at--)
		s->items.items[at] = s->items.items[at - 1];
	s->items.items[at] = (struct item){ record->time, s->used };
	s->used += size;
}

/* Move what is left of a stream to its begin, once that is less than what has gone. */
static void stream_pack(struct sorter *sorter, struct stream *s)
{
	size_t left = s->items.count - s->first;

	if (left > s->first)
		return;
	if (sorter->spare_room < s->used) {
		sorter->spare_room = s->room;
		sorter->spare = must_realloc(sorter->spare, sorter->spare_room);
	}

	size_t used = 0;

	for (size_t i = 0; i < left; i++) {
		struct item item = s->items.items[s->first + i];
		const struct record *record = (const void *)(s->bytes + item.offset);

		memcpy(sorter->spare + used, record, record_size(record));
		s->items.items[i] = (struct item){ item.time, used };
		used += record_size(record);
	}
	s->items.count = left;
	s->first = 0;
	s->used = used;

	unsigned char *bytes = s->bytes;
	size_t room = s->room;

	s->bytes = sorter->spare;
	s->room = sorter->spare_room;
	sorter->spare = bytes;
	sorter->spare_room = room;
}

static nsec_t stream_time(const struct stream *s)
{
	return s->first < s->items.count ? s->items.items[s->first].time : UINT64_MAX;
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
			struct item item = s->items.items[s->first];
			int r = fn(arg, (const void *)(s->bytes + item.offset), err);

			if (r < 0)
				return r;
			sorter->late += item.time < sorter->last;
			sorter->last = item.time > sorter->last ? item.time : sorter->last;
			s->first++;
		} while (s->first < s->items.count && stream_time(s) <= next);
	}
	for (size_t i = 0; i < sorter->count; i++)
		stream_pack(sorter, &sorter->streams[i]);
	return 0;
}

uint64_t sorter_late(const struct sorter *sorter)
{
	return sorter->late;
}
