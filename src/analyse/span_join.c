/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/span_join.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/search.h"

enum {
	NEAREST = 64, /* requests that are compared with a span, by the time of their reply */
	TOLERANCE = 1000000, /* ns: clocks of SDKs are coarse */
	RESOLUTION = 10000,  /* ns: shorter times do not count as closer */
	ROUNDS = 16,
};

static const nsec_t apart_max = 3600 * (nsec_t)1000000000; /* between a span and its request */

/* A request that a span can serve. */
struct join_request {
	nsec_t read, sent, end;
	uint32_t index; /* in requests.spans */
	uint32_t group; /* requests to the same port, or to the same process */
	uint32_t pid;
	uint16_t host, peer_port;
	/* the closest span, and the distance of the second closest */
	uint32_t best; /* index in spans + 1 */
	double distance, second;
	bool is_joined;
};

/* A span that can serve a request: the outermost of its service in a trace. */
struct join_span {
	const struct span *span;
	span_id id;
	uint32_t owner;
	uint16_t peer_port; /* 0 if unknown */
	uint32_t best;      /* index in requests + 1 */
	double distance, second;
	bool is_joined;
};

/* The service or process of spans. */
struct join_owner {
	uint32_t group;        /* of its requests, by the votes of its spans; 0 is none */
	uint32_t votes, spans; /* for that group; for all groups */
	bool has_pid;          /* requests of its pid are recorded */
};

struct joining {
	const struct model *model;
	nsec_t since;
	const struct requests *requests;
	VEC(struct join_request) entries; /* by group, then by `sent` */
	VEC(struct join_request *) all;   /* by `sent` */
	VEC(struct join_span) spans;
	VEC(struct join_owner) owners;
	struct map groups;      /* hash of address or process -> number */
	struct map group_start; /* group -> index of its first entry + 1 */
	struct map owner_index; /* hash -> index + 1 */
	struct map pids;        /* host and pid of requests -> 1 */
	struct map span_pids;   /* host and pid of spans -> 1 */
	struct map votes;       /* owner and group -> number of spans */
};

void span_join_done(struct span_join *join)
{
	vec_done(&join->spans);
	*join = (struct span_join){ 0 };
}

static uint64_t pid_key(uint16_t host, uint32_t pid)
{
	return (uint64_t)host << 32 | pid;
}

/*
 * If spans have the pid of a process, its requests are a group, whatever their ports.  Otherwise,
 * the requests to a port are, as workers of one service share it.  A unix socket has no port.
 */
static uint32_t group_of(struct joining *j, const struct socket *socket,
			 const struct join_request *r)
{
	bool by_port = socket && socket->address.local_port &&
		       !map_find(&j->span_pids, pid_key(r->host, r->pid));
	uint64_t parts[3] = { r->host, by_port ? socket->netns : r->pid,
			      by_port ? socket->address.local_port : UINT64_MAX };
	uint64_t *number = map_insert(&j->groups, hash_bytes(parts, sizeof(parts)));

	if (!*number)
		*number = j->groups.count;
	return *number;
}

static void add_request(struct joining *j, uint32_t index)
{
	const struct request_span *span = &j->requests->spans.items[index];
	const struct thread *thread = model_thread(j->model, span->thread);
	const struct socket *socket = model_socket(j->model, thread->host, span->socket);
	struct join_request r = { .read = span->read ? span->read : span->start,
				  .sent = span->sent ? span->sent : span->end,
				  .end = span->end,
				  .index = index,
				  .pid = thread->pid,
				  .host = thread->host,
				  .peer_port = socket ? socket->address.peer_port : 0 };

	if (span->kind != REQUEST_NETWORK || span->no_reply)
		return;
	r.group = group_of(j, socket, &r);
	*map_insert(&j->pids, pid_key(r.host, r.pid)) = 1;
	*vec_push(&j->entries) = r;
}

