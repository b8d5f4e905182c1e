/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/opt.h"
#include "cli/log.h"
#include "record/spans/span_names.h"
#include "report/json_put.h"

struct spans_opts {
	uint32_t pid;
	struct opt_list disable, enable;
	bool json;
};

#define FIELD(name) offsetof(struct spans_opts, name)

static const struct opt spans_opts[] = {
	{ OPT_PID, 'p', "pid", "PID", "the process; its forked children share the setting",
	  FIELD(pid) },
	{ OPT_LIST, 0, "disable", "PATTERN", "disable spans whose names match a shell pattern",
	  FIELD(disable) },
	{ OPT_LIST, 0, "enable", "PATTERN", "enable them again", FIELD(enable) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text", FIELD(json) },
	{ 0 },
};

static const struct spans_opts spans_defaults = { 0 };

static void switch_all(struct span_names *names, const struct opt_list *patterns, bool off)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (span_names_switch(names, patterns->items[i], off) == 0)
			log_message("no span name matches '%s' yet", patterns->items[i]);
}

static int print_json(const struct span_names *names, struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct span_name_state state;
	struct json j;

	out_init(out, stdout);
	json_init(&j, out);
	json_array(&j);
	for (size_t at = 0; span_names_next(names, &at, &state);) {
		json_object(&j);
		put_string(&j, "name", state.name);
		put_bool(&j, "enabled", !state.off);
		put_u64(&j, "count", state.count);
		json_end(&j);
	}
	json_end(&j);
	json_newline(&j);
	return out_finish(out, err);
}

static int print_text(const struct span_names *names, struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct span_name_state state;

	out_init(out, stdout);
	for (size_t at = 0; span_names_next(names, &at, &state);) {
		out_str(out, state.off ? "off  " : "on   ");
		out_u64_wide(out, state.count, 12, ' ');
		out_str(out, "  ");
		out_escaped(out, state.name, strlen(state.name));
		out_char(out, '\n');
	}
	return out_finish(out, err);
}

static int spans_run(const void *opts, char **operands, struct err *err)
{
	const struct spans_opts *o = opts;
	_cleanup_(span_names_freep) struct span_names *names = NULL;

	if (!o->pid)
		return err_usage(err, "--pid is missing");

	int r = span_names_open(o->pid, &names, err);

	if (r < 0)
		return r;
	switch_all(names, &o->disable, true);
	switch_all(names, &o->enable, false);
	return o->json ? print_json(names, err) : print_text(names, err);
}

const struct command cmd_spans = {
	.name = "spans",
	.summary = "list, enable and disable the spans of a running C program",
	.synopsis = "--pid=PID [OPTION]...",
	.examples = "  sonde spans --pid 4127\n"
		    "  sonde spans --pid 4127 --disable 'cache.*'\n",
	.opts = spans_opts,
	.defaults = &spans_defaults,
	.opts_size = sizeof(spans_defaults),
	.run = spans_run,
};
