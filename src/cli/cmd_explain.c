/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/account.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/load.h"
#include "cli/opt.h"
#include "cli/log.h"
#include "cli/span_warn.h"
#include "report/explain.h"

struct explain_opts {
	unsigned long slowest;
	const char *trace, *thread;
	nsec_t from, to;
	bool requests, json;
	const char *format;
};

#define FIELD(name) offsetof(struct explain_opts, name)

static const struct opt explain_opts[] = {
	{ OPT_COUNT, 'n', "slowest", "N", "the N slowest requests (default 1)", FIELD(slowest) },
	{ OPT_STRING, 0, "trace", "ID", "this request (or the first digits of its trace id)",
	  FIELD(trace) },
	{ OPT_STRING, 't', "thread", "TID", "the time of this thread", FIELD(thread) },
	{ OPT_TIME, 0, "from", "TIME", "begin so long after the start of the capture",
	  FIELD(from) },
	{ OPT_TIME, 0, "to", "TIME", "end so long after the start of the capture", FIELD(to) },
	{ OPT_FLAG, 0, "requests", NULL, "rebuilt requests, though there are spans",
	  FIELD(requests) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text", FIELD(json) },
	OPT_FORMAT(struct explain_opts, format),
	{ 0 },
};

static const struct explain_opts explain_defaults = { .slowest = 1 };

/* What to explain. */
struct subject {
	span_id span;
	thread_id thread;
	nsec_t from, to;
};

typedef VEC(struct subject) subjects;

static int longer_first(const void *a, const void *b)
{
	const struct subject *x = a, *y = b;
	nsec_t xt = x->to - x->from, yt = y->to - y->from;

	if (xt != yt)
		return xt > yt ? -1 : 1;
	return x->span.i < y->span.i ? -1 : x->span.i > y->span.i;
}

/* The roots of traces; of those that were rebuilt, only what is known to be a whole request. */
static void find_roots(const struct model *model, bool only_rebuilt, subjects *list)
{
	for (uint32_t i = 1; i < model_span_count(model); i++) {
		const struct span *span = model_span(model, (span_id){ i });

		if (!span->parent.i && !(span->flags & SPAN_OPEN) &&
		    (!only_rebuilt || span->source == SPAN_INFERRED))
			*vec_push(list) = (struct subject){ .span = { i },
							    .from = span->start,
							    .to = span->end };
	}
}

/* Whether there is anything to explain: not of a thread that slept all the time. */
static bool has_run(const struct thread *t)
{
	timeline_pos pos;

	if (!timeline_first(&t->intervals, &pos))
		return false;
	do {
		const struct interval *i = timeline_at(&t->intervals, pos);

		if (i->state == STATE_RUNNING)
			return true;
	} while (timeline_next(&t->intervals, &pos));
	return false;
}

/* By the beginning of its name; those of foreign traces record themselves too. */
static bool is_tracer(const struct model *model, const struct thread *t)
{
	static const char *const names[] = { "sonde",    "trace-cmd", "perf",   "lttng-",
					     "bpftrace", "atrace",    "traced", "systrace" };
	const char *comm = model_string(model, t->comm);

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(comm, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Who recorded a command wants that explained: it was there first, and to the end. */
static int no_requests(const struct model *model, struct err *err)
{
	const struct thread *longest = NULL;

	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct thread *t = model_thread(model, (thread_id){ i });

		if (!t->out_of_scope && !t->kernel && !is_tracer(model, t) &&
		    (!longest || t->end - t->begin > longest->end - longest->begin) && has_run(t))
			longest = t;
	}
	if (!longest)
		return err_set(err, -ENOENT,
			       "there are no requests in it, nor has any thread in scope run");
	return err_set(err, -ENOENT,
		       "there are no requests in it: name a thread with --thread, such as %u, "
		       "which was recorded longest (%s)",
		       longest->tid, format_time(longest->end - longest->begin).s);
}

struct period {
	nsec_t from, to;
};

static struct period recorded(const struct model *model)
{
	struct period all = { UINT64_MAX, 0 };

	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct thread *t = model_thread(model, (thread_id){ i });

		all.from = t->begin < all.from ? t->begin : all.from;
		all.to = t->end > all.to ? t->end : all.to;
	}
	return all;
}

/* Nearly all of it: clocks of spans are coarse, and a program begins before its threads are seen.
 */
static bool is_within(const struct subject *s, struct period all)
{
	nsec_t from = s->from > all.from ? s->from : all.from;
	nsec_t to = s->to < all.to ? s->to : all.to;

	return from <= to && to - from >= (s->to - s->from) / 10 * 9;
}

/*
 * Those that lie within what was recorded, if any do.  Of a request that was under way when the
 * recorder came, or of the rest of a day in a file of spans, it cannot say why it was slow.
 */
static void keep_recorded(const struct model *model, size_t shown, subjects *list)
{
	struct period all = recorded(model);
	size_t kept = 0, slower = 0;

	for (size_t i = 0; i < list->count; i++)
		if (is_within(&list->items[i], all))
			list->items[kept++] = list->items[i];
		else
			slower += kept < shown;
	if (kept)
		list->count = kept;
	if (kept && slower)
		log_message(
			"requests that took longer are not in the recording, or not wholly: %zu; "
			"--trace explains them by their spans",
			slower);
}

static int find_slowest(const struct model *model, const struct explain_opts *o, subjects *list,
			struct err *err)
{
	find_roots(model, o->requests, list);
	if (!list->count)
		return no_requests(model, err);
	qsort(list->items, list->count, sizeof(list->items[0]), longer_first);
	keep_recorded(model, o->slowest, list);
	if (!o->requests)
		span_warn_roots(model);
	list->count = list->count < o->slowest ? list->count : o->slowest;
	return 0;
}

static int find_thread(const struct model *model, const struct explain_opts *o, subjects *list,
		       struct err *err)
{
	struct life life;
	int r = load_find_thread(model, o->thread, o->from, o->to, &life, err);

	if (r == 0)
		*vec_push(list) =
			(struct subject){ .thread = life.thread, .from = life.from, .to = life.to };
	return r;
}

static int find_subjects(struct model *model, const struct explain_opts *o, subjects *list,
			 struct err *err)
{
	_cleanup_(requests_done) struct requests requests = { 0 };
	struct subject s = { 0 };
	int r;

	if (o->thread)
		return find_thread(model, o, list, err);
	load_requests(model, o->requests, &requests);
	if (!o->trace)
		return find_slowest(model, o, list, err);
	r = load_find_trace(model, o->trace, &s.span, err);
	if (r == 0)
		*vec_push(list) = s;
	return r;
}

static void account_of(const struct model *model, const struct subject *s, struct account *ret)
{
	if (s->span.i)
		account_of_span(model, s->span, ret);
	else
		account_of_thread(model, s->thread, s->from, s->to, ret);
}

static int print_all(const struct model *model, const subjects *list, bool as_json, struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct json j;
	bool missing_thread = false;

	out_init(out, stdout);
	json_init(&j, out);
	if (as_json)
		json_array(&j);
	for (size_t i = 0; i < list->count; i++) {
		_cleanup_(account_done) struct account account = { 0 };

		account_of(model, &list->items[i], &account);
		if (as_json) {
			explain_json(&j, model, &account);
			continue;
		}
		if (i > 0)
			out_char(out, '\n');
		missing_thread |= explain_text(out, opt_colour(), model, &account);
	}
	if (missing_thread)
		explain_text_missing_thread(out);
	if (as_json) {
		json_end(&j);
		json_newline(&j);
	}
	return out_finish(out, err);
}

static int explain_run(const void *opts, char **operands, struct err *err)
{
	const struct explain_opts *o = opts;
	_cleanup_(model_freep) struct model *model = NULL;

	if (o->thread && o->trace)
		return err_usage(err, "--thread and --trace exclude each other");
	if (!o->thread && (o->from || o->to))
		return err_usage(err, "--from and --to go with --thread");

	struct err damage = { "" }, failure = { "" };
	int damaged = load_model(operands, o->format, &model, &damage);
	subjects list = { 0 };
	int r = model ? find_subjects(model, o, &list, &failure) : 0;

	if (r == 0 && model)
		r = print_all(model, &list, o->json, &failure);
	vec_done(&list);
	*err = damaged < 0 ? damage : failure;
	return damaged < 0 ? damaged : r;
}

const struct command cmd_explain = {
	.name = "explain",
	.summary = "say where the time of a request went, and why",
	.synopsis = "[OPTION]... INPUT...",
	.examples = "  sonde explain --slowest 3 capture.sonde spans.json\n"
		    "  sonde explain --thread 4127 --from 1.2s --to 1.4s capture.sonde\n",
	.opts = explain_opts,
	.defaults = &explain_defaults,
	.opts_size = sizeof(explain_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = explain_run,
};
