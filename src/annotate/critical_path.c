/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/critical_path.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/account.h"
#include "analyse/causes.h"
#include "analyse/requests/sum.h"
#include "annotate/child_id.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/sort.h"
#include "report/explain.h"
#include "report/export/otlp_put.h"
#include "report/phrase.h"

enum {
	NAME_MAX_SIZE = 200, /* of a service in the name of an attribute */
	LEAST_SHARE = 1000   /* of the path: one in so many; less is left out */
};

struct path_service {
	const char *name; /* borrowed */
	nsec_t time;
};

/* Steps of one service, one after another. */
struct path_stretch {
	nsec_t start, end;
	uint32_t service;    /* index in services before these are sorted */
	struct step longest; /* leaf */
};

struct path_sum {
	const struct span_set *spans;
	struct map pids;  /* host and pid -> service of the trace that runs in it: string + 1 */
	struct map index; /* hash of a name -> index in services + 1 */
	VEC(struct path_service) services;
	VEC(struct path_stretch) stretches;
	nsec_t total;
	bool is_recorded; /* something is known of a thread */
};

static void path_sum_done(struct path_sum *sum)
{
	map_done(&sum->pids);
	map_done(&sum->index);
	vec_done(&sum->services);
	vec_done(&sum->stretches);
}

static uint64_t process_key(uint16_t host, uint32_t pid)
{
	return (uint64_t)host << 32 | pid;
}

/* The process of a span; 0 if it is unknown. */
static uint64_t process_of(const struct span_set *spans, const struct span *span)
{
	const struct thread *thread = model_thread(spans->model, span->thread);

	if (span->thread.i)
		return process_key(thread->host, thread->pid);
	return span->pid ? process_key(span->host, span->pid) : 0;
}

static void find_processes(struct path_sum *sum, span_id root)
{
	for (span_id at = root; at.i; at = span_set_next(sum->spans, root, at)) {
		const struct span *span = span_set_at(sum->spans, at);
		uint64_t process = process_of(sum->spans, span);

		if (process && span->source != SPAN_INFERRED)
			*map_insert(&sum->pids, process) = (uint64_t)span->service.i + 1;
	}
}

static const char *service_of(const struct path_sum *sum, const struct step *step)
{
	const struct span *span = span_set_at(sum->spans, step->span);
	const struct thread *thread = model_thread(sum->spans->model, step->thread);
	uint64_t process = step->thread.i ? process_key(thread->host, thread->pid) : 0;
	const uint64_t *known;

	if (!process || (span->source != SPAN_INFERRED && process == process_of(sum->spans, span)))
		return span_set_string(sum->spans, span->service);
	known = map_find(&sum->pids, process);
	return known ? span_set_string(sum->spans, (str_id){ *known - 1 })
		     : request_service(sum->spans->model, step->thread);
}

static uint32_t service_number(struct path_sum *sum, const char *name)
{
	uint64_t *at = map_insert(&sum->index, hash_bytes(name, strlen(name)));

	if (!*at) {
		*vec_push(&sum->services) = (struct path_service){ .name = name };
		*at = sum->services.count;
	}
	return *at - 1;
}

static void add_leaf(struct path_sum *sum, const struct step *step)
{
	uint32_t service = service_number(sum, service_of(sum, step));
	struct path_stretch *last =
		sum->stretches.count ? &sum->stretches.items[sum->stretches.count - 1] : NULL;
	nsec_t time = step->end - step->start;

	sum->services.items[service].time += time;
	sum->total += time;
	sum->is_recorded |= step->thread.i && step->state != STATE_GAP;
	if (!last || last->service != service) {
		*vec_push(&sum->stretches) =
			(struct path_stretch){ step->start, step->end, service, *step };
		return;
	}
	last->end = step->end;
	if (time > last->longest.end - last->longest.start)
		last->longest = *step;
}

static bool has_more_time(const struct path_service *a, const struct path_service *b)
{
	return a->time != b->time ? a->time > b->time : strcmp(a->name, b->name) < 0;
}

static bool is_longer(const struct path_stretch *a, const struct path_stretch *b)
{
	nsec_t x = a->end - a->start, y = b->end - b->start;

	return x != y ? x > y : a->start < b->start;
}

static void find_path(struct path_sum *sum, span_id root)
{
	_cleanup_(path_done) struct path path = { 0 };

	find_processes(sum, root);
	path_of_span(sum->spans, root, &path);
	for (size_t i = 0; i < path.steps.count; i++)
		if (path.steps.items[i].is_leaf)
			add_leaf(sum, &path.steps.items[i]);
	sort_items(sum->services.items, sum->services.count, has_more_time);
	sort_items(sum->stretches.items, sum->stretches.count, is_longer);
}

/* Services with a share that counts, after these were sorted. */
static size_t count_services(const struct path_sum *sum)
{
	size_t count = 0;

	while (count < sum->services.count && count < CRITICAL_PATH_SERVICES &&
	       sum->services.items[count].time >= sum->total / LEAST_SHARE)
		count++;
	return count;
}

