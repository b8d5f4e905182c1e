/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/receive.h"

#include "relay/gzip.h"

enum { BODY_START = 4096 }; /* bytes of the first buffer of a body */
enum { RESPONSE_PARTIAL_SUCCESS = 1, PARTIAL_REJECTED = 1, PARTIAL_MESSAGE = 2 };

static const struct receive_limits defaults = {
	.message = (size_t)16 << 20,
	.connections = 10000,
	.streams = 128,
	.output = (size_t)256 << 10,
	.request_timeout = 10 * NSEC_PER_SEC,
	.idle_timeout = 300 * NSEC_PER_SEC,
};

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

bool intake_take(struct intake *intake, size_t bytes)
{
	size_t limit = intake->limit ? intake->limit : INTAKE_MEMORY;

	if (intake->used > limit || bytes > limit - intake->used) {
		intake->refused++;
		return false;
	}
	intake->used += bytes;
	return true;
}

void intake_give_back(struct intake *intake, size_t bytes)
{
	intake->used -= bytes;
}

void receiver_init(struct receiver *receiver, const struct receive_limits *limits,
		   struct intake *intake, export_fn *export, void *arg)
{
	struct receive_limits l = *limits;

	l.message = l.message ? l.message : defaults.message;
	l.connections = l.connections ? l.connections : defaults.connections;
	l.streams = l.streams ? l.streams : defaults.streams;
	l.output = l.output ? l.output : defaults.output;
	l.request_timeout = l.request_timeout ? l.request_timeout : defaults.request_timeout;
	l.idle_timeout = l.idle_timeout ? l.idle_timeout : defaults.idle_timeout;
	*receiver =
		(struct receiver){ .limits = l, .intake = intake, .export = export, .arg = arg };
}

void body_done(struct body *body, struct intake *intake)
{
	intake_give_back(intake, body->room);
	free(body->data);
	*body = (struct body){ 0 };
}

int body_append(struct body *body, struct intake *intake, const void *data, size_t size,
		size_t expected)
{
	size_t needed = body->size + size, room = 2 * body->room;

	if (needed > body->room) {
		room = room < BODY_START ? BODY_START : room;
		if (expected)
			room = smaller(room, expected);
		room = room < needed ? needed : room;
		if (!intake_take(intake, room - body->room))
			return -ENOBUFS;
		body->data = must_realloc(body->data, room);
		body->room = room;
	}
	if (size)
		memcpy(body->data + body->size, data, size);
	body->size = needed;
	return 0;
}

int receiver_inflate(struct receiver *receiver, struct view packed, struct pb_buffer *ret,
		     struct err *err)
{
	int r = gzip_inflate(packed, receiver->limits.message, ret, err);

	receiver->counters.too_large += r == -EMSGSIZE;
	receiver->counters.invalid += r == -EBADMSG;
	return r;
}

void receiver_export(struct receiver *receiver, const struct export_request *request,
		     struct export_reply *ret)
{
	struct receive_counters *counters = &receiver->counters;
	struct export_request given = *request;

	*ret = (struct export_reply){ 0 };
	if (!given.body.s)
		given.body.s = ""; /* an empty request is valid */
	receiver->export(receiver->arg, &given, ret);
	ret->message[sizeof(ret->message) - 1] = '\0';
	counters->accepted += ret->status == EXPORT_ACCEPTED;
	counters->rejected_items += ret->status == EXPORT_ACCEPTED ? ret->rejected : 0;
	counters->invalid += ret->status == EXPORT_INVALID;
	counters->unavailable += ret->status == EXPORT_UNAVAILABLE;
}

void receiver_put_response(struct pb_buffer *out, const struct export_reply *reply)
{
	size_t begin;

	if (!reply->rejected && !reply->message[0])
		return;
	begin = pb_begin_message(out, RESPONSE_PARTIAL_SUCCESS);
	pb_put_varint(out, PARTIAL_REJECTED, reply->rejected);
	pb_put_bytes(out, PARTIAL_MESSAGE, (struct view){ reply->message, strlen(reply->message) });
	pb_end_message(out, begin);
}
