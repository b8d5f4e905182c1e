/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/text.h"
#include "cli/opt.h"
#include "flight/snap.h"

struct snap_opts {
	uint32_t pid;
};

static const struct opt snap_opts[] = {
	{ OPT_PID, 'p', "pid", "PID", "ask the flight recorder with this process id",
	  offsetof(struct snap_opts, pid) },
	{ 0 },
};

static const struct snap_opts snap_defaults;

static int snap_run(const void *opts, char **operands, struct err *err)
{
	const struct snap_opts *o = opts;
	_cleanup_(freep) char *path = NULL;
	int r = snap_ask(o->pid, &path, err);

	(void)operands;
	if (r == 0)
		puts(path);
	return r;
}

const struct command cmd_snap = {
	.name = "snap",
	.summary = "write what a flight recorder holds to a capture",
	.synopsis = "[OPTION]...",
	.examples = "  sonde snap\n"
		    "  sonde explain $(sudo sonde snap)\n",
	.opts = snap_opts,
	.defaults = &snap_defaults,
	.opts_size = sizeof(snap_defaults),
	.run = snap_run,
};
