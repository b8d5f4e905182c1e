/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/account.h"

#include <string.h>

#include "analyse/lost.h"
#include "analyse/thread_class.h"
#include "analyse/use.h"
#include "base/hash.h"
#include "base/map.h"

enum { MEMO = 64 }; /* a power of two */

/* Steps with the same key are one node. */
struct node_key {
	uint64_t object;
	uint32_t parent, span;
	uint64_t class;  /* thread_class(), except at the top */
	uint32_t thread; /* at the top; further down, the process */
	uint32_t other;
	int16_t syscall;
	uint16_t flags;
	uint8_t state, object_kind;
	bool is_leaf;  /* explained and unexplained waits are different nodes */
	bool is_other; /* its thread works for another inferred span */
};

struct account_builder {
	const struct model *model;
	const struct span_set *spans;
	const struct path *path;
	struct account *account;
	struct map index; /* hash of struct node_key -> node */
	/* the last keys: the steps of a thread that serves many requests have few */
	struct node_key memo_keys[MEMO];
	uint32_t memo_nodes[MEMO];
	VEC(uint32_t) of_step; /* node of each step */
	struct map shares;     /* hash of node and share -> index in share_of + 1 */
	VEC(struct node_share) share_of;
	struct use_sharing sharing;
	struct map held;    /* node of a lock and thread -> ns for which the thread held it */
	struct map kinds;   /* names of a span -> first span on the path with these names */
	struct map counted; /* spans that a node has counted */
	bool is_brief;      /* without shares and resources */
};

struct node_share {
	uint32_t node;
	struct share share;
};

void account_done(struct account *account)
{
	vec_done(&account->nodes);
	vec_done(&account->shares);
	vec_done(&account->probe_events);
}

static uint32_t node_find(struct account_builder *b, const struct node_key *key, thread_id thread)
{
	uint64_t *at = map_insert(&b->index, hash_bytes(key, sizeof(*key)));

	if (!*at) {
		*at = b->account->nodes.count;
		*vec_push(&b->account->nodes) = (struct node){
			.parent = key->parent,
			.span = { key->span },
			.other = key->other,
			.thread = thread,
			.state = key->state,
			.flags = key->flags,
			.is_leaf = true,
		};
		b->account->nodes.items[key->parent].is_leaf = false;
	}
	return *at;
}

static uint32_t node_get(struct account_builder *b, const struct node_key *key, thread_id thread)
{
	uint32_t slot = (key->object + key->parent + 3 * key->span + 5 * key->state) % MEMO;

	if (!b->memo_nodes[slot] || memcmp(&b->memo_keys[slot], key, sizeof(*key)) != 0) {
		b->memo_nodes[slot] = node_find(b, key, thread);
		b->memo_keys[slot] = *key;
	}
	return b->memo_nodes[slot];
}

const struct cause *account_step_cause(const struct model *model, const struct step *step)
{
	if (!state_is_blocked(step->state) || step->flags & STEP_DERIVED & ~STEP_HELD_BEFORE)
		return NULL;
	return model_cause(model, step->thread, &(struct interval){ .start = step->decider });
}

/*
 * Spans of one service and operation are one node: 153 queries one after another.  Returns the
 * first of them on the path.  The explained span is never one of several.
 */
static span_id first_equal(struct account_builder *b, span_id id)
{
	const struct span *span = span_set_at(b->spans, id);

	if (!id.i || id.i == b->account->span.i)
		return id;

	uint64_t names = (uint64_t)span->service.i << 32 | span->operation.i;
	uint64_t *first = map_insert(&b->kinds, names);

	if (!*first)
		*first = id.i;
	return (span_id){ *first };
}

/* A span counts once, however many parts of the path it has. */
static void count_span(struct account_builder *b, uint32_t node, span_id span)
{
	uint64_t *counted = map_insert(&b->counted, span.i);

	b->account->nodes.items[node].span_count += !*counted;
	*counted = 1;
}

