/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that send too much, too slowly, or read nothing. */
#include "grpc_fixture.h"

TEST(a_message_that_decompresses_to_too_much_is_refused)
{
	static char zeros[2 << 20];
	const struct receive_limits limits = { .message = 1 << 20 };
	_cleanup_(pb_buffer_done) struct pb_buffer packed = { 0 };
	_cleanup_(free_view) struct view body = { 0 };
	struct grpc_call call = { .encoding = "gzip" };
	struct fixture f = { 0 };

	gzip_build((struct view){ zeros, sizeof(zeros) }, &packed);
	body = grpc_frame((struct view){ (const char *)packed.data, packed.size }, true);
	call.body = body;
	start(&f, &limits);
	call_once(&f, &call);
	CHECK_INT(call.grpc_status, 8);
	CHECK(strstr(call.message, "1048576 bytes"));
	CHECK_INT(f.sink.requests, 0);
	CHECK_INT(counters(&f)->too_large, 1);
	stop(&f);
}

/* The server replies after the first bytes; the client need not send the rest. */
TEST(too_large_messages_are_refused_at_once)
{
	const struct receive_limits limits = { .message = 1000 };
	static char zeros[100000] = { 0, 0, 1, 0x86, 0x9b }; /* 99,995 bytes after the prefix */
	struct grpc_call call = { .body = { zeros, sizeof(zeros) }, .stays_open = true };
	struct fixture f = { 0 };

	start(&f, &limits);
	call_once(&f, &call);
	CHECK_INT(call.grpc_status, 8);
	CHECK(strstr(call.message, "at most 1000 are accepted"));
	CHECK_INT(call.error, NGHTTP2_NO_ERROR);
	CHECK_INT(counters(&f)->too_large, 1);
	stop(&f);
}

TEST(unfinished_requests_have_a_limit_together)
{
	static char part[300000] = { 0, 0, 0x10, 0, 0 }; /* of 1 MiB */
	_cleanup_(free_view) struct view small = grpc_frame(view_of("spans"), false);
	struct grpc_call calls[5], last = { .body = small };
	struct fixture f = { .intake.limit = 1500000 };
	struct grpc_client client;
	int refused = 0;

	start(&f, NULL);
	open_client(&f, &client);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		calls[i] = (struct grpc_call){ .body = { part, sizeof(part) }, .stays_open = true };
		grpc_client_start(&client, &calls[i]);
	}
	for (nsec_t end = clock_now() + PATIENCE; !refused && clock_now() < end;) {
		grpc_client_work(&client);
		run(&f);
		for (size_t i = 0; i < ARRAY_LEN(calls); i++)
			refused += calls[i].is_closed;
		CHECK(f.intake.used <= f.intake.limit);
	}
	CHECK(refused > 0);
	CHECK(counters(&f)->no_memory > 0);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		CHECK(!calls[i].is_closed || calls[i].grpc_status == 14);
	grpc_client_done(&client);
	wait_for_end(&f);
	CHECK_INT(f.intake.used, 0);
	call_once(&f, &last);
	CHECK_INT(last.grpc_status, 0);
	stop(&f);
}

TEST(half_sent_requests_expire)
{
	const struct receive_limits limits = { .request_timeout = 100 * NSEC_PER_MSEC };
	struct grpc_call call = { .body = { "\0\0\0\0\5spa", 8 }, .stays_open = true };
	struct grpc_client client;
	struct fixture f = { 0 };
	nsec_t end;

	start(&f, &limits);
	open_client(&f, &client);
	grpc_client_start(&client, &call);
	/* a ping now and then does not count */
	for (end = clock_now() + PATIENCE; client.fd >= 0 && clock_now() < end;) {
		nghttp2_submit_ping(client.http2, 0, NULL);
		grpc_client_work(&client);
		run(&f);
	}
	CHECK(client.fd < 0);
	CHECK_INT(counters(&f)->connections_expired, 1);
	CHECK_INT(counters(&f)->incomplete, 1);
	grpc_client_done(&client);
	stop(&f);
}

