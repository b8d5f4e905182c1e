/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/transfer.h"

#include <errno.h>
#include <stdio.h>

enum { GRPC_PREFIX = 5 };
enum { UPLOAD_BUFFER = 256 << 10 };

static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;

	reply_add_header(&t->reply, (struct view){ data, size * count });
	return size * count;
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;

	reply_add_body(&t->reply, (struct view){ data, size * count });
	return size * count;
}

static void add_header(struct transfer *t, const char *line)
{
	struct curl_slist *list = curl_slist_append(t->headers, line);

	if (!list)
		abort(); /* out of memory */
	t->headers = list;
}

static void set_headers(struct transfer *t)
{
	const struct endpoint *e = t->endpoint;
	char timeout[32];

	for (size_t i = 0; i < e->headers.count; i++)
		add_header(t, e->headers.items[i]);
	add_header(t, "Expect:"); /* not to wait for 100 Continue */
	if (e->protocol == OTLP_GRPC) {
		snprintf(timeout, sizeof(timeout), "grpc-timeout: %um", e->timeout);
		add_header(t, timeout);
		add_header(t, "Content-Type: application/grpc");
		add_header(t, "TE: trailers");
		if (e->gzip)
			add_header(t, "grpc-encoding: gzip");
	} else {
		add_header(t, "Content-Type: application/x-protobuf");
		if (e->gzip)
			add_header(t, "Content-Encoding: gzip");
	}
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
}

static void set_blob(struct transfer *t, CURLoption option, const struct pem *pem)
{
	struct curl_blob blob = { pem->data, pem->size, CURL_BLOB_NOCOPY };

	if (pem->data)
		curl_easy_setopt(t->easy, option, &blob);
}

static void set_security(struct transfer *t)
{
	const struct endpoint *e = t->endpoint;

	curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(t->easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(t->easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	set_blob(t, CURLOPT_CAINFO_BLOB, &e->authorities);
	set_blob(t, CURLOPT_SSLCERT_BLOB, &e->certificate);
	set_blob(t, CURLOPT_SSLKEY_BLOB, &e->key);
	/* without a passphrase, OpenSSL would ask on the terminal */
	curl_easy_setopt(t->easy, CURLOPT_KEYPASSWD, "");
	if (e->is_loopback)
		curl_easy_setopt(t->easy, CURLOPT_PROXY, "");
	if (e->protocol == OTLP_GRPC)
		curl_easy_setopt(t->easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
}

static bool is_h2c(const struct endpoint *e)
{
	return e->protocol == OTLP_GRPC && !e->is_tls;
}

static void set_version(struct transfer *t)
{
	if (is_h2c(t->endpoint))
		h2c_reuse_init(&t->h2c_reuse, t->easy);
	else
		curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION,
				 t->endpoint->protocol == OTLP_GRPC ? (long)CURL_HTTP_VERSION_2TLS
								    : (long)CURL_HTTP_VERSION_1_1);
}

static void set_transport(struct transfer *t)
{
	const struct endpoint *e = t->endpoint;

	curl_easy_setopt(t->easy, CURLOPT_URL, e->url);
	curl_easy_setopt(t->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(t->easy, CURLOPT_USERAGENT, "sonde/" SONDE_VERSION);
	curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, (long)e->timeout);
	curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(t->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(t->easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER);
	/* a transfer that times out does not wait for the thread that resolves its name */
	curl_easy_setopt(t->easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->error);
}

int transfer_init(struct transfer *t, const struct endpoint *endpoint, void *arg, struct err *err)
{
	*t = (struct transfer){ .endpoint = endpoint, .easy = curl_easy_init() };
	if (!t->easy)
		return err_set(err, -ENOMEM, "cannot initialise libcurl");
	if (endpoint->gzip)
		t->packer = gzip_packer_new();
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, arg);
	set_transport(t);
	set_version(t);
	set_security(t);
	set_headers(t);
	return 0;
}

void transfer_done(struct transfer *t)
{
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	gzip_packer_free(t->packer);
	pb_buffer_done(&t->wire);
	pb_buffer_done(&t->packed);
	reply_done(&t->reply);
	*t = (struct transfer){ 0 };
}

static size_t prefix_of(const struct transfer *t)
{
	return t->endpoint->protocol == OTLP_GRPC ? GRPC_PREFIX : 0;
}

static void reserve(struct pb_buffer *buffer, size_t capacity)
{
	if (buffer->capacity >= capacity)
		return;
	buffer->data = must_realloc(buffer->data, capacity);
	buffer->capacity = capacity;
}

struct pb_buffer *transfer_begin(struct transfer *t)
{
	reserve(&t->wire, GRPC_PREFIX);
	t->wire.size = prefix_of(t);
	return &t->wire;
}

/* Compresses the message after the prefix. */
static void compress_wire(struct transfer *t)
{
	size_t prefix = prefix_of(t);
	struct view message = { (const char *)t->wire.data + prefix, t->wire.size - prefix };

	reserve(&t->packed, GRPC_PREFIX);
	t->packed.size = prefix;
	gzip_pack(t->packer, message, &t->packed);
}

static void write_prefix(struct pb_buffer *body, bool is_compressed)
{
	uint32_t size = body->size - GRPC_PREFIX;

	body->data[0] = is_compressed;
	for (int i = 0; i < 4; i++)
		body->data[1 + i] = size >> (24 - 8 * i);
}

void transfer_ready(struct transfer *t)
{
	struct pb_buffer *body = &t->wire;

	if (t->packer) {
		compress_wire(t);
		body = &t->packed;
	}
	if (t->endpoint->protocol == OTLP_GRPC)
		write_prefix(body, t->packer);
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, body->data);
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
	if (is_h2c(t->endpoint))
		h2c_reuse_prepare(&t->h2c_reuse, t->easy);
	t->error[0] = '\0';
	reply_reset(&t->reply);
}

/* What the text of libcurl does not make clear. */
static const char *hint_of(const struct transfer *t, CURLcode result)
{
	if (result == CURLE_UNSUPPORTED_PROTOCOL && t->endpoint->protocol != OTLP_GRPC)
		return "; if this is a gRPC endpoint, set OTEL_EXPORTER_OTLP_PROTOCOL=grpc";
	if (t->endpoint->protocol == OTLP_GRPC &&
	    (result == CURLE_HTTP2 || result == CURLE_RECV_ERROR || result == CURLE_GOT_NOTHING))
		return "; if this is an HTTP endpoint, set "
		       "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf";
	return "";
}

enum reply_verdict transfer_judge(struct transfer *t, CURLcode result)
{
	long status = 0;
	curl_off_t seconds = 0;

	if (result != CURLE_OK) {
		snprintf(t->reply.message, sizeof(t->reply.message), "%.140s%s",
			 t->error[0] ? t->error : curl_easy_strerror(result), hint_of(t, result));
		t->reply.delay = 0;
		return REPLY_MISSING;
	}
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &seconds);
	if (seconds > 0)
		t->reply.delay = (nsec_t)(seconds < 3600 ? seconds : 3600) * NSEC_PER_SEC;
	return reply_judge(&t->reply, t->endpoint->protocol, status);
}

void transfer_trim(struct transfer *t, size_t size)
{
	if (t->wire.capacity > size + GRPC_PREFIX)
		pb_buffer_done(&t->wire);
	if (t->packed.capacity > 2 * size)
		pb_buffer_done(&t->packed);
}
