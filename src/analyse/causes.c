/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/causes.h"

#include <string.h>

#include "analyse/requests/sum.h"
#include "analyse/thread_class.h"
#include "base/hash.h"

/* Leaves with the same key are one cause; no padding, since it is hashed. */
struct cause_key {
	uint64_t object, class;      /* `class`: thread_class() */
	uint64_t name, above_name;   /* of the service, and of the one that waits for it */
	uint64_t service, operation; /* names of the span, unless it is the explained one */
	int16_t syscall;
	uint16_t host, flags;
	uint8_t state, object_kind, above_state;
	bool is_other; /* the thread worked for another span */
	bool is_leaf;
	uint8_t pad[5];
};

void cause_sum_done(struct cause_sum *sum)
{
	vec_done(&sum->groups);
	map_done(&sum->index);
}

/*
 * Connections to one address are one thing.  Of the two ports, the lower one is that of the
 * service; the other one changes with each connection.
 */
static uint64_t connection_key(const struct model *model, const struct cause *cause)
{
	const struct socket *socket = model_socket(model, cause->host, cause->object);

	if (!socket)
		return 0;

	const struct socket_address *a = &socket->address;
	bool is_client = a->peer_port < a->local_port;
	uint64_t key = hash_bytes(is_client ? a->peer : a->local, sizeof(a->peer));

	return key ^ (is_client ? a->peer_port : a->local_port);
}

/* Locks of a process are one thing: many are in objects that live as long as a request. */
static uint64_t object_key(const struct model *model, const struct cause *cause)
{
	switch (cause->object_kind) {
	case OBJECT_INET:
		return connection_key(model, cause);
	case OBJECT_FILE:
	case OBJECT_DIRECTORY:
	case OBJECT_BLOCK_DEVICE:
		return cause->object;
	default:
		return 0;
	}
}

/* Numbers of names differ between span sets of one running system, hashes do not. */
static uint64_t name_key(const char *name)
{
	return hash_bytes(name, strlen(name));
}

static void key_span(struct cause_key *key, const struct span_set *spans,
		     const struct account *account, const struct node *node)
{
	const struct span *span = span_set_at(spans, node->span);

	if (node->span.i == account->span.i)
		return;
	key->service = name_key(span_set_string(spans, span->service));
	key->operation = name_key(span_set_string(spans, span->operation));
}

/* Processes of one service, such as the workers of a server, are one thing. */
static uint64_t service_key(const struct model *model, thread_id thread)
{
	return name_key(request_service(model, thread));
}

static uint64_t key_of(const struct span_set *spans, const struct account *account,
		       const struct node *node)
{
	const struct model *model = spans->model;
	const struct node *above = &account->nodes.items[node->parent];
	const struct thread *thread = model_thread(model, node->thread);
	struct cause_key key;

	memset(&key, 0, sizeof(key));
	key.state = node->state;
	key.flags = node->flags;
	if (node->state == STATE_READY || node->state == STATE_THROTTLED)
		key.flags &= ~STEP_QUEUEING; /* the same CPU, before and after the read */
	key.is_leaf = node->is_leaf;
	key.host = thread->host;
	key.name = service_key(model, node->thread);
	key.class = thread_class(model, node->thread);
	key_span(&key, spans, account, node);
	if (node->cause) {
		key.syscall = node->cause->syscall;
		key.object_kind = node->cause->object_kind;
		key.object = object_key(model, node->cause);
	}
	if (node->parent && above->state) {
		key.above_state = above->state;
		key.above_name = service_key(model, above->thread);
	}
	for (; node->parent; node = &account->nodes.items[node->parent]) {
		key.is_other |= node->other || node->others;
		key.flags |= node->flags & STEP_QUEUEING;
	}
	return hash_bytes(&key, sizeof(key));
}

static bool is_pattern(const struct account *account, const struct node *node)
{
	return !node->state && !node->is_leaf && node->span.i != account->span.i &&
	       node->span_count >= NODE_MANY_SPANS;
}

/* Whether there are no records because they were lost, or are older than the window. */
static bool is_lost(const struct span_set *spans, const struct account *account,
		    const struct node *node)
{
	return node->state == STATE_GAP &&
	       (account->lost.losses || account->start < model_window_begin(spans->model));
}