/* Whether a step delays the read of its request. */
static bool is_unread(const struct account_builder *b, const struct step *step)
{
	return step->flags & STEP_QUEUEING && step->start < span_set_at(b->spans, step->span)->read;
}

/*
 * The parent of steps at the top.  If there are several spans, or only the span is known, each
 * span has a node; if the request was queued, there is a node for that below; if the thread works
 * for another span with contexts, there is a node for that below.
 */
static uint32_t top_node(struct account_builder *b, const struct step *step)
{
	struct node_key key;

	memset(&key, 0, sizeof(key));
	key.span = first_equal(b, step->span).i;
	if (step->span.i &&
	    (span_set_at(b->spans, b->account->span)->first_child.i || !step->thread.i)) {
		key.parent = node_get(b, &key, (thread_id){ 0 });
		count_span(b, key.parent, step->span);
	}
	if (is_unread(b, step)) {
		key.flags = STEP_QUEUEING;
		key.parent = node_get(b, &key, (thread_id){ 0 });
		key.flags = 0;
	}
	key.other = step->other;
	return step->other ? node_get(b, &key, (thread_id){ 0 }) : key.parent;
}

/* The number of an object; a futex can be two words (model/futex.h). */
static uint64_t object_number(const struct cause *cause)
{
	return cause->object_kind == OBJECT_FUTEX ? cause->object & ~7ull : cause->object;
}

/* Whether a step waits for the same lock as the wait that it explains. */
static bool is_queued(const struct account_builder *b, const struct step *step,
		      const struct cause *cause)
{
	if (!step->parent || step->is_leaf || step->state != STATE_LOCK || !cause)
		return false;

	const struct node *above = &b->account->nodes.items[b->of_step.items[step->parent - 1]];

	return above->state == STATE_LOCK && above->cause &&
	       object_number(above->cause) == object_number(cause) &&
	       model_thread(b->model, above->thread)->pid ==
		       model_thread(b->model, step->thread)->pid;
}

static uint32_t node_of_step(struct account_builder *b, const struct step *step,
			     const struct cause *cause)
{
	struct node_key key;

	if (!step->parent && !step->thread.i)
		return top_node(b, step); /* only the span is known */
	memset(&key, 0, sizeof(key));
	key.parent = step->parent ? b->of_step.items[step->parent - 1] : top_node(b, step);
	key.span = first_equal(b, step->span).i;
	if (step->parent || step->span.i != b->account->span.i) {
		key.thread = model_thread(b->model, step->thread)->pid;
		key.class = thread_class(b->model, step->thread);
	} else {
		key.thread = step->thread.i;
	}
	key.state = step->state;
	key.flags = step->flags;
	key.is_leaf = step->is_leaf;
	key.is_other = step->other_span.i;
	key.object = step->socket;
	if (cause) {
		key.syscall = cause->syscall;
		key.object_kind = cause->object_kind;
		key.object = object_number(cause);
	}
	return node_get(b, &key, step->thread);
}

static void add_share(void *arg, uint32_t node, const struct share *share)
{
	struct account_builder *b = arg;
	uint64_t key[2] = { (uint64_t)share->thread.i << 32 | node,
			    (uint64_t)share->pid << 32 | share->name.i };
	uint64_t *at = map_insert(&b->shares, hash_bytes(key, sizeof(key)));

	if (!*at) {
		*vec_push(&b->share_of) = (struct node_share){ node, *share };
		*at = b->share_of.count;
	} else {
		b->share_of.items[*at - 1].share.time += share->time;
	}
}

/*
 * The thread that releases a lock may have got it only a moment ago, after it waited in the
 * same queue.  So the holder is the thread directly below the wait that had the lock
 * for most of the time.
 */
