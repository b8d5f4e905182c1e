/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/requests/spans.h"
#include "cli/clocks.h"
#include "cli/opt.h"
#include "cli/log.h"
#include "cli/warn.h"
#include "event/syscall.h"
#include "load/load.h"
#include "report/requests.h"

struct requests_opts {
	struct opt_list entries, counts;
	unsigned long slowest;
	bool json, tree;
	const char *format;
};

#define FIELD(name) offsetof(struct requests_opts, name)

static const struct opt requests_opts[] = {
	{ OPT_LIST, 0, "entry", "PORT|ADDR",
	  "only requests to this port or to or from this address", FIELD(entries) },
	{ OPT_FLAG, 0, "tree", NULL, "print each request as a tree", FIELD(tree) },
	{ OPT_COUNT, 'n', "slowest", "N", "print the N slowest requests as trees", FIELD(slowest) },
	{ OPT_LIST, 0, "count", "EVENT", "count this event or system call in each span",
	  FIELD(counts) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text", FIELD(json) },
	OPT_FORMAT(struct requests_opts, format),
	{ 0 },
};

static const struct requests_opts requests_defaults = { 0 };

struct entry_filter {
	const struct model *model;
	const struct opt_list *entries;
};

/* "80", "127.0.0.1" and "127.0.0.1:80" all match the address "127.0.0.1:80". */
static bool address_matches(const char *address, const char *wanted)
{
	const char *port = strrchr(address, ':');

	if (!port)
		return *address && strcmp(address, wanted) == 0;
	return strcmp(address, wanted) == 0 || strcmp(port + 1, wanted) == 0 ||
	       (strlen(wanted) == (size_t)(port - address) &&
		strncmp(address, wanted, port - address) == 0);
}

static bool entry_matches(const void *arg, const struct request_span *root)
{
	const struct entry_filter *filter = arg;

	if (!filter->entries->count)
		return root->kind == REQUEST_NETWORK;

	struct request_address a = request_address(filter->model, root);

	for (size_t i = 0; i < filter->entries->count; i++) {
		const char *wanted = filter->entries->items[i];
		bool is_port = strspn(wanted, "0123456789") == strlen(wanted);

		if (address_matches(a.local, wanted) ||
		    (!is_port && address_matches(a.peer, wanted)))
			return true;
	}
	return false;
}

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

/* All roots by start time, or the slowest complete ones. */
static void choose_roots(const struct requests *requests, const struct entry_filter *filter,
			 unsigned long slowest, root_list *ret)
{
	for (size_t i = 0; i < requests->roots.count; i++) {
		uint32_t root = requests->roots.items[i];
		const struct request_span *span = &requests->spans.items[root];

		if (entry_matches(filter, span) && (!slowest || request_is_whole(span)))
			*vec_push(ret) = root;
	}
	if (!slowest || !ret->count)
		return;
	qsort_r(ret->items, ret->count, sizeof(ret->items[0]), slower_first, requests->spans.items);
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
	struct json j;

	out_init(out, stdout);
	json_init(&j, out);
	if (o->json)
		requests_json(&j, view);
	else if (o->tree || o->slowest)
		requests_tree(out, view);
	else
		requests_summary(out, view);
	return out_finish(out, err);
}

static int show(const struct requests_opts *o, struct loaded *loaded, struct err *err)
{
	const struct model *model = loaded->model;
	struct entry_filter filter = { model, &o->entries };
	root_list roots = { 0 };
	int r = check_events(model, &o->counts, err);

	if (r < 0)
		return r;
	requests_find(model, &loaded->requests);
	choose_roots(&loaded->requests, &filter, o->slowest, &roots);
	clocks_warn(loaded->merge);
	warn_lost(model);
	r = write_all(o,
		      &(struct request_view){ .model = model,
					      .requests = &loaded->requests,
					      .filter = entry_matches,
					      .filter_arg = &filter,
					      .roots = roots.items,
					      .root_count = roots.count,
					      .counted = o->counts.items,
					      .counted_count = o->counts.count,
					      .host_name = load_host_name,
					      .more = put_clocks,
					      .arg = loaded->merge },
		      err);
	if (!roots.count && !o->json)
		log_message(o->entries.count && loaded->requests.roots.count
				    ? "no request matches --entry; omit it to see all requests"
				    : "the inputs contain no reply to a client; record the service "
				      "itself (--port, -p)");
	vec_done(&roots);
	return r;
}

static int requests_run(const void *opts, char **operands, struct err *err)
{
	const struct requests_opts *o = opts;
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct err damage = { "" };
	int damaged = loaded_open(&loaded, operands, o->format, &damage), r = 0;

	warn_all(&loaded.warnings);
	if (loaded.model)
		r = show(o, &loaded, err);

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