static void add_node(struct cause_sum *sum, const struct span_set *spans,
		     const struct account *account, uint32_t at, double weight)
{
	const struct node *node = &account->nodes.items[at];
	uint64_t key = key_of(spans, account, node), *index = map_insert(&sum->index, key);

	if (!*index) {
		*vec_push(&sum->groups) = (struct cause_group){ .key = key,
								.thread = node->thread,
								.span = node->span,
								.state = node->state,
								.is_pattern = !node->is_leaf };
		*index = sum->groups.count;
	}

	struct cause_group *g = &sum->groups.items[*index - 1];

	g->time += account_weighted(node->time, weight);
	g->leaves++;
	g->is_lost |= is_lost(spans, account, node);
	g->requests += g->last_sum != sum->accounts;
	g->last_sum = sum->accounts;
	g->several |= node->several || g->thread.i != node->thread.i;
	g->several_processes |= model_thread(spans->model, g->thread)->pid !=
				model_thread(spans->model, node->thread)->pid;
	if (!g->node || node->time > g->longest) {
		g->longest = node->time;
		g->example = account->span;
		g->node = at;
	}
}

void cause_sum_add(struct cause_sum *sum, const struct span_set *spans,
		   const struct account *account)
{
	cause_sum_add_weighted(sum, spans, account, 1);
}

void cause_sum_add_weighted(struct cause_sum *sum, const struct span_set *spans,
			    const struct account *account, double weight)
{
	sum->accounts++;
	sum->total += account_weighted(account->nodes.items[0].time, weight);
	for (uint32_t i = 1; i < account->nodes.count; i++)
		if (account->nodes.items[i].is_leaf ||
		    is_pattern(account, &account->nodes.items[i]))
			add_node(sum, spans, account, i, weight);
}

/* Whether a node is the topmost of a state of the explained span, or of its queueing. */
static bool is_own(const struct account *account, const struct node *node, uint8_t state)
{
	if (node->span.i != account->span.i)
		return false;
	return state ? node->state == state && !(node->flags & STEP_QUEUEING)
		     : !node->state && node->flags & STEP_QUEUEING;
}

void cause_sum_add_state(struct cause_sum *sum, const struct span_set *spans,
			 const struct account *account, uint8_t state)
{
	/* whether a node is below one of the state; -1: below a node of another state */
	_cleanup_(freep) int8_t *below = must_alloc(account->nodes.count);

	sum->accounts++;
	for (uint32_t i = 1; i < account->nodes.count; i++) {
		const struct node *node = &account->nodes.items[i];

		below[i] = below[node->parent];
		if (!below[i] && is_own(account, node, state)) {
			below[i] = 1;
			sum->total += node->time;
		} else if (!below[i] && (node->state || node->flags & STEP_QUEUEING)) {
			below[i] = -1;
		}
		if (below[i] > 0 && node->is_leaf)
			add_node(sum, spans, account, i, 1);
	}
}

static int longer_first(const void *a, const void *b)
{
	const struct cause_group *x = a, *y = b;

	if (x->is_pattern != y->is_pattern)
		return x->is_pattern ? -1 : 1;
	if (x->is_lost != y->is_lost)
		return x->is_lost ? 1 : -1;
	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	if (x->example.i != y->example.i)
		return x->example.i < y->example.i ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Keep the patterns that take much of the time, unless one leaf takes most of it. */
static void keep_patterns(struct cause_sum *sum)
{
	size_t kept = 0;
	nsec_t largest = 0;

	for (size_t i = 0; i < sum->groups.count; i++)
		if (!sum->groups.items[i].is_pattern && sum->groups.items[i].time > largest)
			largest = sum->groups.items[i].time;
	for (size_t i = 0; i < sum->groups.count; i++) {
		const struct cause_group *g = &sum->groups.items[i];

		if (!g->is_pattern || (g->time > sum->total / 5 * 2 && largest < sum->total / 2))
			sum->groups.items[kept++] = *g;
	}
	sum->groups.count = kept;
}

void cause_sum_finish(struct cause_sum *sum)
{
	keep_patterns(sum);
	if (sum->groups.count)
		qsort(sum->groups.items, sum->groups.count, sizeof(struct cause_group),
		      longer_first);
}
