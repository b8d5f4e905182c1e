/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/http_request.h"

#include <stdio.h>
#include <strings.h>

enum { DISCARD_MAX = 4 }; /* times the limit of a request: bytes that are read and discarded */

__attribute__((format(printf, 4, 5))) static void
refuse(struct http_request *request, unsigned int status, uint64_t *counter, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(request->reply.message, sizeof(request->reply.message), fmt, ap);
	va_end(ap);
	request->reply.status = status;
	++*counter;
}

static enum otlp_signal signal_of(const char *url)
{
	static const char *const paths[] = {
		[OTLP_TRACES] = "/v1/traces",
		[OTLP_METRICS] = "/v1/metrics",
		[OTLP_LOGS] = "/v1/logs",
	};

	for (size_t i = 0; i < OTLP_SIGNAL_COUNT; i++)
		if (strcmp(url, paths[i]) == 0)
			return i;
	return OTLP_SIGNAL_COUNT;
}

/* Whether a content type is this one, with or without parameters. */
static bool is_type(const char *value, const char *type)
{
	size_t len = strcspn(value, "; \t");

	return len == strlen(type) && strncasecmp(value, type, len) == 0;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);

	return value ? value : "";
}

static void check_body(struct http_request *request, struct receiver *receiver,
		       const struct http_server_options *options, struct MHD_Connection *connection)
{
	const char *type = header(connection, "Content-Type"),
		   *encoding = header(connection, "Content-Encoding");
	struct receive_counters *counters = &receiver->counters;

	request->is_json = is_type(type, "application/json");
	request->is_gzip = strcasecmp(encoding, "gzip") == 0;
	request->length = strtoull(header(connection, "Content-Length"), NULL, 10);
	if (!options->allow_origin &&
	    MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin"))
		refuse(request, MHD_HTTP_FORBIDDEN, &counters->cross_origin,
		       "requests of web pages (header Origin) are refused");
	else if (!request->is_json && !is_type(type, "application/x-protobuf"))
		refuse(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, &counters->unsupported,
		       "unknown content type; supported are application/x-protobuf%s",
		       options->json_to_protobuf ? " and application/json" : "");
	else if (request->is_json && !options->json_to_protobuf)
		refuse(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, &counters->unsupported,
		       "JSON is not supported; send application/x-protobuf");
	else if (!request->is_gzip && encoding[0] && strcasecmp(encoding, "identity") != 0)
		refuse(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, &counters->unsupported,
		       "unknown content encoding; supported is gzip");
	else if (request->length > receiver->limits.message)
		refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, &counters->too_large,
		       "request of %zu bytes; at most %zu are accepted", request->length,
		       receiver->limits.message);
}

void http_request_begin(struct http_request *request, struct receiver *receiver,
			const struct http_server_options *options,
			struct MHD_Connection *connection, const char *url, const char *method)
{
	bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
	struct http_reply *reply = &request->reply;
	uint64_t *unsupported = &receiver->counters.unsupported;

	request->signal = options->export ? signal_of(url) : OTLP_SIGNAL_COUNT;
	if (request->signal != OTLP_SIGNAL_COUNT && strcmp(method, "POST") == 0) {
		check_body(request, receiver, options, connection);
	} else if (request->signal != OTLP_SIGNAL_COUNT) {
		reply->allow = "POST";
		refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, unsupported,
		       "export requests are sent with POST");
	} else if (!options->page || !options->page(options->page_arg, url, &reply->page_type)) {
		refuse(request, MHD_HTTP_NOT_FOUND, unsupported,
		       "unknown path; export requests go to /v1/traces, /v1/metrics and /v1/logs");
	} else if (!is_get) {
		reply->allow = "GET, HEAD";
		refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, unsupported,
		       "this page is read with GET");
	}
}

