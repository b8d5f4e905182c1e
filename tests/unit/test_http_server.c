/* SPDX-License-Identifier: Apache-2.0 */
/* A server and its clients in one thread; requests and replies are the text of HTTP/1.1. */
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "relay/http_server.h"
#include "gzip_build.h"
#include "relay_sink.h"
#include "test.h"

enum { LARGE_PAGE = 64 << 10 };

#define PATIENCE (20 * NSEC_PER_SEC)
#define PROTOBUF "Content-Type: application/x-protobuf\r\n"
#define JSON "Content-Type: application/json\r\n"

struct fixture {
	struct http_server *server;
	struct intake intake;
	struct sink sink;
	bool allow_origin, no_export;
	int listeners[2];
	uint16_t ports[2];
	char reply[16 << 10]; /* the last one, terminated by NUL */
};

/* Upper-case letters stand for the conversion. */
static int convert(enum otlp_signal signal, struct view json, struct pb_buffer *ret,
		   struct err *err)
{
	if (json.len < 2 || json.s[0] != '{')
		return err_set(err, -EBADMSG, "not JSON: \"%.*s\"", (int)json.len, json.s);
	pb_put_bytes(ret, 1, (struct view){ "CONVERTED", 9 });
	return 0;
}

static const char *page(void *arg, const char *path, const char **ret_type)
{
	static char large[LARGE_PAGE + 1];

	if (strcmp(path, "/large") == 0)
		return memset(large, 'x', LARGE_PAGE);
	if (strcmp(path, "/status") != 0)
		return NULL;
	*ret_type = "application/json";
	return "{\"requests\":17}\n";
}

static void start_with(struct fixture *f, const struct receive_limits *limits,
		       json_to_protobuf_fn *json_to_protobuf)
{
	struct http_server_options options = { .listeners = f->listeners,
					       .listener_count = 2,
					       .intake = &f->intake,
					       .export = f->no_export ? NULL : sink_export,
					       .arg = &f->sink,
					       .json_to_protobuf = json_to_protobuf,
					       .page = page,
					       .allow_origin = f->allow_origin };
	struct err err = { "" };

	for (int i = 0; i < 2; i++)
		f->listeners[i] = listen_on_loopback(&f->ports[i]);
	if (limits)
		options.limits = *limits;
	CHECK_INT(http_server_new(&options, &f->server, &err), 0);
	CHECK_STR(err.text, "");
}

static void start(struct fixture *f, const struct receive_limits *limits)
{
	start_with(f, limits, convert);
}

static void stop(struct fixture *f)
{
	http_server_free(f->server);
	for (int i = 0; i < 2; i++)
		close(f->listeners[i]);
	CHECK_INT(f->intake.used, 0);
}

static const struct receive_counters *counters(const struct fixture *f)
{
	return http_server_counters(f->server);
}

static void run(struct fixture *f)
{
	struct pollfd poll_fd = { http_server_fd(f->server), POLLIN, 0 };

	if (poll(&poll_fd, 1, 1) > 0)
		http_server_run(f->server);
}

static void wait_for_end(struct fixture *f)
{
	for (nsec_t end = clock_now() + PATIENCE;
	     http_server_connections(f->server) && clock_now() < end;)
		run(f);
	CHECK_INT(http_server_connections(f->server), 0);
}

