/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive SHAPE COUNT - the servers of the relay under a load that is large in one dimension.
 *
 *	grpc-connections, http-connections	open at once, with one request each
 *	grpc-streams, http-requests		on one connection; gRPC: all open at once
 *	grpc-body, http-body			units of 10,000 bytes in one request
 *	grpc-gzip				the same, compressed
 *	grpc-frames				DATA frames of one byte
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/vec.h"
#include "grpc_client.h"
#include "gzip_build.h"
#include "relay/grpc_server.h"

#include "relay/http_server.h"
#include "relay_sink.h"

enum { UNIT = 10000 };

struct load {
	struct intake intake;
	struct sink sink;
	struct grpc_server *grpc;
	struct http_server *http;
	int listeners[2];
	uint16_t ports[2];
};

static void start(struct load *load)
{
	struct grpc_server_options grpc = { .listeners = &load->listeners[0],
					    .listener_count = 1,
					    .limits = { .streams = 10000 },
					    .intake = &load->intake,
					    .export = sink_export,
					    .arg = &load->sink };
	struct http_server_options http = { .listeners = &load->listeners[1],
					    .listener_count = 1,
					    .intake = &load->intake,
					    .export = sink_export,
					    .arg = &load->sink };
	struct err err;

	for (int i = 0; i < 2; i++)
		load->listeners[i] = listen_on_loopback(&load->ports[i]);
	if (grpc_server_new(&grpc, &load->grpc, &err) < 0 ||
	    http_server_new(&http, &load->http, &err) < 0)
		abort();
}

/* Waits for work, so that the number of runs does not depend on the speed of the host. */
static void run(struct load *load)
{
	struct pollfd fds[] = { { grpc_server_fd(load->grpc), POLLIN, 0 },
				{ http_server_fd(load->http), POLLIN, 0 } };

	if (poll(fds, 2, 1) <= 0)
		return;
	if (fds[0].revents)
		grpc_server_run(load->grpc);
	if (fds[1].revents)
		http_server_run(load->http);
}

static void call(struct load *load, struct grpc_client *client, struct grpc_call *calls,
		 size_t count)
{
	for (size_t i = 0; i < count; i++)
		grpc_client_start(client, &calls[i]);
	for (size_t i = 0; i < count; i++)
		while (!calls[i].is_closed) {
			grpc_client_work(client);
			run(load);
		}
}

static void grpc_connections(struct load *load, size_t count)
{
	struct grpc_client *clients = must_alloc(count * sizeof(*clients) + 1);
	struct view body = grpc_frame((struct view){ "spans", 5 }, false);

	for (size_t i = 0; i < count; i++) {
		struct grpc_call one = { .body = body };

		grpc_client_init(&clients[i], connect_to_loopback(load->ports[0]));
		call(load, &clients[i], &one, 1);
	}
	assert(load->sink.requests == count);
}

/* All streams are half open before the first ends. */
static void grpc_streams(struct load *load, size_t count)
{
	struct grpc_call *calls = must_alloc(count * sizeof(*calls) + 1);
	struct view body = grpc_frame((struct view){ "spans", 5 }, false);
	struct grpc_client client;

	grpc_client_init(&client, connect_to_loopback(load->ports[0]));
	for (size_t i = 0; i < count; i++)
		calls[i] = (struct grpc_call){ .body = body, .piece = 4 };
	call(load, &client, calls, count);
	assert(load->sink.requests == count);
}

static void grpc_message(struct load *load, struct view message, bool is_packed, size_t piece)
{
	struct grpc_call one = { .body = grpc_frame(message, is_packed),
				 .encoding = "gzip",
				 .piece = piece };
	struct grpc_client client;

	grpc_client_init(&client, connect_to_loopback(load->ports[0]));
	call(load, &client, &one, 1);
	assert(load->sink.requests == 1);
}

static void grpc_body(struct load *load, size_t count)
{
	grpc_message(load, (struct view){ must_alloc(count * UNIT + 1), count * UNIT }, false, 0);
}

static void grpc_gzip(struct load *load, size_t count)
{
	char *plain = must_alloc(count * UNIT + 1);
	struct pb_buffer packed;
	unsigned int seed = 1;

	for (size_t i = 0; i < count * UNIT; i++)
		plain[i] = rand_r(&seed) % 8;
	gzip_build((struct view){ plain, count * UNIT }, &packed);
	grpc_message(load, (struct view){ (const char *)packed.data, packed.size }, true, 0);
}

static void grpc_frames(struct load *load, size_t count)
{
	grpc_message(load, (struct view){ must_alloc(count + 1), count }, false, 1);
}

static void send_all(struct load *load, int fd, const char *data, size_t size)
{
	for (size_t sent = 0; sent < size; run(load)) {
		ssize_t n = send(fd, data + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		assert(n >= 0 || errno == EAGAIN);
		sent += n > 0 ? n : 0;
	}
}

static void post(struct load *load, int fd, size_t size)
{
	char *text = must_printf(
		"POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-protobuf\r\n"
		"Content-Length: %zu\r\n\r\n",
		size);
	uint64_t before = load->sink.requests;
	char reply[4096];

	send_all(load, fd, text, strlen(text));
	send_all(load, fd, must_alloc(size + 1), size);
	while (load->sink.requests == before || recv(fd, reply, sizeof(reply), MSG_DONTWAIT) < 0)
		run(load);
}

static void http_connections(struct load *load, size_t count)
{
	for (size_t i = 0; i < count; i++)
		post(load, connect_to_loopback(load->ports[1]), 5);
}

static void http_requests(struct load *load, size_t count)
{
	int fd = connect_to_loopback(load->ports[1]);

	for (size_t i = 0; i < count; i++)
		post(load, fd, 5);
}

static void http_body(struct load *load, size_t count)
{
	post(load, connect_to_loopback(load->ports[1]), count * UNIT);
}

static const struct {
	const char *name;
	void (*run)(struct load *load, size_t count);
} shapes[] = {
	{ "grpc-connections", grpc_connections },
	{ "grpc-streams", grpc_streams },
	{ "grpc-body", grpc_body },
	{ "grpc-gzip", grpc_gzip },
	{ "grpc-frames", grpc_frames },
	{ "http-connections", http_connections },
	{ "http-requests", http_requests },
	{ "http-body", http_body },
};

int main(int argc, char **argv)
{
	struct rlimit files;
	struct load load = { 0 };

	if (argc < 3) {
		for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
			puts(shapes[i].name);
		return 0;
	}
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	start(&load);
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		if (strcmp(argv[1], shapes[i].name) == 0)
			shapes[i].run(&load, atoi(argv[2]));
	return 0;
}
