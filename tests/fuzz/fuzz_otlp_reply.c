/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: two bytes (protocol and HTTP status), headers up to an empty line, then pairs of a body
 * and trailers, as curl passes them.
 */
#include "relay/reply.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const unsigned codes[] = { 200, 202, 400, 401, 413, 429, 500, 503 };

/* One line, including its line break. */
static struct view take_line(struct view *rest)
{
	const char *end = rest->len ? memchr(rest->s, '\n', rest->len) : NULL;
	struct view line = { rest->s, end ? (size_t)(end + 1 - rest->s) : rest->len };

	rest->s += line.len;
	rest->len -= line.len;
	return line;
}

static void check(const struct collector_reply *reply, enum reply_verdict verdict)
{
	size_t len = strnlen(reply->message, sizeof(reply->message));

	if (len == sizeof(reply->message) || reply->size > REPLY_MAX)
		__builtin_trap();
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)reply->message[i] < ' ' || reply->message[i] == 0x7f)
			__builtin_trap();
	if (verdict != REPLY_ACCEPTED && (reply->rejected || !len))
		__builtin_trap();
	if (reply->delay > (1ull << 21) * NSEC_PER_SEC)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct collector_reply reply = { 0 };
	enum otlp_protocol protocol;
	unsigned status;

	if (size < 2)
		return 0;
	protocol = bytes[0] & 1 ? OTLP_GRPC : OTLP_HTTP_PROTOBUF;
	status = codes[bytes[1] % ARRAY_LEN(codes)];
	reply_reset(&reply);

	struct view rest = { (const char *)bytes + 2, size - 2 };
	bool is_head = true;

	while (rest.len) {
		struct view line = take_line(&rest);

		if (!is_head && !memchr(line.s, ':', line.len))
			reply_add_body(&reply, line);
		else
			reply_add_header(&reply, line);
		is_head &= line.len > 2;
	}
	check(&reply, reply_judge(&reply, protocol, status));
	reply_done(&reply);
	return 0;
}
