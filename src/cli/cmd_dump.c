/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "cli/opt.h"
#include "report/dump.h"
#include "report/kind.h"

struct dump_opts {
	bool json;
	struct opt_list threads, processes, kinds;
	nsec_t from, to;
};

static const struct opt dump_opts[] = {
	{ OPT_FLAG, 0, "json", NULL, "write one JSON object per line instead of text",
	  offsetof(struct dump_opts, json) },
	{ OPT_LIST, 0, "thread", "TID", "only records about these threads",
	  offsetof(struct dump_opts, threads) },
	{ OPT_LIST, 0, "process", "PID", "only records about threads of these processes",
	  offsetof(struct dump_opts, processes) },
	{ OPT_LIST, 0, "kind", "KIND", "only records of these kinds: interval, task, message, ...",
	  offsetof(struct dump_opts, kinds) },
	{ OPT_TIME, 0, "from", "TIME", "only what ended at or after TIME from the start",
	  offsetof(struct dump_opts, from) },
	{ OPT_TIME, 0, "to", "TIME", "only what ended at or before TIME from the start",
	  offsetof(struct dump_opts, to) },
	{ 0 },
};

static const struct dump_opts dump_defaults = { .to = UINT64_MAX };

/* A list of tids or pids; the caller frees it. */
static int parse_numbers(const char *option, const struct opt_list *list, uint32_t **ret,
			 struct err *err)
{
	_cleanup_(freep) uint32_t *numbers = must_alloc((list->count + 1) * sizeof(*numbers));

	for (size_t i = 0; i < list->count; i++) {
		uint64_t n;
		if (parse_count(list->items[i], UINT32_MAX, &n) < 0)
			return err_usage(err, "--%s wants a number, not '%s'", option,
					 list->items[i]);
		numbers[i] = n;
	}
	*ret = TAKE(numbers);
	return 0;
}

static int parse_kinds(const struct opt_list *list, uint32_t *ret, struct err *err)
{
	uint32_t kinds = 0;

	for (size_t i = 0; i < list->count; i++) {
		uint32_t kind = kind_parse(list->items[i]);
		if (!kind) {
			_cleanup_(freep) char *known = kind_list();
			return err_usage(err, "--kind: no kind '%s'; there are %s", list->items[i],
					 known);
		}
		kinds |= kind;
	}
	*ret = kinds;
	return 0;
}

static int dump_run(const void *opts, char **operands, struct err *err)
{
	const struct dump_opts *o = opts;
	_cleanup_(capture_freep) struct capture *cap = NULL;
	_cleanup_(freep) uint32_t *threads = NULL, *processes = NULL;
	struct dump_filter filter = { .from = o->from, .to = o->to };
	int r;

	if ((r = parse_numbers("thread", &o->threads, &threads, err)) < 0 ||
	    (r = parse_numbers("process", &o->processes, &processes, err)) < 0 ||
	    (r = parse_kinds(&o->kinds, &filter.kinds, err)) < 0 ||
	    (r = capture_open(operands[0], &cap, err)) < 0)
		return r;
	filter.threads = threads;
	filter.thread_count = o->threads.count;
	filter.processes = processes;
	filter.process_count = o->processes.count;
	return dump_write(cap, &filter, o->json, stdout, err);
}

const struct command cmd_dump = {
	.name = "dump",
	.summary = "show the records of a capture",
	.synopsis = "[OPTION]... FILE",
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
