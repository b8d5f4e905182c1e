/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/opt.h"
#include "cli/opt_thread.h"
#include "cli/style.h"
#include "cli/warn.h"
#include "load/subject.h"
#include "report/explain.h"

struct path_opts {
	const char *thread, *span, *trace;
	nsec_t from, to;
	bool requests, json;
	const char *format;
};

#define FIELD(name) offsetof(struct path_opts, name)

static const struct opt path_opts[] = {
	{ OPT_STRING, 0, "trace", "ID", "the path of the trace with this id, or prefix of it",
	  FIELD(trace) },
	{ OPT_STRING, 0, "span", "ID", "the path of the span with this id, or prefix of it",
	  FIELD(span) },
	{ OPT_STRING, 't', "thread", "TID", "the path of this thread", FIELD(thread) },
	{ OPT_TIME, 0, "from", "TIME", "with --thread: start TIME after the start of the capture",
	  FIELD(from) },
	{ OPT_TIME, 0, "to", "TIME", "with --thread: end TIME after the start of the capture",
	  FIELD(to) },
	{ OPT_FLAG, 0, "requests", NULL, "search rebuilt requests even if the inputs have spans",
	  FIELD(requests) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text", FIELD(json) },
	OPT_FORMAT(struct path_opts, format),
	{ 0 },
};

static const struct path_opts path_defaults = { 0 };

static int find_subject(struct loaded *loaded, const struct path_opts *o, struct subject *ret,
			struct err *err)
{
	if (o->thread)
		return opt_thread(loaded->model, o->thread, o->from, o->to, ret, err);
	loaded_rebuild_requests(loaded, o->requests);
	return o->span ? subject_find_span(loaded, o->span, ret, err)
		       : subject_find_trace(loaded, o->trace, ret, err);
}

static int print_path(const struct loaded *loaded, const struct subject *subject, bool as_json,
		      struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	_cleanup_(path_done) struct path path = { 0 };

	subject_path(loaded, subject, &path);
	out_init(out, stdout);
	if (as_json) {
		struct json j;

		json_init(&j, out);
		path_json(&j, &loaded->spans, &path);
		json_newline(&j);
	} else {
		struct style style = output_style();

		path_text(out, &style, &loaded->spans, &path, model_begin(loaded->model));
	}
	return out_finish(out, err);
}

static int path_run(const void *opts, char **operands, struct err *err)
{
	const struct path_opts *o = opts;
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct subject subject;

	if (!o->thread && !o->span && !o->trace)
		return err_usage(err, "give --trace, --span or --thread");
	if (!!o->thread + !!o->span + !!o->trace > 1)
		return err_usage(err, "--thread, --span and --trace are mutually exclusive");
	if (!o->thread && (o->from || o->to))
		return err_usage(err, "--from and --to require --thread");

	struct err damage = { "" }, failure = { "" };
	int damaged = loaded_open(&loaded, operands, o->format, &damage), r = 0;

	warn_all(&loaded.warnings);
	if (loaded.model)
		r = find_subject(&loaded, o, &subject, &failure);
	warn_all(&loaded.warnings);
	if (loaded.model && r == 0) {
		warn_lost(loaded.model);
		r = print_path(&loaded, &subject, o->json, &failure);
	}
	*err = damaged < 0 ? damage : failure;
	return damaged < 0 ? damaged : r;
}

const struct command cmd_path = {
	.name = "path",
	.summary = "print the critical path of a request or thread, step by step",
	.synopsis = "--trace=ID|--span=ID|--thread=TID [OPTION]... INPUT...",
	.examples = "  sonde path --trace 7f3a51c0 capture.sonde spans.json\n"
		    "  sonde path --thread 4127 --from 1.2s --to 1.4s capture.sonde\n",
	.opts = path_opts,
	.defaults = &path_defaults,
	.opts_size = sizeof(path_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = path_run,
};