static void add_holder(struct account_builder *b, const struct step *step, nsec_t time)
{
	uint32_t at = step->parent ? b->of_step.items[step->parent - 1] : 0;
	struct node *node = &b->account->nodes.items[at];

	if (node->state != STATE_LOCK || step->flags & STEP_DERIVED)
		return;

	uint64_t *held = map_insert(&b->held, (uint64_t)at << 32 | step->thread.i);

	*held += time;
	if (*held > node->held) {
		node->held = *held;
		node->holder = step->thread;
	}
}

/* Adds what a step used to the account; returns its time in interrupts. */
static nsec_t add_use(struct account_builder *b, const struct step *step)
{
	struct resources others = { 0 };
	probe_event_counts other_events = { 0 };
	bool is_read = step->start >= span_set_at(b->spans, step->span)->read;
	nsec_t irq = use_add(is_read ? &b->account->used : &others,
			     is_read ? &b->account->probe_events : &other_events, b->model, step);

	vec_done(&other_events);
	return irq;
}

/* A thread works for one span after the other, so a change is another span. */
static void add_other(struct node *node, const struct step *step)
{
	if (!step->other_span.i || step->other_span.i == node->last_other.i)
		return;
	node->last_other = step->other_span;
	node->others++;
}

static void add_step(struct account_builder *b, const struct step *step)
{
	const struct cause *cause = account_step_cause(b->model, step);
	bool queued = is_queued(b, step, cause);
	uint32_t at = queued ? b->of_step.items[step->parent - 1] : node_of_step(b, step, cause);
	struct node *node = &b->account->nodes.items[at];
	nsec_t time = step->end - step->start;

	*vec_push(&b->of_step) = at;
	if (queued)
		return;
	add_holder(b, step, time);
	node->time += time;
	node->count++;
	node->several |= node->thread.i != step->thread.i;
	add_other(node, step);
	if (time >= node->longest.end - node->longest.start) {
		node->longest = *step;
		node->cause = cause;
		node->thread = step->thread;
	}
	for (uint32_t up = step->parent ? 0 : node->parent; up;
	     up = b->account->nodes.items[up].parent)
		b->account->nodes.items[up].time += time; /* nodes of spans */
	if (step->is_leaf && step->state != STATE_UNKNOWN && step->state != STATE_GAP)
		b->account->typed += time;
	if (b->is_brief)
		return;
	node->irq += add_use(b, step);
	use_shares(&b->sharing, step, cause, at);
}

/* Scales the number of samples of each function to the running time of the node. */
static void scale_functions(struct account *account, const struct node *node)
{
	struct share *shares = account->shares.items;
	nsec_t total = 0;

	if (!node->share_count)
		return;
	shares += node->shares;
	for (uint32_t i = 0; i < node->share_count; i++)
		total += shares[i].time;
	for (uint32_t i = 0; i < node->share_count; i++)
		shares[i].time = (double)shares[i].time * node->time / total;
}

static int by_node_and_time(const void *a, const void *b)
{
	const struct node_share *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->share.time != y->share.time)
		return x->share.time > y->share.time ? -1 : 1;
	return x->share.name.i < y->share.name.i ? -1 : x->share.name.i > y->share.name.i;
}

static void group_shares(struct account_builder *b)
{
	struct account *account = b->account;

	if (b->share_of.count)
		qsort(b->share_of.items, b->share_of.count, sizeof(struct node_share),
		      by_node_and_time);
	for (size_t i = 0; i < b->share_of.count; i++) {
		struct node *node = &account->nodes.items[b->share_of.items[i].node];

		if (!node->share_count++)
			node->shares = account->shares.count;
		*vec_push(&account->shares) = b->share_of.items[i].share;
	}
	for (size_t i = 0; i < account->nodes.count; i++)
		if (account->nodes.items[i].state == STATE_RUNNING)
			scale_functions(account, &account->nodes.items[i]);
}

/*
 * While the thread of a span is unknown, the span's node itself has the time.  Beside steps of a
 * known thread, that time needs a leaf of its own, or the leaves would not add up.
 */
