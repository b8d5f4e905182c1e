/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/grpc_stream.h"

#include <arpa/inet.h>
#include <stdio.h>

/* Memory of a stream; a response is not larger than 256 bytes. */
enum { STREAM_MEMORY = sizeof(struct grpc_stream) + 256 };

struct grpc_stream *grpc_stream_new(int32_t id, struct intake *intake)
{
	struct grpc_stream *stream;

	if (!intake_take(intake, STREAM_MEMORY))
		return NULL;
	stream = must_alloc(sizeof(*stream));
	stream->id = id;
	stream->signal = OTLP_SIGNAL_COUNT;
	stream->http_status = 200;
	return stream;
}

void grpc_stream_free(struct grpc_stream *stream, struct intake *intake)
{
	body_done(&stream->body, intake);
	pb_buffer_done(&stream->response);
	intake_give_back(intake, STREAM_MEMORY);
	free(stream);
}

static enum otlp_signal signal_of(struct view path)
{
#define EXPORT_PATH(package, service) \
	"/opentelemetry.proto.collector." package "." service "Service/Export"
	static const char *const paths[] = {
		[OTLP_TRACES] = EXPORT_PATH("trace.v1", "Trace"),
		[OTLP_METRICS] = EXPORT_PATH("metrics.v1", "Metrics"),
		[OTLP_LOGS] = EXPORT_PATH("logs.v1", "Logs"),
	};

	for (size_t i = 0; i < OTLP_SIGNAL_COUNT; i++)
		if (view_is(path, paths[i]))
			return i;
	return OTLP_SIGNAL_COUNT;
}

/* application/grpc, application/grpc+proto; with parameters after a semicolon. */
static bool is_grpc_type(struct view type)
{
	const char *semicolon = memchr(type.s, ';', type.len);

	type.len = semicolon ? (size_t)(semicolon - type.s) : type.len;
	return view_is(type, "application/grpc") || view_is(type, "application/grpc+proto");
}

void grpc_stream_header(struct grpc_stream *stream, struct view name, struct view value)
{
	if (view_is(name, ":method"))
		stream->is_post = view_is(value, "POST");
	else if (view_is(name, ":path"))
		stream->signal = signal_of(value);
	else if (view_is(name, "content-type"))
		stream->is_grpc = is_grpc_type(value);
	else if (view_is(name, "grpc-encoding"))
		stream->encoding = view_is(value, "gzip")       ? GRPC_GZIP
				   : view_is(value, "identity") ? GRPC_IDENTITY
								: GRPC_UNKNOWN_ENCODING;
}

/* Returns false, for the callers. */
__attribute__((format(printf, 4, 5))) static bool
refuse(struct grpc_stream *stream, enum grpc_status status, uint64_t *counter, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(stream->message, sizeof(stream->message), fmt, ap);
	va_end(ap);
	stream->status = status;
	++*counter;
	return false;
}

bool grpc_stream_headers_end(struct grpc_stream *stream, struct receiver *receiver)
{
	uint64_t *unsupported = &receiver->counters.unsupported;

	if (!stream->is_post || !stream->is_grpc) {
		stream->http_status = stream->is_post ? 415 : 405;
		return refuse(
			stream, GRPC_INTERNAL, unsupported,
			"this port receives OTLP by gRPC; OTLP/HTTP has another, usually 4318");
	}
	if (stream->signal == OTLP_SIGNAL_COUNT)
		return refuse(stream, GRPC_UNIMPLEMENTED, unsupported,
			      "unknown method; this server receives OTLP traces, metrics and logs");
	return true;
}

