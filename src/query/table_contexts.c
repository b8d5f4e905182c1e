/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: the span each thread worked for, with one timeline per thread; and the
 * attributes of spans.
 */
#include <string.h>

#include "analyse/span_cpu.h"
#include "query/tables.h"
#include "event/kind.h"

/* The trace ID or span ID of a reference, in hexadecimal. */
static void span_ref_value(struct cell *ret, const struct model *model, uint32_t number,
			   bool is_trace)
{
	const struct span_ref *ref = model_span_ref(model, number);

	if (is_trace)
		cell_hex(ret, ref->trace, sizeof(ref->trace));
	else
		cell_hex(ret, ref->id, sizeof(ref->id));
}

static void span_row(struct cell *ret, const struct model *model, uint32_t ref)
{
	span_id span = model_span_ref(model, ref)->span;

	if (span.i)
		cell_int(ret, span.i);
}

enum {
	START = THREAD_COLUMN_COUNT,
	END,
	DURATION,
	CPU_TIME,
	SOURCE,
	SPAN,
	TRACE_ID,
	SPAN_ID,
	SERVICE,
	OPERATION,
};

static const struct column context_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[START] = { "start", QUERY_INT, COLUMN_FROM, "start of the context" },
	[END] = { "end", QUERY_INT, COLUMN_TO, "end of the context" },
	[DURATION] = { "duration", QUERY_INT, COLUMN_PLAIN, "length of the context" },
	[CPU_TIME] = { "cpu_time", QUERY_INT, COLUMN_PLAIN, "time the thread ran in it" },
	[SOURCE] = { "source", QUERY_TEXT, COLUMN_PLAIN,
		     "published by the process, observed when the thread left a CPU, or unknown" },
	[SPAN] = { "span", QUERY_INT, COLUMN_PLAIN,
		   "span, as in spans.id; NULL if the span was not recorded" },
	[TRACE_ID] = { "trace_id", QUERY_TEXT, COLUMN_PLAIN,
		       "trace ID of the span, in hex; NULL if the thread worked for no span" },
	[SPAN_ID] = { "span_id", QUERY_TEXT, COLUMN_PLAIN, "span ID, in hex" },
	[SERVICE] = { "service", QUERY_TEXT, COLUMN_PLAIN, "service of the span" },
	[OPERATION] = { "operation", QUERY_TEXT, COLUMN_PLAIN, "operation of the span" },
};

static const char *context_source(const struct context *context)
{
	return context->flags & CONTEXT_UNKNOWN    ? "unknown"
	       : context->flags & CONTEXT_OBSERVED ? "observed"
						   : "published";
}

/* The last context of a thread ends with the thread's last record. */
static nsec_t context_end(const struct table_cursor *c)
{
	const struct thread *thread = cursor_thread(c);
	nsec_t start = ((const struct context *)c->item)->start;
	timeline_pos next = c->pos;

	if (timeline_next(c->timeline, &next))
		return ((const struct context *)timeline_at(c->timeline, next))->start;
	return thread->end > start ? thread->end : start;
}

static void context_times(struct table_cursor *c, int column, struct cell *ret)
{
	nsec_t start = ((const struct context *)c->item)->start, end = context_end(c), cpu;

	switch (column) {
	case END:
		cell_time(ret, end);
		break;
	case DURATION:
		cell_duration(ret, start, end);
		break;
	case CPU_TIME:
		cpu = span_cpu_between(c->query->model, (thread_id){ c->number }, start, end);
		if (cpu != CPU_UNKNOWN)
			cell_time(ret, cpu);
		break;
	}
}

static void context_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct model *model = c->query->model;
	const struct context *context = c->item;
	const struct span *span;

	switch (column) {
	case START:
		cell_time(ret, context->start);
		break;
	case END ... CPU_TIME:
		context_times(c, column, ret);
		break;
	case SOURCE:
		cell_text(ret, context_source(context));
		break;
	case SPAN:
		span_row(ret, model, context->ref);
		break;
	case TRACE_ID:
	case SPAN_ID:
		span_ref_value(ret, model, context->ref, column == TRACE_ID);
		break;
	case SERVICE:
	case OPERATION:
		span = model_span(model, model_span_ref(model, context->ref)->span);
		cell_string(ret, model, column == SERVICE ? span->service : span->operation);
		break;
	default:
		cell_thread(ret, model, (thread_id){ c->number }, column);
	}
}

static const struct timeline *context_timeline(struct query *q, uint32_t number)
{
	return thread_own_timeline(q, number, TIMELINE_CONTEXTS);
}

const struct query_table table_contexts = {
	.name = "contexts",
	.description = "the span each thread worked for, if its process publishes it",
	.columns = context_columns,
	.column_count = ARRAY_LEN(context_columns),
	.sorted = "af",
	.count = table_thread_count,
	.value = context_value,
	.timeline = context_timeline,
	.order = BY_START,
};

enum { ATTRIBUTE_SPAN, ATTRIBUTE_TRACE_ID, ATTRIBUTE_SPAN_ID, KEY, VALUE, TYPE };

static const struct column attribute_columns[] = {
	[ATTRIBUTE_SPAN] = { "span", QUERY_INT, COLUMN_KEY, "span, as in spans.id" },
	[ATTRIBUTE_TRACE_ID] = { "trace_id", QUERY_TEXT, COLUMN_KEY,
				 "trace ID of the span, in hex" },
	[ATTRIBUTE_SPAN_ID] = { "span_id", QUERY_TEXT, COLUMN_KEY, "span ID, in hex" },
	[KEY] = { "key", QUERY_TEXT, COLUMN_KEY, "attribute name" },
	[VALUE] = { "value", QUERY_BLOB, COLUMN_PLAIN, "attribute value: text or a number" },
	[TYPE] = { "type", QUERY_TEXT, COLUMN_PLAIN, "string, bool, int or double" },
};

static uint32_t attribute_count(struct query *q)
{
	return model_attributes(q->model).count;
}

static void attribute_content(struct cell *ret, const struct model *model,
			      const struct attribute *attribute)
{
	double real;

	switch (attribute->type) {
	case ATTRIBUTE_STRING:
		cell_text(ret, model_string(model, (str_id){ attribute->value }));
		break;
	case ATTRIBUTE_BOOL:
		cell_int(ret, !!attribute->value);
		break;
	case ATTRIBUTE_INT:
		cell_int(ret, attribute->value);
		break;
	case ATTRIBUTE_DOUBLE:
		memcpy(&real, &attribute->value, sizeof(real));
		cell_real(ret, real);
		break;
	}
}

static void attribute_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct model *model = c->query->model;
	const struct attribute *attribute = &model_attributes(model).items[c->number - 1];

	switch (column) {
	case ATTRIBUTE_SPAN:
		span_row(ret, model, attribute->ref);
		break;
	case ATTRIBUTE_TRACE_ID:
	case ATTRIBUTE_SPAN_ID:
		span_ref_value(ret, model, attribute->ref, column == ATTRIBUTE_TRACE_ID);
		break;
	case KEY:
		cell_string(ret, model, attribute->key);
		break;
	case VALUE:
		attribute_content(ret, model, attribute);
		break;
	case TYPE:
		cell_text(ret, attribute_type_name(attribute->type));
		break;
	}
}

const struct query_table table_attributes = {
	.name = "attributes",
	.description = "attributes of spans",
	.columns = attribute_columns,
	.column_count = ARRAY_LEN(attribute_columns),
	.sorted = "",
	.count = attribute_count,
	.value = attribute_value,
};
