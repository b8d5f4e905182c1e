/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models with a thread or process for each connection.
 *
 * In `thread` and `prefork`, the thread that reads a request also handles it.  In `fork` and
 * `spawn`, it creates a process or thread that handles the request and sends the reply, waits for
 * it, and then reads the next request of the connection.
 */
#include <stdlib.h>
#include <sys/wait.h>

#include "service.h"

typedef void handler(struct service *s, struct request *r);

struct connection {
	struct service *service;
	struct link *link;
	handler *handle;
};

static void work_and_reply(struct service *s, struct request *r)
{
	request_work(s, r);
	request_reply(s, r);
}

static void *connection_thread(void *arg)
{
	_cleanup_(freep) struct connection *c = arg;

	serve_link(c->service, c->link, c->handle);
	return NULL;
}

static void thread_for_each_connection(struct service *s, handler *handle)
{
	for (;;) {
		struct connection *c = must_alloc(sizeof(*c));

		*c = (struct connection){ s, link_accept(s->listener, 0), handle };
		start_thread(connection_thread, c, NULL);
	}
}

void model_thread(struct service *s)
{
	thread_for_each_connection(s, work_and_reply);
}

static void wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		die("a child failed");
}

static void accept_in_turn(struct service *s)
{
	for (;;)
		serve_link(s, link_accept(s->listener, 0), work_and_reply);
}

void model_prefork(struct service *s)
{
	for (unsigned long i = 0; i < s->workers; i++)
		if (!fork_child())
			accept_in_turn(s);
	wait_for(-1); /* the children never exit */
}

static void handle_in_child(struct service *s, struct request *r)
{
	pid_t child = fork_child();

	if (!child) {
		work_and_reply(s, r);
		_exit(0);
	}
	wait_for(child);
}

void model_fork(struct service *s)
{
	for (;;) {
		struct link *l = link_accept(s->listener, 0);

		if (!fork_child()) {
			serve_link(s, l, handle_in_child);
			_exit(0);
		}
		link_free(l);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			; /* children of closed connections */
	}
}

struct job {
	struct service *service;
	struct request *request;
};

static void *request_thread(void *arg)
{
	struct job *job = arg;

	work_and_reply(job->service, job->request);
	return NULL;
}

static void handle_in_thread(struct service *s, struct request *r)
{
	struct job job = { s, r };
	pthread_t thread;

	start_thread(request_thread, &job, &thread);
	pthread_join(thread, NULL);
}

void model_spawn(struct service *s)
{
	thread_for_each_connection(s, handle_in_thread);
}
