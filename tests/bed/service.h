/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service - requests and the work for them, which all models of a service share.
 *
 * A model decides which thread reads a request, which thread works for it, which thread sends the
 * reply, and how these signal each other.  The work is the same in all models: compute, hold a
 * lock, sleep, call others, reply.
 */
#ifndef BED_SERVICE_H
#define BED_SERVICE_H

#include "call.h"
#include "link.h"

enum parallel { PARALLEL_NO, PARALLEL_SEND, PARALLEL_THREADS };
enum signalling { BY_CONDITION, BY_EVENTFD, BY_PIPE };

struct range {
	nsec_t least, most;
};

struct service {
	int listener;
	struct log *log;
	struct io_style how;
	struct target targets[MAX_CALLS];
	size_t target_count;
	enum parallel parallel;
	enum signalling queue, handback; /* how a pool passes on work and results */
	unsigned long workers;
	unsigned long bytes; /* size of a reply's body */
	struct range work, sleep, lock;
	pthread_mutex_t shared; /* held for `lock` */
	unsigned long spin;     /* steps that take a microsecond */
};

struct request {
	struct link *link;
	struct entry *entry;
	bool close; /* close the connection after the reply */
};

/* Take a whole request from the link's buffer; false if there is none. */
bool request_take(struct service *s, struct link *l, struct request *ret);
/* Wait for a request; false at the end of the connection. */
bool request_await(struct service *s, struct link *l, struct request *ret);

nsec_t request_time(const struct request *r,
		    const struct range *range); /* a time in the range, by the request's id */
void request_compute(struct service *s, struct request *r); /* work and lock */
void request_work(struct service *s, struct request *r);    /* work, lock, sleep and all calls */
void request_log_reply(struct request *r, size_t bytes);    /* call before sending the reply */
void request_reply(struct service *s, struct request *r);
size_t request_format_reply(struct service *s, const struct request *r, char *buf, size_t room);

/* Handle all requests of a connection in this thread, then free the link. */
void serve_link(struct service *s, struct link *l,
		void (*handle)(struct service *, struct request *));

/* Fork a process that is killed when its parent ends. */
pid_t fork_child(void);
void start_thread(void *(*body)(void *), void *arg, pthread_t *ret);

void model_thread(struct service *s);  /* a thread for each connection */
void model_prefork(struct service *s); /* processes that share a listening socket */
void model_fork(struct service *s);    /* a process for each connection, and for each request */
void model_spawn(struct service *s);   /* a thread for each connection, and for each request */
void model_pool(struct service *s);    /* one thread reads, workers work and reply */
void model_pool_handback(struct service *s); /* one thread reads and replies, workers work */
void model_loop(struct service *s);          /* one thread that only waits for events */

#endif