/* Whether the text contains this many replies with their bodies. */
static bool has_replies(const char *text, int count)
{
	for (; count > 0; count--) {
		const char *body = strstr(text, "\r\n\r\n"),
			   *length = strstr(text, "Content-Length:");
		size_t size = length && length < body ? strtoul(length + 15, NULL, 10) : 0;

		if (!body || strnlen(body + 4, size) < size)
			return false;
		text = body + 4 + size;
	}
	return true;
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Reads replies, or until the server closes the connection (count 0).  False at its end. */
static bool read_replies(struct fixture *f, int fd, int count)
{
	size_t used = 0;
	ssize_t n;

	f->reply[0] = '\0';
	for (nsec_t end = clock_now() + PATIENCE; clock_now() < end;) {
		run(f);
		n = recv(fd, f->reply + used, sizeof(f->reply) - 1 - used, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			return false;
		used += n > 0 ? n : 0;
		f->reply[used] = '\0';
		if (count && has_replies(f->reply, count))
			return true;
	}
	return true;
}

/* Sends everything, while the server runs.  False if the server closes the connection. */
static bool send_all(struct fixture *f, int fd, const void *data, size_t size)
{
	for (size_t sent = 0; sent < size; run(f)) {
		ssize_t n = send(fd, (const char *)data + sent, size - sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return false;
		sent += n > 0 ? n : 0;
	}
	return true;
}

static void send_text(struct fixture *f, int fd, const char *text)
{
	send_all(f, fd, text, strlen(text));
}

/* A request on a connection of its own; the reply is in f->reply. */
static void request(struct fixture *f, const char *head, struct view body)
{
	_cleanup_(freep) char *text =
		must_printf("%sHost: localhost\r\nContent-Length: %zu\r\n\r\n", head, body.len);
	int fd = connect_to_loopback(f->ports[0]);

	send_text(f, fd, text);
	send_all(f, fd, body.s, body.len);
	CHECK(read_replies(f, fd, 1));
	close(fd);
}

static struct view view_of(const char *text)
{
	return (struct view){ text, strlen(text) };
}

static const char *body_of(const struct fixture *f)
{
	const char *body = strstr(f->reply, "\r\n\r\n");

	return body ? body + 4 : "";
}

TEST(each_signal_is_exported)
{
	static const char *const paths[] = { "/v1/traces", "/v1/metrics", "/v1/logs" };
	struct fixture f = { 0 };

	start(&f, NULL);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		_cleanup_(freep) char *head =
			must_printf("POST %s HTTP/1.1\r\n" PROTOBUF, paths[i]);

		request(&f, head, view_of("spans"));
		CHECK(starts_with(f.reply, "HTTP/1.1 200 OK\r\n"));
		CHECK(strstr(f.reply, "\r\nContent-Type: application/x-protobuf\r\n"));
		CHECK(strstr(f.reply, "\r\nContent-Length: 0\r\n"));
		CHECK_INT(f.sink.requests, i + 1);
		CHECK_INT(f.sink.signal, i);
		CHECK_INT(f.sink.sender, i + 1);
		CHECK_STR(f.sink.body, "spans");
	}
	CHECK_INT(counters(&f)->accepted, 3);
	CHECK_INT(counters(&f)->received_bytes, 15);
	wait_for_end(&f);
	CHECK_INT(counters(&f)->incomplete, 0);
	stop(&f);
}

TEST(json_is_converted)
{
	struct fixture f = { 0 };

	start(&f, NULL);
	request(&f, "POST /v1/logs HTTP/1.1\r\ncontent-type: Application/JSON; charset=utf-8\r\n",
		view_of("{}"));
	CHECK(starts_with(f.reply, "HTTP/1.1 200 OK\r\n"));
	CHECK(strstr(f.reply, "\r\nContent-Type: application/json\r\n"));
	CHECK_STR(body_of(&f), "{}");
	CHECK_STR(f.sink.body, "\n\tCONVERTED");
	request(&f, "POST /v1/logs HTTP/1.1\r\n" JSON, view_of("x"));
	CHECK(starts_with(f.reply, "HTTP/1.1 400 Bad Request\r\n"));
	CHECK_STR(body_of(&f), "{\"code\":3,\"message\":\"not JSON: \\\"x\\\"\"}");
	CHECK_INT(counters(&f)->invalid, 1);
	stop(&f);
}

TEST(without_a_converter_json_is_not_supported)
{
	struct fixture f = { 0 };

	start_with(&f, NULL, NULL);
	request(&f, "POST /v1/logs HTTP/1.1\r\n" JSON, view_of("{}"));
	CHECK(starts_with(f.reply, "HTTP/1.1 415 "));
	CHECK(strstr(body_of(&f), "JSON is not supported"));
	stop(&f);
}

TEST(a_partial_success_is_reported)
{
	struct fixture f = { .sink.reply = { .rejected = 7, .message = "no \"room\"" } };

	start(&f, NULL);
	request(&f, "POST /v1/metrics HTTP/1.1\r\n" JSON, view_of("{}"));
	CHECK_STR(body_of(&f), "{\"partialSuccess\":{\"rejectedDataPoints\":\"7\","
			       "\"errorMessage\":\"no \\\"room\\\"\"}}");
	request(&f, "POST /v1/traces HTTP/1.1\r\n" PROTOBUF, view_of("spans"));
	CHECK_STR(body_of(&f), "\n\r\b\7\x12\tno \"room\"");
	CHECK_INT(counters(&f)->rejected_items, 14);
	stop(&f);
}

TEST(a_refused_export_has_a_status)
{
	struct fixture f = { .sink.reply = { .status = EXPORT_INVALID, .message = "bad" } };

	start(&f, NULL);
	request(&f, "POST /v1/traces HTTP/1.1\r\n" PROTOBUF, view_of("spans"));
	CHECK(starts_with(f.reply, "HTTP/1.1 400 Bad Request\r\n"));
	CHECK_STR(body_of(&f), "\b\3\x12\3bad");
	f.sink.reply.status = EXPORT_UNAVAILABLE;
	request(&f, "POST /v1/traces HTTP/1.1\r\n" PROTOBUF, view_of("spans"));
	CHECK(starts_with(f.reply, "HTTP/1.1 503 "));
	CHECK(strstr(f.reply, "\r\nRetry-After: 1\r\n"));
	CHECK_STR(body_of(&f), "\b\x0e\x12\3bad");
	CHECK_INT(counters(&f)->unavailable, 1);
	stop(&f);
}

TEST(compressed_requests_are_decompressed)
{
	_cleanup_(pb_buffer_done) struct pb_buffer packed = { 0 };
	struct fixture f = { 0 };

	gzip_build(view_of("{\"resourceSpans\":[]}"), &packed);
	start(&f, NULL);
	request(&f, "POST /v1/traces HTTP/1.1\r\nContent-Encoding: gzip\r\n" PROTOBUF,
		(struct view){ (const char *)packed.data, packed.size });
	CHECK(starts_with(f.reply, "HTTP/1.1 200 OK\r\n"));
	CHECK_STR(f.sink.body, "{\"resourceSpans\":[]}");
	request(&f, "POST /v1/traces HTTP/1.1\r\nContent-Encoding: gzip\r\n" JSON,
		(struct view){ (const char *)packed.data, packed.size });
	CHECK_STR(f.sink.body, "\n\tCONVERTED");
	request(&f, "POST /v1/traces HTTP/1.1\r\nContent-Encoding: gzip\r\n" JSON, view_of("{}"));
	CHECK(starts_with(f.reply, "HTTP/1.1 400 "));
	CHECK(strstr(body_of(&f), "not in gzip format"));
	stop(&f);
}

TEST(a_request_that_decompresses_to_too_much_is_refused)
{
	static char zeros[2 << 20];
	const struct receive_limits limits = { .message = 1 << 20 };
	_cleanup_(pb_buffer_done) struct pb_buffer packed = { 0 };
	struct fixture f = { 0 };

	gzip_build((struct view){ zeros, sizeof(zeros) }, &packed);
	start(&f, &limits);
	request(&f, "POST /v1/traces HTTP/1.1\r\nContent-Encoding: gzip\r\n" PROTOBUF,
		(struct view){ (const char *)packed.data, packed.size });
	CHECK(starts_with(f.reply, "HTTP/1.1 413 "));
	CHECK_INT(counters(&f)->too_large, 1);
	CHECK_INT(f.sink.requests, 0);
	stop(&f);
}

/* Its connection can be used for the next request. */
TEST(a_too_large_request_is_read_and_refused)
{
	static char zeros[100000];
	const struct receive_limits limits = { .message = 50000 };
	struct fixture f = { 0 };
	int fd;

	start(&f, &limits);
	fd = connect_to_loopback(f.ports[0]);
	send_text(&f, fd,
		  "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n" PROTOBUF
		  "\r\n");
	CHECK(send_all(&f, fd, zeros, sizeof(zeros)));
	CHECK(read_replies(&f, fd, 1));
	CHECK(starts_with(f.reply, "HTTP/1.1 413 "));
	send_text(&f, fd,
		  "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" PROTOBUF
		  "\r\nspans");
	CHECK(read_replies(&f, fd, 1));
	CHECK(starts_with(f.reply, "HTTP/1.1 200 "));
	close(fd);
	stop(&f);
}

TEST(an_endless_body_ends_its_connection)
{
	static char chunk[10006] = "2710\r\n"; /* 10,000 bytes */
	const struct receive_limits limits = { .message = 50000 };
	struct fixture f = { 0 };
	int fd, chunks = 0;

	memcpy(chunk + sizeof(chunk) - 2, "\r\n", 2);
	memcpy(chunk, "270e\r\n", 6); /* 9,998 bytes and the line end */
	start(&f, &limits);
	fd = connect_to_loopback(f.ports[0]);
	send_text(&f, fd,
		  "POST /v1/traces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" PROTOBUF
		  "\r\n");
	while (chunks < 1000 && send_all(&f, fd, chunk, sizeof(chunk)))
		chunks++;
	CHECK(chunks >= 20);
	CHECK(chunks < 1000);
	CHECK(f.intake.used == 0);
	CHECK_INT(counters(&f)->too_large, 1);
	close(fd);
	wait_for_end(&f);
	CHECK_INT(counters(&f)->incomplete, 1);
	stop(&f);
}

TEST(chunked_requests_are_read)
{
	struct fixture f = { 0 };
	int fd;

	start(&f, NULL);
	fd = connect_to_loopback(f.ports[1]);
	send_text(&f, fd,
		  "POST /v1/traces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" PROTOBUF
		  "\r\n3\r\nspa\r\n2\r\nns\r\n0\r\n\r\n");
	CHECK(read_replies(&f, fd, 1));
	CHECK(starts_with(f.reply, "HTTP/1.1 200 "));
	CHECK_STR(f.sink.body, "spans");
	close(fd);
	stop(&f);
}

TEST(requests_can_be_split_at_any_byte)
{
	static const char text[] =
		"POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" PROTOBUF "\r\nspans";
	struct fixture f = { 0 };
	int fd;

	start(&f, NULL);
	fd = connect_to_loopback(f.ports[0]);
	for (size_t i = 0; i < strlen(text); i++)
		send_all(&f, fd, text + i, 1);
	CHECK(read_replies(&f, fd, 1));
	CHECK(starts_with(f.reply, "HTTP/1.1 200 "));
	CHECK_STR(f.sink.body, "spans");
	close(fd);
	stop(&f);
}

TEST(pipelined_requests_are_replied_in_order)
{
	struct fixture f = { 0 };
	int fd;

	start(&f, NULL);
	fd = connect_to_loopback(f.ports[0]);
	send_text(
		&f, fd,
		"POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" PROTOBUF "\r\nspans"
		"POST /v1/nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" PROTOBUF "\r\nspans"
		"GET /status HTTP/1.1\r\nHost: a\r\n\r\n"
		"POST /v1/logs HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n" PROTOBUF "\r\nlogs");
	CHECK(read_replies(&f, fd, 4));
	CHECK(starts_with(f.reply, "HTTP/1.1 200 "));
	CHECK(strstr(strstr(f.reply, "HTTP/1.1 404 "), "{\"requests\":17}"));
	CHECK_INT(f.sink.requests, 2);
	CHECK_STR(f.sink.body, "logs");
	CHECK_INT(counters(&f)->connections, 1);
	close(fd);
	stop(&f);
}

TEST(wrong_requests_are_refused)
{
	static const struct {
		const char *head, *status, *expected;
	} cases[] = {
		{ "POST /v1/profiles HTTP/1.1\r\n" PROTOBUF, "404", "/v1/traces, /v1/metrics" },
		{ "POST / HTTP/1.1\r\n" PROTOBUF, "404", "unknown path" },
		{ "GET /v1/traces HTTP/1.1\r\n", "405", "Allow: POST\r\n" },
		{ "POST /status HTTP/1.1\r\n" PROTOBUF, "405", "Allow: GET, HEAD\r\n" },
		{ "POST /v1/traces HTTP/1.1\r\n", "415", "unknown content type" },
		{ "POST /v1/traces HTTP/1.1\r\nContent-Type: application/x-protobufs\r\n", "415",
		  "unknown content type" },
		{ "POST /v1/traces HTTP/1.1\r\nContent-Type: text/plain\r\n", "415",
		  "application/json" },
		{ "POST /v1/traces HTTP/1.1\r\nContent-Encoding: br\r\n" PROTOBUF, "415",
		  "supported is gzip" },
		{ "POST /v1/traces HTTP/1.1\r\nOrigin: http://localhost\r\n" JSON, "403",
		  "\"code\":7" },
		{ "POST /v1/traces HTTP/1.1\r\nOrigin: null\r\n" PROTOBUF, "403", "web pages" },
	};
	struct fixture f = { 0 };

	start(&f, NULL);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		request(&f, cases[i].head, view_of("spans"));
		CHECK(starts_with(f.reply + 9, cases[i].status));
		CHECK(strstr(f.reply, cases[i].expected));
	}
	CHECK_INT(f.sink.requests, 0);
	CHECK_INT(counters(&f)->unsupported, 8);
	CHECK_INT(counters(&f)->cross_origin, 2);
	stop(&f);
}

TEST(web_pages_can_be_allowed)
{
	struct fixture f = { .allow_origin = true };

	start(&f, NULL);
	request(&f, "POST /v1/traces HTTP/1.1\r\nOrigin: http://localhost\r\n" PROTOBUF,
		view_of("spans"));
	CHECK(starts_with(f.reply, "HTTP/1.1 200 "));
	stop(&f);
}

TEST(pages_are_served)
{
	struct fixture f = { .no_export = true };
	int fd;

	start(&f, NULL);
	request(&f, "GET /status HTTP/1.1\r\n", view_of(""));
	CHECK(starts_with(f.reply, "HTTP/1.1 200 "));
	CHECK(strstr(f.reply, "\r\nContent-Type: application/json\r\n"));
	CHECK_STR(body_of(&f), "{\"requests\":17}\n");
	request(&f, "GET /status?x=1 HTTP/1.1\r\n", view_of(""));
	CHECK(starts_with(f.reply, "HTTP/1.1 200 "));
	request(&f, "POST /v1/traces HTTP/1.1\r\n" PROTOBUF, view_of("spans"));
	CHECK(starts_with(f.reply, "HTTP/1.1 404 "));
	fd = connect_to_loopback(f.ports[1]);
	send_text(&f, fd, "HEAD /status HTTP/1.0\r\n\r\n");
	CHECK(!read_replies(&f, fd, 0));
	CHECK(starts_with(f.reply, "HTTP/1.0 200 ") || starts_with(f.reply, "HTTP/1.1 200 "));
	CHECK_STR(body_of(&f), "");
	close(fd);
	wait_for_end(&f);
	CHECK_INT(f.intake.used, 0);
	stop(&f);
}

TEST(unfinished_requests_have_a_limit_together)
{
	static char part[300000];
	struct fixture f = { .intake.limit = 1000000 };
	int fds[5], refused = 0;

	start(&f, NULL);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = connect_to_loopback(f.ports[0]);
		send_text(
			&f, fds[i],
			"POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 300001\r\n" PROTOBUF
			"\r\n");
		send_all(&f, fds[i], part, sizeof(part));
		CHECK(f.intake.used <= f.intake.limit);
	}
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		send_all(&f, fds[i], "x", 1);
		CHECK(read_replies(&f, fds[i], 1));
		refused +=
			starts_with(f.reply, "HTTP/1.1 503 ") && strstr(f.reply, "Retry-After: 1");
		close(fds[i]);
	}
	CHECK_INT(refused, 2);
	CHECK_INT(counters(&f)->no_memory, 2);
	CHECK_INT(f.sink.requests, 3);
	CHECK_INT(f.intake.used, 0);
	stop(&f);
}

