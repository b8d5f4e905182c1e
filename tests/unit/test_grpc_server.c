/* SPDX-License-Identifier: Apache-2.0 */
/* What clients send, and which replies they get; test_grpc_limits.c has clients that send too much.
 */
#include "grpc_fixture.h"

TEST(each_signal_is_exported)
{
	static const char *const paths[] = { TRACE_METHOD, METRICS_METHOD, LOGS_METHOD };
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct fixture f = { 0 };

	start(&f, NULL);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct grpc_call call = { .path = paths[i], .body = body };

		call_once(&f, &call);
		CHECK_INT(call.http_status, 200);
		CHECK_INT(call.grpc_status, 0);
		CHECK_INT(call.error, NGHTTP2_NO_ERROR);
		CHECK_INT(call.reply_size, 5);
		CHECK_INT(f.sink.requests, i + 1);
		CHECK_INT(f.sink.signal, i);
		CHECK_INT(f.sink.sender, i + 1);
		CHECK_STR(f.sink.body, "spans");
	}
	CHECK_INT(counters(&f)->accepted, 3);
	wait_for_end(&f);
	stop(&f);
}

TEST(an_empty_request_is_exported)
{
	_cleanup_(free_view) struct view body = grpc_frame(view_of(""), false);
	struct grpc_call call = { .body = body, .type = "application/grpc+proto" };
	struct fixture f = { 0 };

	start(&f, NULL);
	call_once(&f, &call);
	CHECK_INT(call.grpc_status, 0);
	CHECK_INT(f.sink.requests, 1);
	CHECK_INT(f.sink.size, 0);
	stop(&f);
}

TEST(a_message_can_be_split_at_any_byte)
{
	_cleanup_(free_view) struct view body = grpc_frame(view_of("resource spans"), false);
	struct fixture f = { 0 };

	start(&f, NULL);
	for (size_t piece = 1; piece <= body.len; piece++) {
		struct grpc_call call = { .body = body, .piece = piece };

		call_once(&f, &call);
		CHECK_INT(call.grpc_status, 0);
		CHECK_STR(f.sink.body, "resource spans");
	}
	CHECK_INT(f.sink.requests, body.len);
	stop(&f);
}

/* Frames of HTTP/2 are split, too: the bytes arrive one by one. */
TEST(frames_can_be_split_at_any_byte)
{
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct grpc_call call = { .body = body };
	struct grpc_client client;
	struct fixture f = { 0 };
	const uint8_t *data;
	ssize_t n;

	start(&f, NULL);
	open_client(&f, &client);
	grpc_client_start(&client, &call);
	while ((n = nghttp2_session_mem_send(client.http2, &data)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			CHECK_INT(send(client.fd, data + i, 1, 0), 1);
			run(&f);
		}
	CHECK(wait_for(&f, &client, &call.is_closed));
	CHECK_INT(call.grpc_status, 0);
	CHECK_STR(f.sink.body, "spans");
	grpc_client_done(&client);
	stop(&f);
}

TEST(several_streams_are_served_at_once)
{
	enum { STREAMS = 100 };
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans of a service"), false);
	struct grpc_call calls[STREAMS];
	struct grpc_client client;
	struct fixture f = { 0 };

	start(&f, NULL);
	open_client(&f, &client);
	for (int i = 0; i < STREAMS; i++) {
		calls[i] = (struct grpc_call){ .body = body, .piece = 3 };
		grpc_client_start(&client, &calls[i]);
	}
	for (int i = 0; i < STREAMS; i++) {
		CHECK(wait_for(&f, &client, &calls[i].is_closed));
		CHECK_INT(calls[i].grpc_status, 0);
	}
	CHECK_INT(f.sink.requests, STREAMS);
	CHECK_INT(f.sink.bytes, STREAMS * 18);
	CHECK_INT(counters(&f)->connections, 1);
	grpc_client_done(&client);
	stop(&f);
}

TEST(compressed_messages_are_decompressed)
{
	_cleanup_(pb_buffer_done) struct pb_buffer packed = { 0 };
	_cleanup_(free_view) struct view body = { 0 };
	struct grpc_call call = { .encoding = "gzip" };
	struct fixture f = { 0 };

	gzip_build(view_of("spans"), &packed);
	body = grpc_frame((struct view){ (const char *)packed.data, packed.size }, true);
	call.body = body;
	start(&f, NULL);
	call_once(&f, &call);
	CHECK_INT(call.grpc_status, 0);
	CHECK_STR(f.sink.body, "spans");
	stop(&f);
}

/* A client that can compress need not do so for each message. */
TEST(a_message_without_the_flag_is_not_compressed)
{
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct grpc_call call = { .encoding = "gzip", .body = body };
	struct fixture f = { 0 };

	start(&f, NULL);
	call_once(&f, &call);
	CHECK_INT(call.grpc_status, 0);
	CHECK_STR(f.sink.body, "spans");
	stop(&f);
}

TEST(damaged_messages_are_refused)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *encoding;
		int status;
	} cases[] = {
		{ "\1\0\0\0\3abc", 8, "gzip", 3 },      /* not in gzip format */
		{ "\1\0\0\0\3abc", 8, "identity", 13 }, /* compressed without an encoding */
		{ "\2\0\0\0\3abc", 8, "gzip", 13 },     /* unknown flag */
		{ "\1\0\0\0\3abc", 8, "zstd", 12 },     /* unknown encoding */
		{ "\0\0\0\0\3ab", 7, "gzip", 3 },       /* incomplete message */
		{ "\0\0\0", 3, "gzip", 3 },             /* incomplete prefix */
		{ "\1\0\0\0\0", 5, "gzip", 3 },         /* nothing to decompress */
		{ "", 0, "gzip", 3 },                   /* no message */
		{ "\0\0\0\0\3abcd", 9, "gzip", 3 },     /* more than a message */
	};
	struct fixture f = { 0 };

	start(&f, NULL);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct grpc_call call = { .encoding = cases[i].encoding,
					  .body = { cases[i].bytes, cases[i].len } };

		call_once(&f, &call);
		CHECK_INT(call.grpc_status, cases[i].status);
		CHECK(call.message[0]);
	}
	CHECK_INT(f.sink.requests, 0);
	CHECK_INT(counters(&f)->invalid + counters(&f)->unsupported, ARRAY_LEN(cases));
	stop(&f);
}

