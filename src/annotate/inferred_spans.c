/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/inferred_spans.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyse/requests/spans.h"
#include "annotate/recent_counts.h"
#include "base/budget.h"
#include "base/vec.h"
#include "report/export/otlp.h"

enum {
	RATE = 500,
	ANCESTORS = 64, /* of a request that are examined */
	MESSAGES = 64   /* of a thread between the arrival of a request and its read */
};

#define INTERVAL (500 * NSEC_PER_MSEC)
/* Requests around those that are exported, which the same spans can serve. */
#define MARGIN NSEC_PER_SEC

struct inferred_spans {
	struct inferred_spans_options options;
	struct inferred_spans_counters counters;
	struct budget budget;
	struct recent_counts *sdk; /* processes with an SDK -> 1 */
	nsec_t until;              /* requests that ended before are done; 0 at first */
};

/* One run. */
struct inferring {
	struct inferred_spans *x;
	const struct history_view *view;
	struct requests requests;
	struct span_set set;
	span_id *ids;     /* by request: its span, or that of the SDK that serves it */
	uint32_t *below;  /* by request: the nearest one at or below it that an SDK serves; or 0 */
	bool *is_skipped; /* by request: of the collector */
	bool *is_chosen;  /* by span */
	VEC(uint32_t) order; /* of the current tree, parents first */
	VEC(span_id) chosen; /* to export */
	size_t sent;         /* number of these that are exported */
};

/* Where in a trace a request belongs. */
struct trace_place {
	const uint8_t *trace, *parent;
};

struct inferred_spans *inferred_spans_new(const struct inferred_spans_options *options)
{
	struct inferred_spans *x = must_alloc(sizeof(*x));

	x->options = *options;
	x->budget.rate = options->rate ?: RATE;
	x->sdk = recent_counts_new();
	return x;
}

void inferred_spans_free(struct inferred_spans *x)
{
	if (!x)
		return;
	recent_counts_free(x->sdk);
	free(x);
}

struct inferred_spans_counters inferred_spans_counters(const struct inferred_spans *x)
{
	return x->counters;
}

static const struct request_span *request_at(const struct inferring *n, uint32_t i)
{
	return &n->requests.spans.items[i];
}

static bool is_recorded(const struct inferring *n, span_id id)
{
	return id.i && id.i < model_span_count(n->view->model);
}

/* Whether a span was exported by an SDK; not by a run before this one. */
static bool is_of_sdk(const struct inferring *n, span_id id)
{
	return is_recorded(n, id) && model_span(n->view->model, id)->source != SPAN_INFERRED;
}

static uint32_t *process_of(const struct inferring *n, thread_id id)
{
	const struct thread *thread = model_thread(n->view->model, id);
	uint32_t key[2] = { thread->host, thread->pid };

	return recent_counts_at(n->x->sdk, key, sizeof(key));
}

/* Processes with spans, as far as these have threads or serve requests. */
static void learn_processes(struct inferring *n)
{
	for (uint32_t i = 1; i < model_span_count(n->view->model); i++) {
		const struct span *span = model_span(n->view->model, (span_id){ i });

		if (span->thread.i && span->source != SPAN_INFERRED)
			*process_of(n, span->thread) = 1;
	}
	for (uint32_t i = 1; i < n->requests.spans.count; i++)
		if (is_of_sdk(n, n->ids[i]))
			*process_of(n, request_at(n, i)->thread) = 1;
}

/* The message by which a request was received; NULL if it is unknown. */
static const struct message *received_by(const struct inferring *n, const struct request_span *r)
{
	const struct thread *thread = model_thread(n->view->model, r->thread);
	const struct timeline *timeline = thread->timelines[TIMELINE_MESSAGES];
	timeline_pos pos;

	if (!timeline_from(timeline, r->read ?: r->start, &pos))
		return NULL;
	for (size_t i = 0; i < MESSAGES; i++) {
		const struct message *m = timeline_at(timeline, pos);

		if (m->time > r->end)
			break;
		if (m->object == r->socket && m->direction == MESSAGE_RECEIVE)
			return m;
		if (!timeline_next(timeline, &pos))
			break;
	}
	return NULL;
}

/* The span that the sender of a request worked for. */
static bool find_sender(const struct inferring *n, const struct request_span *r,
			struct trace_place *ret)
{
	const struct model *model = n->view->model;
	const struct message *m = received_by(n, r);
	struct context_stretch s;

	if (!m || !m->other.i || !model_context_from(model, m->other, m->other_time, &s) ||
	    s.context.start > m->other_time || !s.context.ref)
		return false;

	const struct span_ref *ref = model_span_ref(model, s.context.ref);

	*ret = (struct trace_place){ ref->trace, ref->id };
	return true;
}

/* The nearest span above a request that is exported, here or by an SDK. */
static bool find_above(const struct inferring *n, uint32_t index, struct trace_place *ret)
{
	span_id at = span_set_at(&n->set, n->ids[index])->parent;

	for (size_t i = 0; i < ANCESTORS && at.i; i++) {
		const struct span *span = span_set_at(&n->set, at);

		if (is_of_sdk(n, at) || n->is_chosen[at.i]) {
			*ret = (struct trace_place){ span->trace, span->id };
			return true;
		}
		at = span->parent;
	}
	return false;
}

/* The parent of the span of an SDK below a request, which came with the request. */
static bool find_below(const struct inferring *n, uint32_t index, struct trace_place *ret)
{
	static const uint8_t none[8];
	const struct span *span;

	if (!n->below[index])
		return false;
	span = model_span(n->view->model, n->ids[n->below[index]]);
	*ret = (struct trace_place){ span->trace, span->parent_id };
	return memcmp(span->parent_id, none, sizeof(none)) != 0;
}

