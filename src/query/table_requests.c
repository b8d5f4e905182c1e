/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests rebuilt from kernel events (analyse/requests/requests.h), and the times at which
 * threads worked for them.  Both tables are filled when a query first reads one of them.
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
	TRACE_ID,
	SPAN_ID,
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
	DURATION,
	READ,
	SENT,
	CONFIDENCE,
	PARENT_UNKNOWN,
	NO_REPLY,
	LOST,
	INCOMPLETE,
	THREAD,
};

static const struct column columns[] = {
	[ID] = { "id", QUERY_INT, COLUMN_ID, "row number, from 1" },
	[TRACE_ID] = { "trace_id", QUERY_TEXT, COLUMN_KEY, "trace ID, in hex" },
	[SPAN_ID] = { "span_id", QUERY_TEXT, COLUMN_KEY, "span ID, in hex" },
	[PARENT] = { "parent", QUERY_INT, COLUMN_KEY, "parent span, as in requests.id" },
	[ROOT] = { "root", QUERY_INT, COLUMN_KEY,
		   "span of the client's request, as in requests.id" },
	[KIND] = { "kind", QUERY_TEXT, COLUMN_PLAIN, "network, fork, handoff or call" },
	[SERVICE] = { "service", QUERY_TEXT, COLUMN_PLAIN, "service that handled the span" },
	[ENTRY] = { "entry", QUERY_TEXT, COLUMN_PLAIN, "address that the client called" },
	[SHAPE] = { "shape", QUERY_TEXT, COLUMN_PLAIN,
		    "call tree of a root, such as front>(ledger,contacts)" },
	[LOCAL] = { "local", QUERY_TEXT, COLUMN_PLAIN, "local address of the service" },
	[PEER] = { "peer", QUERY_TEXT, COLUMN_PLAIN,
		   "address of the caller; of a call, of the callee" },
	[START] = { "start", QUERY_INT, COLUMN_PLAIN, "start of the span; network: its arrival" },
	[END] = { "end", QUERY_INT, COLUMN_PLAIN, "end of the span" },
	[DURATION] = { "duration", QUERY_INT, COLUMN_PLAIN, "end - start" },
	[READ] = { "read", QUERY_INT, COLUMN_PLAIN,
		   "network: when a thread read it; NULL if its arrival is unknown" },
	[SENT] = { "sent", QUERY_INT, COLUMN_PLAIN,
		   "network: when the reply was passed to the socket" },
	[CONFIDENCE] = { "confidence", QUERY_REAL, COLUMN_PLAIN,
			 "confidence in the parent, from 0 to 1" },
	[PARENT_UNKNOWN] = { "parent_unknown", QUERY_INT, COLUMN_PLAIN,
			     "1 if the span has an unknown parent" },
	[NO_REPLY] = { "no_reply", QUERY_INT, COLUMN_PLAIN, "1 if no reply was recorded" },
	[LOST] = { "lost", QUERY_INT, COLUMN_PLAIN,
		   "known number of records lost during the span" },
	[INCOMPLETE] = { "incomplete", QUERY_INT, COLUMN_PLAIN,
			 "1 if records were lost during the span" },
	THREAD_COLUMNS("thread", COLUMN_KEY),
};

static uint32_t count(struct query *q)
{
	size_t spans = query_requests(q)->spans.count;

	return spans ? spans - 1 : 0; /* number 0 means none */
}

static void address_value(struct query *q, const struct request_span *span, bool local,
			  struct cell *ret)
{
	if (span->kind == REQUEST_NETWORK || span->kind == REQUEST_CALL)
		cell_address(ret, q, model_thread(q->model, span->thread)->host, span->socket,
			     local ? ADDRESS_LOCAL : ADDRESS_PEER);
}

static void name_value(struct query *q, uint32_t number, int column, struct cell *ret)
{
	const struct request_span *spans = q->requests.spans.items, *span = &spans[number];

	switch (column) {
	case TRACE_ID:
		cell_hex(ret, span->trace, sizeof(span->trace));
		break;
	case SPAN_ID:
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

static void value(struct table_cursor *c, int column, struct cell *ret)
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
	case DURATION:
		cell_duration(ret, span->start, span->end);
		break;
	case READ:
		if (span->kind == REQUEST_NETWORK && !span->arrival_unknown)
			cell_time(ret, span->read);
		break;
	case SENT:
		if (span->kind == REQUEST_NETWORK)
			cell_time(ret, span->sent);
		break;
	case CONFIDENCE:
		cell_real(ret, span->confidence);
		break;
	case PARENT_UNKNOWN:
		cell_int(ret, span->parent_unknown);
		break;
	case NO_REPLY:
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

const struct query_table table_requests = {
	.name = "requests",
	.description = "spans of requests rebuilt from kernel events; see sonde-requests(1)",
	.columns = columns,
	.column_count = ARRAY_LEN(columns),
	.sorted = "a",
	.count = count,
	.value = value,
};

enum { WORK_REQUEST, WORK_START, WORK_END, WORK_DURATION, WORK_THREAD };

static const struct column work_columns[] = {
	[WORK_REQUEST] = { "request", QUERY_INT, COLUMN_KEY, "span, as in requests.id" },
	[WORK_START] = { "start", QUERY_INT, COLUMN_PLAIN, "start of the work" },
	[WORK_END] = { "end", QUERY_INT, COLUMN_PLAIN, "end of the work" },
	[WORK_DURATION] = { "duration", QUERY_INT, COLUMN_PLAIN, "end - start" },
	THREAD_COLUMNS("thread", COLUMN_KEY),
};

static uint32_t work_count(struct query *q)
{
	return query_requests(q)->work.count;
}

static void work_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct request_work *work = &c->query->requests.work.items[c->number - 1];

	switch (column) {
	case WORK_REQUEST:
		cell_int(ret, work->span);
		break;
	case WORK_START:
		cell_time(ret, work->from);
		break;
	case WORK_END:
		cell_time(ret, work->to);
		break;
	case WORK_DURATION:
		cell_duration(ret, work->from, work->to);
		break;
	default:
		cell_thread(ret, c->query->model, work->thread, column - WORK_THREAD);
	}
}

const struct query_table table_request_work = {
	.name = "request_work",
	.description = "times at which threads worked for a span of a request",
	.columns = work_columns,
	.column_count = ARRAY_LEN(work_columns),
	.sorted = "",
	.count = work_count,
	.value = work_value,
};