static int by_group(const void *a, const void *b)
{
	const struct join_request *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->sent != y->sent)
		return x->sent < y->sent ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int by_sent(const void *a, const void *b)
{
	const struct join_request *const *x = a, *const *y = b;

	if ((*x)->sent != (*y)->sent)
		return (*x)->sent < (*y)->sent ? -1 : 1;
	return (*x)->index<(*y)->index ? -1 : (*x)->index>(*y)->index;
}

static void find_span_pids(struct joining *j)
{
	for (uint32_t i = 1; i < model_span_count(j->model); i++) {
		const struct span *span = model_span(j->model, (span_id){ i });

		if (span->pid)
			*map_insert(&j->span_pids, pid_key(span->host, span->pid)) = 1;
	}
}

static void add_requests(struct joining *j)
{
	for (size_t i = 1; i < j->requests->spans.count; i++)
		if (j->requests->spans.items[i].end >= j->since)
			add_request(j, i);
	if (!j->entries.count)
		return;
	qsort(j->entries.items, j->entries.count, sizeof(j->entries.items[0]), by_group);
	for (size_t i = 0; i < j->entries.count; i++) {
		uint64_t *first = map_insert(&j->group_start, j->entries.items[i].group);

		*first = *first ? *first : i + 1;
		*vec_push(&j->all) = &j->entries.items[i];
	}
	qsort(j->all.items, j->all.count, sizeof(j->all.items[0]), by_sent);
}

/* Names of the port of the client, in versions of the semantic conventions. */
static bool is_peer_port(const char *key)
{
	static const char *const names[] = { "client.port", "net.peer.port", "network.peer.port",
					     "net.sock.peer.port" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(key, names[i]) == 0)
			return true;
	return false;
}

static uint16_t peer_port(const struct model *model, span_id id)
{
	struct attributes all = model_span_attributes(model, id);

	for (size_t i = 0; i < all.count; i++) {
		const struct attribute *a = &all.items[i];

		if (!is_peer_port(model_string(model, a->key)))
			continue;
		if (a->type == ATTRIBUTE_INT)
			return a->value < 65536 ? a->value : 0;
		if (a->type == ATTRIBUTE_STRING)
			return strtoul(model_string(model, (str_id){ a->value }), NULL, 10);
	}
	return 0;
}

/* The outermost span of a service; a span of a client or of a message queue serves no request. */
static bool is_entry(const struct model *model, const struct span *span)
{
	const struct span *parent = model_span(model, span->parent);
	bool is_outermost = !span->parent.i || parent->service.i != span->service.i;

	if (span->source == SPAN_INFERRED)
		return false; /* a rebuilt request that was exported before */
	if (span->kind == SPAN_SERVER)
		return is_outermost || parent->kind == SPAN_CLIENT;
	return is_outermost && (span->kind == SPAN_UNSPECIFIED || span->kind == SPAN_INTERNAL);
}

static uint32_t owner_of(struct joining *j, const struct span *span)
{
	uint64_t parts[3] = { span->service.i, span->pid, span->host };
	uint64_t *at = map_insert(&j->owner_index, hash_bytes(parts, sizeof(parts)));

	if (!*at) {
		*vec_push(&j->owners) = (struct join_owner){
			.has_pid = span->pid && map_find(&j->pids, pid_key(span->host, span->pid))
		};
		*at = j->owners.count;
	}
	return *at - 1;
}

static void add_spans(struct joining *j)
{
	for (uint32_t i = 1; i < model_span_count(j->model); i++) {
		const struct span *span = model_span(j->model, (span_id){ i });

		if (span->end >= j->since && is_entry(j->model, span) &&
		    !(span->flags & SPAN_OPEN) && span->start <= span->end)
			*vec_push(&j->spans) =
				(struct join_span){ .span = span,
						    .id = { i },
						    .owner = owner_of(j, span),
						    .peer_port =
							    peer_port(j->model, (span_id){ i }),
						    .distance = INFINITY,
						    .second = INFINITY };
	}
}