static void add_unknown_leaves(struct account *account)
{
	size_t count = account->nodes.count;
	_cleanup_(freep) nsec_t *below = must_alloc(count * sizeof(*below));

	for (uint32_t i = 1; i < count; i++)
		below[account->nodes.items[i].parent] += account->nodes.items[i].time;
	for (uint32_t i = 1; i < count; i++) {
		const struct node *node = &account->nodes.items[i];
		struct node leaf = { .time = node->time - below[i],
				     .count = 1,
				     .parent = i,
				     .span = node->span,
				     .state = STATE_GAP,
				     .is_leaf = true,
				     .longest = { .span = node->span, .state = STATE_GAP } };

		if (!node->state && !node->is_leaf && leaf.time)
			*vec_push(&account->nodes) = leaf;
	}
}

struct ranked_node {
	nsec_t time;
	uint32_t node;
};

static int smaller_first(const void *a, const void *b)
{
	const struct ranked_node *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->node > y->node ? -1 : x->node < y->node;
}

/* Links each node below its parent, largest first. */
static void link_nodes(struct account *account)
{
	size_t count = account->nodes.count;
	_cleanup_(freep) struct ranked_node *order = must_alloc(count * sizeof(*order));

	for (uint32_t i = 1; i < count; i++)
		order[i - 1] = (struct ranked_node){ account->nodes.items[i].time, i };
	qsort(order, count - 1, sizeof(*order), smaller_first);
	for (size_t i = 0; i + 1 < count; i++) {
		struct node *node = &account->nodes.items[order[i].node];
		struct node *parent = &account->nodes.items[node->parent];

		node->next = parent->child; /* the smallest is added first and ends up last */
		parent->child = order[i].node;
	}
}

static void account_build(const struct span_set *spans, const struct path *path, bool is_brief,
			  struct account *ret)
{
	const struct model *model = spans->model;
	struct account_builder b = {
		.model = model, .spans = spans, .path = path, .account = ret, .is_brief = is_brief
	};

	b.sharing = (struct use_sharing){
		.model = model, .start = ret->start, .end = ret->end, .fn = add_share, .arg = &b
	};
	*vec_push(&ret->nodes) = (struct node){ .time = ret->end - ret->start,
						.thread = ret->thread,
						.span = ret->span,
						.is_leaf = true };
	for (size_t i = 0; i < path->steps.count; i++)
		add_step(&b, &path->steps.items[i]);
	add_unknown_leaves(ret);
	group_shares(&b);
	link_nodes(ret);
	ret->lost = lost_of_path(spans, path, ret->start, ret->end);
	use_sharing_done(&b.sharing);
	map_done(&b.index);
	map_done(&b.shares);
	map_done(&b.held);
	map_done(&b.kinds);
	map_done(&b.counted);
	vec_done(&b.of_step);
	vec_done(&b.share_of);
}

void account_of_thread(const struct model *model, thread_id thread, nsec_t from, nsec_t to,
		       struct account *ret)
{
	struct path path = { 0 };

	*ret = (struct account){ .start = from, .end = to, .thread = thread };
	path_of_thread(model, thread, from, to, &path);
	account_build(&(struct span_set){ .model = model }, &path, false, ret);
	path_done(&path);
}

static void of_span(const struct span_set *spans, span_id span, bool is_brief, struct account *ret)
{
	struct path path = { 0 };
	const struct span *s = span_set_at(spans, span);

	*ret = (struct account){ .start = span_arrival(s), .end = s->end, .span = span };
	path_of_span(spans, span, &path);
	ret->steps = path.steps.count;
	account_build(spans, &path, is_brief, ret);
	path_done(&path);
}

void account_of_span(const struct span_set *spans, span_id span, struct account *ret)
{
	of_span(spans, span, false, ret);
}

void account_of_span_brief(const struct span_set *spans, span_id span, struct account *ret)
{
	of_span(spans, span, true, ret);
}
