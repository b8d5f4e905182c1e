/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/slow_roots.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/requests/spans.h"
#include "annotate/critical_path.h"
#include "base/clock.h"
#include "base/vec.h"

enum {
	PENDING_MAX = 1000,
	BYTES_MAX = 8 << 20, /* of the resources of pending roots */
	PAUSE = 10           /* after a run, in times of its CPU time */
};

#define PAUSE_MIN (250 * NSEC_PER_MSEC)
/* How long one run can take: meanwhile, the stream of the recorder waits. */
#define RUN_MAX (20 * NSEC_PER_MSEC)
/* Requests that overlap a trace can begin and end so much earlier and later. */
#define MARGIN NSEC_PER_SEC

struct slow_root {
	struct root_key {
		uint8_t trace[16], id[8];
	} key;
	nsec_t start, end; /* CLOCK_REALTIME */
	struct otlp_writer late;
	size_t bytes;
};

struct slow_roots {
	struct slow_roots_options options;
	struct slow_roots_counters counters;
	VEC(struct slow_root) pending;
	size_t bytes;
	nsec_t next_run;
};

struct slow_roots *slow_roots_new(const struct slow_roots_options *options)
{
	struct slow_roots *r = must_alloc(sizeof(*r));

	r->options = *options;
	r->options.pending_max = options->pending_max ?: PENDING_MAX;
	return r;
}

void slow_roots_free(struct slow_roots *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->pending.count; i++)
		otlp_writer_done(&r->pending.items[i].late);
	vec_done(&r->pending);
	free(r);
}

struct slow_roots_counters slow_roots_counters(const struct slow_roots *r)
{
	return r->counters;
}

bool slow_roots_accepts(const struct otlp_span *span)
{
	return !span->parent_span_id.len || span->kind == OTLP_KIND_SERVER ||
	       span->kind == OTLP_KIND_CONSUMER;
}

void slow_roots_add(struct slow_roots *r, const struct otlp_span *span, struct otlp_writer *late)
{
	struct slow_root root = {
		.start = span->start, .end = span->end, .late = *late, .bytes = late->out.size
	};

	*late = (struct otlp_writer){ 0 };
	if (r->pending.count >= r->options.pending_max || r->bytes + root.bytes > BYTES_MAX) {
		r->counters.too_many++;
		otlp_writer_done(&root.late);
		return;
	}
	memcpy(root.key.trace, span->trace_id.s, sizeof(root.key.trace));
	memcpy(root.key.id, span->span_id.s, sizeof(root.key.id));
	r->bytes += root.bytes;
	*vec_push(&r->pending) = root;
}

static bool is_due(const struct slow_root *root, nsec_t until, int64_t realtime)
{
	return until >= root->end - (uint64_t)realtime + SLOW_ROOT_DELAY;
}

bool slow_roots_is_due(const struct slow_roots *r, nsec_t until, int64_t realtime)
{
	if (clock_now() < r->next_run)
		return false;
	for (size_t i = 0; i < r->pending.count; i++)
		if (is_due(&r->pending.items[i], until, realtime))
			return true;
	return false;
}

/* The span of a root; none if it is none, or has left the window. */
static span_id find_root(const struct span_set *recorded, const struct slow_root *root)
{
	span_id id = span_set_find(recorded, root->key.trace, root->key.id);

	return id.i && !span_set_at(recorded, id)->parent.i ? id : (span_id){ 0 };
}

/* Whether a trace has spans of a service that was not started by `sonde run`. */
static bool needs_join(const struct span_set *recorded, span_id root)
{
	for (span_id at = root; at.i; at = span_set_next(recorded, root, at))
		if (!span_set_at(recorded, at)->thread.i)
			return true;
	return false;
}

static void send_path(struct slow_roots *r, const struct span_set *spans, span_id id,
		      struct slow_root *root, const struct history_view *view)
{
	uint32_t used =
		*recent_counts_at(r->options.counts, root->key.trace, sizeof(root->key.trace));
	size_t count = critical_path_put(
		spans, id,
		&(struct critical_path_options){
			.realtime = view->realtime,
			.start = root->start,
			.end = root->end,
			/* the first tells enough in any case */
			.spans_max =
				used < r->options.spans_max ? r->options.spans_max - used + 1 : 1 },
		&root->late);

	if (!count)
		return;
	*recent_counts_at(r->options.counts, &root->key, sizeof(root->key)) = 1;
	*recent_counts_at(r->options.counts, root->key.trace, sizeof(root->key.trace)) += count;
	r->counters.paths++;
	r->options.fn(r->options.arg, otlp_end(&root->late), count);
}

/* Recorded spans, and those that are joined with requests, which is done if a trace needs it. */
struct root_spans {
	struct span_set recorded, joined;
	bool has_joined;
};

static void join(struct root_spans *s, const struct slow_roots *r, const struct history_view *view)
{
	_cleanup_(requests_done) struct requests requests;
	nsec_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < r->pending.count; i++) {
		const struct slow_root *root = &r->pending.items[i];

		if (!is_due(root, view->until, view->realtime))
			continue;
		from = root->start < from ? root->start : from;
		to = root->end > to ? root->end : to;
	}
	from -= (uint64_t)view->realtime;
	from = from > MARGIN ? from - MARGIN : 0;
	history_find(view->history, from, to - (uint64_t)view->realtime + MARGIN, &requests);
	request_spans_join(&requests, &s->joined, from, NULL, NULL);
	s->has_joined = true;
}

static void try_one(struct slow_roots *r, struct root_spans *s, struct slow_root *root,
		    const struct history_view *view)
{
	span_id id = find_root(&s->recorded, root);

	if (!id.i || *recent_counts_at(r->options.counts, &root->key, sizeof(root->key)))
		return;

	bool is_joined = needs_join(&s->recorded, id);

	if (is_joined && !s->has_joined)
		join(s, r, view);
	send_path(r, is_joined ? &s->joined : &s->recorded, id, root, view);
}

static void run(struct slow_roots *r, const struct history_view *view)
{
	struct root_spans s = { { .model = view->model }, { .model = view->model }, false };
	nsec_t stop = clock_now() + RUN_MAX;
	size_t kept = 0;

	for (size_t i = 0; i < r->pending.count; i++) {
		struct slow_root root = r->pending.items[i];

		if (!is_due(&root, view->until, view->realtime) || clock_now() > stop) {
			r->pending.items[kept++] = root;
			continue;
		}
		try_one(r, &s, &root, view);
		r->bytes -= root.bytes;
		otlp_writer_done(&root.late);
	}
	r->pending.count = kept;
	span_set_done(&s.recorded);
	span_set_done(&s.joined);
}

void slow_roots_run(struct slow_roots *r, const struct history_view *view)
{
	nsec_t cpu = clock_cpu_time();

	run(r, view);
	cpu = PAUSE * (clock_cpu_time() - cpu);
	r->next_run = clock_now() + (cpu > PAUSE_MIN ? cpu : PAUSE_MIN);
}
