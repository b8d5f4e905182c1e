/* SPDX-License-Identifier: Apache-2.0 */
/* top_source - where the records of `sonde top` come from. */
#ifndef SONDE_CLI_TOP_SOURCE_H
#define SONDE_CLI_TOP_SOURCE_H

#include "cli/opt.h"
#include "live/live.h"

/* What to record; nothing: all processes. */
struct top_scope {
	struct opt_list pids, ports;
	const char *cgroup;
	bool all;
};

/*
 * Start a recorder and drop all privileges.  *ret_keeper must be freed after the pump, by
 * top_keeper_free().  Builds without the recorder fail, and say why.
 */
int top_source_record(const struct top_scope *scope, const struct live_options *options,
		      struct keeper **ret_keeper, struct live **ret, struct err *err);
void top_keeper_free(struct keeper **keeper);

/* Whether the only operand is '-' and stdin is a pipe: a stream of 'sonde record -o -'. */
bool top_source_is_stream(char **operands);

/* Read that stream while it is written.  From now on, stdin is the terminal, if there is one. */
int top_source_stream(const struct live_options *options, struct live **ret, struct err *err);

#endif
