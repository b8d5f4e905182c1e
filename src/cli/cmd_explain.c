/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/account.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/opt.h"
#include "cli/opt_selection.h"
#include "cli/opt_thread.h"
#include "cli/style.h"
#include "cli/warn.h"
#include "load/slowest.h"
#include "report/explain.h"

struct explain_opts {
	unsigned long slowest;
	const char *trace, *thread;
	struct selection_opts select;
	bool requests, json;
	const char *format;
};

#define FIELD(name) offsetof(struct explain_opts, name)

static const struct opt explain_opts[] = {
	{ OPT_COUNT, 'n', "slowest", "N", "explain the N slowest requests (default 1)",
	  FIELD(slowest) },
	OPT_SELECTION(struct explain_opts, select,
		      "only requests that arrive TIME after the start of the capture, or later; "
		      "with --thread, the start of the explained time",
		      "only requests that arrive before TIME; with --thread, its end"),
	{ OPT_STRING, 0, "trace", "ID", "explain the request with this trace id, or prefix of it",
	  FIELD(trace) },
	{ OPT_STRING, 't', "thread", "TID", "explain the time of this thread", FIELD(thread) },
	{ OPT_FLAG, 0, "requests", NULL, "explain rebuilt requests even if the inputs have spans",
	  FIELD(requests) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text", FIELD(json) },
	OPT_FORMAT(struct explain_opts, format),
	{ 0 },
};

static const struct explain_opts explain_defaults = { .slowest = 1 };

/* What to explain, and the slow requests of each entry. */
struct explaining {
	const struct explain_opts *opts;
	struct loaded *loaded;
	struct slowest slowest;
	VEC(struct cause_sum) causes; /* of each entry; empty before they are needed */
	struct map led;               /* entries with causes that have been printed */
};

static void explaining_done(struct explaining *e)
{
	for (size_t i = 0; i < e->causes.count; i++)
		cause_sum_done(&e->causes.items[i]);
	vec_done(&e->causes);
	map_done(&e->led);
	slowest_done(&e->slowest);
}

/* The entry of a single request, for its percentiles. */
static void find_entry(struct explaining *e, struct subject *subject)
{
	struct selection all = { .only_rebuilt = e->opts->requests };
	const struct span_set *spans = &e->loaded->spans;
	uint64_t entry = selection_entry(span_set_at(spans, subject->span));
	struct err ignored = { "" };

	if (slowest_find(e->loaded, &all, 0, &e->slowest, &ignored) < 0)
		return;
	for (size_t i = 0; i < e->slowest.entries.count; i++) {
		span_id first = e->slowest.entries.items[i].list.items[0].span;

		if (selection_entry(span_set_at(spans, first)) == entry)
			subject->entry = i + 1;
	}
}

static int find_subjects(struct explaining *e, const struct selection *selection, struct err *err)
{
	const struct explain_opts *o = e->opts;
	struct subject subject;
	int r;

	if (!o->thread)
		loaded_rebuild_requests(e->loaded, o->requests);
	if (!o->thread && !o->trace)
		return slowest_find(e->loaded, selection, o->slowest, &e->slowest, err);
	r = o->thread ? opt_thread(e->loaded->model, o->thread, o->select.from, o->select.to,
				   &subject, err)
		      : subject_find_trace(e->loaded, o->trace, &subject, err);
	if (r < 0)
		return r;
	if (o->trace)
		find_entry(e, &subject);
	*vec_push(&e->slowest.list) = subject;
	return 0;
}

/* Those of an entry, or of nothing; a request that the user named has no causes of others. */
static struct entry_requests entry_of(struct explaining *e, uint32_t entry)
{
	struct entry_requests b = { .lost = e->slowest.lost, .all = e->slowest.all };

	if (!entry)
		return b;
	while (e->causes.count < e->slowest.entries.count)
		*vec_push(&e->causes) = (struct cause_sum){ 0 };

	const struct request_entry *of = &e->slowest.entries.items[entry - 1];
	struct cause_sum *causes = &e->causes.items[entry - 1];

	b.latency = of->latency;
	b.slow = of->slow;
	if (e->opts->trace)
		return b;
	if (!causes->accounts)
		slowest_causes(e->loaded, of, causes);
	b.causes = causes;
	return b;
}

/* The answer: the causes of an entry's slow requests, once for each entry. */
static bool print_lead(struct explaining *e, struct out *out, const struct style *style,
		       size_t index)
{
	const struct subject *subject = &e->slowest.list.items[index];
	struct entry_requests b = entry_of(e, subject->entry);
	const struct span_set *spans = &e->loaded->spans;

	if (!b.causes || *map_insert(&e->led, subject->entry))
		return false;
	*map_insert(&e->led, subject->entry) = 1;

	bool missing_thread = explain_causes(out, style, spans, NULL, b.causes);

	explain_entry(out, style, spans, subject->span, &b);
	out_char(out, '\n');
	return missing_thread;
}

/* Returns whether a cause is a span without a known thread. */
static bool print_one(struct explaining *e, struct out *out, const struct style *style,
		      size_t index)
{
	const struct subject *subject = &e->slowest.list.items[index];
	const struct span_set *spans = &e->loaded->spans;
	_cleanup_(account_done) struct account account = { 0 };
	_cleanup_(cause_sum_done) struct cause_sum causes = { 0 };
	struct entry_requests b = entry_of(e, subject->entry);
	bool missing_thread = print_lead(e, out, style, index);

	subject_account(e->loaded, subject, &account);
	explain_text(out, style, spans, &account,
		     b.latency.count > 1 && !b.causes ? &b.latency : NULL);
	if (b.causes && b.slow == 1)
		return missing_thread; /* its causes are those of the entry */
	cause_sum_add(&causes, spans, &account);
	cause_sum_finish(&causes);
	return explain_causes(out, style, spans, &account, &causes) || missing_thread;
}

static void print_text(struct explaining *e, struct out *out)
{
	struct style style = output_style();
	bool missing_thread = false;

	for (size_t i = 0; i < e->slowest.list.count; i++) {
		if (i > 0)
			out_char(out, '\n');
		missing_thread |= print_one(e, out, &style, i);
	}
	if (missing_thread)
		explain_missing_thread(out, &style);
}

static void print_json(struct explaining *e, struct out *out)
{
	struct json j;

	json_init(&j, out);
	json_array(&j);
	for (size_t i = 0; i < e->slowest.list.count; i++) {
		const struct subject *subject = &e->slowest.list.items[i];
		_cleanup_(account_done) struct account account = { 0 };
		struct entry_requests b = entry_of(e, subject->entry);

		subject_account(e->loaded, subject, &account);
		explain_json(&j, &e->loaded->spans, &account, &b);
	}
	json_end(&j);
	json_newline(&j);
}

static int print_all(struct explaining *e, struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));

	out_init(out, stdout);
	if (e->opts->json)
		print_json(e, out);
	else
		print_text(e, out);
	return out_finish(out, err);
}

