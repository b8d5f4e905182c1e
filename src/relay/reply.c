/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/reply.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/out.h"
#include "otlp/protobuf.h"
#include "relay/percent.h"

enum { DETAILS_MAX = 8 << 10, GRPC_PREFIX = 5 };
enum { SECONDS_MAX = 1 << 20 }; /* a longer delay is bounded by the caller anyway */

enum { RESPONSE_PARTIAL_SUCCESS = 1 };
enum { PARTIAL_REJECTED = 1, PARTIAL_MESSAGE = 2 };
enum { STATUS_MESSAGE = 2, STATUS_DETAILS = 3 }; /* of google.rpc.Status */
enum { ANY_TYPE = 1, ANY_VALUE = 2 };
enum { RETRY_INFO_DELAY = 1 };
enum { DURATION_SECONDS = 1, DURATION_NANOS = 2 };

static const char *const grpc_names[] = {
	"OK",
	"CANCELLED",
	"UNKNOWN",
	"INVALID_ARGUMENT",
	"DEADLINE_EXCEEDED",
	"NOT_FOUND",
	"ALREADY_EXISTS",
	"PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED",
	"FAILED_PRECONDITION",
	"ABORTED",
	"OUT_OF_RANGE",
	"UNIMPLEMENTED",
	"INTERNAL",
	"UNAVAILABLE",
	"DATA_LOSS",
	"UNAUTHENTICATED",
};
enum grpc_code {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
};

void reply_reset(struct collector_reply *reply)
{
	*reply = (struct collector_reply){ .grpc_status = -1, .body = reply->body };
}

void reply_done(struct collector_reply *reply)
{
	free(reply->body);
	*reply = (struct collector_reply){ .grpc_status = -1 };
}

/* Appends the printable characters of a text. */
static void append_text(char *to, size_t room, struct view text)
{
	size_t used = strlen(to);

	for (size_t i = 0, len; i < text.len; i += len ? len : 1) {
		len = utf8_length(text.s + i, text.len - i);
		if (used + len >= room)
			break;
		if (len && !utf8_control(text.s + i, len)) {
			memcpy(to + used, text.s + i, len);
			used += len;
		}
	}
	to[used] = '\0';
}

/* A field of a message that is a message, a text or bytes; empty if there is none. */
static struct view bytes_field(struct view message, uint32_t number)
{
	struct pb_reader pb = pb_reader_of(message);
	struct view found = { "", 0 };
	struct pb_field f;

	while (pb_next(&pb, &f) > 0)
		if (f.tag == PB_TAG(number, PB_BYTES))
			found = f.bytes;
	return found;
}

static uint64_t number_field(struct view message, uint32_t number)
{
	struct pb_reader pb = pb_reader_of(message);
	uint64_t found = 0;
	struct pb_field f;

	while (pb_next(&pb, &f) > 0)
		if (f.tag == PB_TAG(number, PB_VARINT))
			found = f.number;
	return found;
}

static void read_retry_info(struct collector_reply *reply, struct view info)
{
	struct view delay = bytes_field(info, RETRY_INFO_DELAY);
	int64_t seconds = number_field(delay, DURATION_SECONDS);
	int64_t nanos = number_field(delay, DURATION_NANOS);

	reply->has_retry_info = true;
	if (seconds < 0 || nanos < 0 || nanos >= (int64_t)NSEC_PER_SEC)
		return;
	if (seconds > SECONDS_MAX)
		seconds = SECONDS_MAX;
	reply->delay = seconds * NSEC_PER_SEC + nanos;
}

