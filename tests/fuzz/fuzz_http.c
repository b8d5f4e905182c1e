/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: what a client sends on a connection of OTLP/HTTP.  It arrives at once and in pieces; the
 * client reads all replies.  Memory stays below its limit, and the connection ends.
 */
#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include "relay/http_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

enum { MESSAGE_MAX = 1 << 12, MEMORY = 1 << 16, RUNS = 100000 };

static volatile uint64_t sink; /* prevents the compiler from removing the reads */

static void export(void *arg, const struct export_request *request, struct export_reply *ret)
{
	assert(request->signal < OTLP_SIGNAL_COUNT);
	for (size_t i = 0; i < request->body.len; i++)
		sink += request->body.s[i];
	ret->status = request->body.len % 3;
	ret->rejected = request->body.len % 5;
	if (request->body.len % 2)
		memcpy(ret->message, "\"\xff", 3);
}

static int convert(enum otlp_signal signal, struct view json, struct pb_buffer *ret,
		   struct err *err)
{
	assert(json.len <= MESSAGE_MAX);
	if (json.len < 2)
		return err_set(err, -EBADMSG, "too short");
	pb_put_bytes(ret, 1, json);
	return 0;
}

static const char *page(void *arg, const char *path, const char **ret_type)
{
	return strcmp(path, "/status") == 0 ? "{}\n" : NULL;
}

/* Reads and discards replies; false at the end of the connection. */
static bool read_replies(int fd)
{
	char reply[4096];
	ssize_t n;

	while ((n = recv(fd, reply, sizeof(reply), MSG_DONTWAIT)) > 0)
		sink += reply[n - 1];
	return n < 0 && errno == EAGAIN;
}

static void converse(struct http_server *server, const struct intake *intake, const uint8_t *input,
		     size_t size, size_t piece)
{
	_cleanup_(closep) int client = -1;
	int fds[2], runs = 0;
	size_t sent = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0)
		return;
	client = fds[0];
	http_server_add(server, fds[1]);
	do {
		size_t n = piece < size - sent ? piece : size - sent;
		ssize_t done = n ? send(client, input + sent, n, MSG_NOSIGNAL) : 0;

		sent += done > 0 ? done : 0;
		if (sent == size)
			shutdown(client, SHUT_WR);
		http_server_run(server);
		assert(intake->used <= MEMORY);
		assert(++runs < RUNS);
	} while (read_replies(client));
	while (http_server_connections(server) && ++runs < RUNS)
		http_server_run(server);
	assert(http_server_connections(server) == 0);
	assert(intake->used == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct intake intake = { .limit = MEMORY };
	const struct http_server_options options = { .limits = { .message = MESSAGE_MAX },
						     .intake = &intake,
						     .export = export,
						     .json_to_protobuf = convert,
						     .page = page };
	_cleanup_(http_server_freep) struct http_server *server = NULL;
	struct err err;

	if (http_server_new(&options, &server, &err) < 0)
		return 0;
	converse(server, &intake, input, size, SIZE_MAX / 8);
	converse(server, &intake, input, size, 1 + size % 100);
	return 0;
}