static int explain_run(const void *opts, char **operands, struct err *err)
{
	const struct explain_opts *o = opts;
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	_cleanup_(explaining_done) struct explaining e = { .opts = o, .loaded = &loaded };
	struct selection selection;

	if (o->thread && o->trace)
		return err_usage(err, "--thread and --trace are mutually exclusive");
	if (opt_selection(&o->select, &selection, err) < 0)
		return -EUSAGE;
	selection.only_rebuilt = o->requests;

	struct err damage = { "" }, failure = { "" };
	int damaged = loaded_open(&loaded, operands, o->format, &damage), r = 0;

	warn_all(&loaded.warnings);
	if (loaded.model)
		r = find_subjects(&e, &selection, &failure);
	warn_all(&loaded.warnings);
	if (loaded.model && r == 0)
		r = print_all(&e, &failure);
	*err = damaged < 0 ? damage : failure;
	return damaged < 0 ? damaged : r;
}

const struct command cmd_explain = {
	.name = "explain",
	.summary = "explain where a request's time went, and why",
	.synopsis = "[OPTION]... INPUT...",
	.examples = "  sonde explain capture.sonde\n"
		    "  sonde explain --entry 8080 --above 50ms capture.sonde spans.json\n"
		    "  sonde explain --thread 4127 --from 1.2s --to 1.4s capture.sonde\n",
	.opts = explain_opts,
	.defaults = &explain_defaults,
	.opts_size = sizeof(explain_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = explain_run,
};
