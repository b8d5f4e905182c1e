/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer - one export after another to an endpoint, by libcurl.
 *
 * Most options of libcurl are set once; an export sets only the body, so that connections are
 * reused. A gRPC export is a POST over HTTP/2 with a prefix of five bytes: whether the message is
 * compressed, and its length.
 */
#ifndef SONDE_RELAY_TRANSFER_H
#define SONDE_RELAY_TRANSFER_H

#include <curl/curl.h>

#include "otlp/protobuf.h"
#include "relay/endpoint.h"
#include "relay/gzip.h"
#include "relay/h2c_reuse.h"
#include "relay/reply.h"

struct transfer {
	const struct endpoint *endpoint; /* borrowed */
	CURL *easy;
	struct curl_slist *headers;
	struct h2c_reuse h2c_reuse;
	struct pb_buffer wire; /* the body: the caller appends the message to transfer_begin()'s */
	struct pb_buffer packed;    /* the compressed body */
	struct gzip_packer *packer; /* NULL without compression */
	struct collector_reply reply;
	char error[CURL_ERROR_SIZE];
};

/* `arg` is what curl_easy_getinfo(CURLINFO_PRIVATE) returns. */
int transfer_init(struct transfer *t, const struct endpoint *endpoint, void *arg, struct err *err);
void transfer_done(struct transfer *t);

/* An empty body, to which the caller appends the message. */
struct pb_buffer *transfer_begin(struct transfer *t);

/* Prepares t->easy for curl_multi_add_handle(). */
void transfer_ready(struct transfer *t);

/* After the transfer: the verdict, with t->reply filled in. */
enum reply_verdict transfer_judge(struct transfer *t, CURLcode result);

/* Gives back memory of a body that was larger than this. */
void transfer_trim(struct transfer *t, size_t size);

#endif
