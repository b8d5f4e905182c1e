/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: what a client sends after the preface of HTTP/2.  It is fed at once and in pieces.  Memory
 * stays below its limit, and replies are not much larger than what they reply to.
 */
#include <assert.h>

#include "relay/grpc_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

enum { MESSAGE_MAX = 1 << 16, MEMORY = 1 << 17, REPLY_MIN = 16 << 10, REPLY_FACTOR = 64 };

static volatile uint64_t sink; /* prevents the compiler from removing the reads */

static void export(void *arg, const struct export_request *request, struct export_reply *ret)
{
	uint64_t *requests = arg;

	++*requests;
	assert(request->signal < OTLP_SIGNAL_COUNT);
	assert(request->body.len <= MESSAGE_MAX);
	for (size_t i = 0; i < request->body.len; i++)
		sink += request->body.s[i];
	ret->status = request->body.len % 3;
	ret->rejected = request->body.len % 5;
	if (request->body.len % 2)
		memcpy(ret->message, "100% \xff", 7);
}

/* Bytes of all replies that are due. */
static size_t pull(struct grpc_session *s)
{
	struct view bytes;
	size_t size = 0;

	while ((bytes = grpc_session_pull(s)).len) {
		sink += bytes.s[bytes.len - 1];
		size += bytes.len;
	}
	return size;
}

static void feed(const uint8_t *input, size_t size, size_t piece)
{
	static const struct receive_limits limits = { .message = MESSAGE_MAX, .streams = 8 };
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	struct intake intake = { .limit = MEMORY };
	struct receiver receiver;
	struct grpc_session *s;
	uint64_t requests = 0;
	int r;

	receiver_init(&receiver, &limits, &intake, export, &requests);
	s = grpc_session_new(&receiver, 1);
	r = grpc_session_feed(s, (struct view){ preface, strlen(preface) });
	assert(r == 0);
	for (size_t at = 0, n; r == 0 && at < size; at += n, piece = piece * 5 % 10007 + 1) {
		n = piece < size - at ? piece : size - at;
		r = grpc_session_feed(s, (struct view){ (const char *)input + at, n });
		assert(pull(s) <= REPLY_MIN + REPLY_FACTOR * n);
		assert(intake.used <= MEMORY);
		if (grpc_session_is_over(s))
			break;
	}
	grpc_session_end(s);
	pull(s);
	grpc_session_free(s);
	assert(intake.used == 0);
	assert(requests >= receiver.counters.accepted + receiver.counters.unavailable);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	feed(input, size, SIZE_MAX / 8);
	feed(input, size, 1 + size % 100);
	return 0;
}