TEST(idle_connections_expire_later)
{
	const struct receive_limits limits = { .request_timeout = 50 * NSEC_PER_MSEC,
					       .idle_timeout = 300 * NSEC_PER_MSEC };
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct grpc_call call = { .body = body };
	struct grpc_client client;
	struct fixture f = { 0 };
	nsec_t begin = clock_now();

	start(&f, &limits);
	open_client(&f, &client);
	grpc_client_start(&client, &call);
	CHECK(wait_for(&f, &client, &call.is_closed));
	CHECK(wait_for(&f, &client, &client.has_goaway));
	CHECK(clock_now() - begin >= limits.idle_timeout);
	CHECK_INT(client.goaway, NGHTTP2_NO_ERROR);
	CHECK_INT(counters(&f)->connections_idle, 1);
	CHECK_INT(counters(&f)->connections_expired, 0);
	grpc_client_done(&client);
	stop(&f);
}

TEST(a_connection_that_sends_nothing_expires)
{
	const struct receive_limits limits = { .request_timeout = 50 * NSEC_PER_MSEC };
	struct fixture f = { 0 };
	char text[64];
	int fd;

	start(&f, &limits);
	fd = connect_to_loopback(f.port);
	CHECK_INT(read_all(&f, fd, text, sizeof(text)), 0);
	CHECK_INT(counters(&f)->connections_expired, 1);
	close(fd);
	stop(&f);
}

/* Requests and replies of a thousand connections, which are all open at once. */
TEST(a_thousand_connections_are_served)
{
	enum { CLIENTS = 1000 };
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	const struct rlimit files = { 2 * CLIENTS + 100, 2 * CLIENTS + 100 };
	struct grpc_client *clients = must_alloc(CLIENTS * sizeof(*clients));
	struct grpc_call *calls = must_alloc(CLIENTS * sizeof(*calls));
	struct fixture f = { 0 };

	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		SKIP("cannot open enough files");
	start(&f, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		open_client(&f, &clients[i]);
		calls[i].body = body;
		grpc_client_start(&clients[i], &calls[i]);
		grpc_client_work(&clients[i]);
		run(&f);
	}
	for (int i = 0; i < CLIENTS; i++) {
		CHECK(wait_for(&f, &clients[i], &calls[i].is_closed));
		CHECK_INT(calls[i].grpc_status, 0);
	}
	CHECK_INT(f.sink.requests, CLIENTS);
	CHECK_INT(grpc_server_connections(f.server), CLIENTS);
	for (int i = 0; i < CLIENTS; i++)
		grpc_client_done(&clients[i]);
	wait_for_end(&f);
	stop(&f);
	free(clients);
	free(calls);
}

TEST(a_new_connection_replaces_the_longest_idle_one)
{
	const struct receive_limits limits = { .connections = 3 };
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct grpc_client clients[4];
	struct grpc_call calls[4];
	struct fixture f = { 0 };

	start(&f, &limits);
	for (int i = 0; i < 4; i++) {
		calls[i] = (struct grpc_call){ .body = body };
		open_client(&f, &clients[i]);
		grpc_client_start(&clients[i], &calls[i]);
		CHECK(wait_for(&f, &clients[i], &calls[i].is_closed));
	}
	CHECK(wait_for(&f, &clients[0], &clients[0].has_goaway));
	CHECK_INT(clients[0].goaway, NGHTTP2_NO_ERROR);
	CHECK(!clients[1].has_goaway);
	CHECK_INT(counters(&f)->connections_evicted, 1);
	CHECK_INT(grpc_server_connections(f.server), 3);
	for (int i = 0; i < 4; i++)
		grpc_client_done(&clients[i]);
	stop(&f);
}

TEST(a_new_connection_is_refused_if_all_others_are_busy)
{
	const struct receive_limits limits = { .connections = 2 };
	struct fixture f = { 0 };
	char text[64];
	int fds[3];

	start(&f, &limits);
	for (int i = 0; i < 3; i++)
		fds[i] = connect_to_loopback(f.port);
	CHECK_INT(read_all(&f, fds[2], text, sizeof(text)), 0);
	CHECK_INT(counters(&f)->connections_refused, 1);
	CHECK_INT(grpc_server_connections(f.server), 2);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	stop(&f);
}