/* Headers, or a body, whose rest never comes; single bytes do not help. */
TEST(half_sent_requests_expire)
{
	static const char *const starts[] = {
		"",
		"POST /v1/traces HTTP/1.1\r\nHost: a\r\n",
		"POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n" PROTOBUF
		"\r\nspans",
	};
	const struct receive_limits limits = { .request_timeout = 100 * NSEC_PER_MSEC };
	struct fixture f = { 0 };

	start(&f, &limits);
	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		int fd = connect_to_loopback(f.ports[0]);
		bool is_open = true;

		send_text(&f, fd, starts[i]);
		for (nsec_t end = clock_now() + PATIENCE; is_open && clock_now() < end;) {
			if (i == 2)
				send_all(&f, fd, "x", 1);
			run(&f);
			is_open = recv(fd, f.reply, sizeof(f.reply), MSG_DONTWAIT) < 0 &&
				  errno == EAGAIN;
		}
		CHECK(!is_open);
		CHECK_INT(counters(&f)->connections_expired, i + 1);
		close(fd);
	}
	wait_for_end(&f);
	stop(&f);
}

TEST(idle_connections_expire_later)
{
	const struct receive_limits limits = { .request_timeout = 50 * NSEC_PER_MSEC,
					       .idle_timeout = 300 * NSEC_PER_MSEC };
	struct fixture f = { 0 };
	nsec_t begin = clock_now();
	int fd;

	start(&f, &limits);
	fd = connect_to_loopback(f.ports[0]);
	send_text(&f, fd,
		  "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" PROTOBUF
		  "\r\nspans");
	CHECK(!read_replies(&f, fd, 0));
	CHECK(clock_now() - begin >= limits.idle_timeout);
	CHECK_INT(counters(&f)->connections_idle, 1);
	CHECK_INT(counters(&f)->connections_expired, 0);
	close(fd);
	stop(&f);
}

