/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/account.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/opt.h"
#include "cli/opt_thread.h"
#include "cli/warn.h"
#include "load/subject.h"
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
	{ OPT_COUNT, 'n', "slowest", "N", "explain the N slowest requests (default 1)",
	  FIELD(slowest) },
	{ OPT_STRING, 0, "trace", "ID", "explain the request with this trace id, or prefix of it",
	  FIELD(trace) },
	{ OPT_STRING, 't', "thread", "TID", "explain the time of this thread", FIELD(thread) },
	{ OPT_TIME, 0, "from", "TIME", "with --thread: start TIME after the start of the capture",
	  FIELD(from) },
	{ OPT_TIME, 0, "to", "TIME", "with --thread: end TIME after the start of the capture",
	  FIELD(to) },
	{ OPT_FLAG, 0, "requests", NULL, "explain rebuilt requests even if the inputs have spans",
	  FIELD(requests) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text", FIELD(json) },
	OPT_FORMAT(struct explain_opts, format),
	{ 0 },
};

static const struct explain_opts explain_defaults = { .slowest = 1 };

static int find_thread(struct loaded *loaded, const struct explain_opts *o, subjects *ret,
		       struct err *err)
{
	struct subject subject;
	int r = opt_thread(loaded->model, o->thread, o->from, o->to, &subject, err);

	if (r == 0)
		*vec_push(ret) = subject;
	return r;
}

static int find_subjects(struct loaded *loaded, const struct explain_opts *o, subjects *ret,
			 struct err *err)
{
	struct subject subject;
	int r;

	if (o->thread)
		return find_thread(loaded, o, ret, err);
	loaded_rebuild_requests(loaded, o->requests);
	if (!o->trace)
		return subject_find_slowest(loaded, o->slowest, o->requests, ret, err);
	r = subject_find_trace(loaded, o->trace, &subject, err);
	if (r == 0)
		*vec_push(ret) = subject;
	return r;
}

static int print_all(const struct loaded *loaded, const subjects *list, bool as_json,
		     struct err *err)
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

		subject_account(loaded, &list->items[i], &account);
		if (as_json) {
			explain_json(&j, &loaded->spans, &account);
			continue;
		}
		if (i > 0)
			out_char(out, '\n');
		missing_thread |= explain_text(out, opt_colour(), &loaded->spans, &account);
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
	_cleanup_(loaded_done) struct loaded loaded = { 0 };

	if (o->thread && o->trace)
		return err_usage(err, "--thread and --trace are mutually exclusive");
	if (!o->thread && (o->from || o->to))
		return err_usage(err, "--from and --to require --thread");

	struct err damage = { "" }, failure = { "" };
	int damaged = loaded_open(&loaded, operands, o->format, &damage);
	subjects list = { 0 };
	int r = 0;

	warn_all(&loaded.warnings);
	if (loaded.model)
		r = find_subjects(&loaded, o, &list, &failure);
	warn_all(&loaded.warnings);
	if (loaded.model && r == 0)
		r = print_all(&loaded, &list, o->json, &failure);
	vec_done(&list);
	*err = damaged < 0 ? damage : failure;
	return damaged < 0 ? damaged : r;
}

const struct command cmd_explain = {
	.name = "explain",
	.summary = "explain where a request's time went, and why",
	.synopsis = "[OPTION]... INPUT...",
	.examples = "  sonde explain capture.sonde\n"
		    "  sonde explain --slowest 3 capture.sonde spans.json\n"
		    "  sonde explain --thread 4127 --from 1.2s --to 1.4s capture.sonde\n",
	.opts = explain_opts,
	.defaults = &explain_defaults,
	.opts_size = sizeof(explain_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = explain_run,
};