/* The five bytes before the message are complete. */
static bool prefix_end(struct grpc_stream *stream, struct receiver *receiver)
{
	struct receive_counters *counters = &receiver->counters;
	uint8_t flag = stream->prefix[0];
	uint32_t length;

	memcpy(&length, stream->prefix + 1, sizeof(length));
	stream->length = ntohl(length);
	if (flag && stream->encoding == GRPC_UNKNOWN_ENCODING)
		return refuse(stream, GRPC_UNIMPLEMENTED, &counters->unsupported,
			      "unknown compression; supported are gzip and identity");
	if (flag > 1 || (flag && stream->encoding != GRPC_GZIP))
		return refuse(stream, GRPC_INTERNAL, &counters->invalid,
			      "compressed message without grpc-encoding");
	if (stream->length > receiver->limits.message)
		return refuse(stream, GRPC_RESOURCE_EXHAUSTED, &counters->too_large,
			      "message of %zu bytes; at most %zu are accepted", stream->length,
			      receiver->limits.message);
	return true;
}

bool grpc_stream_data(struct grpc_stream *stream, struct receiver *receiver, const uint8_t *data,
		      size_t len)
{
	struct receive_counters *counters = &receiver->counters;

	while (len && stream->prefix_size < GRPC_PREFIX) {
		stream->prefix[stream->prefix_size++] = *data++;
		len--;
		if (stream->prefix_size == GRPC_PREFIX && !prefix_end(stream, receiver))
			return false;
	}
	if (len > stream->length - stream->body.size)
		return refuse(stream, GRPC_INVALID_ARGUMENT, &counters->invalid,
			      "more than one message in a unary call");
	if (len && body_append(&stream->body, receiver->intake, data, len, stream->length) < 0)
		return refuse(stream, GRPC_UNAVAILABLE, &counters->no_memory,
			      "too many requests at once; try again later");
	return true;
}

static void put_response(struct grpc_stream *stream, const struct export_reply *reply)
{
	uint8_t prefix[GRPC_PREFIX] = { 0 };
	uint32_t length;
	struct pb_buffer response = { 0 };

	receiver_put_response(&response, reply);
	length = htonl(response.size);
	memcpy(prefix + 1, &length, sizeof(length));
	stream->response.size = stream->response.capacity = GRPC_PREFIX + response.size;
	stream->response.data = must_alloc(stream->response.size);
	memcpy(stream->response.data, prefix, GRPC_PREFIX);
	if (response.size)
		memcpy(stream->response.data + GRPC_PREFIX, response.data, response.size);
	pb_buffer_done(&response);
}

static void export(struct grpc_stream *stream, struct receiver *receiver, uint64_t sender,
		   struct view body)
{
	static const enum grpc_status statuses[] = {
		[EXPORT_ACCEPTED] = GRPC_OK,
		[EXPORT_INVALID] = GRPC_INVALID_ARGUMENT,
		[EXPORT_UNAVAILABLE] = GRPC_UNAVAILABLE,
	};
	struct export_reply reply;

	receiver_export(receiver, &(struct export_request){ stream->signal, body, sender }, &reply);
	stream->status = statuses[reply.status];
	if (reply.status == EXPORT_ACCEPTED)
		put_response(stream, &reply);
	else
		snprintf(stream->message, sizeof(stream->message), "%s", reply.message);
}

void grpc_stream_end(struct grpc_stream *stream, struct receiver *receiver, uint64_t sender)
{
	struct view body = { (const char *)stream->body.data, stream->body.size };
	struct pb_buffer plain = { 0 };
	struct err err;
	int r;

	if (stream->prefix_size < GRPC_PREFIX || body.len < stream->length) {
		refuse(stream, GRPC_INVALID_ARGUMENT, &receiver->counters.invalid,
		       "the call ends in the middle of its message");
		return;
	}
	receiver->counters.received_bytes += GRPC_PREFIX + body.len;
	if (!stream->prefix[0]) {
		export(stream, receiver, sender, body);
		return;
	}
	r = receiver_inflate(receiver, body, &plain, &err);
	if (r < 0) {
		snprintf(stream->message, sizeof(stream->message), "%.*s",
			 (int)sizeof(stream->message) - 1, err.text);
		stream->status = r == -EMSGSIZE ? GRPC_RESOURCE_EXHAUSTED : GRPC_INVALID_ARGUMENT;
		return;
	}
	export(stream, receiver, sender, (struct view){ (const char *)plain.data, plain.size });
	pb_buffer_done(&plain);
}
