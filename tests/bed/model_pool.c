/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models with one thread that reads the requests of all connections, and a pool of workers.
 *
 * A connection is watched for one event at a time (EPOLLONESHOT): after a whole request was read,
 * it is not watched until the reply is sent.  Requests reach the workers through a queue, which
 * signals a condition variable or an eventfd, or is a pipe.  Either the worker sends the reply, or
 * the request goes back through a second queue, and the reader sends the reply.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "service.h"

struct job {
	struct request request;
	struct job *next;
};

struct queue {
	enum signalling by;
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct job *first, **last;
	int in, out; /* a pipe's ends, or an eventfd twice */
};

struct pool {
	struct service *service;
	int epoll;
	bool results_come_back;
	struct queue todo, done;
};

static void queue_init(struct queue *q, enum signalling by, bool blocking)
{
	int ends[2] = { -1, -1 };

	*q = (struct queue){ .by = by,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .filled = PTHREAD_COND_INITIALIZER,
			     .last = &q->first };
	if (by == BY_PIPE && pipe2(ends, O_CLOEXEC | (blocking ? 0 : O_NONBLOCK)))
		die("cannot open a pipe");
	if (by == BY_EVENTFD)
		ends[0] = ends[1] =
			eventfd(0, EFD_CLOEXEC | (blocking ? EFD_SEMAPHORE : EFD_NONBLOCK));
	q->out = ends[0];
	q->in = ends[1];
}

static void queue_append(struct queue *q, struct job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&q->lock);
	*q->last = job;
	q->last = &job->next;
	if (q->by == BY_CONDITION)
		pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

static struct job *queue_shift(struct queue *q)
{
	struct job *job;

	pthread_mutex_lock(&q->lock);
	while (q->by == BY_CONDITION && !q->first)
		pthread_cond_wait(&q->filled, &q->lock);
	job = q->first;
	if (job && !(q->first = job->next))
		q->last = &q->first;
	pthread_mutex_unlock(&q->lock);
	return job;
}

static void queue_put(struct queue *q, struct job *job)
{
	uint64_t one = 1;

	if (q->by != BY_PIPE)
		queue_append(q, job);
	if (q->by != BY_CONDITION && write(q->in, q->by == BY_PIPE ? (void *)&job : (void *)&one,
					   sizeof(uint64_t)) != sizeof(uint64_t))
		die("cannot queue a request");
}

/* Waits for a job if its descriptor blocks; NULL if there is none. */
static struct job *queue_get(struct queue *q)
{
	uint64_t word;

	if (q->by == BY_CONDITION)
		return queue_shift(q);
	if (read(q->out, &word, sizeof(word)) != sizeof(word)) {
		if (errno != EAGAIN)
			die("cannot dequeue a request");
		return q->by == BY_EVENTFD ? queue_shift(q)
					   : NULL; /* one count can stand for several jobs */
	}
	return q->by == BY_PIPE ? (struct job *)(uintptr_t)word : queue_shift(q);
}

static void watch(struct pool *p, int op, int fd, uint32_t events, void *what)
{
	struct epoll_event event = { .events = events, .data.ptr = what };

	if (epoll_ctl(p->epoll, op, fd, &event))
		die("cannot watch a descriptor");
}

/* Queue the next request of a connection, or wait for the rest of it. */
static void advance(struct pool *p, struct link *l)
{
	struct request r;

	if (!request_take(p->service, l, &r)) {
		watch(p, EPOLL_CTL_MOD, l->fd, EPOLLIN | EPOLLONESHOT, l);
		return;
	}

	struct job *job = must_alloc(sizeof(*job));
	job->request = r;
	queue_put(&p->todo, job);
}

static void send_reply(struct pool *p, struct job *job)
{
	struct request r = job->request;

	free(job);
	request_reply(p->service, &r);
	if (r.close)
		link_free(r.link);
	else
		advance(p, r.link);
}

static void *work(void *arg)
{
	struct pool *p = arg;

	for (;;) {
		struct job *job = queue_get(&p->todo);

		request_work(p->service, &job->request);
		if (p->results_come_back)
			queue_put(&p->done, job);
		else
			send_reply(p, job);
	}
	return NULL;
}

static void accept_all(struct pool *p)
{
	struct link *l;

	while ((l = link_accept(p->service->listener, SOCK_NONBLOCK)))
		watch(p, EPOLL_CTL_ADD, l->fd, EPOLLIN | EPOLLONESHOT, l);
}

static void read_link(struct pool *p, struct link *l)
{
	ssize_t size = link_read(l, &p->service->how);

	if (size == 0)
		link_free(l);
	else
		advance(p, l);
}

static void take_results(struct pool *p)
{
	for (struct job *job; (job = queue_get(&p->done));)
		send_reply(p, job);
}

static void run(struct pool *p)
{
	struct epoll_event events[64];

	for (;;) {
		int count = epoll_wait(p->epoll, events, ARRAY_LEN(events), -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr == p)
				accept_all(p);
			else if (events[i].data.ptr == &p->done)
				take_results(p);
			else
				read_link(p, events[i].data.ptr);
		}
	}
}

static void pool_start(struct service *s, bool results_come_back)
{
	struct pool p = { .service = s,
			  .epoll = epoll_create1(EPOLL_CLOEXEC),
			  .results_come_back = results_come_back };

	queue_init(&p.todo, s->queue, true);
	fcntl(s->listener, F_SETFL, O_NONBLOCK);
	watch(&p, EPOLL_CTL_ADD, s->listener, EPOLLIN, &p);
	if (results_come_back) {
		queue_init(&p.done, s->handback, false);
		watch(&p, EPOLL_CTL_ADD, p.done.out, EPOLLIN, &p.done);
	}
	for (unsigned long i = 0; i < s->workers; i++)
		start_thread(work, &p, NULL);
	run(&p);
}

void model_pool(struct service *s)
{
	pool_start(s, false);
}

void model_pool_handback(struct service *s)
{
	pool_start(s, true);
}
