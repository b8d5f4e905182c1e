/* SPDX-License-Identifier: Apache-2.0 */
/* Which traces are complete, and the keys of their spans. */
#include "analyse/observation.h"

#include <xxhash.h>

#include "analyse/lost.h"
#include "analyse/own_states.h"
#include "analyse/workflow.h"
#include "base/hash.h"

/* When kernel records of a host were made. */
struct host_time {
	nsec_t begin, end;
};

struct observer {
	const struct span_set *spans; /* borrowed */
	struct own_states own;
	struct workflow flow;
	struct map host_index; /* host -> index + 1 */
	VEC(struct host_time) hosts;
	VEC(bool) has_thread; /* by node of the workflow */
	struct map names;     /* service and operation -> numbers of parents, see count_parents() */
	struct map orphaned;  /* hash of a trace id -> TRACE_... */
	struct observation now; /* reused */
	observation_fn *fn;
	void *arg;
};

enum { TRACE_ORPHANED = 1, TRACE_COUNTED = 2 };

static void observer_done(struct observer *o)
{
	own_states_done(&o->own);
	workflow_done(&o->flow);
	map_done(&o->host_index);
	map_done(&o->names);
	map_done(&o->orphaned);
	vec_done(&o->hosts);
	vec_done(&o->has_thread);
	vec_done(&o->now.intervals);
	vec_done(&o->now.runs);
	vec_done(&o->now.traits);
}

static void find_hosts(struct observer *o)
{
	const struct model *model = o->spans->model;
	nsec_t window = model_window_begin(model);

	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct thread *thread = model_thread(model, (thread_id){ i });
		uint64_t *at = map_insert(&o->host_index, thread->host);
		struct host_time *host;

		if (!*at) {
			*vec_push(&o->hosts) = (struct host_time){ thread->begin, thread->end };
			*at = o->hosts.count;
		}
		host = &o->hosts.items[*at - 1];
		host->begin = thread->begin < host->begin ? thread->begin : host->begin;
		host->end = thread->end > host->end ? thread->end : host->end;
	}
	for (size_t i = 0; i < o->hosts.count; i++)
		if (o->hosts.items[i].begin < window)
			o->hosts.items[i].begin = window;
}

static bool has_missing_parent(const struct span *span)
{
	static const uint8_t none[sizeof(span->parent_id)];

	return !span->parent.i && memcmp(span->parent_id, none, sizeof(none)) != 0;
}

static uint64_t name_key(const struct span *span)
{
	return (uint64_t)span->service.i << 32 | span->operation.i;
}

static uint64_t trace_key(const struct span *span)
{
	return hash_bytes(span->trace, sizeof(span->trace));
}

/* Counts missing parents in the lower half of a value, and others in the upper half. */
static void count_parents(struct observer *o)
{
	for (uint32_t i = 1; i < span_set_count(o->spans); i++) {
		const struct span *span = span_set_at(o->spans, (span_id){ i });

		*map_insert(&o->names, name_key(span)) +=
			has_missing_parent(span) ? 1 : (uint64_t)1 << 32;
	}
}

static void find_orphaned(struct observer *o)
{
	count_parents(o);
	for (uint32_t i = 1; i < span_set_count(o->spans); i++) {
		const struct span *span = span_set_at(o->spans, (span_id){ i });
		uint64_t counts;

		if (!has_missing_parent(span))
			continue;
		counts = *map_insert(&o->names, name_key(span));
		if ((uint32_t)counts <= counts >> 32)
			*map_insert(&o->orphaned, trace_key(span)) = TRACE_ORPHANED;
	}
}

/* Whether a rebuilt root is work of a thread that no request explains, and so not a trace. */
static bool is_background(const struct span *root)
{
	return root->source == SPAN_INFERRED && root->flags & SPAN_OPEN &&
	       root->kind != SPAN_SERVER;
}

/*
 * Whether a span is unfinished, or not entirely within the recording of its host.  An inferred span
 * below the root need not have a reply.
 */
static bool is_cut(const struct observer *o, const struct span *span)
{
	bool is_known = span->thread.i || span->has_host_clock;
	const uint64_t *at = is_known ? map_find(&o->host_index, span->host) : NULL;
	const struct host_time *host = at ? &o->hosts.items[*at - 1] : NULL;

	if (span->flags & SPAN_OPEN && (span->source != SPAN_INFERRED || !span->parent.i))
		return true;
	return host && (span_arrival(span) < host->begin || span->end > host->end);
}

static bool trace_is_cut(const struct observer *o)
{
	for (size_t i = 0; i < o->flow.nodes.count; i++)
		if (is_cut(o, span_set_at(o->spans, o->flow.nodes.items[i].span)))
			return true;
	return false;
}

