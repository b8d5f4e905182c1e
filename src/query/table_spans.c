/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that applications told of. */
#include "analyse/lost.h"
#include "analyse/span_cpu.h"
#include "query/tables.h"
#include "event/kind.h"

enum {
	ID,
	TRACE,
	SPAN,
	PARENT,
	PARENT_SPAN,
	SERVICE,
	OPERATION,
	START,
	END,
	NS,
	ERROR,
	FOLLOWS,
	OPEN,
	ORIGINAL_START,
	SOURCE,
	KIND,
	CPU,
	LOST,
	INCOMPLETE,
	THREAD,
};

static const struct column columns[] = {
	[ID] = { "id", QUERY_INT, COLUMN_ID, "number, from 1" },
	[TRACE] = { "trace", QUERY_TEXT, COLUMN_KEY, "id of the trace, in hex" },
	[SPAN] = { "span", QUERY_TEXT, COLUMN_KEY, "id of the span, in hex" },
	[PARENT] = { "parent", QUERY_INT, COLUMN_KEY, "number of the parent, if it is there" },
	[PARENT_SPAN] = { "parent_span", QUERY_TEXT, COLUMN_KEY, "id of the parent, in hex" },
	[SERVICE] = { "service", QUERY_TEXT, COLUMN_KEY, "who did it" },
	[OPERATION] = { "operation", QUERY_TEXT, COLUMN_KEY, "what" },
	[START] = { "start", QUERY_INT, COLUMN_PLAIN, "since when" },
	[END] = { "end", QUERY_INT, COLUMN_PLAIN, "until when" },
	[NS] = { "ns", QUERY_INT, COLUMN_PLAIN, "how long" },
	[ERROR] = { "error", QUERY_INT, COLUMN_PLAIN, "1 if it failed" },
	[FOLLOWS] = { "follows", QUERY_INT, COLUMN_PLAIN, "1 if its parent does not wait for it" },
	[OPEN] = { "open", QUERY_INT, COLUMN_PLAIN, "1 if its end is unknown" },
	[ORIGINAL_START] = { "original_start", QUERY_INT, COLUMN_PLAIN,
			     "start before clock skew was corrected" },
	[SOURCE] = { "source", QUERY_TEXT, COLUMN_PLAIN, "who told of it: sdk, inferred, probe" },
	[KIND] = { "kind", QUERY_TEXT, COLUMN_PLAIN,
		   "internal, server, client, producer or consumer" },
	[CPU] = { "cpu", QUERY_INT, COLUMN_PLAIN,
		  "ns for which threads ran for it, and for none below it" },
	[LOST] = { "lost", QUERY_INT, COLUMN_PLAIN, "records lost meanwhile, as far as known" },
	[INCOMPLETE] = { "incomplete", QUERY_INT, COLUMN_PLAIN, "1 if a loss overlaps it" },
	THREAD_COLUMNS("thread", COLUMN_KEY),
};

static uint32_t count(struct query *q)
{
	return model_span_count(q->model) - 1; /* the first is none */
}

/* Of a thread that was not recorded, the span may tell all the same. */
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
	case TRACE:
		cell_hex(ret, span->trace, sizeof(span->trace));
		break;
	case SPAN:
		cell_hex(ret, span->id, sizeof(span->id));
		break;
	case PARENT_SPAN:
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

/* Computed for all spans when it is first asked for. */
static void cpu_value(struct query *q, span_id span, struct cell *ret)
{
	if (!q->span_cpu)
		q->span_cpu = span_cpu_find(q->model);
	if (q->span_cpu[span.i] != CPU_UNKNOWN)
		cell_time(ret, q->span_cpu[span.i]);
}

static void value(struct cursor *c, int column, struct cell *ret)
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
	case NS:
		cell_length(ret, span->start, span->end);
		break;
	case ERROR:
		cell_int(ret, !!(span->flags & SPAN_ERROR));
		break;
	case FOLLOWS:
		cell_int(ret, !!(span->flags & SPAN_FOLLOWS));
		break;
	case OPEN:
		cell_int(ret, !!(span->flags & SPAN_OPEN));
		break;
	case ORIGINAL_START:
		cell_time(ret, span->start - span->shift);
		break;
	case TRACE ... SPAN:
	case PARENT_SPAN ... OPERATION:
	case SOURCE ... KIND:
		name_value(model, span, column, ret);
		break;
	case CPU:
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

const struct table table_spans = {
	.name = "spans",
	.meaning = "spans that applications told of",
	.columns = columns,
	.column_count = ARRAY_LEN(columns),
	.sorted = "a",
	.count = count,
	.value = value,
};