/* Without descriptors, the listener waits; it must not be polled without end. */
TEST(a_process_without_descriptors_accepts_later)
{
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct grpc_call call = { .body = body };
	struct rlimit files, few;
	struct grpc_client client;
	struct fixture f = { 0 };
	struct pollfd poll_fd;
	int runs = 0;

	start(&f, NULL);
	open_client(&f, &client);
	grpc_client_start(&client, &call);
	grpc_client_work(&client);
	getrlimit(RLIMIT_NOFILE, &files);
	few = (struct rlimit){ client.fd + 1, files.rlim_max };
	setrlimit(RLIMIT_NOFILE, &few);
	poll_fd = (struct pollfd){ grpc_server_fd(f.server), POLLIN, 0 };
	for (nsec_t end = clock_now() + 100 * NSEC_PER_MSEC; clock_now() < end;)
		if (poll(&poll_fd, 1, 10) > 0) {
			grpc_server_run(f.server);
			runs++;
		}
	CHECK_INT(runs, 1);
	CHECK_INT(grpc_server_connections(f.server), 0);
	setrlimit(RLIMIT_NOFILE, &files);
	CHECK(wait_for(&f, &client, &call.is_closed));
	CHECK_INT(call.grpc_status, 0);
	grpc_client_done(&client);
	stop(&f);
}

/* The client opens a window of 0 for replies, so they cannot be sent. */
TEST(a_client_that_takes_no_replies_expires)
{
	const struct receive_limits limits = { .request_timeout = 100 * NSEC_PER_MSEC };
	const nghttp2_settings_entry settings = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 };
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct grpc_call call = { .body = body };
	struct grpc_client client;
	struct fixture f = { 0 };

	start(&f, &limits);
	open_client(&f, &client);
	nghttp2_submit_settings(client.http2, NGHTTP2_FLAG_NONE, &settings, 1);
	grpc_client_start(&client, &call);
	for (nsec_t end = clock_now() + PATIENCE; client.fd >= 0 && clock_now() < end;) {
		grpc_client_work(&client);
		run(&f);
	}
	CHECK(client.fd < 0);
	CHECK_INT(f.sink.requests, 1);
	CHECK_INT(counters(&f)->connections_expired, 1);
	grpc_client_done(&client);
	stop(&f);
}

/* Small requests for path "/", without a body, on a new stream each. */
struct flood {
	uint8_t frames[1000][15];
	size_t sent;
	uint32_t stream;
};

static bool send_flood(struct flood *flood, int fd)
{
	static const uint8_t request[15] = { 0, 0,    6,    1,    5,    0, 0,  0,
					     0, 0x83, 0x86, 0x84, 0x01, 1, 'a' };
	ssize_t n;

	if (flood->sent == 0)
		for (size_t i = 0; i < ARRAY_LEN(flood->frames); i++, flood->stream += 2) {
			uint32_t id = htonl(flood->stream + 1);

			memcpy(flood->frames[i], request, sizeof(request));
			memcpy(flood->frames[i] + 5, &id, 4);
		}
	n = send(fd, (uint8_t *)flood->frames + flood->sent, sizeof(flood->frames) - flood->sent,
		 MSG_DONTWAIT | MSG_NOSIGNAL);
	flood->sent = n < 0 ? flood->sent : (flood->sent + n) % sizeof(flood->frames);
	return n >= 0 || errno == EAGAIN;
}

TEST(a_client_that_reads_nothing_is_stopped)
{
	const struct receive_limits limits = { .request_timeout = 200 * NSEC_PER_MSEC };
	static struct flood flood;
	struct fixture f = { 0 };
	size_t peak = 0;
	int fd, small = 4096;
	bool is_open = true;

	start(&f, &limits);
	fd = connect_to_loopback(f.port);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	send(fd, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33, 0);
	for (nsec_t end = clock_now() + PATIENCE; is_open && clock_now() < end;) {
		is_open = send_flood(&flood, fd);
		run(&f);
		peak = f.intake.used > peak ? f.intake.used : peak;
	}
	CHECK(!is_open);
	CHECK(peak > 0);
	CHECK(peak <= (256 << 10));
	CHECK_INT(counters(&f)->connections_expired, 1);
	CHECK_INT(counters(&f)->protocol_errors, 0);
	close(fd);
	wait_for_end(&f);
	stop(&f);
}

