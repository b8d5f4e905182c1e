/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the ends of messages and matches them. */
#include <netinet/in.h>
#include <string.h>

#include "base/hash.h"
#include "event/flow.h"
#include "read/clock/align_internal.h"

struct align *align_new(size_t host_count)
{
	struct align *align = must_alloc(sizeof(*align));

	align->host_count = host_count;
	align->extents = must_alloc(host_count * sizeof(*align->extents));
	align->hosts = must_alloc(host_count * sizeof(*align->hosts));
	return align;
}

void align_free(struct align *align)
{
	if (!align)
		return;
	for (size_t i = 0; i < align->pairs.count; i++)
		fit_done(&align->pairs.items[i].fit);
	map_done(&align->socket_index);
	map_done(&align->stream_index);
	map_done(&align->pair_index);
	vec_done(&align->sockets);
	vec_done(&align->streams);
	vec_done(&align->ends);
	vec_done(&align->pairs);
	free(align->extents);
	free(align->hosts);
	free(align);
}

static bool leads_to_another_host(const struct record_socket *r)
{
	const struct socket_address *a = &r->address;

	return a->protocol == IPPROTO_TCP && !r->peer_object &&
	       memcmp(a->local, a->peer, sizeof(a->local)) != 0;
}

static struct tcp_stream *stream_of(struct align *align, const struct record_socket *r,
				    enum direction direction, uint32_t *ret_number)
{
	uint64_t key = flow_key(&r->address, 0, direction == MESSAGE_SEND);
	uint64_t *at = map_insert(&align->stream_index, key);

	if (!*at) {
		*vec_push(&align->streams) = (struct tcp_stream){ 0 };
		*at = align->streams.count;
	}
	*ret_number = *at;
	return &align->streams.items[*at - 1];
}

static struct socket_streams *socket_of(struct align *align, uint16_t host, uint64_t object)
{
	uint64_t *at = map_insert(&align->socket_index, hash_pair(object, host));

	if (!*at) {
		*vec_push(&align->sockets) = (struct socket_streams){ 0 };
		*at = align->sockets.count;
	}
	return &align->sockets.items[*at - 1];
}

static void add_socket(struct align *align, uint16_t host, const struct record_socket *r)
{
	struct socket_streams socket = { 0 };

	for (int direction = 0; direction < 2 && leads_to_another_host(r); direction++) {
		struct tcp_stream *s = stream_of(align, r, direction, &socket.streams[direction]);

		if (s->has_host[direction] && s->hosts[direction] != host)
			s->is_ambiguous = true;
		s->has_host[direction] = true;
		s->hosts[direction] = host;
	}
	*socket_of(align, host, r->object) = socket;
}

static void add_message(struct align *align, uint16_t host, int64_t time,
			const struct record_message *r)
{
	uint8_t direction = r->direction == MESSAGE_SEND ? MESSAGE_SEND : MESSAGE_RECEIVE;
	uint32_t stream = socket_of(align, host, r->object)->streams[direction];

	if (!stream || !r->position)
		return;
	if (direction == MESSAGE_SEND)
		time = minus(time, r->lag); /* recorded when the call returned */
	*vec_push(&align->ends) =
		(struct message_end){ time, r->position, stream - 1, host, direction };
	align->streams.items[stream - 1].count++;
}

static void add_time(struct host_extent *extent, int64_t time)
{
	if (!extent->known || time < extent->begin)
		extent->begin = time;
	if (!extent->known || time > extent->end)
		extent->end = time;
	extent->known = true;
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
		return; /* the times of other records are not always their own */
	}
	add_time(&align->extents[host], time);
}

int64_t align_begin(const struct align *align, uint16_t host)
{
	return align->extents[host].begin;
}

static bool is_between_hosts(const struct tcp_stream *s)
{
	return s->has_host[0] && s->has_host[1] && !s->is_ambiguous && s->hosts[0] != s->hosts[1];
}

static struct host_pair *pair_of(struct align *align, uint16_t a, uint16_t b)
{
	uint16_t to = a < b ? a : b, from = a < b ? b : a;
	uint64_t *at = map_insert(&align->pair_index, (uint64_t)to << 16 | from);

	if (!*at) {
		*vec_push(&align->pairs) = (struct host_pair){ .link = { .from = from, .to = to } };
		*at = align->pairs.count;
	}
	return &align->pairs.items[*at - 1];
}

/* The line passes below a message to `to`, and above one from it. */
static void add_match(struct align *align, const struct message_end *send,
		      const struct message_end *receive)
{
	struct host_pair *pair = pair_of(align, send->host, receive->host);
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
	const struct message_end *p = a, *q = b;

	if (p->position != q->position)
		return p->position < q->position ? -1 : 1;
	if (p->direction != q->direction)
		return p->direction < q->direction ? -1 : 1;
	return p->time < q->time ? -1 : p->time > q->time;
}

/*
 * The only end in this direction among those at one position; NULL if there are two different
 * ones.  Two recorders on one host record equal ends.
 */
static const struct message_end *only_one(const struct message_end *ends, size_t count,
					  uint8_t direction)
{
	const struct message_end *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (ends[i].direction != direction)
			continue;
		if (found && found->time != ends[i].time)
			return NULL;
		found = &ends[i];
	}
	return found;
}

static void match_stream(struct align *align, struct message_end *ends, size_t count)
{
	qsort(ends, count, sizeof(*ends), by_position);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && ends[next].position == ends[i].position;)
			next++;

		const struct message_end *send = only_one(ends + i, next - i, MESSAGE_SEND);
		const struct message_end *receive = only_one(ends + i, next - i, MESSAGE_RECEIVE);

		if (send && receive)
			add_match(align, send, receive);
	}
}

/* Groups the ends by stream, for streams between two hosts, and matches each group. */
void align_match(struct align *align)
{
	size_t count = 0;

	for (size_t i = 0; i < align->streams.count; i++) {
		struct tcp_stream *s = &align->streams.items[i];

		s->first = count;
		count += is_between_hosts(s) ? s->count : 0;
		s->count = 0;
	}
	_cleanup_(freep) struct message_end *sorted = must_alloc((count + 1) * sizeof(*sorted));

	for (size_t i = 0; i < align->ends.count; i++) {
		struct tcp_stream *s = &align->streams.items[align->ends.items[i].stream];

		if (is_between_hosts(s))
			sorted[s->first + s->count++] = align->ends.items[i];
	}
	vec_done(&align->ends);
	for (size_t i = 0; i < align->streams.count; i++)
		match_stream(align, sorted + align->streams.items[i].first,
			     align->streams.items[i].count);
}
