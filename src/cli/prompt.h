/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt - statements from a person, line by line, or from a file.
 *
 * A person sees a prompt, and that something was wrong with one statement does
 * not keep him from the next.  Ctrl-C stops a query that takes too long, or
 * forgets what was begun; Ctrl-D ends.  Lines that begin with a dot are for the
 * prompt: .tables, .schema, .help, .quit.
 */
#ifndef SONDE_CLI_PROMPT_H
#define SONDE_CLI_PROMPT_H

#include "base/err.h"
#include "base/out.h"
#include "query/query.h"

/* All statements that come from stdin, with results as `sink` makes them. */
int prompt_run(struct query *query, const struct query_sink *sink, struct out *out,
	       struct err *err);

/* Have Ctrl-C stop a query rather than the program. */
void prompt_catch(struct query *query);

#endif
