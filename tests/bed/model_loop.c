/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of one thread that does all work and only waits for events.
 *
 * A session is a connection of a client, with at most one request at a time; an upstream is a call
 * for that request.  epoll returns pointers to both, so both begin with a struct watcher.  Requests
 * of different sessions are in flight at once, and continue in the order in which their sockets and
 * timers become ready.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "service.h"

struct loop;
struct session;

struct watcher {
	void (*ready)(struct loop *loop, struct watcher *w);
};

struct upstream {
	struct watcher watcher;
	struct session *session;
	struct call call;
	size_t number;     /* of the call in its session */
	bool in_handshake; /* the handshake of a new connection is pending */
	size_t size, sent;
	char text[256];
};

struct session {
	struct watcher watcher;
	struct link *link;
	struct request request; /* while entry is not NULL */
	nsec_t due;             /* end of its sleep; 0 if it does not sleep */
	size_t begun, ended;    /* calls */
	size_t size, sent;      /* of the reply */
	char reply[LINK_ROOM];
};

struct loop {
	struct service *service;
	int epoll;
	struct watcher listener;
	VEC(struct session *) sleepers;
};

static void session_continue(struct loop *loop, struct session *v);

static void watch(struct loop *loop, int op, int fd, uint32_t events, struct watcher *w)
{
	struct epoll_event event = { .events = events, .data.ptr = w };

	if (epoll_ctl(loop->epoll, op, fd, &event))
		die("cannot watch a descriptor");
}

/* Send the rest of a message; true once all of it is sent. */
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

static void upstream_end(struct loop *loop, struct upstream *o, size_t size)
{
	struct session *v = o->session;

	call_log_end(&o->call, size);
	link_take(o->call.link, size);
	watch(loop, EPOLL_CTL_DEL, o->call.link->fd, 0, NULL);
	target_give_back(o->call.target, o->call.link);
	free(o);
	v->ended++;
	session_continue(loop, v);
}

static void upstream_format(struct loop *loop, struct upstream *o)
{
	struct entry *e = o->session->request.entry;

	o->in_handshake = false;
	o->sent = 0;
	o->size = call_format(o->call.target, e, o->number, o->text, sizeof(o->text));
	call_log_begin(&o->call, e, o->number, o->size);
}

/* Send the rest of the call, then wait for the reply. */
static void upstream_send(struct loop *loop, struct upstream *o)
{
	bool all = send_rest(loop, o->call.link, o->text, o->size, &o->sent);

	if (all && o->call.log)
		o->call.log->sent = now();
	watch(loop, EPOLL_CTL_MOD, o->call.link->fd, all ? EPOLLIN : EPOLLOUT, &o->watcher);
}

static void upstream_read(struct loop *loop, struct upstream *o)
{
	struct link *l = o->call.link;
	ssize_t got = link_read(l, &loop->service->how);

	errno = ECONNRESET;
	if (got == 0)
		die("no reply from %s", o->call.target->address);

	size_t size = o->call.target->wire->reply_size(l->buf, l->used);
	if (!size)
		return;
	if (!o->in_handshake) {
		upstream_end(loop, o, size);
		return;
	}
	l->server = o->call.target->wire->server(l->buf, size);
	link_take(l, size);
	upstream_format(loop, o);
	upstream_send(loop, o);
}

static void upstream_ready(struct loop *loop, struct watcher *w)
{
	struct upstream *o = (struct upstream *)w;
	int error = 0;
	socklen_t size = sizeof(error);

	if (o->sent == o->size) {
		upstream_read(loop, o);
		return;
	}
	if (!o->call.link->ends.inode) { /* it was just connected */
		getsockopt(o->call.link->fd, SOL_SOCKET, SO_ERROR, &error, &size);
		errno = error;
		if (error)
			die("cannot connect to '%s'", o->call.target->address);
		link_name_ends(o->call.link);
		if (!o->in_handshake)
			upstream_format(loop, o);
	}
	upstream_send(loop, o);
}

