/* SPDX-License-Identifier: Apache-2.0 */
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "collector.h"

struct stream {
	struct collected request;
	struct answer answer;
	size_t sent; /* bytes of the answer's message, including its prefix */
	int32_t id;
};

struct peer {
	struct collector *collector;
	int fd;
	bool is_reset;
};

static struct stream *stream_of(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

static ssize_t on_send(nghttp2_session *session, const uint8_t *data, size_t size, int flags,
		       void *arg)
{
	const struct peer *peer = arg;
	ssize_t n = send(peer->fd, data, size, MSG_NOSIGNAL);

	return n < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : n;
}

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct stream *stream;

	if (frame->hd.type != NGHTTP2_HEADERS || stream_of(session, frame->hd.stream_id))
		return 0;
	stream = must_alloc(sizeof(*stream));
	stream->id = frame->hd.stream_id;
	stream->request.head = must_strdup("");
	return nghttp2_session_set_stream_user_data(session, stream->id, stream);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *arg)
{
	struct stream *stream = stream_of(session, frame->hd.stream_id);
	_cleanup_(freep) char *old = stream->request.head;

	stream->request.head =
		must_printf("%s%.*s: %.*s\r\n", old, (int)name_len, name, (int)value_len, value);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
		   size_t size, void *arg)
{
	struct pb_buffer *body = &stream_of(session, id)->request.body;

	body->data = must_realloc(body->data, body->size + size);
	memcpy(body->data + body->size, data, size);
	body->size += size;
	return 0;
}

#define HEADER(name, value) \
	{ (uint8_t *)(name), (uint8_t *)(value), strlen(name), strlen(value), 0 }

static size_t trailers_of(const struct answer *a, char status[16], nghttp2_nv trailers[3])
{
	size_t count = 0;

	snprintf(status, 16, "%d", a->grpc_status);
	trailers[count++] = (nghttp2_nv)HEADER("grpc-status", status);
	if (a->grpc_message)
		trailers[count++] = (nghttp2_nv)HEADER("grpc-message", a->grpc_message);
	if (a->grpc_details)
		trailers[count++] = (nghttp2_nv)HEADER("grpc-status-details-bin", a->grpc_details);
	return count;
}

static ssize_t read_message(nghttp2_session *session, int32_t id, uint8_t *buf, size_t room,
			    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct stream *stream = stream_of(session, id);
	const struct answer *a = &stream->answer;
	uint8_t prefix[5] = { 0, 0, 0, a->size >> 8, (uint8_t)a->size };
	nghttp2_nv trailers[3];
	char status[16];
	size_t n = 0;

	for (; n < room && stream->sent < 5 + a->size; stream->sent++)
		buf[n++] = stream->sent < 5 ? prefix[stream->sent]
					    : (uint8_t)a->body[stream->sent - 5];
	if (stream->sent == 5 + a->size) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (!a->no_status) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			nghttp2_submit_trailer(session, id, trailers,
					       trailers_of(a, status, trailers));
		}
	}
	return n;
}

static void submit_answer(nghttp2_session *session, struct stream *stream)
{
	const struct answer *a = &stream->answer;
	char code[16], status[16];
	nghttp2_nv headers[5];
	size_t count = 2;

	snprintf(code, sizeof(code), "%u", a->status ? a->status : 200);
	headers[0] = (nghttp2_nv)HEADER(":status", code);
	headers[1] = (nghttp2_nv)HEADER("content-type", "application/grpc");
	if (a->trailers_only) {
		count += trailers_of(a, status, headers + 2);
		nghttp2_submit_headers(session, NGHTTP2_FLAG_END_STREAM, stream->id, NULL, headers,
				       count, NULL);
	} else {
		nghttp2_submit_response(session, stream->id, headers, count,
					&(nghttp2_data_provider){ .read_callback = read_message });
	}
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct stream *stream = stream_of(session, frame->hd.stream_id);
	struct peer *peer = arg;

	if (!stream || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
	    (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS))
		return 0;

	struct pb_buffer *body = &stream->request.body;

	if (body->size >= 5) {
		stream->request.is_compressed = body->data[0];
		body->size -= 5;
		memmove(body->data, body->data + 5, body->size);
	}
	stream->answer = collector_take(peer->collector, &stream->request);
	stream->request = (struct collected){ 0 };
	if (stream->answer.reset) {
		peer->is_reset = true;
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	submit_answer(session, stream);
	return 0;
}

static void stream_free(struct stream *stream)
{
	if (!stream)
		return;
	free(stream->request.head);
	pb_buffer_done(&stream->request.body);
	free(stream);
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
	stream_free(stream_of(session, id));
	nghttp2_session_set_stream_user_data(session, id, NULL);
	return 0;
}

static nghttp2_session *session_new(struct peer *peer)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session;

	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_server_new(&session, callbacks, peer);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
	return session;
}

void collector_serve_grpc(struct collector *c, int fd)
{
	struct peer peer = { c, fd, false };
	nghttp2_session *session = session_new(&peer);
	uint8_t buf[64 << 10];

	for (ssize_t n;
	     nghttp2_session_send(session) == 0 && (n = recv(fd, buf, sizeof(buf), 0)) > 0;)
		if (nghttp2_session_mem_recv(session, buf, n) < 0)
			break;
	for (int32_t id = 1; id <= nghttp2_session_get_last_proc_stream_id(session); id += 2)
		if (nghttp2_session_find_stream(session, id)) {
			stream_free(stream_of(session, id));
			nghttp2_session_set_stream_user_data(session, id, NULL);
		}
	nghttp2_session_del(session);
	if (peer.is_reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 },
			   sizeof(struct linger));
}
