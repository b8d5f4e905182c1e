/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive [UNAVAILABLE [REJECTED]] - the servers of the relay, and what arrives.
 *
 * Prints the ports of gRPC and HTTP, then a line for each request: signal, and body in hexadecimal.
 * The first UNAVAILABLE requests are refused as unavailable; all others are accepted, except
 * REJECTED of their items.  Ends when its input ends.
 */
#include <poll.h>
#include <stdio.h>

#include "relay/grpc_server.h"
#include "relay/http_server.h"
#include "unit/relay_sink.h"

struct plan {
	uint64_t unavailable, rejected;
};

static void print(void *arg, const struct export_request *request, struct export_reply *ret)
{
	static const char *const names[] = { "traces", "metrics", "logs" };
	struct plan *plan = arg;

	if (plan->unavailable) {
		plan->unavailable--;
		ret->status = EXPORT_UNAVAILABLE;
		snprintf(ret->message, sizeof(ret->message), "try again");
		return;
	}
	ret->rejected = plan->rejected;
	printf("%s ", names[request->signal]);
	for (size_t i = 0; i < request->body.len; i++)
		printf("%02x", (uint8_t)request->body.s[i]);
	printf("\n");
}

static void serve(struct grpc_server *grpc, struct http_server *http)
{
	struct pollfd fds[] = { { 0, POLLIN, 0 },
				{ grpc_server_fd(grpc), POLLIN, 0 },
				{ http_server_fd(http), POLLIN, 0 } };

	while (poll(fds, ARRAY_LEN(fds), -1) > 0 && !fds[0].revents) {
		grpc_server_run(grpc);
		http_server_run(http);
	}
}

int main(int argc, char **argv)
{
	struct intake intake = { 0 };
	uint16_t grpc_port, http_port;
	int grpc_listener = listen_on_loopback(&grpc_port),
	    http_listener = listen_on_loopback(&http_port);
	struct plan plan = { argc > 1 ? strtoul(argv[1], NULL, 10) : 0,
			     argc > 2 ? strtoul(argv[2], NULL, 10) : 0 };
	const struct grpc_server_options grpc_options = { .listeners = &grpc_listener,
							  .listener_count = 1,
							  .intake = &intake,
							  .export = print,
							  .arg = &plan };
	const struct http_server_options http_options = { .listeners = &http_listener,
							  .listener_count = 1,
							  .intake = &intake,
							  .export = print,
							  .arg = &plan };
	_cleanup_(grpc_server_freep) struct grpc_server *grpc = NULL;
	_cleanup_(http_server_freep) struct http_server *http = NULL;
	struct err err;

	setlinebuf(stdout);
	if (grpc_server_new(&grpc_options, &grpc, &err) < 0 ||
	    http_server_new(&http_options, &http, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("%u %u\n", grpc_port, http_port);
	serve(grpc, http);
	return 0;
}
