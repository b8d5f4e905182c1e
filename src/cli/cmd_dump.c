/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/events.h"
#include "cli/opt.h"
#include "cli/log.h"
#include "cli/stream.h"
#include "report/dump.h"
#include "event/kind.h"

struct dump_opts {
	bool json, events;
	struct opt_list threads, processes, kinds;
	nsec_t from, to;
	const char *format;
};

static const struct opt dump_opts[] = {
	{ OPT_LIST, 't', "thread", "TID", "only records of these threads",
	  offsetof(struct dump_opts, threads) },
	{ OPT_LIST, 'p', "pid", "PID", "only records of these processes",
	  offsetof(struct dump_opts, processes) },
	{ OPT_TIME, 0, "from", "TIME", "only records that end at TIME after the start, or later",
	  offsetof(struct dump_opts, from) },
	{ OPT_TIME, 0, "to", "TIME", "only records that end at TIME after the start, or before",
	  offsetof(struct dump_opts, to) },
	{ OPT_LIST, 0, "kind", "KIND", "only records of these kinds: interval, task, message, ...",
	  offsetof(struct dump_opts, kinds) },
	{ OPT_FLAG, 0, "events", NULL, "show the events of another tracer's trace unchanged",
	  offsetof(struct dump_opts, events) },
	{ OPT_FLAG, 0, "json", NULL, "write one JSON object per line instead of text",
	  offsetof(struct dump_opts, json) },
	OPT_FORMAT(struct dump_opts, format),
	{ 0 },
};

static const struct dump_opts dump_defaults = { .to = UINT64_MAX };

static int parse_kinds(const struct opt_list *list, uint32_t *ret, struct err *err)
{
	uint32_t kinds = 0;

	for (size_t i = 0; i < list->count; i++) {
		uint32_t kind = kind_parse(list->items[i]);
		if (!kind) {
			_cleanup_(freep) char *known = kind_list();
			return err_usage(err, "--kind: unknown kind '%s'; the kinds are %s",
					 list->items[i], known);
		}
		kinds |= kind;
	}
	*ret = kinds;
	return 0;
}

static int dump_records(struct input_stream *s, const struct dump_filter *filter, bool json,
			struct err *err)
{
	_cleanup_(input_stream_done) struct input_stream again = { .path = s->path,
								   .format = s->format };
	struct record_stream records = input_stream_records(s),
			     ahead = input_stream_records(&again);
	struct dump_style style = { .json = json, .start = input_start(s->input) };
	int r = dump_write(&records, &ahead, filter, &style, stdout, err);

	if (input_warning(s->input))
		log_message("%s", input_warning(s->input));
	return r;
}

static int dump_events(struct input_stream *s, const struct dump_opts *o,
		       const struct dump_filter *filter, struct err *err)
{
	struct raw_source *raw = input_raw(s->input);

	if (o->processes.count || o->kinds.count)
		return err_usage(err, "--events cannot be combined with --pid or --kind");
	if (!raw)
		return err_set(err, -EINVAL,
			       "cannot show events of '%s': %s is not a kernel trace format; "
			       "omit --events",
			       s->path, input_format_name(s->input));
	return events_write(raw, filter, o->json, stdout, err);
}

static int dump_run(const void *opts, char **operands, struct err *err)
{
	const struct dump_opts *o = opts;
	_cleanup_(input_stream_done) struct input_stream s = { .path = operands[0],
							       .format = o->format };
	_cleanup_(freep) uint64_t *threads = NULL, *processes = NULL;
	struct dump_filter filter = { .from = o->from, .to = o->to };
	int r;

	if ((r = opt_numbers(&o->threads, "thread", 0, UINT32_MAX, &threads, err)) < 0 ||
	    (r = opt_numbers(&o->processes, "pid", 0, UINT32_MAX, &processes, err)) < 0 ||
	    (r = parse_kinds(&o->kinds, &filter.kinds, err)) < 0 ||
	    (r = input_stream_open(&s, err)) < 0)
		return r;
	filter.threads = threads;
	filter.thread_count = o->threads.count;
	filter.processes = processes;
	filter.process_count = o->processes.count;
	return o->events ? dump_events(&s, o, &filter, err)
			 : dump_records(&s, &filter, o->json, err);
}

const struct command cmd_dump = {
	.name = "dump",
	.summary = "print the records of a capture or trace",
	.synopsis = "[OPTION]... INPUT",
	.examples = "  sonde dump --thread=4127 --from=1s --to=2s capture.sonde\n"
		    "  sonde dump --json --kind=interval capture.sonde | jq 'select(.state == "
		    "\"L\")'\n",
	.opts = dump_opts,
	.defaults = &dump_defaults,
	.opts_size = sizeof(dump_defaults),
	.min_operands = 1,
	.max_operands = 1,
	.run = dump_run,
};