bool http_request_data(struct http_request *request, struct receiver *receiver, const char *data,
		       size_t size)
{
	struct receive_counters *counters = &receiver->counters;
	bool is_stored = !request->reply.status && request->signal != OTLP_SIGNAL_COUNT;

	if (is_stored && size > receiver->limits.message - request->body.size) {
		refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, &counters->too_large,
		       "request of more than %zu bytes", receiver->limits.message);
		is_stored = false;
	}
	if (is_stored &&
	    body_append(&request->body, receiver->intake, data, size, request->length) < 0) {
		refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, &counters->no_memory,
		       "too many requests at once; try again later");
		is_stored = false;
	}
	if (is_stored)
		return true;
	body_done(&request->body, receiver->intake);
	request->discarded += size;
	return request->discarded / DISCARD_MAX <= receiver->limits.message;
}

static void export(struct http_request *request, struct receiver *receiver, struct view body,
		   uint64_t sender)
{
	static const unsigned int statuses[] = {
		[EXPORT_ACCEPTED] = MHD_HTTP_OK,
		[EXPORT_INVALID] = MHD_HTTP_BAD_REQUEST,
		[EXPORT_UNAVAILABLE] = MHD_HTTP_SERVICE_UNAVAILABLE,
	};
	struct http_reply *reply = &request->reply;

	receiver_export(receiver, &(struct export_request){ request->signal, body, sender },
			&reply->export);
	reply->status = statuses[reply->export.status];
	snprintf(reply->message, sizeof(reply->message), "%s", reply->export.message);
}

static struct view view_of(const struct pb_buffer *buffer)
{
	return (struct view){ (const char *)buffer->data, buffer->size };
}

/* Decompresses and converts the body, as far as needed. */
static void decode(struct http_request *request, struct receiver *receiver,
		   const struct http_server_options *options, uint64_t sender)
{
	struct view body = { (const char *)request->body.data, request->body.size };
	_cleanup_(pb_buffer_done) struct pb_buffer plain = { 0 }, converted = { 0 };
	struct err err = { "" };
	int r = 0;

	if (request->is_gzip) {
		r = receiver_inflate(receiver, body, &plain, &err);
		body = view_of(&plain);
	}
	if (r == 0 && request->is_json) {
		r = options->json_to_protobuf(request->signal, body, &converted, &err);
		body = view_of(&converted);
		receiver->counters.invalid += r < 0;
	}
	if (r == 0) {
		export(request, receiver, body, sender);
		return;
	}
	request->reply.status = r == -EMSGSIZE ? MHD_HTTP_CONTENT_TOO_LARGE : MHD_HTTP_BAD_REQUEST;
	snprintf(request->reply.message, sizeof(request->reply.message), "%.*s",
		 (int)sizeof(request->reply.message) - 1, err.text);
}

void http_request_end(struct http_request *request, struct receiver *receiver,
		      const struct http_server_options *options, const char *url, uint64_t sender)
{
	struct http_reply *reply = &request->reply;

	request->is_complete = true;
	if (reply->status)
		return;
	if (request->signal != OTLP_SIGNAL_COUNT) {
		receiver->counters.received_bytes += request->body.size;
		decode(request, receiver, options, sender);
		body_done(&request->body, receiver->intake);
		return;
	}
	reply->page_type = "text/plain";
	reply->page = options->page(options->page_arg, url, &reply->page_type);
	reply->status = reply->page ? MHD_HTTP_OK : MHD_HTTP_NOT_FOUND;
	if (reply->page && !intake_take(receiver->intake, strlen(reply->page)))
		refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, &receiver->counters.no_memory,
		       "too many requests at once; try again later");
	else if (reply->page)
		request->page_memory = strlen(reply->page);
}

void http_request_free(struct http_request *request, struct receiver *receiver)
{
	body_done(&request->body, receiver->intake);
	intake_give_back(receiver->intake, request->page_memory);
	receiver->counters.incomplete += !request->is_complete;
	free(request);
}
