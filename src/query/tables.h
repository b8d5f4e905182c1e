/* SPDX-License-Identifier: Apache-2.0 */
/* tables - all tables, and what they share. */
#ifndef SONDE_QUERY_TABLES_H
#define SONDE_QUERY_TABLES_H

#include "query/query_internal.h"

extern const struct table table_threads, table_intervals, table_wakeups, table_slices,
	table_messages, table_connects, table_calls, table_block, table_probe_events, table_samples,
	table_spans, table_contexts, table_attributes, table_requests, table_request_work;

/* The count of tables with a line for each thread, or a row. */
uint32_t thread_count(struct query *q);

static inline const struct thread *cursor_thread(const struct cursor *c)
{
	return model_thread(c->query->model, (thread_id){ c->number });
}

/* What a thread has of this sort; NULL if it has none. */
static inline const struct timeline *own_timeline(struct query *q, uint32_t thread,
						  enum thread_timeline which)
{
	return model_thread(q->model, (thread_id){ thread })->timelines[which];
}

#endif
