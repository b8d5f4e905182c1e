/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <string.h>

#include "event/flow.h"
#include "read/clock/align_internal.h"

struct align *align_new(size_t host_count)
{
	struct align *align = must_alloc(sizeof(*align));

	align->host_count = host_count;
	align->reaches = must_alloc(host_count * sizeof(*align->reaches));
	align->hosts = must_alloc(host_count * sizeof(*align->hosts));
	return align;
}

void align_free(struct align *align)
{
	if (!align)
		return;
	for (size_t i = 0; i < align->pairs.count; i++)
		fit_done(&align->pairs.items[i].fit);
	map_done(&align->end_index);
	map_done(&align->stream_index);
	map_done(&align->pair_index);
	vec_done(&align->ends);
	vec_done(&align->streams);
	vec_done(&align->sights);
	vec_done(&align->pairs);
	free(align->reaches);
	free(align->hosts);
	free(align);
}

static bool leads_away(const struct record_socket *r)
{
	const struct socket_address *a = &r->address;

	return a->protocol == IPPROTO_TCP && !r->peer_object &&
	       memcmp(a->local, a->peer, sizeof(a->local)) != 0;
}

static struct stream *stream_of(struct align *align, const struct record_socket *r,
				enum direction direction, uint32_t *ret_number)
{
	uint64_t key = flow_key(&r->address, 0, direction == MESSAGE_SEND);
	uint64_t *at = map_insert(&align->stream_index, key);

	if (!*at) {
		*vec_push(&align->streams) = (struct stream){ 0 };
		*at = align->streams.count;
	}
	*ret_number = *at;
	return &align->streams.items[*at - 1];
}

static struct end *end_of(struct align *align, uint16_t host, uint64_t object)
{
	uint64_t *at = map_insert(&align->end_index, object ^ host * 0x9e3779b97f4a7c15);

	if (!*at) {
		*vec_push(&align->ends) = (struct end){ 0 };
		*at = align->ends.count;
	}
	return &align->ends.items[*at - 1];
}

static void add_socket(struct align *align, uint16_t host, const struct record_socket *r)
{
	struct end end = { 0 };

	for (int direction = 0; direction < 2 && leads_away(r); direction++) {
		struct stream *s = stream_of(align, r, direction, &end.streams[direction]);

		if (s->known[direction] && s->hosts[direction] != host)
			s->disputed = true;
		s->known[direction] = true;
		s->hosts[direction] = host;
	}
	*end_of(align, host, r->object) = end;
}

static void add_message(struct align *align, uint16_t host, int64_t time,
			const struct record_message *r)
{
	uint8_t direction = r->direction == MESSAGE_SEND ? MESSAGE_SEND : MESSAGE_RECEIVE;
	uint32_t stream = end_of(align, host, r->object)->streams[direction];

	if (!stream || !r->position)
		return;
	if (direction == MESSAGE_SEND)
		time = minus(time, r->lag); /* it is known when it returns, which may be late */
	*vec_push(&align->sights) =
		(struct sight){ time, r->position, stream - 1, host, direction };
	align->streams.items[stream - 1].count++;
}

static void add_time(struct reach *reach, int64_t time)
{
	if (!reach->known || time < reach->begin)
		reach->begin = time;
	if (!reach->known || time > reach->end)
		reach->end = time;
	reach->known = true;
}

void align_add(struct align *align, uint16_t host, int64_t shift, const struct record *record)
{
	int64_t time = plus(record->time, shift);

	switch (record->kind) {
	case RECORD_SOCKET:
		add_socket(align, host, (const void *)record);
		return;
	case RECORD_MESSAGE:
		add_message(align, host, time, (const void *)record);
		break;
	case RECORD_RUN:
	case RECORD_WAIT:
		break;
	default:
		return; /* some have been made up later, and have no time of their own */
	}
	add_time(&align->reaches[host], time);
}

int64_t align_begin(const struct align *align, uint16_t host)
{
	return align->reaches[host].begin;
}

static bool is_between_two(const struct stream *s)
{
	return s->known[0] && s->known[1] && !s->disputed && s->hosts[0] != s->hosts[1];
}

static struct pair *pair_of(struct align *align, uint16_t a, uint16_t b)
{
	uint16_t to = a < b ? a : b, from = a < b ? b : a;
	uint64_t *at = map_insert(&align->pair_index, (uint64_t)to << 16 | from);

	if (!*at) {
		*vec_push(&align->pairs) = (struct pair){ .link = { .from = from, .to = to } };
		*at = align->pairs.count;
	}
	return &align->pairs.items[*at - 1];
}

/* A message that both ends have seen: the line passes on the side of it that the order says. */
static void add_match(struct align *align, const struct sight *send, const struct sight *receive)
{
	struct pair *pair = pair_of(align, send->host, receive->host);
	bool there = send->host == pair->link.from;
	int64_t x = there ? send->time : receive->time;
	int64_t y = minus(there ? receive->time : send->time, x);

	if (!pair->link.there && !pair->link.back) {
		pair->x = pair->min = pair->max = x;
		pair->y = y;
	}
	pair->min = x < pair->min ? x : pair->min;
	pair->max = x > pair->max ? x : pair->max;
	if (there) {
		fit_add_above(&pair->fit, minus(x, pair->x), minus(y, pair->y));
		pair->link.there++;
	} else {
		fit_add_below(&pair->fit, minus(x, pair->x), minus(y, pair->y));
		pair->link.back++;
	}
}

static int by_position(const void *a, const void *b)
{
	const struct sight *p = a, *q = b;

	if (p->position != q->position)
		return p->position < q->position ? -1 : 1;
	if (p->direction != q->direction)
		return p->direction < q->direction ? -1 : 1;
	return p->time < q->time ? -1 : p->time > q->time;
}

/* The only sight of this direction among those of one position; two recorders may tell the same. */
static const struct sight *only_one(const struct sight *sights, size_t count, uint8_t direction)
{
	const struct sight *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (sights[i].direction != direction)
			continue;
		if (found && found->time != sights[i].time)
			return NULL;
		found = &sights[i];
	}
	return found;
}

static void match_stream(struct align *align, struct sight *sights, size_t count)
{
	qsort(sights, count, sizeof(*sights), by_position);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && sights[next].position == sights[i].position;)
			next++;

		const struct sight *send = only_one(sights + i, next - i, MESSAGE_SEND);
		const struct sight *receive = only_one(sights + i, next - i, MESSAGE_RECEIVE);

		if (send && receive)
			add_match(align, send, receive);
	}
}

/* Sights of each stream that two machines have the ends of, together. */
void align_match(struct align *align)
{
	size_t count = 0;

	for (size_t i = 0; i < align->streams.count; i++) {
		struct stream *s = &align->streams.items[i];

		s->first = count;
		count += is_between_two(s) ? s->count : 0;
		s->count = 0;
	}
	_cleanup_(freep) struct sight *sorted = must_alloc((count + 1) * sizeof(*sorted));

	for (size_t i = 0; i < align->sights.count; i++) {
		struct stream *s = &align->streams.items[align->sights.items[i].flow];

		if (is_between_two(s))
			sorted[s->first + s->count++] = align->sights.items[i];
	}
	vec_done(&align->sights);
	for (size_t i = 0; i < align->streams.count; i++)
		match_stream(align, sorted + align->streams.items[i].first,
			     align->streams.items[i].count);
}
