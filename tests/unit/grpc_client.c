/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

static struct grpc_call *call_of(nghttp2_session *http2, int32_t id)
{
	return nghttp2_session_get_stream_user_data(http2, id);
}

static int on_header(nghttp2_session *http2, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *arg)
{
	struct grpc_call *call = call_of(http2, frame->hd.stream_id);
	struct view key = { (const char *)name, name_len };

	if (!call)
		return 0;
	if (view_is(key, ":status"))
		call->http_status = atoi((const char *)value);
	else if (view_is(key, "grpc-status"))
		call->grpc_status = atoi((const char *)value);
	else if (view_is(key, "grpc-message") && value_len < sizeof(call->message))
		memcpy(call->message, value, value_len + 1);
	return 0;
}

static int on_data(nghttp2_session *http2, uint8_t flags, int32_t id, const uint8_t *data,
		   size_t len, void *arg)
{
	struct grpc_call *call = call_of(http2, id);

	if (call && len <= sizeof(call->reply) - call->reply_size) {
		memcpy(call->reply + call->reply_size, data, len);
		call->reply_size += len;
	}
	return 0;
}

static int on_close(nghttp2_session *http2, int32_t id, uint32_t error, void *arg)
{
	struct grpc_call *call = call_of(http2, id);

	if (call) {
		call->is_closed = true;
		call->error = error;
	}
	return 0;
}

static int on_frame(nghttp2_session *http2, const nghttp2_frame *frame, void *arg)
{
	struct grpc_client *client = arg;

	if (frame->hd.type == NGHTTP2_GOAWAY) {
		client->has_goaway = true;
		client->goaway = frame->goaway.error_code;
	}
	return 0;
}

static ssize_t read_body(nghttp2_session *http2, int32_t id, uint8_t *buf, size_t room,
			 uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct grpc_call *call = source->ptr;
	size_t n = call->body.len - call->sent;

	if (call->piece && n > call->piece)
		n = call->piece;
	n = n < room ? n : room;
	if (n)
		memcpy(buf, call->body.s + call->sent, n);
	call->sent += n;
	if (call->sent == call->body.len && !call->stays_open)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return n || !call->stays_open ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
}

void grpc_client_init(struct grpc_client *client, int fd)
{
	nghttp2_session_callbacks *callbacks;

	*client = (struct grpc_client){ .fd = fd };
	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_client_new(&client->http2, callbacks, client);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(client->http2, NGHTTP2_FLAG_NONE, NULL, 0);
}

void grpc_client_done(struct grpc_client *client)
{
	nghttp2_session_del(client->http2);
	closep(&client->fd);
}

static nghttp2_nv header(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), 0 };
}

void grpc_client_start(struct grpc_client *client, struct grpc_call *call)
{
	const nghttp2_data_provider data = { { .ptr = call }, read_body };
	const nghttp2_nv headers[] = {
		header(":method", call->method ? call->method : "POST"),
		header(":scheme", "http"),
		header(":authority", "localhost"),
		header(":path", call->path ? call->path : TRACE_METHOD),
		header("content-type", call->type ? call->type : "application/grpc"),
		header("te", "trailers"),
		header("grpc-encoding", call->encoding ? call->encoding : "identity"),
	};

	call->http_status = call->grpc_status = -1;
	call->id = nghttp2_submit_request(client->http2, NULL, headers, ARRAY_LEN(headers), &data,
					  call);
	if (call->id < 0)
		abort();
}

static void receive(struct grpc_client *client)
{
	uint8_t buf[16 << 10];
	ssize_t n;

	while (client->fd >= 0 && (n = recv(client->fd, buf, sizeof(buf), MSG_DONTWAIT)) != -1) {
		if (n > 0 && nghttp2_session_mem_recv(client->http2, buf, n) >= 0)
			continue;
		close(client->fd);
		client->fd = -1;
	}
	if (client->fd >= 0 && errno != EAGAIN) {
		close(client->fd);
		client->fd = -1;
	}
}

/* Sends until the socket takes no more; the rest is sent later. */
static void transmit(struct grpc_client *client)
{
	const uint8_t *data;
	ssize_t n;

	while (client->fd >= 0) {
		if (!client->unsent.len) {
			n = nghttp2_session_mem_send(client->http2, &data);
			if (n <= 0)
				return;
			client->unsent = (struct view){ (const char *)data, n };
		}
		n = send(client->fd, client->unsent.s, client->unsent.len,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return;
		client->unsent.s += n;
		client->unsent.len -= n;
	}
}

void grpc_client_work(struct grpc_client *client)
{
	receive(client);
	transmit(client);
}

struct view grpc_frame(struct view message, bool is_compressed)
{
	uint32_t length = htonl(message.len);
	char *data = must_alloc(message.len + 5);

	data[0] = is_compressed;
	memcpy(data + 1, &length, 4);
	if (message.len)
		memcpy(data + 5, message.s, message.len);
	return (struct view){ data, message.len + 5 };
}