/* google.rpc.Status */
static void read_status(struct collector_reply *reply, struct view status)
{
	struct pb_reader pb = pb_reader_of(status);
	struct pb_field f;

	while (pb_next(&pb, &f) > 0) {
		if (f.tag == PB_TAG(STATUS_MESSAGE, PB_BYTES) && !reply->message[0])
			append_text(reply->message, sizeof(reply->message), f.bytes);
		if (f.tag == PB_TAG(STATUS_DETAILS, PB_BYTES) &&
		    view_is(bytes_field(f.bytes, ANY_TYPE),
			    "type.googleapis.com/google.rpc.RetryInfo"))
			read_retry_info(reply, bytes_field(f.bytes, ANY_VALUE));
	}
}

static int sextet_of(char c)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

/* Decodes until the first character that is not base64, such as padding. */
static size_t decode_base64(struct view in, uint8_t *out, size_t room)
{
	size_t used = 0;
	uint32_t bits = 0, count = 0;

	for (size_t i = 0; i < in.len && used < room; i++) {
		int sextet = sextet_of(in.s[i]);

		if (sextet < 0)
			break;
		bits = bits << 6 | (uint32_t)sextet;
		count += 6;
		if (count >= 8) {
			count -= 8;
			out[used++] = (uint8_t)(bits >> count);
		}
	}
	return used;
}

static void add_details(struct collector_reply *reply, struct view value)
{
	uint8_t bytes[DETAILS_MAX];
	size_t size = decode_base64(value, bytes, sizeof(bytes));

	read_status(reply, (struct view){ (const char *)bytes, size });
}

static void add_grpc_message(struct collector_reply *reply, struct view value)
{
	char text[DETAILS_MAX];

	if (value.len > sizeof(text))
		value.len = sizeof(text);
	reply->message[0] = '\0';
	append_text(reply->message, sizeof(reply->message),
		    (struct view){ text, percent_decode(value, text) });
}

static int parse_grpc_status(struct view value)
{
	int n = 0;

	for (size_t i = 0; i < value.len; i++) {
		if (!isdigit((unsigned char)value.s[i]) || n > 1000)
			return GRPC_UNKNOWN;
		n = 10 * n + value.s[i] - '0';
	}
	return value.len ? n : GRPC_UNKNOWN;
}

static bool has_prefix(struct view v, const char *prefix)
{
	return v.len >= strlen(prefix) && strncasecmp(v.s, prefix, strlen(prefix)) == 0;
}

void reply_add_header(struct collector_reply *reply, struct view line)
{
	const char *colon = memchr(line.s, ':', line.len);

	/* the status line of another reply: what came before was 100 Continue, or from a proxy */
	if (has_prefix(line, "HTTP/")) {
		reply_reset(reply);
		return;
	}
	if (!colon)
		return;

	struct view value = { colon + 1, line.s + line.len - colon - 1 };

	while (value.len && isspace((unsigned char)value.s[0])) {
		value.s++;
		value.len--;
	}
	while (value.len && isspace((unsigned char)value.s[value.len - 1]))
		value.len--;
	if (has_prefix(line, "content-type:"))
		reply->is_protobuf = has_prefix(value, "application/x-protobuf");
	else if (has_prefix(line, "grpc-status:"))
		reply->grpc_status = parse_grpc_status(value);
	else if (has_prefix(line, "grpc-message:"))
		add_grpc_message(reply, value);
	else if (has_prefix(line, "grpc-status-details-bin:"))
		add_details(reply, value);
}

void reply_add_body(struct collector_reply *reply, struct view bytes)
{
	size_t room = REPLY_MAX - reply->size;
	size_t n = bytes.len < room ? bytes.len : room;

	if (!reply->body)
		reply->body = must_alloc(REPLY_MAX);
	memcpy(reply->body + reply->size, bytes.s, n);
	reply->size += n;
}

/* Export*ServiceResponse; the messages of all signals have the same field numbers. */
static void read_response(struct collector_reply *reply, struct view response)
{
	struct view partial = bytes_field(response, RESPONSE_PARTIAL_SUCCESS);
	int64_t rejected = number_field(partial, PARTIAL_REJECTED);

	reply->rejected = rejected > 0 ? rejected : 0;
	append_text(reply->message, sizeof(reply->message), bytes_field(partial, PARTIAL_MESSAGE));
}