/* A span without a thread has that of its parent, if both are of one service. */
static void find_threads(struct observer *o)
{
	const struct workflow_node *nodes = o->flow.nodes.items;

	o->has_thread.count = 0;
	for (size_t i = 0; i < o->flow.nodes.count; i++)
		*vec_push(&o->has_thread) = false;
	for (size_t i = 0; i < o->flow.nodes.count; i++) {
		const struct span *span = span_set_at(o->spans, nodes[i].span);

		o->has_thread.items[i] |= model_thread_is_followed(o->spans->model, span->thread);
		for (size_t k = nodes[i].first; k < (size_t)nodes[i].first + nodes[i].count; k++)
			o->has_thread.items[k] =
				o->has_thread.items[i] &&
				span_set_at(o->spans, nodes[k].span)->service.i == span->service.i;
	}
}

static void set_keys(struct observer *o, const struct workflow_node *node)
{
	const struct workflow_node *root = &o->flow.nodes.items[0];
	const struct span *span = span_set_at(o->spans, node->span);
	struct observation *now = &o->now;
	uint8_t ids[sizeof(span->trace) + sizeof(span->id)];

	memcpy(ids, span->trace, sizeof(span->trace));
	memcpy(ids + sizeof(span->trace), span->id, sizeof(span->id));
	now->identity = XXH3_64bits(ids, sizeof(ids));
	memcpy(now->trace, span->trace, sizeof(now->trace));
	memcpy(now->id, span->id, sizeof(now->id));
	now->type = root->subtree;
	now->folded = root->folded;
	now->position = node->position;
	now->subtree = node->subtree;
	now->name = node->name;
	now->span = node->span;
	now->root = root->span;
	now->service = span->service;
	now->operation = span->operation;
	now->depth = node->depth;
}

static void report_span(struct observer *o, size_t index)
{
	const struct workflow_node *node = &o->flow.nodes.items[index];
	const struct span *span = span_set_at(o->spans, node->span);
	struct observation *now = &o->now;
	nsec_t start = span_arrival(span), end = span->end > start ? span->end : start;

	set_keys(o, node);
	now->start = start;
	now->duration = end - start;
	now->queueing = span->read > start ? (span->read < end ? span->read : end) - start : 0;
	now->is_lost = lost_of_span(o->spans->model, span).losses > 0;
	own_states_find(&o->own, o->has_thread.items[index], now);
	span_traits_find(o->spans, node->span, &o->own.footprint, &now->traits);
	o->fn(o->arg, now);
}

static void report_trace(struct observer *o)
{
	find_threads(o);
	for (size_t i = 0; i < o->flow.order.count; i++)
		report_span(o, o->flow.order.items[i]);
	own_states_forget_trace(&o->own);
}

/* Whether the trace of a root is orphaned; counts it once. */
static bool is_orphaned(struct observer *o, const struct span *root,
			struct observation_counts *counts)
{
	uint64_t *mark = map_find(&o->orphaned, trace_key(root));

	if (mark && *mark == TRACE_ORPHANED) {
		*mark = TRACE_COUNTED;
		counts->orphaned++;
	}
	return mark;
}

void observations_find(const struct span_set *spans, observation_fn *fn, void *arg,
		       struct observation_counts *ret)
{
	_cleanup_(observer_done) struct observer o = {
		.spans = spans, .own = { .spans = spans }, .fn = fn, .arg = arg
	};
	struct observation_counts counts = { 0 };

	find_hosts(&o);
	find_orphaned(&o);
	for (uint32_t i = 1; i < span_set_count(spans); i++) {
		const struct span *span = span_set_at(spans, (span_id){ i });

		if (span->parent.i || is_background(span) || is_orphaned(&o, span, &counts))
			continue;
		workflow_find(&o.flow, spans, (span_id){ i });
		if (trace_is_cut(&o)) {
			counts.cut++;
			continue;
		}
		counts.traces++;
		report_trace(&o);
	}
	*ret = counts;
}

struct observer *observer_new(const struct span_set *spans)
{
	struct observer *o = must_alloc(sizeof(*o));

	o->spans = o->own.spans = spans;
	o->own.skips_bytes = true;
	find_hosts(o);
	return o;
}

void observer_free(struct observer *o)
{
	if (!o)
		return;
	observer_done(o);
	free(o);
}

static bool has_at_most(const struct span_set *spans, span_id top, size_t count)
{
	for (span_id at = top; at.i; at = span_set_next(spans, top, at))
		if (!count--)
			return false;
	return true;
}

/* The workflow of a tree; false if the tree cannot be observed. */
static bool find_tree(struct observer *o, span_id top, size_t spans_max)
{
	if (!has_at_most(o->spans, top, spans_max) || is_background(span_set_at(o->spans, top)))
		return false;
	workflow_find(&o->flow, o->spans, top);
	return !trace_is_cut(o);
}

bool observer_tree(struct observer *o, span_id top, size_t spans_max, observation_fn *fn, void *arg)
{
	if (!find_tree(o, top, spans_max))
		return false;
	o->fn = fn;
	o->arg = arg;
	report_trace(o);
	return true;
}

bool observer_span(struct observer *o, span_id top, size_t spans_max, observation_fn *fn, void *arg)
{
	if (!find_tree(o, top, spans_max))
		return false;
	o->fn = fn;
	o->arg = arg;
	find_threads(o);
	report_span(o, 0);
	own_states_forget_trace(&o->own);
	return true;
}
