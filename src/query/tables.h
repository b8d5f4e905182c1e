/* SPDX-License-Identifier: Apache-2.0 */
/* tables - the tables, and helpers that they share. */
#ifndef SONDE_QUERY_TABLES_H
#define SONDE_QUERY_TABLES_H

#include "query/internal.h"

extern const struct query_table table_threads, table_intervals, table_wakeups, table_slices,
	table_messages, table_connections, table_syscalls, table_block_io, table_probe_events,
	table_samples, table_spans, table_contexts, table_attributes, table_requests,
	table_request_work;

/* The number of threads, for tables with one row or timeline per thread. */
uint32_t table_thread_count(struct query *q);

static inline const struct thread *cursor_thread(const struct table_cursor *c)
{
	return model_thread(c->query->model, (thread_id){ c->number });
}

/* A timeline of a thread; NULL if it is empty. */
static inline const struct timeline *thread_own_timeline(struct query *q, uint32_t thread,
							 enum thread_timeline which)
{
	return model_thread(q->model, (thread_id){ thread })->timelines[which];
}

#endif
