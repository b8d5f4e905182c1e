/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that applications reported. */
#include "analyse/lost.h"
#include "analyse/span_cpu.h"
#include "query/tables.h"
#include "event/kind.h"

enum {
	ID,
	TRACE_ID,
	SPAN_ID,
	PARENT,
	PARENT_SPAN_ID,
	SERVICE,
	OPERATION,
	START,
	END,
	DURATION,
	ERROR,
	FOLLOWS_FROM,
	UNFINISHED,
	ORIGINAL_START,
	SOURCE,
	KIND,
	CPU_TIME,
	LOST,
	INCOMPLETE,
	THREAD,
};

static const struct column columns[] = {
	[ID] = { "id", QUERY_INT, COLUMN_ID, "row number, from 1" },
	[TRACE_ID] = { "trace_id", QUERY_TEXT, COLUMN_KEY, "trace ID, in hex" },
	[SPAN_ID] = { "span_id", QUERY_TEXT, COLUMN_KEY, "span ID, in hex" },
	[PARENT] = { "parent", QUERY_INT, COLUMN_KEY,
		     "parent span, as in spans.id; NULL if it was not recorded" },
	[PARENT_SPAN_ID] = { "parent_span_id", QUERY_TEXT, COLUMN_KEY,
			     "span ID of the parent, in hex" },
	[SERVICE] = { "service", QUERY_TEXT, COLUMN_KEY, "service name" },
	[OPERATION] = { "operation", QUERY_TEXT, COLUMN_KEY, "operation name" },
	[START] = { "start", QUERY_INT, COLUMN_PLAIN, "start of the span" },
	[END] = { "end", QUERY_INT, COLUMN_PLAIN, "end of the span" },
	[DURATION] = { "duration", QUERY_INT, COLUMN_PLAIN, "end - start" },
	[ERROR] = { "error", QUERY_INT, COLUMN_PLAIN, "1 if the span failed" },
	[FOLLOWS_FROM] = { "follows_from", QUERY_INT, COLUMN_PLAIN,
			   "1 if the parent does not wait for the span" },
	[UNFINISHED] = { "unfinished", QUERY_INT, COLUMN_PLAIN, "1 if the end is unknown" },
	[ORIGINAL_START] = { "original_start", QUERY_INT, COLUMN_PLAIN,
			     "start before the correction of clock skew" },
	[SOURCE] = { "source", QUERY_TEXT, COLUMN_PLAIN,
		     "origin of the span: sdk, inferred or probe" },
	[KIND] = { "kind", QUERY_TEXT, COLUMN_PLAIN,
		   "internal, server, client, producer or consumer" },
	[CPU_TIME] = { "cpu_time", QUERY_INT, COLUMN_PLAIN,
		       "time threads ran for the span, without its children" },
	[LOST] = { "lost", QUERY_INT, COLUMN_PLAIN,
		   "known number of records lost during the span" },
	[INCOMPLETE] = { "incomplete", QUERY_INT, COLUMN_PLAIN,
			 "1 if records were lost during the span" },
	THREAD_COLUMNS("thread", COLUMN_KEY),
};

static uint32_t count(struct query *q)
{
	return model_span_count(q->model) - 1; /* number 0 means none */
}

/* A span can name its thread even if the thread itself was not recorded. */
static void thread_value(const struct model *model, const struct span *span, int column,
			 struct cell *ret)
{
	if (column == THREAD_HOST)
		cell_int(ret, span->host);
	else if (column == THREAD_TID && span->tid)
		cell_int(ret, span->tid);
	else if (column == THREAD_PID && span->pid)
		cell_int(ret, span->pid);
	else
		cell_thread(ret, model, span->thread, column);
}

static void name_value(const struct model *model, const struct span *span, int column,
		       struct cell *ret)
{
	static const char *const sources[] = {
		[SPAN_SDK] = "sdk",
		[SPAN_INFERRED] = "inferred",
		[SPAN_PROBE] = "probe",
	};

	switch (column) {
	case TRACE_ID:
		cell_hex(ret, span->trace, sizeof(span->trace));
		break;
	case SPAN_ID:
		cell_hex(ret, span->id, sizeof(span->id));
		break;
	case PARENT_SPAN_ID:
		cell_hex(ret, span->parent_id, sizeof(span->parent_id));
		break;
	case SERVICE:
		cell_string(ret, model, span->service);
		break;
	case OPERATION:
		cell_string(ret, model, span->operation);
		break;
	case KIND:
		if (span->kind != SPAN_UNSPECIFIED)
			cell_text(ret, span_kind_name(span->kind));
		break;
	case SOURCE:
		cell_text(ret, span->source < ARRAY_LEN(sources) ? sources[span->source] : NULL);
		break;
	}
}

/* Computed for all spans when a query first reads the column. */
static void cpu_value(struct query *q, span_id span, struct cell *ret)
{
	if (!q->span_cpu)
		q->span_cpu = span_cpu_find(q->model);
	if (q->span_cpu[span.i] != CPU_UNKNOWN)
		cell_time(ret, q->span_cpu[span.i]);
}

static void value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct model *model = c->query->model;
	const struct span *span = model_span(model, (span_id){ c->number });

	switch (column) {
	case ID:
		cell_int(ret, c->number);
		break;
	case PARENT:
		if (span->parent.i)
			cell_int(ret, span->parent.i);
		break;
	case START:
		cell_time(ret, span->start);
		break;
	case END:
		cell_time(ret, span->end);
		break;
	case DURATION:
		cell_duration(ret, span->start, span->end);
		break;
	case ERROR:
		cell_int(ret, !!(span->flags & SPAN_ERROR));
		break;
	case FOLLOWS_FROM:
		cell_int(ret, !!(span->flags & SPAN_FOLLOWS));
		break;
	case UNFINISHED:
		cell_int(ret, !!(span->flags & SPAN_OPEN));
		break;
	case ORIGINAL_START:
		cell_time(ret, span->start - span->shift);
		break;
	case TRACE_ID ... SPAN_ID:
	case PARENT_SPAN_ID ... OPERATION:
	case SOURCE ... KIND:
		name_value(model, span, column, ret);
		break;
	case CPU_TIME:
		cpu_value(c->query, (span_id){ c->number }, ret);
		break;
	case LOST:
		cell_int(ret, lost_of_span(model, span).records);
		break;
	case INCOMPLETE:
		cell_int(ret, lost_of_span(model, span).losses > 0);
		break;
	default:
		thread_value(model, span, column - THREAD, ret);
	}
}

const struct query_table table_spans = {
	.name = "spans",
	.description = "spans reported by applications",
	.columns = columns,
	.column_count = ARRAY_LEN(columns),
	.sorted = "a",
	.count = count,
	.value = value,
};