TEST(a_new_connection_replaces_the_longest_idle_one)
{
	const struct receive_limits limits = { .connections = 3 };
	struct fixture f = { 0 };
	int fds[4];

	start(&f, &limits);
	for (int i = 0; i < 4; i++) {
		fds[i] = connect_to_loopback(f.ports[i % 2]);
		send_text(&f, fds[i], "GET /status HTTP/1.1\r\nHost: a\r\n\r\n");
		CHECK(read_replies(&f, fds[i], 1));
	}
	CHECK(!read_replies(&f, fds[0], 0));
	CHECK_INT(counters(&f)->connections_evicted, 1);
	CHECK_INT(http_server_connections(f.server), 3);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	stop(&f);
}

TEST(a_thousand_connections_are_served)
{
	enum { CLIENTS = 1000 };
	const struct rlimit files = { 2 * CLIENTS + 100, 2 * CLIENTS + 100 };
	int *fds = must_alloc(CLIENTS * sizeof(*fds));
	struct fixture f = { 0 };

	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		SKIP("cannot open enough files");
	start(&f, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = connect_to_loopback(f.ports[0]);
		send_text(&f, fds[i],
			  "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" PROTOBUF
			  "\r\nspans");
	}
	for (int i = 0; i < CLIENTS; i++) {
		CHECK(read_replies(&f, fds[i], 1));
		CHECK(starts_with(f.reply, "HTTP/1.1 200 "));
	}
	CHECK_INT(f.sink.requests, CLIENTS);
	CHECK_INT(http_server_connections(f.server), CLIENTS);
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	wait_for_end(&f);
	stop(&f);
	free(fds);
}