static void choose(struct inferring *n, uint32_t index)
{
	struct span *span = span_set_edit(&n->set, n->ids[index]);
	struct trace_place place;

	if (!budget_take(&n->x->budget, n->view->until, 1)) {
		n->x->counters.shed++;
		return;
	}

	bool is_placed = find_sender(n, request_at(n, index), &place) ||
			 find_above(n, index, &place) || find_below(n, index, &place);

	if (is_placed) {
		memmove(span->trace, place.trace, sizeof(span->trace));
		memmove(span->parent_id, place.parent, sizeof(span->parent_id));
	} else {
		memcpy(span->trace, request_at(n, index)->trace, sizeof(span->trace));
		memset(span->parent_id, 0, sizeof(span->parent_id));
	}
	n->x->counters.placed += is_placed;
	n->is_chosen[n->ids[index].i] = true;
	*vec_push(&n->chosen) = n->ids[index];
}

static bool is_to_collector(const struct inferring *n, const struct request_span *r)
{
	const struct model *model = n->view->model;
	const struct socket *socket =
		model_socket(model, model_thread(model, r->thread)->host, r->socket);

	for (size_t i = 0; socket && i < INFERRED_SKIP_PORTS; i++)
		if (n->x->options.skip_ports[i] &&
		    n->x->options.skip_ports[i] == socket->address.local_port)
			return true;
	return false;
}

/* Parents come before their children: what the collector does for a request is skipped, too. */
static void choose_in_tree(struct inferring *n, uint32_t root)
{
	n->order.count = 0;
	for (uint32_t i = root; i; i = requests_next(&n->requests, root, i, NULL))
		*vec_push(&n->order) = i;
	for (size_t k = n->order.count; k-- > 0;) {
		uint32_t i = n->order.items[k], parent = request_at(n, i)->parent;

		if (is_of_sdk(n, n->ids[i]))
			n->below[i] = i;
		if (parent && n->below[i])
			n->below[parent] = n->below[i];
	}
	for (size_t k = 0; k < n->order.count; k++) {
		uint32_t i = n->order.items[k];
		const struct request_span *r = request_at(n, i);

		n->is_skipped[i] = (r->parent && n->is_skipped[r->parent]) || is_to_collector(n, r);
		if (!n->is_skipped[i] && r->kind == REQUEST_NETWORK && !r->no_reply &&
		    !is_recorded(n, n->ids[i]) && !*process_of(n, r->thread))
			choose(n, i);
	}
}

static const char *no_host(const void *arg, uint16_t host)
{
	(void)arg;
	(void)host;
	return "";
}

/* As struct otlp_export wants it: `spans` are those so far. */
static int send(void *arg, struct view request, size_t spans, struct err *err)
{
	struct inferring *n = arg;
	struct inferred_spans *x = n->x;

	(void)err;
	x->options.fn(x->options.arg, request, spans - n->sent);
	x->counters.exported += spans - n->sent;
	n->sent = spans;
	return 0;
}

static void export_chosen(struct inferring *n)
{
	struct otlp_export e = { .spans = &n->set,
				 .requests = &n->requests,
				 .host_name = no_host,
				 .realtime = n->view->realtime,
				 .only = n->chosen.items,
				 .only_count = n->chosen.count,
				 .send = send,
				 .send_arg = n };
	struct otlp_exported done;
	struct err err;

	if (n->chosen.count)
		export_otlp(&e, NULL, &done, &err);
}

static void run(struct inferring *n, nsec_t from, nsec_t to)
{
	bool keeps_all = true;
	size_t count = n->requests.spans.count + 1;
	_cleanup_(freep) span_id *ids = must_alloc(count * sizeof(*ids));
	_cleanup_(freep) uint32_t *below = must_alloc(count * sizeof(*below));
	_cleanup_(freep) bool *is_skipped = must_alloc(count);

	request_spans_join(&n->requests, &n->set, from > MARGIN ? from - MARGIN : 0, ids,
			   &keeps_all);
	if (!n->set.united.count)
		span_set_unite(&n->set);

	_cleanup_(freep) bool *is_chosen = must_alloc(span_set_count(&n->set) + 1);

	n->ids = ids;
	n->below = below;
	n->is_skipped = is_skipped;
	n->is_chosen = is_chosen;
	learn_processes(n);
	for (size_t i = 0; i < n->requests.roots.count; i++) {
		uint32_t root = n->requests.roots.items[i];

		if (request_at(n, root)->end >= from && request_at(n, root)->end < to)
			choose_in_tree(n, root);
	}
	export_chosen(n);
}

bool inferred_spans_is_due(const struct inferred_spans *x, nsec_t until)
{
	return until >= x->until + INTERVAL + INFERRED_SPANS_DELAY;
}

void inferred_spans_run(struct inferred_spans *x, const struct history_view *view)
{
	struct inferring n = { .x = x, .view = view, .set = { .model = view->model } };
	nsec_t from = x->until, to = view->until - INFERRED_SPANS_DELAY;

	x->until = to;
	if (!from)
		return;
	history_find(view->history, from > MARGIN ? from - MARGIN : 0, to + MARGIN, &n.requests);
	run(&n, from, to);
	requests_done(&n.requests);
	span_set_done(&n.set);
	vec_done(&n.order);
	vec_done(&n.chosen);
}
