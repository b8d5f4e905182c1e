/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/opt.h"
#include "report/info.h"

struct info_opts {
	bool json;
};

static const struct opt info_opts[] = {
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text",
	  offsetof(struct info_opts, json) },
	{ 0 },
};

static const struct info_opts info_defaults = { 0 };

static int info_run(const void *opts, char **operands, struct err *err)
{
	const struct info_opts *o = opts;
	_cleanup_(capture_freep) struct capture *cap = NULL;
	_cleanup_(info_done) struct info info = { 0 };

	int r = capture_open(operands[0], &cap, err);
	if (r < 0)
		return r;
	/* what stands before the damage is told, and only then that there is one */
	int damaged = info_read(&info, operands[0], cap, err);
	r = o->json ? info_json(&info, stdout) : info_text(&info, stdout);
	if (r < 0)
		return err_set(err, r, "cannot write: %s", strerror(-r));
	return damaged;
}

const struct command cmd_info = {
	.name = "info",
	.summary = "show what is in a capture, and what was lost",
	.synopsis = "[OPTION]... FILE",
	.examples = "  sonde info capture.sonde\n"
		    "  sonde info --json capture.sonde | jq .lost\n",
	.opts = info_opts,
	.defaults = &info_defaults,
	.opts_size = sizeof(info_defaults),
	.min_operands = 1,
	.max_operands = 1,
	.run = info_run,
};