/* Pipelined requests without end, and none of the replies is read. */
TEST(a_client_that_reads_nothing_is_stopped)
{
	const struct receive_limits limits = { .request_timeout = 200 * NSEC_PER_MSEC };
	static const char text[] = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
	struct fixture f = { 0 };
	int fd;
	size_t sent = 0, peak = 0;
	bool is_open = true;

	start(&f, &limits);
	fd = connect_to_loopback(f.ports[0]);
	for (nsec_t end = clock_now() + PATIENCE; is_open && clock_now() < end;) {
		ssize_t n = send(fd, text + sent, strlen(text) - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		is_open = n >= 0 || errno == EAGAIN;
		sent = n < 0 ? sent : (sent + n) % strlen(text);
		run(&f);
		peak = f.intake.used > peak ? f.intake.used : peak;
	}
	CHECK(!is_open);
	CHECK_INT(peak, LARGE_PAGE); /* one reply at a time */
	CHECK_INT(counters(&f)->connections_expired, 1);
	close(fd);
	wait_for_end(&f);
	stop(&f);
}

TEST(garbage_ends_the_connection)
{
	static const char *const texts[] = {
		"\x16\x03\x01\x02\n\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET\r\n\r\n",
		"POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
		"POST /v1/traces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" PROTOBUF
		"\r\nzz\r\n",
	};
	struct fixture f = { 0 };

	start(&f, NULL);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		int fd = connect_to_loopback(f.ports[0]);

		send_text(&f, fd, texts[i]);
		shutdown(fd, SHUT_WR);
		CHECK(!read_replies(&f, fd, 0));
		CHECK(!f.reply[0] || !starts_with(f.reply + 9, "200"));
		close(fd);
	}
	CHECK_INT(f.sink.requests, 0);
	wait_for_end(&f);
	stop(&f);
}

TEST(large_headers_are_refused)
{
	_cleanup_(freep) char *text =
		must_printf("GET /status HTTP/1.1\r\nHost: a\r\nX: %*s\r\n\r\n", 50000, "x");
	struct fixture f = { 0 };
	int fd;

	start(&f, NULL);
	fd = connect_to_loopback(f.ports[0]);
	send_text(&f, fd, text);
	CHECK(!read_replies(&f, fd, 0));
	close(fd);
	wait_for_end(&f);
	stop(&f);
}
