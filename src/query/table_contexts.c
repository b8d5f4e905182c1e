/* SPDX-License-Identifier: Apache-2.0 */
/* Which span threads worked for, as a line for each thread; and attributes of spans. */
#include <string.h>

#include "analyse/span_cpu.h"
#include "query/tables.h"
#include "event/kind.h"

/* What both tables have of a span that is named. */
static void span_value(struct cell *ret, const struct model *model, uint32_t number, bool is_trace)
{
	const struct span_ref *ref = model_span_ref(model, number);

	if (is_trace)
		cell_hex(ret, ref->trace, sizeof(ref->trace));
	else
		cell_hex(ret, ref->id, sizeof(ref->id));
}

static void span_number(struct cell *ret, const struct model *model, uint32_t ref)
{
	span_id span = model_span_ref(model, ref)->span;

	if (span.i)
		cell_int(ret, span.i);
}

enum {
	START = THREAD_COLUMN_COUNT,
	END,
	NS,
	CPU,
	HOW,
	SPAN_ID,
	TRACE,
	SPAN,
	SERVICE,
	OPERATION,
};

static const struct column context_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[START] = { "start", QUERY_INT, COLUMN_FROM, "since when" },
	[END] = { "end", QUERY_INT, COLUMN_TO, "until when" },
	[NS] = { "ns", QUERY_INT, COLUMN_PLAIN, "how long" },
	[CPU] = { "cpu", QUERY_INT, COLUMN_PLAIN, "ns for which it ran meanwhile" },
	[HOW] = { "how", QUERY_TEXT, COLUMN_PLAIN,
		  "told by the process; seen when it left a CPU; or unknown" },
	[SPAN_ID] = { "span_id", QUERY_INT, COLUMN_PLAIN,
		      "for which span, as in spans.id; NULL if that was not recorded" },
	[TRACE] = { "trace", QUERY_TEXT, COLUMN_PLAIN, "id of its trace, in hex; NULL: for none" },
	[SPAN] = { "span", QUERY_TEXT, COLUMN_PLAIN, "id of the span, in hex" },
	[SERVICE] = { "service", QUERY_TEXT, COLUMN_PLAIN, "whose it is" },
	[OPERATION] = { "operation", QUERY_TEXT, COLUMN_PLAIN, "what it is called" },
};

static const char *how(const struct context *context)
{
	return context->flags & CONTEXT_UNKNOWN    ? "unknown"
	       : context->flags & CONTEXT_OBSERVED ? "seen"
						   : "told";
}

/* The last one holds as long as its thread is known to live. */
static nsec_t context_end(const struct cursor *c)
{
	const struct thread *thread = cursor_thread(c);
	nsec_t start = ((const struct context *)c->item)->start;
	timeline_pos next = c->pos;

	if (timeline_next(c->line, &next))
		return ((const struct context *)timeline_at(c->line, next))->start;
	return thread->end > start ? thread->end : start;
}

static void context_length(struct cursor *c, int column, struct cell *ret)
{
	nsec_t start = ((const struct context *)c->item)->start, end = context_end(c), cpu;

	switch (column) {
	case END:
		cell_time(ret, end);
		break;
	case NS:
		cell_length(ret, start, end);
		break;
	case CPU:
		cpu = span_cpu_between(c->query->model, (thread_id){ c->number }, start, end);
		if (cpu != CPU_UNKNOWN)
			cell_time(ret, cpu);
		break;
	}
}

static void context_value(struct cursor *c, int column, struct cell *ret)
{
	const struct model *model = c->query->model;
	const struct context *context = c->item;
	const struct span *span;

	switch (column) {
	case START:
		cell_time(ret, context->start);
		break;
	case END ... CPU:
		context_length(c, column, ret);
		break;
	case HOW:
		cell_text(ret, how(context));
		break;
	case SPAN_ID:
		span_number(ret, model, context->ref);
		break;
	case TRACE:
	case SPAN:
		span_value(ret, model, context->ref, column == TRACE);
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

static const struct timeline *context_line(struct query *q, uint32_t number)
{
	return own_timeline(q, number, TIMELINE_CONTEXTS);
}

const struct table table_contexts = {
	.name = "contexts",
	.meaning = "which span each thread worked for, if a process tells",
	.columns = context_columns,
	.column_count = ARRAY_LEN(context_columns),
	.sorted = "af",
	.count = thread_count,
	.value = context_value,
	.line = context_line,
	.order = BY_START,
};

enum { ATTRIBUTE_SPAN_ID, ATTRIBUTE_TRACE, ATTRIBUTE_SPAN, KEY, VALUE, TYPE };

static const struct column attribute_columns[] = {
	[ATTRIBUTE_SPAN_ID] = { "span_id", QUERY_INT, COLUMN_KEY, "of which span, as in spans.id" },
	[ATTRIBUTE_TRACE] = { "trace", QUERY_TEXT, COLUMN_KEY, "id of its trace, in hex" },
	[ATTRIBUTE_SPAN] = { "span", QUERY_TEXT, COLUMN_KEY, "id of the span, in hex" },
	[KEY] = { "key", QUERY_TEXT, COLUMN_KEY, "what it is called" },
	[VALUE] = { "value", QUERY_BLOB, COLUMN_PLAIN, "what it is: a text or a number" },
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

static void attribute_value(struct cursor *c, int column, struct cell *ret)
{
	const struct model *model = c->query->model;
	const struct attribute *attribute = &model_attributes(model).items[c->number - 1];

	switch (column) {
	case ATTRIBUTE_SPAN_ID:
		span_number(ret, model, attribute->ref);
		break;
	case ATTRIBUTE_TRACE:
	case ATTRIBUTE_SPAN:
		span_value(ret, model, attribute->ref, column == ATTRIBUTE_TRACE);
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

const struct table table_attributes = {
	.name = "attributes",
	.meaning = "what spans say of themselves beyond their names",
	.columns = attribute_columns,
	.column_count = ARRAY_LEN(attribute_columns),
	.sorted = "",
	.count = attribute_count,
	.value = attribute_value,
};
