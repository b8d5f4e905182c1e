/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phrase - what a thread did or waited for, in English.
 *
 * A phrase continues the name of a thread: "runs", "waits for a lock, held by
 * contacts (4127)".  It is built from the same data as the JSON output.  It can
 * contain names from the recorded programs, so escape it when writing it.
 */
#ifndef SONDE_REPORT_PHRASE_H
#define SONDE_REPORT_PHRASE_H

#include "analyse/account.h"

struct phrase {
	char s[512];
};

/*
 * "contacts (4127)"; "contacts (4128 of 4127)" if it is not the main thread, and
 * "worker (4128 of contacts 4127)" if it has a name of its own.
 */
struct phrase phrase_thread(const struct model *model, thread_id thread);

/* The thread of a node, or the process if the node has several threads. */
struct phrase phrase_node_thread(const struct model *model, const struct node *node);

/* A step of a path, and the other span or request if its thread worked for one. */
struct phrase phrase_path_step(const struct span_set *spans, const struct step *step,
			       const struct cause *cause);
/* A node, described by its longest step. */
struct phrase phrase_node(const struct span_set *spans, const struct account *account,
			  const struct node *node);

/* A leaf as the cause of the time of the nodes above it. */
struct phrase phrase_cause(const struct span_set *spans, const struct account *account,
			   uint32_t node);

#endif