static nsec_t apart(nsec_t a, nsec_t b)
{
	return a > b ? a - b : b - a;
}

static nsec_t tolerance(const struct join_span *s)
{
	return TOLERANCE + (s->span->end - s->span->start) / 20;
}

/* How far in time a span is from a request; INFINITY if it cannot serve the request. */
static double distance(const struct joining *j, const struct join_span *s,
		       const struct join_request *r)
{
	const struct span *span = s->span;
	const struct thread *thread = model_thread(j->model, span->thread);
	bool needs_pid = j->owners.items[s->owner].has_pid;
	nsec_t before = apart(span->start, r->read), after = apart(r->sent, span->end);

	if (needs_pid && (r->pid != span->pid || r->host != span->host))
		return INFINITY;
	if (span->thread.i && (r->pid != thread->pid || r->host != thread->host))
		return INFINITY;
	if (span->host_name.i && r->host != span->host)
		return INFINITY;
	if (s->peer_port && r->peer_port && s->peer_port != r->peer_port)
		return INFINITY;
	/* a span of unknown kind that is much shorter can be any part of the work */
	if (span->kind != SPAN_SERVER &&
	    (span->end - span->start) * 2 + TOLERANCE < r->sent - r->read)
		return INFINITY;
	if (before > apart_max || after > apart_max)
		return INFINITY;
	if ((span->start < r->read && before > tolerance(s)) ||
	    (span->end > r->end && span->end - r->end > tolerance(s)))
		return INFINITY;
	return ((double)before + RESOLUTION) * ((double)after + RESOLUTION);
}

/* Each span votes for the group of the request that is closest to it. */
static void vote(struct joining *j, const struct join_span *s)
{
	nsec_t from = s->span->end > tolerance(s) ? s->span->end - tolerance(s) : 0;
	size_t first = partition_point(j->all.count, i, j->all.items[i]->sent < from);
	double least = INFINITY;
	uint32_t group = 0;

	for (size_t i = first; i < j->all.count && i < first + NEAREST; i++) {
		double d = distance(j, s, j->all.items[i]);

		if (d < least) {
			least = d;
			group = j->all.items[i]->group;
		}
	}
	if (!group)
		return;

	struct join_owner *owner = &j->owners.items[s->owner];
	uint64_t *votes = map_insert(&j->votes, (uint64_t)s->owner << 32 | group);

	owner->spans++;
	if (++*votes > owner->votes) {
		owner->votes = *votes;
		owner->group = group;
	}
}

static void note_request(struct join_span *s, uint32_t request, double d)
{
	if (d < s->distance) {
		s->second = s->distance;
		s->distance = d;
		s->best = request + 1;
	} else if (d < s->second) {
		s->second = d;
	}
}

static void note_span(struct join_request *r, uint32_t span, double d)
{
	if (d < r->distance) {
		r->second = r->distance;
		r->distance = d;
		r->best = span + 1;
	} else if (d < r->second) {
		r->second = d;
	}
}

/* Compares a span with the requests of its owner's group. */
static void compare(struct joining *j, uint32_t span)
{
	struct join_span *s = &j->spans.items[span];
	const struct join_owner *owner = &j->owners.items[s->owner];
	const uint64_t *start = map_find(&j->group_start, owner->group);
	nsec_t from = s->span->end > tolerance(s) ? s->span->end - tolerance(s) : 0;

	s->best = 0;
	s->distance = s->second = INFINITY;
	if (!start || owner->votes * 2 <= owner->spans)
		return;

	const struct join_request *group = &j->entries.items[*start - 1];
	size_t left = j->entries.count - (*start - 1);
	size_t first =
		partition_point(left, i, group[i].group == owner->group && group[i].sent < from);

	for (size_t i = first; i < left && i < first + NEAREST; i++) {
		double d = group[i].group == owner->group && !group[i].is_joined
				   ? distance(j, s, &group[i])
				   : INFINITY;

		if (d == INFINITY)
			continue;
		note_request(s, *start - 1 + i, d);
		note_span(&j->entries.items[*start - 1 + i], span, d);
	}
}

