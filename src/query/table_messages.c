/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, and TCP connections that threads open. */
#include "query/tables.h"
#include "event/kind.h"

enum {
	TIME = THREAD_COLUMN_COUNT,
	DIRECTION,
	BYTES,
	OBJECT,
	OBJECT_ID,
	LOCAL,
	PEER,
	PEER_THREAD,
	PEER_TID,
	PEER_COMM,
	PEER_TIME,
	DURATION,
	POSITION,
	ARRIVAL,
	TRANSMITTED,
	HELD,
};

static const struct column message_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[TIME] = { "time", QUERY_INT, COLUMN_TIME, "time of the send or receive" },
	[DIRECTION] = { "direction", QUERY_TEXT, COLUMN_PLAIN, "send or receive" },
	[BYTES] = { "bytes", QUERY_INT, COLUMN_PLAIN, "size in bytes" },
	[OBJECT] = { "object_type", QUERY_TEXT, COLUMN_PLAIN,
		     "kind of object: inet, unix, pipe, ..." },
	[OBJECT_ID] = { "object_id", QUERY_INT, COLUMN_PLAIN,
			"number of the local socket or pipe" },
	[LOCAL] = { "local", QUERY_TEXT, COLUMN_PLAIN, "local address" },
	[PEER] = { "peer", QUERY_TEXT, COLUMN_PLAIN, "peer address" },
	[PEER_THREAD] = { "peer_thread", QUERY_INT, COLUMN_PLAIN,
			  "thread on the other side, as in threads.id; NULL if unknown" },
	[PEER_TID] = { "peer_tid", QUERY_INT, COLUMN_PLAIN, "thread ID of the peer thread" },
	[PEER_COMM] = { "peer_comm", QUERY_TEXT, COLUMN_PLAIN, "name of the peer thread" },
	[PEER_TIME] = { "peer_time", QUERY_INT, COLUMN_PLAIN,
			"time of the receive or send on the other side" },
	[DURATION] = { "duration", QUERY_INT, COLUMN_PLAIN, "time from send to receive" },
	[POSITION] = { "position", QUERY_INT, COLUMN_PLAIN,
		       "position in the byte stream after the message" },
	[ARRIVAL] = { "arrival", QUERY_INT, COLUMN_PLAIN,
		      "received: time at which its first byte arrived; NULL if unknown" },
	[TRANSMITTED] = { "transmitted", QUERY_INT, COLUMN_PLAIN,
			  "sent: time at which it left the send buffer, if it was held there" },
	[HELD] = { "held", QUERY_TEXT, COLUMN_PLAIN,
		   "what held it there: nagle, window, congestion, ..." },
};

static void peer_value(const struct model *model, const struct message *m, int column,
		       struct cell *ret)
{
	bool sends = m->direction == MESSAGE_SEND;

	switch (column) {
	case PEER_THREAD:
		cell_thread(ret, model, m->other, THREAD_ID);
		break;
	case PEER_TID:
		cell_thread(ret, model, m->other, THREAD_TID);
		break;
	case PEER_COMM:
		cell_thread(ret, model, m->other, THREAD_COMM);
		break;
	case PEER_TIME:
		if (m->other_time)
			cell_time(ret, m->other_time);
		break;
	case DURATION:
		if (m->other_time)
			cell_duration(ret, sends ? m->time : m->other_time,
				      sends ? m->other_time : m->time);
		break;
	}
}

/* Times at the socket: of the arrival, and of leaving the send buffer. */
static void wire_value(const struct message *m, int column, struct cell *ret)
{
	bool is_held = m->direction == MESSAGE_SEND && m->flags & MESSAGE_HELD;

	if (column == HELD && is_held)
		cell_text(ret, held_reason_name(m->held));
	if (column == TRANSMITTED && is_held && m->wire_time)
		cell_time(ret, m->wire_time);
	if (column == ARRIVAL && m->direction == MESSAGE_RECEIVE && m->wire_time)
		cell_time(ret, m->wire_time);
}

static void message_value(struct table_cursor *c, int column, struct cell *ret)
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
	case OBJECT_ID:
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
	case ARRIVAL ... HELD:
		wire_value(m, column, ret);
		break;
	case THREAD_ID ... THREAD_HOST:
		cell_thread(ret, model, (thread_id){ c->number }, column);
		break;
	default:
		peer_value(model, m, column, ret);
	}
}

static const struct timeline *message_timeline(struct query *q, uint32_t number)
{
	return thread_own_timeline(q, number, TIMELINE_MESSAGES);
}

const struct query_table table_messages = {
	.name = "messages",
	.description = "messages that threads sent or received through sockets and pipes",
	.columns = message_columns,
	.column_count = ARRAY_LEN(message_columns),
	.sorted = "af",
	.count = table_thread_count,
	.value = message_value,
	.timeline = message_timeline,
};

enum {
	CONNECTION_TIME = THREAD_COLUMN_COUNT,
	CONNECTION_OBJECT_ID,
	CONNECTION_LOCAL,
	CONNECTION_PEER,
};

static const struct column connection_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[CONNECTION_TIME] = { "time", QUERY_INT, COLUMN_TIME, "time of the connect" },
	[CONNECTION_OBJECT_ID] = { "object_id", QUERY_INT, COLUMN_PLAIN,
				   "number of the socket, as in messages.object_id" },
	[CONNECTION_LOCAL] = { "local", QUERY_TEXT, COLUMN_PLAIN, "local address" },
	[CONNECTION_PEER] = { "peer", QUERY_TEXT, COLUMN_PLAIN, "peer address" },
};

static void connection_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct connect *connect = c->item;

	switch (column) {
	case CONNECTION_TIME:
		cell_time(ret, connect->time);
		break;
	case CONNECTION_OBJECT_ID:
		cell_int(ret, connect->object);
		break;
	case CONNECTION_LOCAL:
	case CONNECTION_PEER:
		cell_address(ret, c->query, cursor_thread(c)->host, connect->object,
			     column == CONNECTION_LOCAL ? ADDRESS_LOCAL : ADDRESS_PEER);
		break;
	default:
		cell_thread(ret, c->query->model, (thread_id){ c->number }, column);
	}
}

static const struct timeline *connection_timeline(struct query *q, uint32_t number)
{
	return thread_own_timeline(q, number, TIMELINE_CONNECTS);
}

const struct query_table table_connections = {
	.name = "connections",
	.description = "TCP connections that threads opened",
	.columns = connection_columns,
	.column_count = ARRAY_LEN(connection_columns),
	.sorted = "af",
	.count = table_thread_count,
	.value = connection_value,
	.timeline = connection_timeline,
};
