/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model in which one thread does everything and waits only for events.
 *
 * A visit is a connection of a client, with at most one request at a time; an
 * outing is a call that is made for it.  Both are what epoll gives back, so both
 * begin with how they go on.  Requests of different visits are in flight at
 * once, and go on in the order in which their sockets and timers let them.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "service.h"

struct loop;
struct visit;

struct watcher {
	void (*ready)(struct loop *loop, struct watcher *w);
};

struct outing {
	struct watcher watcher;
	struct visit *visit;
	struct call call;
	size_t number; /* which of the visit's calls */
	bool greeting; /* it says hello first */
	size_t size, sent;
	char question[256];
};

struct visit {
	struct watcher watcher;
	struct link *link;
	struct request request; /* while entry is not NULL */
	nsec_t due;             /* when it has slept enough; 0 if it does not sleep */
	size_t begun, ended;    /* calls */
	size_t size, sent;      /* of the answer */
	char answer[LINK_ROOM];
};

struct loop {
	struct service *service;
	int epoll;
	struct watcher listener;
	VEC(struct visit *) sleepers;
};

static void visit_go_on(struct loop *loop, struct visit *v);

static void watch(struct loop *loop, int op, int fd, uint32_t events, struct watcher *w)
{
	struct epoll_event event = { .events = events, .data.ptr = w };

	if (epoll_ctl(loop->epoll, op, fd, &event))
		die("cannot watch a descriptor");
}

/* Send what is left of a message; true when all of it went. */
static bool send_rest(struct loop *loop, struct link *l, const char *bytes, size_t size,
		      size_t *sent)
{
	while (*sent < size) {
		ssize_t some =
			link_send_some(l, &loop->service->how, bytes + *sent, size - *sent, size);

		if (some < 0)
			return false;
		*sent += (size_t)some;
	}
	return true;
}

static void outing_end(struct loop *loop, struct outing *o, size_t size)
{
	struct visit *v = o->visit;

	call_log_end(&o->call, size);
	link_take(o->call.link, size);
	watch(loop, EPOLL_CTL_DEL, o->call.link->fd, 0, NULL);
	target_give_back(o->call.target, o->call.link);
	free(o);
	v->ended++;
	visit_go_on(loop, v);
}

static void outing_ask(struct loop *loop, struct outing *o)
{
	struct entry *e = o->visit->request.entry;

	o->greeting = false;
	o->sent = 0;
	o->size = call_ask(o->call.target, e, o->number, o->question, sizeof(o->question));
	call_log_begin(&o->call, e, o->number, o->size);
}

/* The rest of what it has to say, then wait for the answer. */
static void outing_send(struct loop *loop, struct outing *o)
{
	bool all = send_rest(loop, o->call.link, o->question, o->size, &o->sent);

	if (all && o->call.log)
		o->call.log->sent = now();
	watch(loop, EPOLL_CTL_MOD, o->call.link->fd, all ? EPOLLIN : EPOLLOUT, &o->watcher);
}

static void outing_hear(struct loop *loop, struct outing *o)
{
	struct link *l = o->call.link;
	ssize_t got = link_read(l, &loop->service->how);

	errno = ECONNRESET;
	if (got == 0)
		die("no answer from %s", o->call.target->address);

	size_t size = o->call.target->wire->answer(l->buf, l->used);
	if (!size)
		return;
	if (!o->greeting) {
		outing_end(loop, o, size);
		return;
	}
	l->server = o->call.target->wire->server(l->buf, size);
	link_take(l, size);
	outing_ask(loop, o);
	outing_send(loop, o);
}

static void outing_ready(struct loop *loop, struct watcher *w)
{
	struct outing *o = (struct outing *)w;
	int error = 0;
	socklen_t size = sizeof(error);

	if (o->sent == o->size) {
		outing_hear(loop, o);
		return;
	}
	if (!o->call.link->ends.inode) { /* it has just been connected */
		getsockopt(o->call.link->fd, SOL_SOCKET, SO_ERROR, &error, &size);
		errno = error;
		if (error)
			die("cannot connect to '%s'", o->call.target->address);
		link_name_ends(o->call.link);
		if (!o->greeting)
			outing_ask(loop, o);
	}
	outing_send(loop, o);
}

static void outing_begin(struct loop *loop, struct visit *v, size_t number)
{
	struct target *t = &loop->service->targets[number];
	struct outing *o = must_alloc(sizeof(*o));

	*o = (struct outing){
		.watcher = { outing_ready }, .visit = v, .number = number, .size = 1
	};
	o->call = (struct call){ .target = t, .link = target_take_idle(t) };
	if (o->call.link) {
		watch(loop, EPOLL_CTL_ADD, o->call.link->fd, EPOLLIN, &o->watcher);
		outing_ask(loop, o);
		outing_send(loop, o);
		return;
	}
	o->call.link = link_connect(t->address, SOCK_NONBLOCK);
	if (t->wire->hello) {
		o->greeting = true;
		o->size = t->wire->hello(o->question, sizeof(o->question));
	}
	watch(loop, EPOLL_CTL_ADD, o->call.link->fd, EPOLLOUT, &o->watcher);
}