TEST(unknown_methods_are_not_implemented)
{
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct grpc_call call = { .path = "/grpc.health.v1.Health/Check", .body = body };
	struct fixture f = { 0 };

	start(&f, NULL);
	call_once(&f, &call);
	CHECK_INT(call.http_status, 200);
	CHECK_INT(call.grpc_status, 12);
	CHECK_INT(counters(&f)->unsupported, 1);
	stop(&f);
}

TEST(other_requests_of_http2_get_an_http_error)
{
	struct grpc_call json = { .type = "application/json", .body = { "{}", 2 } };
	struct grpc_call get = { .method = "GET", .path = "/" };
	struct fixture f = { 0 };

	start(&f, NULL);
	call_once(&f, &json);
	CHECK_INT(json.http_status, 415);
	call_once(&f, &get);
	CHECK_INT(get.http_status, 405);
	CHECK(strstr(get.message, "OTLP/HTTP has another"));
	stop(&f);
}

TEST(a_partial_success_is_reported)
{
	static const uint8_t expected[] = { 0,   0,   0,    0,    9, 0x0a, 7,
					    0x8, 131, 0x01, 0x12, 2, 'n',  'o' };
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct grpc_call call = { .body = body };
	struct fixture f = { .sink.reply = { .rejected = 131, .message = "no" } };

	start(&f, NULL);
	call_once(&f, &call);
	CHECK_INT(call.grpc_status, 0);
	CHECK_INT(call.reply_size, sizeof(expected));
	CHECK(memcmp(call.reply, expected, sizeof(expected)) == 0);
	CHECK_INT(counters(&f)->rejected_items, 131);
	stop(&f);
}

TEST(a_refused_export_has_a_status_and_an_encoded_message)
{
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct grpc_call call = { .body = body }, later = call;
	struct fixture f = { .sink.reply = { .status = EXPORT_INVALID,
					     .message = "100% \xc3\xa4\n" } };

	start(&f, NULL);
	call_once(&f, &call);
	CHECK_INT(call.grpc_status, 3);
	CHECK_STR(call.message, "100%25 %C3%A4%0A");
	f.sink.reply.status = EXPORT_UNAVAILABLE;
	call_once(&f, &later);
	CHECK_INT(later.grpc_status, 14);
	CHECK_INT(counters(&f)->invalid, 1);
	CHECK_INT(counters(&f)->unavailable, 1);
	stop(&f);
}

TEST(a_large_message_arrives_in_one_window)
{
	static char large[4 << 20];
	_cleanup_(free_view) struct view body =
		grpc_frame((struct view){ large, sizeof(large) }, false);
	struct grpc_call call = { .body = body };
	struct fixture f = { 0 };

	start(&f, NULL);
	call_once(&f, &call);
	CHECK_INT(call.grpc_status, 0);
	CHECK_INT(f.sink.size, sizeof(large));
	stop(&f);
}

TEST(clients_of_other_protocols_get_an_explanation)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{ "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nspans", 62 },
		{ "GET / HTTP/1.1\r\n\r\n", 18 },
		{ "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11 }, /* TLS */
		{ "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", 24 },
		{ "\0\0\0\0", 4 },
	};
	struct fixture f = { 0 };
	char text[1024];

	start(&f, NULL);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int fd = connect_to_loopback(f.port);

		CHECK_INT(send(fd, cases[i].bytes, cases[i].len, 0), cases[i].len);
		read_all(&f, fd, text, sizeof(text));
		CHECK(strncmp(text, "HTTP/1.1 400 ", 13) == 0);
		CHECK(strstr(text, "\r\n\r\nThis port receives OTLP by gRPC, without TLS."));
		close(fd);
	}
	CHECK_INT(counters(&f)->connections_foreign, ARRAY_LEN(cases));
	wait_for_end(&f);
	stop(&f);
}

TEST(garbage_after_the_preface_ends_the_connection)
{
	struct fixture f = { 0 };
	char garbage[4096], text[8192];
	unsigned int seed = 1;

	start(&f, NULL);
	for (int i = 0; i < 20; i++) {
		int fd = connect_to_loopback(f.port);

		for (size_t k = 0; k < sizeof(garbage); k++)
			garbage[k] = rand_r(&seed);
		send(fd, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24, 0);
		send(fd, garbage, sizeof(garbage), MSG_NOSIGNAL);
		CHECK(read_all(&f, fd, text, sizeof(text)) > 0);
		close(fd);
	}
	CHECK_INT(counters(&f)->protocol_errors, 20);
	wait_for_end(&f);
	stop(&f);
}
