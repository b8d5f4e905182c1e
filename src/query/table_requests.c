/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are rebuilt from kernel events (analyse/requests/requests.h), and when
 * threads worked for them.  They are found when one of the two is first read.
 */
#include "analyse/lost.h"
#include "analyse/requests/spans.h"
#include "analyse/requests/sum.h"
#include "query/tables.h"

static const struct requests *query_requests(struct query *q)
{
	if (!q->has_requests)
		requests_find(q->model, &q->requests);
	q->has_requests = true;
	return &q->requests;
}

enum {
	ID,
	TRACE,
	SPAN,
	PARENT,
	ROOT,
	KIND,
	SERVICE,
	ENTRY,
	SHAPE,
	LOCAL,
	PEER,
	START,
	END,
	NS,
	CONFIDENCE,
	OPEN,
	UNANSWERED,
	LOST,
	INCOMPLETE,
	THREAD,
};

static const struct column columns[] = {
	[ID] = { "id", QUERY_INT, COLUMN_ID, "number, from 1" },
	[TRACE] = { "trace", QUERY_TEXT, COLUMN_KEY, "id of the trace, in hex" },
	[SPAN] = { "span", QUERY_TEXT, COLUMN_KEY, "id of the span, in hex" },
	[PARENT] = { "parent", QUERY_INT, COLUMN_KEY, "number of the parent" },
	[ROOT] = { "root", QUERY_INT, COLUMN_KEY, "number of the client's request" },
	[KIND] = { "kind", QUERY_TEXT, COLUMN_PLAIN, "network, fork or handover" },
	[SERVICE] = { "service", QUERY_TEXT, COLUMN_PLAIN, "who handled it" },
	[ENTRY] = { "entry", QUERY_TEXT, COLUMN_PLAIN, "address to which the client came" },
	[SHAPE] = { "shape", QUERY_TEXT, COLUMN_PLAIN,
		    "of a root: who had a part, as front>(ledger,contacts)" },
	[LOCAL] = { "local", QUERY_TEXT, COLUMN_PLAIN, "address to which it came" },
	[PEER] = { "peer", QUERY_TEXT, COLUMN_PLAIN, "address from which it came" },
	[START] = { "start", QUERY_INT, COLUMN_PLAIN, "since when" },
	[END] = { "end", QUERY_INT, COLUMN_PLAIN, "until when" },
	[NS] = { "ns", QUERY_INT, COLUMN_PLAIN, "how long" },
	[CONFIDENCE] = { "confidence", QUERY_REAL, COLUMN_PLAIN,
			 "that its parent is the right one" },
	[OPEN] = { "open", QUERY_INT, COLUMN_PLAIN,
		   "1 if it has a parent, but nobody knows which" },
	[UNANSWERED] = { "unanswered", QUERY_INT, COLUMN_PLAIN, "1 if no answer was seen" },
	[LOST] = { "lost", QUERY_INT, COLUMN_PLAIN, "records lost meanwhile, as far as known" },
	[INCOMPLETE] = { "incomplete", QUERY_INT, COLUMN_PLAIN, "1 if a loss overlaps it" },
	THREAD_COLUMNS("thread", COLUMN_KEY),
};

static uint32_t count(struct query *q)
{
	size_t spans = query_requests(q)->spans.count;

	return spans ? spans - 1 : 0; /* the first is none */
}

static void address_value(struct query *q, const struct request_span *span, bool local,
			  struct cell *ret)
{
	if (span->kind == REQUEST_NETWORK)
		cell_address(ret, q, model_thread(q->model, span->thread)->host, span->socket,
			     local ? ADDRESS_LOCAL : ADDRESS_PEER);
}

static void name_value(struct query *q, uint32_t number, int column, struct cell *ret)
{
	const struct request_span *spans = q->requests.spans.items, *span = &spans[number];

	switch (column) {
	case TRACE:
		cell_hex(ret, span->trace, sizeof(span->trace));
		break;
	case SPAN:
		cell_hex(ret, span->id, sizeof(span->id));
		break;
	case KIND:
		cell_text(ret, request_kind_name(span->kind));
		break;
	case SERVICE:
		cell_text(ret, request_service(q->model, span->thread));
		break;
	case ENTRY:
		address_value(q, &spans[span->root], true, ret);
		break;
	case SHAPE:
		if (span->root == number) {
			ret->heap = request_shape(q->model, &q->requests, number);
			cell_text(ret, ret->heap);
		}
		break;
	case LOCAL:
	case PEER:
		address_value(q, span, column == LOCAL, ret);
		break;
	}
}

static void number_cell(struct cell *ret, uint32_t number)
{
	if (number)
		cell_int(ret, number);
}

static void value(struct cursor *c, int column, struct cell *ret)
{
	const struct request_span *span = &c->query->requests.spans.items[c->number];

	switch (column) {
	case ID:
		cell_int(ret, c->number);
		break;
	case PARENT:
		number_cell(ret, span->parent);
		break;
	case ROOT:
		number_cell(ret, span->root);
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
	case CONFIDENCE:
		cell_real(ret, span->confidence);
		break;
	case OPEN:
		cell_int(ret, span->parent_unknown);
		break;
	case UNANSWERED:
		cell_int(ret, span->no_reply);
		break;
	case LOST:
		cell_int(ret, lost_of_request_span(c->query->model, span).records);
		break;
	case INCOMPLETE:
		cell_int(ret, lost_of_request_span(c->query->model, span).losses > 0);
		break;
	default:
		if (column >= THREAD)
			cell_thread(ret, c->query->model, span->thread, column - THREAD);
		else
			name_value(c->query, c->number, column, ret);
	}
}

const struct table table_requests = {
	.name = "requests",
	.meaning = "parts of requests, rebuilt from kernel events (see sonde-requests(1))",
	.columns = columns,
	.column_count = ARRAY_LEN(columns),
	.sorted = "a",
	.count = count,
	.value = value,
};

enum { SLICE_REQUEST, SLICE_START, SLICE_END, SLICE_NS, SLICE_THREAD };

static const struct column work_columns[] = {
	[SLICE_REQUEST] = { "request", QUERY_INT, COLUMN_KEY, "for which, as in requests.id" },
	[SLICE_START] = { "start", QUERY_INT, COLUMN_PLAIN, "since when" },
	[SLICE_END] = { "end", QUERY_INT, COLUMN_PLAIN, "until when" },
	[SLICE_NS] = { "ns", QUERY_INT, COLUMN_PLAIN, "how long" },
	THREAD_COLUMNS("thread", COLUMN_KEY),
};

static uint32_t work_count(struct query *q)
{
	return query_requests(q)->work.count;
}

static void work_value(struct cursor *c, int column, struct cell *ret)
{
	const struct request_work *work = &c->query->requests.work.items[c->number - 1];

	switch (column) {
	case SLICE_REQUEST:
		cell_int(ret, work->span);
		break;
	case SLICE_START:
		cell_time(ret, work->from);
		break;
	case SLICE_END:
		cell_time(ret, work->to);
		break;
	case SLICE_NS:
		cell_length(ret, work->from, work->to);
		break;
	default:
		cell_thread(ret, c->query->model, work->thread, column - SLICE_THREAD);
	}
}

const struct table table_request_work = {
	.name = "slices",
	.meaning = "when a thread worked for a part of a request",
	.columns = work_columns,
	.column_count = ARRAY_LEN(work_columns),
	.sorted = "",
	.count = work_count,
	.value = work_value,
};
