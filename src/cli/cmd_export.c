/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export - convert captures and traces for other tools.
 *
 * Each output format is a function that reads all inputs, as one stream of
 * records or as a model, and a row in the table of targets.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/export.h"
#include "cli/opt.h"
#include "report/dump.h"

struct export_opts {
	const char *to, *output, *format;
	bool requests;
};

static const struct opt export_opts[] = {
	{ OPT_STRING, 0, "to", "FORMAT", "ctf, json, otlp, otlp-json, or http://HOST:4318 to send",
	  offsetof(struct export_opts, to) },
	{ OPT_STRING, 'o', "output", "PATH", "write to PATH: a directory for ctf, otherwise a file",
	  offsetof(struct export_opts, output) },
	{ OPT_FLAG, 0, "requests", NULL, "otlp: write rebuilt requests beside spans, not joined",
	  offsetof(struct export_opts, requests) },
	OPT_FORMAT(struct export_opts, format),
	{ 0 },
};

static const struct export_opts export_defaults = { 0 };

static const char *host_name(const void *arg, uint16_t host)
{
	return export_input_host(arg, host);
}

/* The same inputs opened twice, because dump_write() looks ahead for the names of threads and
 * tracepoints. */
struct json_inputs {
	struct export_input *in, *again;
};

/* Records contain the host only if there are several. */
static int write_json(void *arg, FILE *file, struct err *err)
{
	const struct json_inputs *inputs = arg;
	struct export_input *in = inputs->in;
	struct record_stream records = export_input_records(in),
			     ahead = export_input_records(inputs->again);
	struct dump_filter filter = { .to = UINT64_MAX };
	struct dump_style style = { .json = true };

	if (export_input_host_count(in) > 1) {
		style.host = host_name;
		style.arg = in;
	}
	return dump_write(&records, &ahead, &filter, &style, file, err);
}

static int to_json(const struct export_opts *o, char **paths, struct err *err)
{
	_cleanup_(export_input_done) struct export_input in = { .paths = paths,
								.format = o->format };
	_cleanup_(export_input_done) struct export_input again = in;
	struct json_inputs inputs = { &in, &again };
	int r = export_input_open(&in, err);

	if (r < 0)
		return r;
	r = export_to_file(o->output, write_json, &inputs, err);
	export_input_warn(&in);
	return r;
}

static int to_ctf(const struct export_opts *o, char **paths, struct err *err)
{
	_cleanup_(export_input_done) struct export_input in = { .paths = paths,
								.format = o->format };
	int r = export_input_open(&in, err);

	if (r < 0)
		return r;
	if (!o->output)
		return err_usage(err, "--to=ctf requires --output=DIRECTORY");
	r = export_ctf(&in, o->output, err);
	export_input_warn(&in);
	return r;
}

static int to_otlp(const struct export_opts *o, char **paths, struct err *err)
{
	struct span_output to = { .path = o->output, .json = strcmp(o->to, "otlp-json") == 0 };

	return export_spans(paths, o->format, o->requests, &to, err);
}

static int to_collector(const struct export_opts *o, char **paths, struct err *err)
{
	struct span_output to = { .url = o->to };

	if (o->output)
		return err_usage(err, "--to=http://HOST and --output are mutually exclusive");
	return export_spans(paths, o->format, o->requests, &to, err);
}

static const struct target {
	const char *name;
	int (*run)(const struct export_opts *o, char **paths, struct err *err);
} targets[] = {
	{ "ctf", to_ctf },
	{ "json", to_json },
	{ "otlp", to_otlp },
	{ "otlp-json", to_otlp },
};

static const struct target *find_target(const char *name)
{
	static const struct target collector = { "http", to_collector };

	if (strncmp(name, "http://", 7) == 0 || strncmp(name, "https://", 8) == 0)
		return &collector;
	for (size_t i = 0; i < ARRAY_LEN(targets); i++)
		if (strcmp(targets[i].name, name) == 0)
			return &targets[i];
	return NULL;
}

static int export_run(const void *opts, char **operands, struct err *err)
{
	const struct export_opts *o = opts;
	const struct target *target = o->to ? find_target(o->to) : NULL;

	if (!o->to)
		return err_usage(
			err,
			"--to is missing: give ctf, json, otlp, otlp-json or http://HOST:4318");
	if (!target)
		return err_usage(err,
				 "--to: unknown format '%s'; give ctf, json, otlp, otlp-json or "
				 "http://HOST:4318",
				 o->to);
	signal(SIGXFSZ, SIG_IGN); /* exceeding RLIMIT_FSIZE then fails with EFBIG */
	return target->run(o, operands, err);
}

const struct command cmd_export = {
	.name = "export",
	.summary = "convert captures and traces for other tools",
	.synopsis = "--to=FORMAT [OPTION]... INPUT...",
	.examples = "  sonde export --to=ctf -o trace capture.sonde && babeltrace2 trace\n"
		    "  sonde export --to=http://localhost:4318 front.sonde back.sonde\n",
	.opts = export_opts,
	.defaults = &export_defaults,
	.opts_size = sizeof(export_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = export_run,
};
