/* SPDX-License-Identifier: Apache-2.0 */
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/clocks.h"
#include "cli/info_baseline.h"
#include "cli/opt.h"
#include "cli/stream.h"
#include "report/info.h"

struct info_opts {
	bool json;
	const char *format;
};

static const struct opt info_opts[] = {
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text",
	  offsetof(struct info_opts, json) },
	OPT_FORMAT(struct info_opts, format),
	{ 0 },
};

static const struct info_opts info_defaults = { 0 };

/* The size of a file, or of all files in a directory, in bytes. */
static uint64_t size_of(const char *path)
{
	/* input_open() has replaced a pipe by a file */
	char *paths[] = { strcmp(path, "-") == 0 ? "/proc/self/fd/0" : (char *)path, NULL };
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	uint64_t size = 0;

	for (FTSENT *entry; fts && (entry = fts_read(fts));)
		if (entry->fts_info == FTS_F)
			size += entry->fts_statp->st_size;
	if (fts)
		fts_close(fts);
	return size;
}

static struct info_origin origin_of(const char *path, const struct input *input)
{
	const struct input_meta *meta = input_meta(input);
	const struct input_host *host = input_host(input);

	return (struct info_origin){
		.file = path,
		.format = input_format_name(input),
		.size = size_of(path),
		.host = host ? host->name : NULL,
		.kernel = meta->kernel,
		.machine = meta->machine,
		.command = meta->command,
		.tool = meta->tool,
		.cpu_count = meta->cpu_count,
		.version = meta->version,
		.is_capture = strcmp(input_format_name(input), "sonde") == 0,
		.cut = meta->truncated,
		.cut_at = meta->truncated_at,
		.start = input_start(input),
		.has_realtime = input_has_realtime(input),
		.realtime_offset = input_realtime_offset(input),
	};
}

/* What is wrong with the input, and what the recorder warned of; one per line, or NULL. */
static char *warnings_of(const struct input *input)
{
	char *all = input_warning(input) ? must_strdup(input_warning(input)) : NULL;
	const char *note;

	for (size_t i = 0; (note = input_note(input, i)); i++) {
		_cleanup_(freep) char *before = all;

		all = must_printf("%s%sthe recorder warned: %s", before ?: "", before ? "\n" : "",
				  note);
	}
	return all;
}

/* Count the records of one input and print the counts, also if the input is damaged. */
static int report_one(const char *path, const char *format, struct out *out, struct json *j,
		      struct err *err)
{
	_cleanup_(input_stream_done) struct input_stream s = { .path = path, .format = format };
	_cleanup_(info_done) struct info info = { 0 };
	const struct source *source;
	const struct record *record;
	int r = input_stream_open(&s, err);

	if (r < 0)
		return r;

	struct record_stream records = input_stream_records(&s);
	struct info_origin origin = origin_of(path, s.input);

	info_init(&info, &origin);
	while ((r = stream_next(&records, &record, &source, err)) > 0)
		info_add(&info, source, record);

	_cleanup_(freep) char *warnings = warnings_of(s.input);

	info_finish(&info, input_events(s.input), warnings, r < 0 ? err : NULL);
	if (j)
		info_json(&info, j);
	else
		info_text(&info, out);
	return r;
}

/* Report each input, then how their clocks relate.  Returns the first failure. */
static int report_all(const struct info_opts *o, char **paths, struct out *out, struct json *j,
		      struct err *err)
{
	int failed = 0;

	if (j) {
		json_object(j);
		json_key(j, "inputs");
		json_array(j);
	}
	for (size_t i = 0; paths[i]; i++) {
		struct err failure = { "" };

		if (i && !j)
			out_char(out, '\n');

		int r = report_one(paths[i], o->format, out, j, &failure);

		if (r < 0 && !failed) {
			failed = r;
			*err = failure;
		}
	}
	if (j)
		json_end(j);
	if (!failed)
		failed = clocks_report(paths, o->format, out, j, err);
	if (j)
		json_end(j);
	return failed;
}

static int info_run(const void *opts, char **operands, struct err *err)
{
	const struct info_opts *o = opts;
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct json writer, *j = o->json ? &writer : NULL;

	out_init(out, stdout);
	json_init(&writer, out);

	int r;

	if (operands[1])
		r = report_all(o, operands, out, j, err);
	else if (!o->format && info_is_baseline(operands[0]))
		r = info_baseline(operands[0], out, j, err);
	else
		r = report_one(operands[0], o->format, out, j, err);

	if (j && out->used)
		json_newline(j);

	int written = out_finish(out, err);

	return written < 0 ? written : r;
}

const struct command cmd_info = {
	.name = "info",
	.summary = "show what a capture, trace or baseline contains",
	.synopsis = "[OPTION]... INPUT...",
	.examples = "  sonde info capture.sonde\n"
		    "  sonde info --json trace.dat | jq .events\n",
	.opts = info_opts,
	.defaults = &info_defaults,
	.opts_size = sizeof(info_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = info_run,
};
