/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phrase - what a thread did or waited for, in words.
 *
 * A phrase goes on from the name of a thread: "runs", "waits for a lock that
 * contacts (4127) held".  It is made from the same data that JSON gets, and
 * may hold names of anybody's making: it is escaped when it is written.
 */
#ifndef SONDE_REPORT_PHRASE_H
#define SONDE_REPORT_PHRASE_H

#include "analyse/account.h"

struct phrase {
	char s[512];
};

/* "contacts (4127)"; a thread that is not its process's first shows both numbers. */
struct phrase phrase_thread(const struct model *model, thread_id thread);

/* The threads of a node: one, or a process. */
struct phrase phrase_who(const struct model *model, const struct node *node);

/* What a step of a path was; if it was for another span, that is said. */
struct phrase phrase_path_step(const struct model *model, const struct step *step,
			       const struct cause *cause);
/* What the longest step of a node was. */
struct phrase phrase_node(const struct span_set *spans, const struct account *account,
			  const struct node *node);

/* A node without others below it as the cause of the time above it, in a sentence. */
struct phrase phrase_cause(const struct span_set *spans, const struct account *account,
			   uint32_t node);

#endif
