/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/requests/spans.h"
#include "cli/clocks.h"
#include "cli/log.h"
#include "cli/opt.h"
#include "cli/opt_selection.h"
#include "cli/style.h"
#include "cli/warn.h"
#include "event/syscall.h"
#include "load/load.h"
#include "report/requests.h"

struct requests_opts {
	struct selection_opts select;
	struct opt_list counts;
	unsigned long slowest;
	bool json, tree;
	const char *format;
};

#define FIELD(name) offsetof(struct requests_opts, name)

static const struct opt requests_opts[] = {
	OPT_SELECTION(struct requests_opts, select,
		      "only requests that arrive TIME after the start of the capture, or later",
		      "only requests that arrive before TIME"),
	{ OPT_FLAG, 0, "tree", NULL, "print each request as a tree", FIELD(tree) },
	{ OPT_COUNT, 'n', "slowest", "N", "print the N slowest requests as trees", FIELD(slowest) },
	{ OPT_LIST, 0, "count", "EVENT", "count this event or system call in each span",
	  FIELD(counts) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text", FIELD(json) },
	OPT_FORMAT(struct requests_opts, format),
	{ 0 },
};

static const struct requests_opts requests_defaults = { 0 };

typedef VEC(uint32_t) root_list;

static int slower_first(const void *a, const void *b, void *arg)
{
	const struct request_span *spans = arg, *x = &spans[*(const uint32_t *)a],
				  *y = &spans[*(const uint32_t *)b];
	nsec_t xt = x->end - x->start, yt = y->end - y->start;

	if (xt != yt)
		return xt > yt ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_start(const void *a, const void *b, void *arg)
{
	const struct request_span *spans = arg, *x = &spans[*(const uint32_t *)a],
				  *y = &spans[*(const uint32_t *)b];

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The requests of selected spans; a handoff without a known parent is not a request. */
static void find_roots(const struct loaded *loaded, const span_list *selected, root_list *ret)
{
	const struct requests *requests = &loaded->requests;
	struct map is_selected = { 0 };

	for (size_t i = 0; i < selected->count; i++)
		*map_insert(&is_selected, selected->items[i].i) = 1;
	for (uint32_t i = 1; i < requests->spans.count; i++) {
		const struct request_span *span = &requests->spans.items[i];
		span_id id = span_set_find(&loaded->spans, span->trace, span->id);

		if (span->kind == REQUEST_NETWORK && map_find(&is_selected, id.i))
			*vec_push(ret) = i;
	}
	map_done(&is_selected);
}

static void sort_by_start(const struct requests *requests, root_list *roots)
{
	if (roots->count)
		qsort_r(roots->items, roots->count, sizeof(roots->items[0]), by_start,
			requests->spans.items);
}

/* The slowest complete ones. */
static void find_slowest(const struct requests *requests, const root_list *roots,
			 unsigned long slowest, root_list *ret)
{
	for (size_t i = 0; i < roots->count; i++) {
		const struct request_span *span = &requests->spans.items[roots->items[i]];

		if (!span->no_reply && !span->parent_unknown)
			*vec_push(ret) = roots->items[i];
	}
	if (ret->count)
		qsort_r(ret->items, ret->count, sizeof(ret->items[0]), slower_first,
			requests->spans.items);
	ret->count = ret->count < slowest ? ret->count : slowest;
}

static bool is_event(const struct model *model, const char *name)
{
	for (size_t i = 1; i < model_probe_type_count(model); i++)
		if (strcmp(model_probe_name(model, i) ?: "", name) == 0)
			return true;
	return syscall_number(name) >= 0;
}

/* "; recorded events: a, b, c".  The caller frees it. */
static char *list_events(const struct model *model)
{
	char *text = NULL;
	size_t size, count = 0;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = 1; i < model_probe_type_count(model); i++) {
		const char *name = model_probe_name(model, i);

		if (name)
			fprintf(file, "%s%s", count++ ? ", " : "; recorded events: ", name);
	}
	fputs(count ? "" : "; record it with 'sonde record -e'", file);
	fclose(file);
	return text;
}

static int check_events(const struct model *model, const struct opt_list *names, struct err *err)
{
	_cleanup_(freep) char *recorded = list_events(model);

	for (size_t i = 0; i < names->count; i++)
		if (!is_event(model, names->items[i]))
			return err_set(err, -ENOENT, "--count: the inputs contain no event '%s'%s",
				       names->items[i], recorded);
	return 0;
}

static void put_clocks(const void *arg, struct json *j)
{
	clocks_json(arg, j);
}

static int write_all(const struct requests_opts *o, const struct request_view *view,
		     struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct style style = output_style();
	struct json j;

	out_init(out, stdout);
	json_init(&j, out);
	if (o->json)
		requests_json(&j, view);
	else if (o->tree || o->slowest)
		requests_tree(out, view);
	else
		requests_summary(out, &style, view);
	return out_finish(out, err);
}

static void warn_empty(const struct loaded *loaded, const struct selection *selection)
{
	log_message(selection_is_restricted(selection) && loaded->requests.roots.count
			    ? "no request matches the options; omit them to see all requests"
			    : "the inputs contain no reply to a client; record the service "
			      "itself (--port, -p)");
}

/* The requests that are listed: the slowest ones, or all, also those with lost records. */
static void find_listed(const struct loaded *loaded, const struct selected *selected,
			const root_list *roots, unsigned long slowest, root_list *ret)
{
	if (slowest) {
		find_slowest(&loaded->requests, roots, slowest, ret);
		return;
	}
	find_roots(loaded, &selected->spans, ret);
	find_roots(loaded, &selected->lost, ret);
	sort_by_start(&loaded->requests, ret);
}

static int show(const struct requests_opts *o, const struct selection *selection,
		struct loaded *loaded, struct err *err)
{
	root_list roots = { 0 }, listed = { 0 };
	struct selected selected;
	int r = check_events(loaded->model, &o->counts, err);

	if (r < 0)
		return r;
	loaded_rebuild_requests(loaded, true);
	selection_find(loaded, selection, &selected);
	find_roots(loaded, &selected.spans, &roots);
	sort_by_start(&loaded->requests, &roots);
	find_listed(loaded, &selected, &roots, o->slowest, &listed);
	clocks_warn(loaded->merge);
	warn_lost(loaded->model);

	struct request_view view = { .model = loaded->model,
				     .spans = &loaded->spans,
				     .requests = &loaded->requests,
				     .summed = roots.items,
				     .summed_count = roots.count,
				     .roots = listed.items,
				     .root_count = listed.count,
				     .lost = selected.lost.count,
				     .all = selected.all,
				     .counted = o->counts.items,
				     .counted_count = o->counts.count,
				     .host_name = load_host_name,
				     .more = put_clocks,
				     .arg = loaded->merge };

	r = write_all(o, &view, err);
	if (!roots.count && !o->json)
		warn_empty(loaded, selection);
	vec_done(&roots);
	vec_done(&listed);
	selected_done(&selected);
	return r;
}

static int requests_run(const void *opts, char **operands, struct err *err)
{
	const struct requests_opts *o = opts;
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct err damage = { "" };
	struct selection selection;

	if (opt_selection(&o->select, &selection, err) < 0)
		return -EUSAGE;
	selection.only_rebuilt = selection.with_open = true;

	int damaged = loaded_open(&loaded, operands, o->format, &damage), r = 0;

	warn_all(&loaded.warnings);
	if (loaded.model)
		r = show(o, &selection, &loaded, err);
	if (damaged < 0)
		*err = damage;
	return damaged < 0 ? damaged : r;
}

const struct command cmd_requests = {
	.name = "requests",
	.summary = "rebuild the requests of services from kernel events",
	.synopsis = "[OPTION]... INPUT...",
	.examples = "  sonde requests capture.sonde\n"
		    "  sonde requests -n 3 --count=exceptions:page_fault_user capture.sonde\n",
	.opts = requests_opts,
	.defaults = &requests_defaults,
	.opts_size = sizeof(requests_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = requests_run,
};
