/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt - run SQL from stdin: at a prompt on a terminal, otherwise as a script.
 *
 * At the prompt, an error does not end the session.  Ctrl-C stops a running
 * query or discards the statement being typed; Ctrl-D exits.  Lines that start
 * with a dot are commands of the prompt: .tables, .schema, .help, .quit.
 */
#ifndef SONDE_CLI_PROMPT_H
#define SONDE_CLI_PROMPT_H

#include "base/err.h"
#include "base/out.h"
#include "query/query.h"

/* Run all statements from stdin and write the results to `sink`. */
int prompt_run(struct query *query, const struct query_sink *sink, struct out *out,
	       struct err *err);

/* Let Ctrl-C stop a query instead of the program. */
void prompt_catch(struct query *query);

#endif
