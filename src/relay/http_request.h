/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_request - one request of OTLP/HTTP: what it asks for, its body, and the result.
 *
 * All checks that need only the headers are made first; if one fails, the body is discarded.
 */
#ifndef SONDE_RELAY_HTTP_REQUEST_H
#define SONDE_RELAY_HTTP_REQUEST_H

#include <microhttpd.h>

#include "relay/http_server.h"

struct http_reply {
	unsigned int status;          /* 0: not decided yet */
	char message[160];            /* of a failure */
	const char *allow;            /* methods, for 405 */
	struct export_reply export;   /* for 200 of an export */
	const char *page, *page_type; /* for 200 of a page; borrowed */
};

struct http_request {
	enum otlp_signal signal; /* OTLP_SIGNAL_COUNT: a page */
	bool is_json, is_gzip;
	size_t length; /* of the body, as announced; 0 if unknown */
	struct body body;
	size_t discarded;   /* bytes of the body that were not stored */
	size_t page_memory; /* bytes of the reply that the intake counts */
	bool is_complete;
	struct http_reply reply;
};

/* Checks the headers; a failure is in request->reply. */
void http_request_begin(struct http_request *request, struct receiver *receiver,
			const struct http_server_options *options,
			struct MHD_Connection *connection, const char *url, const char *method);

/* Stores a part of the body, or discards it; false if the connection has to be closed. */
bool http_request_data(struct http_request *request, struct receiver *receiver, const char *data,
		       size_t size);

/* Handles the complete request; the result is in request->reply. */
void http_request_end(struct http_request *request, struct receiver *receiver,
		      const struct http_server_options *options, const char *url, uint64_t sender);

void http_request_free(struct http_request *request, struct receiver *receiver);

#endif
