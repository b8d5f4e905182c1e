/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/grpc_reply.h"

#include <stdio.h>

#include "relay/percent.h"

static nghttp2_nv header(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
			     NGHTTP2_NV_FLAG_NONE };
}

/* Status and message.  `status` and `message` are room for texts. */
static size_t put_status(nghttp2_nv *nv, const struct grpc_stream *stream, char status[4],
			 char message[3 * sizeof(stream->message)])
{
	snprintf(status, 4, "%u", stream->status);
	percent_encode(stream->message, message, 3 * sizeof(stream->message));
	nv[0] = header("grpc-status", status);
	nv[1] = header("grpc-message", message);
	return message[0] ? 2 : 1;
}

/* Copies the response into a DATA frame; the trailers follow its end. */
static ssize_t read_response(nghttp2_session *http2, int32_t id, uint8_t *buf, size_t room,
			     uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct grpc_stream *stream = source->ptr;
	size_t rest = stream->response.size - stream->sent, n = rest < room ? rest : room;
	char status[4], message[3 * sizeof(stream->message)];
	nghttp2_nv trailers[2];

	memcpy(buf, stream->response.data + stream->sent, n);
	stream->sent += n;
	if (n == rest) {
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (nghttp2_submit_trailer(http2, id, trailers,
					   put_status(trailers, stream, status, message)) != 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return n;
}

/* A failed call has all in one frame: headers and status. */
int grpc_reply_submit(nghttp2_session *http2, struct grpc_stream *stream)
{
	const nghttp2_data_provider data = { { .ptr = stream }, read_response };
	bool has_response = stream->status == GRPC_OK && stream->http_status == 200;
	char http_status[4], status[4], message[3 * sizeof(stream->message)];
	nghttp2_nv headers[5];
	size_t count = 3;

	snprintf(http_status, sizeof(http_status), "%u", stream->http_status % 1000);
	headers[0] = header(":status", http_status);
	headers[1] = header("content-type", "application/grpc");
	headers[2] = header("grpc-accept-encoding", "identity,gzip");
	if (!has_response)
		count += put_status(headers + count, stream, status, message);
	return nghttp2_submit_response(http2, stream->id, headers, count,
				       has_response ? &data : NULL);
}