static void upstream_begin(struct loop *loop, struct session *v, size_t number)
{
	struct target *t = &loop->service->targets[number];
	struct upstream *o = must_alloc(sizeof(*o));

	*o = (struct upstream){
		.watcher = { upstream_ready }, .session = v, .number = number, .size = 1
	};
	o->call = (struct call){ .target = t, .link = target_take_idle(t) };
	if (o->call.link) {
		watch(loop, EPOLL_CTL_ADD, o->call.link->fd, EPOLLIN, &o->watcher);
		upstream_format(loop, o);
		upstream_send(loop, o);
		return;
	}
	o->call.link = link_connect(t->address, SOCK_NONBLOCK);
	if (t->wire->format_handshake) {
		o->in_handshake = true;
		o->size = t->wire->format_handshake(o->text, sizeof(o->text));
	}
	watch(loop, EPOLL_CTL_ADD, o->call.link->fd, EPOLLOUT, &o->watcher);
}

static void session_free(struct session *v)
{
	link_free(v->link);
	free(v);
}

/* Handle the next request of the connection if it has arrived. */
static void session_begin(struct loop *loop, struct session *v)
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
	session_continue(loop, v);
}

static void session_reply(struct loop *loop, struct session *v)
{
	if (!v->size) {
		v->size = request_format_reply(loop->service, &v->request, v->reply,
					       sizeof(v->reply));
		request_log_reply(&v->request, v->size);
	}
	if (!send_rest(loop, v->link, v->reply, v->size, &v->sent)) {
		watch(loop, EPOLL_CTL_MOD, v->link->fd, EPOLLOUT, &v->watcher);
		return;
	}
	v->request.entry->replied = now();
	v->request.entry = NULL;
	if (v->request.close)
		session_free(v);
	else
		session_begin(loop, v);
}

/* After its sleep, or after a call: make the next call or calls, or reply. */
static void session_continue(struct loop *loop, struct session *v)
{
	size_t count = loop->service->target_count;

	if (v->ended == count) {
		session_reply(loop, v);
		return;
	}
	if (loop->service->parallel == PARALLEL_NO && v->begun == v->ended)
		upstream_begin(loop, v, v->begun++);
	while (loop->service->parallel != PARALLEL_NO && v->begun < count)
		upstream_begin(loop, v, v->begun++);
}

static void session_ready(struct loop *loop, struct watcher *w)
{
	struct session *v = (struct session *)w;

	if (v->request.entry && v->size) {
		session_reply(loop, v);
		return;
	}
	if (v->request.entry)
		return; /* its client has disconnected */
	if (link_read(v->link, &loop->service->how) == 0)
		session_free(v);
	else
		session_begin(loop, v);
}

static void accept_all(struct loop *loop, struct watcher *w)
{
	struct link *l;

	while ((l = link_accept(loop->service->listener, SOCK_NONBLOCK))) {
		struct session *v = must_alloc(sizeof(*v));

		v->watcher.ready = session_ready;
		v->link = l;
		watch(loop, EPOLL_CTL_ADD, l->fd, EPOLLIN, &v->watcher);
	}
}

static void wake_sleepers(struct loop *loop)
{
	nsec_t time = now();

	for (size_t i = 0; i < loop->sleepers.count;) {
		struct session *v = loop->sleepers.items[i];

		if (v->due > time) {
			i++;
			continue;
		}
		loop->sleepers.items[i] = loop->sleepers.items[--loop->sleepers.count];
		session_continue(loop, v);
	}
}

/* The maximum time to wait for events; NULL if no session sleeps. */
static struct timespec *time_to_next_timer(const struct loop *loop, struct timespec *buf)
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
			     .listener = { accept_all } };
	struct epoll_event events[64];
	struct timespec buf;

	fcntl(s->listener, F_SETFL, O_NONBLOCK);
	watch(&loop, EPOLL_CTL_ADD, s->listener, EPOLLIN, &loop.listener);
	for (;;) {
		int count = epoll_pwait2(loop.epoll, events, ARRAY_LEN(events),
					 time_to_next_timer(&loop, &buf), NULL);

		for (int i = 0; i < count; i++) {
			struct watcher *w = events[i].data.ptr;

			w->ready(&loop, w);
		}
		wake_sleepers(&loop);
	}
}
