/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/grpc_session.h"

#include <nghttp2/nghttp2.h>

#include "relay/grpc_reply.h"
#include "relay/grpc_stream.h"
#include "relay/session_memory.h"

enum {
	STREAM_WINDOW = 4 << 20,      /* bytes */
	CONNECTION_WINDOW = 16 << 20, /* bytes */
	HEADERS_MAX = 16 << 10,       /* bytes; advice to the sender */
};

struct grpc_session {
	nghttp2_session *http2;
	struct receiver *receiver; /* borrowed */
	uint64_t sender;
	struct grpc_stream *streams; /* open ones */
	size_t stream_count;
	uint64_t requests, bytes;
	struct session_memory memory;
	bool failed; /* for want of memory, or in the middle of a frame */
};

static struct grpc_stream *stream_of(struct grpc_session *s, int32_t id)
{
	return nghttp2_session_get_stream_user_data(s->http2, id);
}

static void remove_stream(struct grpc_session *s, struct grpc_stream *stream)
{
	if (stream->previous)
		stream->previous->next = stream->next;
	else
		s->streams = stream->next;
	if (stream->next)
		stream->next->previous = stream->previous;
	s->stream_count--;
	s->receiver->counters.incomplete += !stream->is_complete && !stream->is_replied;
	grpc_stream_free(stream, s->receiver->intake);
}

static int on_begin_headers(nghttp2_session *http2, const nghttp2_frame *frame, void *arg)
{
	struct grpc_session *s = arg;
	struct grpc_stream *stream;

	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	stream = grpc_stream_new(frame->hd.stream_id, s->receiver->intake);
	if (!stream) {
		s->receiver->counters.no_memory++;
		return nghttp2_submit_rst_stream(http2, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
						 NGHTTP2_REFUSED_STREAM);
	}
	stream->next = s->streams;
	if (s->streams)
		s->streams->previous = stream;
	s->streams = stream;
	s->stream_count++;
	return nghttp2_session_set_stream_user_data(http2, frame->hd.stream_id, stream);
}

static int on_header(nghttp2_session *http2, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *arg)
{
	struct grpc_stream *stream = stream_of(arg, frame->hd.stream_id);

	if (stream && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		grpc_stream_header(stream, (struct view){ (const char *)name, name_len },
				   (struct view){ (const char *)value, value_len });
	return 0;
}

/* The connection cannot go on; the caller closes it. */
static void fail(struct grpc_session *s)
{
	s->receiver->counters.protocol_errors += !s->failed;
	s->failed = true;
}

static void reply(struct grpc_session *s, struct grpc_stream *stream)
{
	stream->is_replied = true;
	body_done(&stream->body, s->receiver->intake);
	if (grpc_reply_submit(s->http2, stream) != 0)
		fail(s);
}

static int on_data(nghttp2_session *http2, uint8_t flags, int32_t id, const uint8_t *data,
		   size_t len, void *arg)
{
	struct grpc_session *s = arg;
	struct grpc_stream *stream = stream_of(s, id);

	if (!stream || stream->is_replied)
		return 0;
	s->bytes += len;
	if (!grpc_stream_data(stream, s->receiver, data, len))
		reply(s, stream);
	return 0;
}

/* The end of the headers, or of the request. */
static int on_frame(nghttp2_session *http2, const nghttp2_frame *frame, void *arg)
{
	struct grpc_session *s = arg;
	struct grpc_stream *stream;
	bool is_headers = frame->hd.type == NGHTTP2_HEADERS;

	if (!is_headers && frame->hd.type != NGHTTP2_DATA)
		return 0;
	stream = stream_of(s, frame->hd.stream_id);
	if (!stream)
		return 0;
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		stream->is_complete = true;
		s->requests++;
	}
	if (stream->is_replied)
		return 0;
	if (is_headers && frame->headers.cat == NGHTTP2_HCAT_REQUEST &&
	    !grpc_stream_headers_end(stream, s->receiver)) {
		reply(s, stream);
	} else if (stream->is_complete) {
		grpc_stream_end(stream, s->receiver, s->sender);
		reply(s, stream);
	}
	return 0;
}

/*
 * A reply to an incomplete request ends the stream: the sender need not send the rest.  RST_STREAM
 * is submitted only now because it would overtake the reply.
 */
static int on_frame_sent(nghttp2_session *http2, const nghttp2_frame *frame, void *arg)
{
	struct grpc_session *s = arg;
	struct grpc_stream *stream;

	if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR)
		s->receiver->counters.protocol_errors++;
	if (frame->hd.type != NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	stream = stream_of(s, frame->hd.stream_id);
	if (!stream || stream->is_complete)
		return 0;
	return nghttp2_submit_rst_stream(http2, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
					 NGHTTP2_NO_ERROR);
}

static int on_stream_close(nghttp2_session *http2, int32_t id, uint32_t error, void *arg)
{
	struct grpc_session *s = arg;
	struct grpc_stream *stream = stream_of(s, id);

	if (stream)
		remove_stream(s, stream);
	return 0;
}

static nghttp2_session *open_http2(struct grpc_session *s)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *http2;
	nghttp2_option *option;
	nghttp2_mem mem = session_memory_allocator(&s->memory); /* copied */

	/* these fail only without memory */
	if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0)
		abort();
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	nghttp2_option_set_no_closed_streams(option, 1);
	if (nghttp2_session_server_new3(&http2, callbacks, s, option, &mem) != 0)
		abort();
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	return http2;
}

struct grpc_session *grpc_session_new(struct receiver *receiver, uint64_t sender)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, receiver->limits.streams },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADERS_MAX },
		{ NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 }, /* no tree of idle streams */
	};
	struct grpc_session *s = must_alloc(sizeof(*s));

	s->receiver = receiver;
	s->sender = sender;
	s->memory.intake = receiver->intake;
	s->http2 = open_http2(s);
	if (nghttp2_submit_settings(s->http2, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings)) !=
		    0 ||
	    nghttp2_session_set_local_window_size(s->http2, NGHTTP2_FLAG_NONE, 0,
						  CONNECTION_WINDOW) != 0)
		fail(s);
	return s;
}

void grpc_session_free(struct grpc_session *s)
{
	if (!s)
		return;
	nghttp2_session_del(s->http2); /* does not call on_stream_close() */
	while (s->streams)
		remove_stream(s, s->streams);
	free(s);
}

/* For most errors of the client, nghttp2 does not fail but queues GOAWAY. */
int grpc_session_feed(struct grpc_session *s, struct view bytes)
{
	if (nghttp2_session_mem_recv(s->http2, (const uint8_t *)bytes.s, bytes.len) < 0)
		fail(s);
	return s->failed ? -EPROTO : 0;
}

struct view grpc_session_pull(struct grpc_session *s)
{
	const uint8_t *data;
	ssize_t n = s->failed ? 0 : nghttp2_session_mem_send(s->http2, &data);

	if (n < 0)
		fail(s);
	return n > 0 ? (struct view){ (const char *)data, n } : (struct view){ 0 };
}

void grpc_session_end(struct grpc_session *s)
{
	nghttp2_session_terminate_session(s->http2, NGHTTP2_NO_ERROR);
}

bool grpc_session_is_over(const struct grpc_session *s)
{
	return s->failed ||
	       (!nghttp2_session_want_read(s->http2) && !nghttp2_session_want_write(s->http2));
}

size_t grpc_session_streams(const struct grpc_session *s)
{
	return s->stream_count;
}

uint64_t grpc_session_requests(const struct grpc_session *s)
{
	return s->requests;
}

uint64_t grpc_session_bytes(const struct grpc_session *s)
{
	return s->bytes;
}
