/* SPDX-License-Identifier: Apache-2.0 */
#include "read/align.h"

#include <netinet/in.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "event/flow.h"
#include "event/source.h"
#include "read/fit.h"

/* One end of a message, as its machine saw it. */
struct sight {
	int64_t time;
	uint32_t position;
	uint32_t flow;
	uint16_t host;
	uint8_t direction;
};

/* One direction of a connection, and which machines have its ends. */
struct stream {
	uint16_t hosts[2]; /* by enum direction */
	bool known[2];
	bool disputed;  /* several claim to be one end */
	uint32_t first; /* while sights are sorted: where its own begin */
	uint32_t count;
};

/* A socket: the streams that begin and end here. */
struct end {
	uint32_t streams[2]; /* by enum direction; plus 1, 0 if it leads to no other machine */
};

/* Messages between two machines, as points of (time on the second, first less second). */
struct pair {
	struct align_link link;
	struct fit fit;
	int64_t x, y; /* what points count from */
	int64_t min, max;
};

struct reach {
	int64_t begin, end;
	bool known;
};

struct align {
	size_t host_count;
	struct reach *reaches;
	struct align_host *hosts;
	struct map end_index, stream_index, pair_index; /* -> index + 1 */
	VEC(struct end) ends;
	VEC(struct stream) streams;
	VEC(struct sight) sights;
	VEC(struct pair) pairs;
};

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

/* Files may say anything; what overflows wraps. */
static int64_t plus(int64_t a, int64_t b)
{
	return (uint64_t)a + (uint64_t)b;
}

static int64_t minus(int64_t a, int64_t b)
{
	return (uint64_t)a - (uint64_t)b;
}

static int64_t rounded(double ns)
{
	const double most = 9e18;

	return (int64_t)(ns > most ? most : ns < -most ? -most : ns);
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
	uint64_t key = flow_key(&r->address, 0, 0, 0, direction == MESSAGE_SEND);
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
static void match_all(struct align *align)
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

/* The time, on the clock of `from`, in which both were recording. */
static void overlap(const struct align *align, const struct pair *pair, int64_t *ret_begin,
		    int64_t *ret_end)
{
	struct reach from = align->reaches[pair->link.from], to = align->reaches[pair->link.to];
	int64_t begin = minus(to.begin, pair->y), end = minus(to.end, pair->y);

	begin = begin > from.begin ? begin : from.begin;
	end = end < from.end ? end : from.end;
	*ret_begin = begin < pair->min ? begin : pair->min;
	*ret_end = end > pair->max ? end : pair->max;
}

static bool has_enough(const struct align_link *link)
{
	return link->there >= ALIGN_MATCHES_MIN && link->back >= ALIGN_MATCHES_MIN;
}

static void solve_pair(const struct align *align, struct pair *pair)
{
	struct align_link *link = &pair->link;
	int64_t begin, end;

	if (!has_enough(link))
		return;
	overlap(align, pair, &begin, &end);

	struct fit_line line =
		fit_solve(&pair->fit, minus(begin, pair->x), minus(end, pair->x),
			  SOURCE_DRIFT_MAX / (double)((int64_t)1 << SOURCE_DRIFT_BITS));

	link->dropped = pair->fit.above.dropped + pair->fit.below.dropped;
	link->contradictory = line.contradictory;
	link->line = (struct align_line){ .shift = plus(pair->y, rounded(line.at_from)),
					  .origin = begin,
					  .drift = line.slope };
	link->bound = line.bound;
	link->middle = begin + minus(end, begin) / 2;
	fit_done(&pair->fit);
}

struct align_line align_inverse(struct align_line line)
{
	return (struct align_line){ .shift = minus(0, line.shift),
				    .origin = plus(line.origin, line.shift),
				    .drift = -line.drift / (1 + line.drift) };
}

struct align_line align_compose(struct align_line first, struct align_line second)
{
	int64_t since = minus(plus(first.origin, first.shift), second.origin);

	return (struct align_line){
		.shift = plus(plus(first.shift, second.shift), rounded(second.drift * since)),
		.origin = first.origin,
		.drift = first.drift + second.drift + first.drift * second.drift,
	};
}

int64_t align_apply(struct align_line line, int64_t t)
{
	return plus(plus(t, line.shift), rounded(line.drift * minus(t, line.origin)));
}

/* Take the machine at the link's other end through it, if that is better than what it has. */
static void follow(struct align *align, const struct align_link *link, uint16_t at, bool *reached)
{
	uint16_t other = link->from == at ? link->to : link->from;
	double bound = align->hosts[at].bound + link->bound;

	if (reached[other] && align->hosts[other].bound <= bound)
		return;
	reached[other] = true;
	align->hosts[other] = (struct align_host){
		.root = align->hosts[at].root,
		.line = align_compose(other == link->from ? link->line : align_inverse(link->line),
				      align->hosts[at].line),
		.bound = bound,
		.link = link,
	};
}

/* The machine with the least bound of those reached and not yet left; host_count if there is none.
 */
static size_t nearest(const struct align *align, const bool *reached, const bool *left)
{
	size_t best = align->host_count;

	for (size_t i = 0; i < align->host_count; i++)
		if (reached[i] && !left[i] &&
		    (best == align->host_count || align->hosts[i].bound < align->hosts[best].bound))
			best = i;
	return best;
}

static void reach_from(struct align *align, uint16_t root, bool *reached, bool *left)
{
	reached[root] = true;
	align->hosts[root] = (struct align_host){ .root = root };
	for (size_t at; (at = nearest(align, reached, left)) < align->host_count;) {
		left[at] = true;
		for (size_t i = 0; i < align->pairs.count; i++) {
			const struct align_link *link = &align->pairs.items[i].link;

			if ((link->from == at || link->to == at) && has_enough(link) &&
			    !link->contradictory)
				follow(align, link, at, reached);
		}
	}
}

/* Of the links that lead out of its group to machines before it, the one with most messages. */
static void explain_root(struct align *align, uint16_t root)
{
	struct align_host *host = &align->hosts[root];
	uint64_t most = 0;

	for (size_t i = 0; i < align->pairs.count; i++) {
		const struct align_link *link = &align->pairs.items[i].link;

		if (link->from == root && align->hosts[link->to].root != root &&
		    link->there + link->back > most) {
			most = link->there + link->back;
			host->link = link;
		}
	}
}

const struct align_host *align_solve(struct align *align)
{
	_cleanup_(freep) bool *reached = must_alloc(align->host_count);
	_cleanup_(freep) bool *left = must_alloc(align->host_count);

	match_all(align);
	for (size_t i = 0; i < align->pairs.count; i++)
		solve_pair(align, &align->pairs.items[i]);
	for (size_t i = 0; i < align->host_count; i++)
		if (!reached[i])
			reach_from(align, i, reached, left);
	for (size_t i = 1; i < align->host_count; i++)
		if (align->hosts[i].root == i)
			explain_root(align, i);
	return align->hosts;
}
