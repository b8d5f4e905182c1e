/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector - an OTLP collector on the loopback interface, with a thread per connection.
 *
 * It keeps every request that arrives completely.  A function of the test decides what to answer.
 */
#ifndef SONDE_TESTS_COLLECTOR_H
#define SONDE_TESTS_COLLECTOR_H

#include <pthread.h>

#include "base/vec.h"
#include "otlp/protobuf.h"

/* A request as it arrived. */
struct collected {
	char *head;            /* request line and headers, "name: value" in each line */
	struct pb_buffer body; /* without the prefix of gRPC */
	bool is_compressed;    /* gRPC: the flag in the prefix */
};

struct answer {
	unsigned status;     /* of HTTP; 0: 200 */
	const char *headers; /* lines, each with \r\n; NULL: none.  Only HTTP */
	const char *body;    /* NULL: none; gRPC: without the prefix */
	size_t size;
	int grpc_status;
	const char *grpc_message, *grpc_details; /* NULL: none */
	bool trailers_only;
	bool no_status; /* gRPC: no trailers at all */
	unsigned delay; /* ms */
	bool reset;     /* close the connection with RST instead */
};

/* Called with the lock held. */
typedef struct answer answer_fn(void *arg, size_t number, const struct collected *request);

struct collector {
	bool is_grpc;
	answer_fn *answer;
	void *arg;
	unsigned port;
	char url[64];
	pthread_mutex_t lock;
	VEC(struct collected) requests;
	unsigned connections;

	int fd;
	pthread_t thread;
	VEC(pthread_t) threads;
	VEC(int) clients;
};

/* Listens on a port, 0 for any; `answer` can be NULL: everything succeeds. */
void collector_start(struct collector *c, bool is_grpc, unsigned port, answer_fn *answer,
		     void *arg);
void collector_stop(struct collector *c); /* keeps the requests */
void collector_done(struct collector *c);

/* For the two protocols: serve a connection until it ends. */
void collector_serve_grpc(struct collector *c, int fd);

/* Keeps the request, which is taken, and calls the test; the delay has passed afterwards. */
struct answer collector_take(struct collector *c, struct collected *request);

#endif
