/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run - start a command with the agent, so that its spans can be recorded.
 *
 * LD_PRELOAD loads the agent into the command and, as children inherit the
 * environment, into all its descendants.  sonde then executes the command, so
 * there is no process between the command and its terminal, signals and parent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agent_path.h"
#include "cli/opt.h"

struct run_opts {
	struct opt_list disable;
};

static const struct opt run_opts[] = {
	{ OPT_LIST, 0, "disable", "PATTERN",
	  "disable spans of sonde.h whose names match a shell pattern",
	  offsetof(struct run_opts, disable) },
	{ 0 },
};

static const struct run_opts run_defaults = { 0 };

/* Prepend a value to an environment variable. */
static void prepend(const char *name, const char *value, const char *separator)
{
	const char *old = getenv(name);
	_cleanup_(freep) char *both =
		old && *old ? must_printf("%s%s%s", value, separator, old) : must_strdup(value);

	setenv(name, both, true);
}

static bool is_preloaded(const char *path)
{
	const char *old = getenv("LD_PRELOAD");
	const char *at = old ? strstr(old, path) : NULL;

	return at && (at == old || strchr(": ", at[-1])) && strchr(": ", at[strlen(path)]);
}

static int run_run(const void *opts, char **operands, struct err *err)
{
	const struct run_opts *o = opts;
	_cleanup_(freep) char *path = NULL;
	int r = agent_path_find(&path, err);

	if (r < 0)
		return r;
	if (!is_preloaded(path))
		prepend("LD_PRELOAD", path, ":");
	for (size_t i = 0; i < o->disable.count; i++)
		prepend("SONDE_SPANS_DISABLED", o->disable.items[i], ",");
	execvp(operands[0], operands);
	return err_errno(err, "cannot execute '%s'", operands[0]);
}

const struct command cmd_run = {
	.name = "run",
	.summary = "start a command so that its spans can be recorded",
	.synopsis = "[OPTION]... [--] COMMAND [ARG]...",
	.examples = "  sonde run -- gunicorn shop:app\n"
		    "  sonde record -o slow.sonde -- sonde run ./service --config test.conf\n",
	.opts = run_opts,
	.defaults = &run_defaults,
	.opts_size = sizeof(run_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.takes_command = true,
	.run = run_run,
};