static struct view body_of(const struct collector_reply *reply)
{
	return (struct view){ reply->size ? (const char *)reply->body : "", reply->size };
}

static void prepend_code(struct collector_reply *reply, const char *code)
{
	char text[sizeof(reply->message)];

	memcpy(text, reply->message, sizeof(text));
	snprintf(reply->message, sizeof(reply->message), text[0] ? "%s: %.*s" : "%s%.*s", code,
		 (int)(sizeof(text) - 3 - strlen(code)), text);
}

static enum reply_verdict judge_http(struct collector_reply *reply, unsigned status)
{
	char code[16];

	if (status / 100 == 2) {
		if (reply->is_protobuf)
			read_response(reply, body_of(reply));
		return REPLY_ACCEPTED;
	}
	if (reply->is_protobuf)
		read_status(reply, body_of(reply));
	else
		append_text(reply->message, sizeof(reply->message), body_of(reply));
	snprintf(code, sizeof(code), "%u", status);
	prepend_code(reply, code);
	switch (status) {
	case 429:
	case 502:
	case 503:
	case 504:
		return REPLY_RETRY;
	case 400:
	case 413:
	case 422:
	case 500:
		return REPLY_REJECTED;
	default:
		return REPLY_REFUSED;
	}
}

/* The body of a reply is one message after its length. */
static void read_grpc_response(struct collector_reply *reply)
{
	struct view body = body_of(reply);
	bool is_compressed = body.len && body.s[0];

	if (body.len >= GRPC_PREFIX && !is_compressed)
		read_response(reply, (struct view){ body.s + GRPC_PREFIX, body.len - GRPC_PREFIX });
}

static enum reply_verdict judge_grpc_code(const struct collector_reply *reply)
{
	switch (reply->grpc_status) {
	case GRPC_OK:
		return REPLY_ACCEPTED;
	case GRPC_CANCELLED:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_ABORTED:
	case GRPC_OUT_OF_RANGE:
	case GRPC_UNAVAILABLE:
	case GRPC_DATA_LOSS:
		return REPLY_RETRY;
	case GRPC_RESOURCE_EXHAUSTED: /* without RetryInfo: the message is too large */
		return reply->has_retry_info ? REPLY_RETRY : REPLY_REJECTED;
	case GRPC_UNKNOWN:
	case GRPC_INVALID_ARGUMENT:
	case GRPC_FAILED_PRECONDITION:
	case GRPC_INTERNAL:
		return REPLY_REJECTED;
	default:
		return REPLY_REFUSED;
	}
}

static enum reply_verdict judge_grpc(struct collector_reply *reply, unsigned http_status)
{
	char code[32];

	/* a proxy on the way, or not a gRPC server */
	if (reply->grpc_status < 0 && http_status / 100 != 2)
		return judge_http(reply, http_status);
	if (reply->grpc_status < 0) {
		snprintf(reply->message, sizeof(reply->message),
			 "a reply without grpc-status; is this a gRPC endpoint?");
		return REPLY_REFUSED;
	}
	if (reply->grpc_status == GRPC_OK) {
		reply->message[0] = '\0';
		read_grpc_response(reply);
		return REPLY_ACCEPTED;
	}
	if ((size_t)reply->grpc_status < ARRAY_LEN(grpc_names))
		snprintf(code, sizeof(code), "%s", grpc_names[reply->grpc_status]);
	else
		snprintf(code, sizeof(code), "gRPC status %d", reply->grpc_status);
	prepend_code(reply, code);
	return judge_grpc_code(reply);
}

enum reply_verdict reply_judge(struct collector_reply *reply, enum otlp_protocol protocol,
			       unsigned http_status)
{
	return protocol == OTLP_GRPC ? judge_grpc(reply, http_status)
				     : judge_http(reply, http_status);
}
