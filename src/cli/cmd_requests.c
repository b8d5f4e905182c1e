/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/load.h"
#include "cli/opt.h"
#include "report/requests.h"

struct requests_opts {
	struct opt_list entries, counts;
	bool json, tree;
	const char *format;
};

#define FIELD(name) offsetof(struct requests_opts, name)

static const struct opt requests_opts[] = {
	{ OPT_LIST, 0, "entry", "PORT|ADDR",
	  "only requests that came in by this port or address, or from this address",
	  FIELD(entries) },
	{ OPT_FLAG, 0, "tree", NULL, "show each request as a tree", FIELD(tree) },
	{ OPT_LIST, 0, "count", "EVENT", "show how often this event happened in each span",
	  FIELD(counts) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text", FIELD(json) },
	OPT_FORMAT(struct requests_opts, format),
	{ 0 },
};

static const struct requests_opts requests_defaults = { 0 };

struct chosen {
	const struct model *model;
	const struct opt_list *entries;
};

/* "80", "127.0.0.1" and "127.0.0.1:80" all mean "127.0.0.1:80". */
static bool is_at(const char *address, const char *wanted)
{
	const char *port = strrchr(address, ':');

	if (!port)
		return false;
	return strcmp(address, wanted) == 0 || strcmp(port + 1, wanted) == 0 ||
	       (strlen(wanted) == (size_t)(port - address) &&
		strncmp(address, wanted, port - address) == 0);
}

static bool is_chosen(const void *arg, const struct request_span *root)
{
	const struct chosen *chosen = arg;
	struct request_address a = request_address(chosen->model, root);

	for (size_t i = 0; i < chosen->entries->count; i++) {
		const char *wanted = chosen->entries->items[i];
		bool is_port = strspn(wanted, "0123456789") == strlen(wanted);

		if (is_at(a.local, wanted) || (!is_port && is_at(a.peer, wanted)))
			return true;
	}
	return !chosen->entries->count && root->kind == REQUEST_NETWORK;
}

static int requests_run(const void *opts, char **operands, struct err *err)
{
	const struct requests_opts *o = opts;
	_cleanup_(model_freep) struct model *model = NULL;
	_cleanup_(requests_done) struct requests requests = { 0 };
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	int damaged = load_model(operands, o->format, &model, err);

	if (damaged < 0 && !model)
		return damaged;
	requests_find(model, &requests);

	struct chosen chosen = { model, &o->entries };
	struct request_view view = { model,   &requests,       is_chosen,
				     &chosen, o->counts.items, o->counts.count };
	struct json j;

	out_init(out, stdout);
	json_init(&j, out);
	if (o->json)
		requests_json(&j, &view);
	else if (o->tree)
		requests_tree(out, &view);
	else
		requests_summary(out, &view);

	int r = out_flush(out);

	if (r < 0)
		return err_set(err, r, "cannot write: %s", strerror(-r));
	return damaged;
}

const struct command cmd_requests = {
	.name = "requests",
	.summary = "rebuild the requests of services from kernel events",
	.synopsis = "[OPTION]... INPUT...",
	.examples = "  sonde requests --entry=8080 capture.sonde\n"
		    "  sonde requests --tree --count=exceptions:page_fault_user capture.sonde\n",
	.opts = requests_opts,
	.defaults = &requests_defaults,
	.opts_size = sizeof(requests_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = requests_run,
};
