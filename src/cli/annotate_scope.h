/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotate_scope - which processes `sonde annotate` records, in words.
 *
 * Without an option, these are the processes that `sonde run` started: as soon as they have an
 * agent, which begins with their first span, and with their descendants.
 */
#ifndef SONDE_CLI_ANNOTATE_SCOPE_H
#define SONDE_CLI_ANNOTATE_SCOPE_H

#include "annotate/worker.h"

struct annotate_scope {
	bool agents;      /* the processes that `sonde run` started */
	bool all;         /* all processes */
	uint64_t logged;  /* number of processes + 1 in the last message; 0: no message yet */
	uint64_t refused; /* at the last message */
};

/* One line about the scope now; the caller frees it. */
char *annotate_scope_text(const struct annotate_scope *scope, const struct annotate_status *status);

/* Log the scope when it becomes known, when its first process comes and when its last one ends. */
void annotate_scope_log(struct annotate_scope *scope, const struct annotate_status *status);

#endif
