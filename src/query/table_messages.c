/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and connections asked for: what threads did with sockets. */
#include "query/tables.h"
#include "event/kind.h"

enum {
	TIME = THREAD_COLUMN_COUNT,
	DIRECTION,
	BYTES,
	OBJECT,
	SOCKET,
	LOCAL,
	PEER,
	OTHER,
	OTHER_TID,
	OTHER_COMM,
	OTHER_TIME,
	NS,
	POSITION,
};

static const struct column message_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[TIME] = { "time", QUERY_INT, COLUMN_TIME, "when" },
	[DIRECTION] = { "direction", QUERY_TEXT, COLUMN_PLAIN, "send or receive" },
	[BYTES] = { "bytes", QUERY_INT, COLUMN_PLAIN, "how many" },
	[OBJECT] = { "object", QUERY_TEXT, COLUMN_PLAIN, "inet, unix, pipe, ..." },
	[SOCKET] = { "socket", QUERY_INT, COLUMN_PLAIN, "number of the socket on this side" },
	[LOCAL] = { "local", QUERY_TEXT, COLUMN_PLAIN, "address of this side" },
	[PEER] = { "peer", QUERY_TEXT, COLUMN_PLAIN, "address of the other side" },
	[OTHER] = { "other", QUERY_INT, COLUMN_PLAIN, "thread at the other side, if it is known" },
	[OTHER_TID] = { "other_tid", QUERY_INT, COLUMN_PLAIN, "its tid" },
	[OTHER_COMM] = { "other_comm", QUERY_TEXT, COLUMN_PLAIN, "its name" },
	[OTHER_TIME] = { "other_time", QUERY_INT, COLUMN_PLAIN, "when that did its part" },
	[NS] = { "ns", QUERY_INT, COLUMN_PLAIN, "from the send to the receive" },
	[POSITION] = { "position", QUERY_INT, COLUMN_PLAIN, "in the stream, behind these bytes" },
};

static void other_value(const struct model *model, const struct message *m, int column,
			struct cell *ret)
{
	bool sends = m->direction == MESSAGE_SEND;

	switch (column) {
	case OTHER:
		cell_thread(ret, model, m->other, THREAD_ID);
		break;
	case OTHER_TID:
		cell_thread(ret, model, m->other, THREAD_TID);
		break;
	case OTHER_COMM:
		cell_thread(ret, model, m->other, THREAD_COMM);
		break;
	case OTHER_TIME:
		if (m->other_time)
			cell_time(ret, m->other_time);
		break;
	case NS:
		if (m->other_time)
			cell_length(ret, sends ? m->time : m->other_time,
				    sends ? m->other_time : m->time);
		break;
	}
}

static void message_value(struct cursor *c, int column, struct cell *ret)
{
	const struct model *model = c->query->model;
	const struct message *m = c->item;

	switch (column) {
	case TIME:
		cell_time(ret, m->time);
		break;
	case DIRECTION:
		cell_text(ret, m->direction == MESSAGE_SEND ? "send" : "receive");
		break;
	case BYTES:
		cell_int(ret, m->bytes);
		break;
	case OBJECT:
		cell_text(ret, object_kind_name(m->object_kind));
		break;
	case SOCKET:
		cell_int(ret, m->object);
		break;
	case LOCAL:
	case PEER:
		cell_address(ret, c->query, cursor_thread(c)->host, m->object,
			     column == LOCAL ? ADDRESS_LOCAL : ADDRESS_PEER);
		break;
	case POSITION:
		cell_int(ret, m->position);
		break;
	case THREAD_ID ... THREAD_HOST:
		cell_thread(ret, model, (thread_id){ c->number }, column);
		break;
	default:
		other_value(model, m, column, ret);
	}
}

static const struct timeline *message_line(struct query *q, uint32_t number)
{
	return own_timeline(q, number, TIMELINE_MESSAGES);
}

const struct table table_messages = {
	.name = "messages",
	.meaning = "bytes that threads sent to or received from sockets",
	.columns = message_columns,
	.column_count = ARRAY_LEN(message_columns),
	.sorted = "af",
	.count = thread_count,
	.value = message_value,
	.line = message_line,
};

enum {
	CONNECT_TIME = THREAD_COLUMN_COUNT,
	CONNECT_SOCKET,
	CONNECT_LOCAL,
	CONNECT_PEER,
};

static const struct column connect_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[CONNECT_TIME] = { "time", QUERY_INT, COLUMN_TIME, "when" },
	[CONNECT_SOCKET] = { "socket", QUERY_INT, COLUMN_PLAIN, "number of the socket" },
	[CONNECT_LOCAL] = { "local", QUERY_TEXT, COLUMN_PLAIN, "address of this side" },
	[CONNECT_PEER] = { "peer", QUERY_TEXT, COLUMN_PLAIN, "address of the other side" },
};

static void connect_value(struct cursor *c, int column, struct cell *ret)
{
	const struct connect *connect = c->item;

	switch (column) {
	case CONNECT_TIME:
		cell_time(ret, connect->time);
		break;
	case CONNECT_SOCKET:
		cell_int(ret, connect->object);
		break;
	case CONNECT_LOCAL:
	case CONNECT_PEER:
		cell_address(ret, c->query, cursor_thread(c)->host, connect->object,
			     column == CONNECT_LOCAL ? ADDRESS_LOCAL : ADDRESS_PEER);
		break;
	default:
		cell_thread(ret, c->query->model, (thread_id){ c->number }, column);
	}
}

static const struct timeline *connect_line(struct query *q, uint32_t number)
{
	return own_timeline(q, number, TIMELINE_CONNECTS);
}

const struct table table_connects = {
	.name = "connects",
	.meaning = "TCP connections that threads asked for",
	.columns = connect_columns,
	.column_count = ARRAY_LEN(connect_columns),
	.sorted = "af",
	.count = thread_count,
	.value = connect_value,
	.line = connect_line,
};