static void put_services(const struct path_sum *sum, size_t count, struct otlp_put *put)
{
	for (size_t i = 0; i < count; i++) {
		const struct path_service *s = &sum->services.items[i];
		_cleanup_(freep) char *time =
			must_printf("sonde.path.time.%.*s", NAME_MAX_SIZE, s->name);
		_cleanup_(freep) char *share =
			must_printf("sonde.path.share.%.*s", NAME_MAX_SIZE, s->name);

		otlp_put_int(put, time, s->time);
		otlp_put_real(put, share, (double)s->time / sum->total);
	}
	if (sum->services.count > count)
		otlp_put_int(put, "sonde.path.services_omitted", sum->services.count - count);
}

/* Where a step is, and what it is. */
static void put_step(const struct path_sum *sum, const struct step *step, struct otlp_put *put)
{
	const struct thread *thread = model_thread(put->model, step->thread);

	otlp_put_text(put, "sonde.path.service", service_of(sum, step));
	if (step->state)
		otlp_put_text(put, "sonde.state", (char[]){ step->state, '\0' });
	if (!step->thread.i)
		return;
	otlp_put_int(put, "thread.id", thread->tid);
	otlp_put_text(put, "thread.name", model_string(put->model, thread->comm));
}

/* The cause that took most of the path, as `sonde explain` shows it. */
static void put_cause(const struct path_sum *sum, span_id root, struct otlp_put *put)
{
	_cleanup_(account_done) struct account account = { 0 };
	_cleanup_(cause_sum_done) struct cause_sum causes = { 0 };

	account_of_span(sum->spans, root, &account);
	cause_sum_add(&causes, sum->spans, &account);
	cause_sum_finish(&causes);
	if (account.lost.losses)
		otlp_put_int(put, "sonde.lost", account.lost.records);
	if (!causes.groups.count || !causes.total)
		return;

	const struct cause_group *first = &causes.groups.items[0];
	struct phrase words = explain_cause(sum->spans, &account, first);

	put_step(sum, &account.nodes.items[first->node].longest, put);
	otlp_put_text(put, "sonde.path.cause", words.s);
	otlp_put_real(put, "sonde.path.cause_share", (double)first->time / causes.total);
}

struct path_writer {
	const struct critical_path_options *options;
	const struct span *root;
	struct otlp_put put;
	struct child_id top;
};

static void begin(struct path_writer *w, struct child_id id, const uint8_t parent[8],
		  const char *name, nsec_t start, nsec_t end)
{
	otlp_begin_span(w->put.w,
			&(struct otlp_span){ .trace_id = { (char *)w->root->trace, 16 },
					     .span_id = { (char *)id.bytes, sizeof(id.bytes) },
					     .parent_span_id = { (char *)parent, 8 },
					     .name = clean_text(&w->put.key, name),
					     .start = start,
					     .end = end,
					     .kind = OTLP_KIND_INTERNAL });
}

/* Inside of the root, as it was exported; whether anything is left. */
static bool put_stretch(const struct path_sum *sum, const struct path_stretch *s,
			struct path_writer *w)
{
	const struct critical_path_options *o = w->options;
	nsec_t start = s->start + (uint64_t)o->realtime, end = s->end + (uint64_t)o->realtime;
	struct child_id id = child_id_of(w->root->trace, w->root->id, CHILD_PATH, s->start);
	struct phrase words = phrase_path_step(sum->spans, &s->longest,
					       account_step_cause(sum->spans->model, &s->longest));

	start = start > o->start ? start : o->start;
	end = end < o->end ? end : o->end;
	if (start >= end)
		return false;
	begin(w, id, w->top.bytes, service_of(sum, &s->longest), start, end);
	put_step(sum, &s->longest, &w->put);
	otlp_put_text(&w->put, "sonde.description", words.s);
	return true;
}

static size_t put_stretches(const struct path_sum *sum, struct path_writer *w)
{
	size_t limit = w->options->spans_max < CRITICAL_PATH_SPANS ? w->options->spans_max
								   : CRITICAL_PATH_SPANS;
	size_t count = 0;

	for (size_t i = 0; i < sum->stretches.count && count + 1 < limit; i++) {
		const struct path_stretch *s = &sum->stretches.items[i];

		if (s->end - s->start < sum->total / LEAST_SHARE)
			break;
		count += put_stretch(sum, s, w);
	}
	return count;
}

size_t critical_path_put(const struct span_set *spans, span_id root,
			 const struct critical_path_options *options, struct otlp_writer *request)
{
	_cleanup_(path_sum_done) struct path_sum sum = { .spans = spans };
	struct path_writer w = { .options = options,
				 .root = span_set_at(spans, root),
				 .put = { .w = request, .model = spans->model } };
	size_t count = 1, services;

	find_path(&sum, root);
	services = count_services(&sum);
	if (services < 2 || !sum.is_recorded || !sum.total || !options->spans_max)
		return 0;
	w.top = child_id_of(w.root->trace, w.root->id, CHILD_PATH, 0);
	begin(&w, w.top, w.root->id, "critical path", options->start, options->end);
	put_cause(&sum, root, &w.put);
	put_services(&sum, services, &w.put);
	count += put_stretches(&sum, &w);
	otlp_put_done(&w.put);
	return count;
}
