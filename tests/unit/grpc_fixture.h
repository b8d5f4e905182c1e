/* SPDX-License-Identifier: Apache-2.0 */
/* grpc_fixture - a gRPC server and its clients in one thread, over the loopback interface. */
#ifndef SONDE_TESTS_GRPC_FIXTURE_H
#define SONDE_TESTS_GRPC_FIXTURE_H

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "grpc_client.h"
#include "relay/grpc_server.h"
#include "gzip_build.h"
#include "relay_sink.h"
#include "test.h"

#define PATIENCE (20 * NSEC_PER_SEC)

struct fixture {
	struct grpc_server *server;
	struct intake intake;
	struct sink sink;
	int listener;
	uint16_t port;
};

static inline void start(struct fixture *f, const struct receive_limits *limits)
{
	struct grpc_server_options options = { .listeners = &f->listener,
					       .listener_count = 1,
					       .intake = &f->intake,
					       .export = sink_export,
					       .arg = &f->sink };
	struct err err = { "" };

	f->listener = listen_on_loopback(&f->port);
	if (limits)
		options.limits = *limits;
	CHECK_INT(grpc_server_new(&options, &f->server, &err), 0);
	CHECK_STR(err.text, "");
}

/* No test leaves memory behind that the intake still counts. */
static inline void stop(struct fixture *f)
{
	grpc_server_free(f->server);
	close(f->listener);
	CHECK_INT(f->intake.used, 0);
}

static inline const struct receive_counters *counters(const struct fixture *f)
{
	return grpc_server_counters(f->server);
}

static inline void run(struct fixture *f)
{
	struct pollfd poll_fd = { grpc_server_fd(f->server), POLLIN, 0 };

	if (poll(&poll_fd, 1, 1) > 0)
		grpc_server_run(f->server);
}

static inline void open_client(struct fixture *f, struct grpc_client *client)
{
	grpc_client_init(client, connect_to_loopback(f->port));
}

static inline bool wait_for(struct fixture *f, struct grpc_client *client, const bool *condition)
{
	for (nsec_t end = clock_now() + PATIENCE; !*condition && clock_now() < end;) {
		grpc_client_work(client);
		run(f);
		grpc_client_work(client);
	}
	return *condition;
}

/* One call on a connection of its own. */
static inline void call_once(struct fixture *f, struct grpc_call *call)
{
	struct grpc_client client;

	open_client(f, &client);
	grpc_client_start(&client, call);
	CHECK(wait_for(f, &client, &call->is_closed));
	grpc_client_done(&client);
}

/* Until the server has no connections. */
static inline void wait_for_end(struct fixture *f)
{
	for (nsec_t end = clock_now() + PATIENCE;
	     grpc_server_connections(f->server) && clock_now() < end;)
		run(f);
	CHECK_INT(grpc_server_connections(f->server), 0);
}

/* Reads a raw connection until the server closes it; the text is terminated by NUL. */
static inline size_t read_all(struct fixture *f, int fd, char *text, size_t room)
{
	size_t used = 0;
	ssize_t n;

	for (nsec_t end = clock_now() + PATIENCE; clock_now() < end;) {
		run(f);
		n = recv(fd, text + used, room - 1 - used, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		used += n > 0 ? n : 0;
	}
	text[used] = '\0';
	return used;
}

static inline struct view view_of(const char *text)
{
	return (struct view){ text, strlen(text) };
}

static inline void free_view(struct view *view)
{
	free((char *)view->s);
}

#endif
