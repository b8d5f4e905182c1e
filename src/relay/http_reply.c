/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/http_reply.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"

enum { STATUS_CODE = 1, STATUS_MESSAGE = 2 }; /* of google.rpc.Status */

#define RETRY_AFTER "1" /* seconds */

/* The code of google.rpc.Code for an HTTP status. */
static unsigned int code_of(unsigned int status)
{
	switch (status) {
	case MHD_HTTP_FORBIDDEN:
		return 7; /* PERMISSION_DENIED */
	case MHD_HTTP_NOT_FOUND:
		return 5; /* NOT_FOUND */
	case MHD_HTTP_METHOD_NOT_ALLOWED:
	case MHD_HTTP_UNSUPPORTED_MEDIA_TYPE:
		return 12; /* UNIMPLEMENTED */
	case MHD_HTTP_CONTENT_TOO_LARGE:
		return 8; /* RESOURCE_EXHAUSTED */
	case MHD_HTTP_SERVICE_UNAVAILABLE:
		return 14; /* UNAVAILABLE */
	default:
		return 3; /* INVALID_ARGUMENT */
	}
}

static void put_protobuf(struct pb_buffer *out, const struct http_reply *reply)
{
	if (reply->status == MHD_HTTP_OK) {
		receiver_put_response(out, &reply->export);
		return;
	}
	pb_put_varint(out, STATUS_CODE, code_of(reply->status));
	pb_put_bytes(out, STATUS_MESSAGE, (struct view){ reply->message, strlen(reply->message) });
}

/* ExportTraceServiceResponse and so on; 64-bit numbers are texts in JSON. */
static void put_partial_success(struct json *j, const struct http_request *request)
{
	static const char *const names[] = {
		[OTLP_TRACES] = "rejectedSpans",
		[OTLP_METRICS] = "rejectedDataPoints",
		[OTLP_LOGS] = "rejectedLogRecords",
	};
	const struct export_reply *reply = &request->reply.export;
	char count[24];

	snprintf(count, sizeof(count), "%" PRIu64, reply->rejected);
	json_key(j, "partialSuccess");
	json_object(j);
	json_key(j, names[request->signal]);
	json_string(j, count);
	json_key(j, "errorMessage");
	json_string(j, reply->message);
	json_end(j);
}

/* Returns a text that the caller frees. */
static char *put_json(const struct http_request *request, size_t *ret_size)
{
	const struct http_reply *reply = &request->reply;
	char *text = NULL;
	FILE *file = open_memstream(&text, ret_size);
	struct out *out = must_alloc(sizeof(*out));
	struct json j;

	if (!file)
		abort(); /* out of memory */
	out_init(out, file);
	json_init(&j, out);
	json_object(&j);
	if (reply->status != MHD_HTTP_OK) {
		json_key(&j, "code");
		json_u64(&j, code_of(reply->status));
		json_key(&j, "message");
		json_string(&j, reply->message);
	} else if (reply->export.rejected || reply->export.message[0]) {
		put_partial_success(&j, request);
	}
	json_end(&j);
	out_flush(out);
	fclose(file);
	free(out);
	return text;
}

/* Text for people, on other paths. */
static struct MHD_Response *make_page(const struct http_reply *reply)
{
	char text[sizeof(reply->message) + 1];

	if (reply->status == MHD_HTTP_OK)
		return MHD_create_response_from_buffer(strlen(reply->page), (void *)reply->page,
						       MHD_RESPMEM_MUST_COPY);
	snprintf(text, sizeof(text), "%.*s\n", (int)sizeof(reply->message) - 1, reply->message);
	return MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_COPY);
}

static struct MHD_Response *make_response(const struct http_request *request, const char **ret_type)
{
	const struct http_reply *reply = &request->reply;
	struct pb_buffer out = { 0 };
	size_t size = 0;
	char *text;

	if (request->signal == OTLP_SIGNAL_COUNT) {
		*ret_type = reply->status == MHD_HTTP_OK ? reply->page_type : "text/plain";
		return make_page(reply);
	}
	if (request->is_json) {
		*ret_type = "application/json";
		text = put_json(request, &size);
		return MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
	}
	*ret_type = "application/x-protobuf";
	put_protobuf(&out, reply);
	return MHD_create_response_from_buffer(out.size, out.data, MHD_RESPMEM_MUST_FREE);
}

enum MHD_Result http_reply_queue(struct MHD_Connection *connection,
				 const struct http_request *request)
{
	const struct http_reply *reply = &request->reply;
	const char *type;
	struct MHD_Response *response = make_response(request, &type);
	enum MHD_Result r;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	if (reply->allow)
		MHD_add_response_header(response, "Allow", reply->allow);
	if (reply->status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(response, "Retry-After", RETRY_AFTER);
	r = MHD_queue_response(connection, reply->status, response);
	MHD_destroy_response(response);
	return r;
}
