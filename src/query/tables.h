/* SPDX-License-Identifier: Apache-2.0 */
/* tables - all tables, and what they share. */
#ifndef SONDE_QUERY_TABLES_H
#define SONDE_QUERY_TABLES_H

#include "query/query_parts.h"

extern const struct table table_threads, table_intervals, table_wakeups, table_turns,
	table_messages, table_connects, table_calls, table_block, table_hits, table_samples,
	table_spans, table_contexts, table_attributes, table_requests, table_slices;

/* The count of tables with a line for each thread, or a row. */
uint32_t thread_count(struct query *q);

static inline const struct thread *cursor_thread(const struct cursor *c)
{
	return model_thread(c->query->model, (thread_id){ c->number });
}

/* What a thread has of this sort; NULL if it has none. */
static inline const struct line *own_line(struct query *q, uint32_t thread, enum thread_line which)
{
	return model_thread(q->model, (thread_id){ thread })->lines[which];
}

#endif