TEST(a_client_that_sends_pings_without_end_is_disconnected)
{
	static const uint8_t ping[17] = { 0, 0, 8, 6 };
	struct fixture f = { 0 };
	uint8_t pings[3000 * sizeof(ping)];
	char text[1024];
	int fd;

	for (size_t i = 0; i < sizeof(pings); i++)
		pings[i] = ping[i % sizeof(ping)];
	start(&f, NULL);
	fd = connect_to_loopback(f.port);
	send(fd, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33, 0);
	CHECK_INT(send(fd, pings, sizeof(pings), 0), sizeof(pings));
	read_all(&f, fd, text, sizeof(text));
	CHECK_INT(counters(&f)->protocol_errors, 1);
	close(fd);
	wait_for_end(&f);
	stop(&f);
}

/* HTTP/2 "rapid reset": streams that are opened and reset without end. */
TEST(a_client_that_resets_streams_without_end_is_disconnected)
{
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct grpc_call call = { .body = body, .stays_open = true };
	struct grpc_client client;
	struct fixture f = { 0 };

	start(&f, NULL);
	open_client(&f, &client);
	for (int i = 0; i < 3000 && client.fd >= 0 && !client.has_goaway; i++) {
		call.sent = 0;
		grpc_client_start(&client, &call);
		grpc_client_work(&client);
		nghttp2_submit_rst_stream(client.http2, 0, call.id, NGHTTP2_CANCEL);
		grpc_client_work(&client);
		run(&f);
	}
	CHECK(wait_for(&f, &client, &client.has_goaway));
	CHECK(client.goaway != NGHTTP2_NO_ERROR);
	CHECK_INT(counters(&f)->protocol_errors, 1);
	CHECK_INT(f.sink.requests, 0);
	grpc_client_done(&client);
	stop(&f);
}

TEST(header_blocks_without_end_are_refused)
{
	static const uint8_t headers[] = { 0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82 };
	static const uint8_t more[] = { 0, 0, 1, 9, 0, 0, 0, 0, 1, 0x84 };
	struct fixture f = { 0 };
	char text[1024];
	int fd;

	start(&f, NULL);
	fd = connect_to_loopback(f.port);
	send(fd, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33, 0);
	send(fd, headers, sizeof(headers), 0);
	for (int i = 0; i < 100; i++)
		send(fd, more, sizeof(more), MSG_NOSIGNAL);
	read_all(&f, fd, text, sizeof(text));
	CHECK_INT(counters(&f)->protocol_errors, 1);
	close(fd);
	wait_for_end(&f);
	stop(&f);
}

/* nghttp2 allocates 60,000 bytes for the value of a header, of which one arrives. */
TEST(memory_of_incomplete_headers_is_limited)
{
	static const char start_of_headers[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
					       "\0\x3e\x80\1\0\0\0\0\1\0\1a\x7f\xe1\xd3\3x";
	_cleanup_(free_view) struct view body = grpc_frame(view_of("spans"), false);
	struct grpc_call call = { .body = body };
	struct fixture f = { .intake.limit = 150000 };
	int fds[4];

	start(&f, NULL);
	for (int i = 0; i < 4; i++) {
		fds[i] = connect_to_loopback(f.port);
		send(fds[i], start_of_headers, sizeof(start_of_headers) - 1, 0);
	}
	for (nsec_t end = clock_now() + PATIENCE;
	     counters(&f)->protocol_errors < 2 && clock_now() < end;)
		run(&f);
	CHECK_INT(counters(&f)->protocol_errors, 2);
	CHECK(f.intake.used > 100000);
	CHECK(f.intake.used <= f.intake.limit);
	call_once(&f, &call);
	CHECK_INT(call.grpc_status, 0);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	wait_for_end(&f);
	CHECK_INT(f.intake.used, 0);
	stop(&f);
}

TEST(more_streams_than_the_limit_wait_or_are_refused)
{
	const struct receive_limits limits = { .streams = 2 };
	struct grpc_call calls[4];
	struct grpc_client client;
	struct fixture f = { 0 };
	int open = 0;

	start(&f, &limits);
	open_client(&f, &client);
	for (int i = 0; i < 4; i++) {
		calls[i] = (struct grpc_call){ .body = { "\0", 1 }, .stays_open = true };
		grpc_client_start(&client, &calls[i]);
	}
	for (int i = 0; i < 50; i++) {
		grpc_client_work(&client);
		run(&f);
	}
	for (int i = 0; i < 4; i++)
		open += !calls[i].is_closed && calls[i].sent;
	CHECK_INT(open, 2);
	grpc_client_done(&client);
	stop(&f);
}