/* Whether the closest is clearly closer than the second closest. */
static bool is_clear(double distance, double second)
{
	return second > 2 * distance;
}

static float confidence(const struct join_span *s, const struct join_request *r)
{
	double second = s->second < r->second ? s->second : r->second;

	if (second == INFINITY || (s->peer_port && s->peer_port == r->peer_port))
		return 1;
	return 1 - s->distance / second;
}

static void join(const struct joining *j, uint32_t request, span_id span, float confidence,
		 struct span_join *ret)
{
	while (ret->spans.count < j->requests->spans.count)
		*vec_push(&ret->spans) = (struct joined_span){ 0 };
	ret->spans.items[request] = (struct joined_span){ span, confidence };
	ret->count++;
}

/* Compares all spans and requests that are not joined; joins those that are clear. */
static bool join_closest(struct joining *j, struct span_join *ret)
{
	size_t before = ret->count;

	for (size_t i = 0; i < j->entries.count; i++)
		j->entries.items[i].distance = j->entries.items[i].second = INFINITY;
	for (size_t i = 0; i < j->spans.count; i++)
		if (!j->spans.items[i].is_joined)
			compare(j, i);
	for (size_t i = 0; i < j->spans.count; i++) {
		struct join_span *s = &j->spans.items[i];
		struct join_request *r = s->best ? &j->entries.items[s->best - 1] : NULL;

		if (s->is_joined || !r || r->best != i + 1 || !is_clear(s->distance, s->second) ||
		    !is_clear(r->distance, r->second))
			continue;
		join(j, r->index, s->id, confidence(s, r), ret);
		s->is_joined = r->is_joined = true;
	}
	return ret->count > before;
}

/* Requests that were rebuilt and exported before have the ids that they get now. */
static void join_exported(const struct joining *j, struct span_join *ret)
{
	struct map ids = { 0 };

	for (uint32_t i = 1; i < model_span_count(j->model); i++) {
		const struct span *span = model_span(j->model, (span_id){ i });

		if (span->source == SPAN_INFERRED)
			*map_insert(&ids, hash_bytes(span->id, sizeof(span->id))) = i;
	}
	for (uint32_t i = 1; ids.count && i < j->requests->spans.count; i++) {
		const struct request_span *request = &j->requests->spans.items[i];
		const uint64_t *at = map_find(&ids, hash_bytes(request->id, sizeof(request->id)));
		const struct span *span = at ? model_span(j->model, (span_id){ *at }) : NULL;

		if (span && memcmp(span->id, request->id, sizeof(span->id)) == 0 &&
		    memcmp(span->trace, request->trace, sizeof(span->trace)) == 0)
			join(j, i, (span_id){ *at }, 1, ret);
	}
	map_done(&ids);
}

static void joining_done(struct joining *j)
{
	vec_done(&j->entries);
	vec_done(&j->all);
	vec_done(&j->spans);
	vec_done(&j->owners);
	map_done(&j->groups);
	map_done(&j->group_start);
	map_done(&j->owner_index);
	map_done(&j->pids);
	map_done(&j->span_pids);
	map_done(&j->votes);
}

void span_join_find(const struct model *model, const struct requests *requests, nsec_t since,
		    struct span_join *ret)
{
	struct joining j = { .model = model, .requests = requests, .since = since };

	*ret = (struct span_join){ 0 };
	find_span_pids(&j);
	add_requests(&j);
	if (j.entries.count)
		add_spans(&j);
	for (size_t i = 0; i < j.spans.count; i++)
		vote(&j, &j.spans.items[i]);
	for (size_t i = 0; i < ROUNDS && join_closest(&j, ret); i++)
		;
	if (!ret->count)
		join_exported(&j, ret);
	joining_done(&j);
}