static void visit_free(struct visit *v)
{
	link_free(v->link);
	free(v);
}

/* The next request of the connection, if it is there already. */
static void visit_begin(struct loop *loop, struct visit *v)
{
	struct service *s = loop->service;

	if (!request_take(s, v->link, &v->request)) {
		watch(loop, EPOLL_CTL_MOD, v->link->fd, EPOLLIN, &v->watcher);
		return;
	}
	watch(loop, EPOLL_CTL_MOD, v->link->fd, 0, &v->watcher);
	v->begun = v->ended = v->size = v->sent = 0;
	v->request.entry->call_count = (uint32_t)s->target_count;
	request_compute(s, &v->request);

	nsec_t sleep = request_time(&v->request, &s->sleep);
	if (sleep) {
		v->due = now() + sleep;
		*vec_push(&loop->sleepers) = v;
		return;
	}
	visit_go_on(loop, v);
}

static void visit_answer(struct loop *loop, struct visit *v)
{
	if (!v->size) {
		v->size = request_write_answer(loop->service, &v->request, v->answer,
					       sizeof(v->answer));
		request_log_answer(&v->request, v->size);
	}
	if (!send_rest(loop, v->link, v->answer, v->size, &v->sent)) {
		watch(loop, EPOLL_CTL_MOD, v->link->fd, EPOLLOUT, &v->watcher);
		return;
	}
	v->request.entry->answered = now();
	v->request.entry = NULL;
	if (v->request.close)
		visit_free(v);
	else
		visit_begin(loop, v);
}

/* It has slept, or a call has ended: the next call, the next calls, or the answer. */
static void visit_go_on(struct loop *loop, struct visit *v)
{
	size_t count = loop->service->target_count;

	if (v->ended == count) {
		visit_answer(loop, v);
		return;
	}
	if (loop->service->parallel == PARALLEL_NO && v->begun == v->ended)
		outing_begin(loop, v, v->begun++);
	while (loop->service->parallel != PARALLEL_NO && v->begun < count)
		outing_begin(loop, v, v->begun++);
}

static void visit_ready(struct loop *loop, struct watcher *w)
{
	struct visit *v = (struct visit *)w;

	if (v->request.entry && v->size) {
		visit_answer(loop, v);
		return;
	}
	if (v->request.entry)
		return; /* its client has gone */
	if (link_read(v->link, &loop->service->how) == 0)
		visit_free(v);
	else
		visit_begin(loop, v);
}

static void greet(struct loop *loop, struct watcher *w)
{
	struct link *l;

	while ((l = link_accept(loop->service->listener, SOCK_NONBLOCK))) {
		struct visit *v = must_alloc(sizeof(*v));

		v->watcher.ready = visit_ready;
		v->link = l;
		watch(loop, EPOLL_CTL_ADD, l->fd, EPOLLIN, &v->watcher);
	}
}

static void wake_sleepers(struct loop *loop)
{
	nsec_t time = now();

	for (size_t i = 0; i < loop->sleepers.count;) {
		struct visit *v = loop->sleepers.items[i];

		if (v->due > time) {
			i++;
			continue;
		}
		loop->sleepers.items[i] = loop->sleepers.items[--loop->sleepers.count];
		visit_go_on(loop, v);
	}
}

/* How long to wait for events at most; NULL if nobody sleeps. */
static struct timespec *patience(const struct loop *loop, struct timespec *buf)
{
	nsec_t next = UINT64_MAX, time = now();

	if (!loop->sleepers.count)
		return NULL;
	for (size_t i = 0; i < loop->sleepers.count; i++)
		if (loop->sleepers.items[i]->due < next)
			next = loop->sleepers.items[i]->due;

	nsec_t left = next > time ? next - time : 0;
	*buf = (struct timespec){ .tv_sec = (time_t)(left / NSEC_PER_SEC),
				  .tv_nsec = (long)(left % NSEC_PER_SEC) };
	return buf;
}

void model_loop(struct service *s)
{
	struct loop loop = { .service = s,
			     .epoll = epoll_create1(EPOLL_CLOEXEC),
			     .listener = { greet } };
	struct epoll_event events[64];
	struct timespec buf;

	fcntl(s->listener, F_SETFL, O_NONBLOCK);
	watch(&loop, EPOLL_CTL_ADD, s->listener, EPOLLIN, &loop.listener);
	for (;;) {
		int count = epoll_pwait2(loop.epoll, events, ARRAY_LEN(events),
					 patience(&loop, &buf), NULL);

		for (int i = 0; i < count; i++) {
			struct watcher *w = events[i].data.ptr;

			w->ready(&loop, w);
		}
		wake_sleepers(&loop);
	}
}
