/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service - what all models of a service have in common: what a request is, and
 * what is done for it.
 *
 * A model decides which thread reads a request, which works for it and which
 * answers, and how they tell each other.  The work is the same in all: compute,
 * hold a lock, sleep, ask others, answer.
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
	struct manner how;
	struct target targets[MAX_CALLS];
	size_t target_count;
	enum parallel parallel;
	enum signalling queue, handback; /* how a pool passes work on, and its result back */
	unsigned long workers;
	unsigned long bytes; /* of an answer's body */
	struct range work, sleep, lock;
	pthread_mutex_t shared; /* held for `lock` */
	unsigned long spin;     /* steps that take a microsecond */
};

struct request {
	struct link *link;
	struct entry *entry;
	bool close; /* the connection, once it is answered */
};

/* A request out of what the link has read; false if it is not all there. */
bool request_take(struct service *s, struct link *l, struct request *ret);
/* As that, but waits for one; false at the end of the connection. */
bool request_await(struct service *s, struct link *l, struct request *ret);

nsec_t request_time(const struct request *r,
		    const struct range *range);             /* one of the range, by its id */
void request_compute(struct service *s, struct request *r); /* work and lock */
void request_work(struct service *s, struct request *r);    /* that, sleep, and all calls */
void request_log_answer(struct request *r, size_t bytes);   /* to be called before it */
void request_answer(struct service *s, struct request *r);
size_t request_write_answer(struct service *s, const struct request *r, char *buf, size_t room);

/* All requests of a connection in this thread; frees it. */
void serve_link(struct service *s, struct link *l,
		void (*handle)(struct service *, struct request *));

/* A process that ends with its parent, whatever happens to that; 0 in the child, as fork(). */
pid_t fork_child(void);
void start_thread(void *(*body)(void *), void *arg, pthread_t *ret);

void model_thread(struct service *s);  /* a thread for each connection */
void model_prefork(struct service *s); /* processes that share a listening socket */
void model_fork(struct service *s);    /* a process for each connection, and for each request */
void model_spawn(struct service *s);   /* a thread for each connection, and for each request */
void model_pool(struct service *s);    /* a thread reads, workers work and answer */
void model_pool_handback(struct service *s); /* a thread reads and answers, workers work */
void model_loop(struct service *s);          /* one thread that never blocks but for events */

#endif
