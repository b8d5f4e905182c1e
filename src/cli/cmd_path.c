/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/path.h"
#include "cli/load.h"
#include "cli/opt.h"
#include "report/explain.h"

struct path_opts {
	const char *thread, *span, *trace;
	nsec_t from, to;
	bool requests, json;
	const char *format;
};

#define FIELD(name) offsetof(struct path_opts, name)

static const struct opt path_opts[] = {
	{ OPT_STRING, 't', "thread", "TID", "the path of this thread", FIELD(thread) },
	{ OPT_STRING, 0, "span", "ID", "the path of this span (or the first digits of its id)",
	  FIELD(span) },
	{ OPT_STRING, 0, "trace", "ID", "the path of this trace (or the first digits of its id)",
	  FIELD(trace) },
	{ OPT_TIME, 0, "from", "TIME", "begin so long after the start of the capture",
	  FIELD(from) },
	{ OPT_TIME, 0, "to", "TIME", "end so long after the start of the capture", FIELD(to) },
	{ OPT_FLAG, 0, "requests", NULL, "look among rebuilt requests, too", FIELD(requests) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text", FIELD(json) },
	OPT_FORMAT(struct path_opts, format),
	{ 0 },
};

static const struct path_opts path_defaults = { 0 };

static int find_path(struct model *model, const struct path_opts *o, struct path *path,
		     struct err *err)
{
	_cleanup_(requests_done) struct requests requests = { 0 };
	struct life life;
	span_id span;
	int r;

	if (o->thread) {
		r = load_find_thread(model, o->thread, o->from, o->to, &life, err);
		if (r == 0)
			path_of_thread(model, life.thread, life.from, life.to, path);
		return r;
	}
	load_requests(model, o->requests, &requests);
	r = o->span ? load_find_span(model, o->span, &span, err)
		    : load_find_trace(model, o->trace, &span, err);
	if (r == 0)
		path_of_span(model, span, path);
	return r;
}

static int print_path(const struct model *model, const struct path *path, bool as_json,
		      struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));

	out_init(out, stdout);
	if (as_json) {
		struct json j;

		json_init(&j, out);
		path_json(&j, model, path);
		json_newline(&j);
	} else {
		path_text(out, opt_colour(), model, path, model_begin(model));
	}
	return out_finish(out, err);
}

static int path_run(const void *opts, char **operands, struct err *err)
{
	const struct path_opts *o = opts;
	_cleanup_(model_freep) struct model *model = NULL;
	_cleanup_(path_done) struct path path = { 0 };

	if (!o->thread && !o->span && !o->trace)
		return err_usage(err, "say whose path: --thread, --span or --trace");
	if (!!o->thread + !!o->span + !!o->trace > 1)
		return err_usage(err, "--thread, --span and --trace exclude each other");
	if (!o->thread && (o->from || o->to))
		return err_usage(err, "--from and --to go with --thread");

	struct err damage = { "" }, failure = { "" };
	int damaged = load_model(operands, o->format, &model, &damage);
	int r = model ? find_path(model, o, &path, &failure) : 0;

	if (r == 0 && model)
		load_warn_lost(model);
	if (r == 0 && model)
		r = print_path(model, &path, o->json, &failure);
	*err = damaged < 0 ? damage : failure;
	return damaged < 0 ? damaged : r;
}

const struct command cmd_path = {
	.name = "path",
	.summary = "show step by step what a thread or a request waited for",
	.synopsis = "[OPTION]... INPUT...",
	.examples = "  sonde path --thread 4127 --from 1.2s --to 1.4s capture.sonde\n"
		    "  sonde path --trace 7f3a51c0 --json capture.sonde spans.json\n",
	.opts = path_opts,
	.defaults = &path_defaults,
	.opts_size = sizeof(path_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = path_run,
};
