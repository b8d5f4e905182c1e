/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/curl_loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define PAUSE_LAST NSEC_PER_MSEC

enum { EVENTS = 16 };
enum { WRITES_AT_ONCE = 32, PAUSE_DOUBLINGS = 4 };

static struct curl_socket *find_socket(struct curl_loop *loop, int fd)
{
	for (size_t i = 0; i < loop->sockets.count; i++)
		if (loop->sockets.items[i].fd == fd)
			return &loop->sockets.items[i];
	return NULL;
}

static int wait_for(struct curl_loop *loop, const struct curl_socket *s)
{
	struct epoll_event e = { .events = s->wanted, .data.fd = s->fd };

	if (s->resume != TIME_NEVER)
		e.events &= ~(uint32_t)EPOLLOUT;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, s->fd, &e) == 0)
		return 0;
	return errno == ENOENT ? epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, s->fd, &e) : -1;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct curl_loop *loop = arg;
	struct curl_socket *s = find_socket(loop, fd);

	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		if (s) {
			const struct curl_socket last = loop->sockets.items[--loop->sockets.count];

			*s = last;
		}
		return 0;
	}
	if (!s) {
		s = vec_push(&loop->sockets);
		*s = (struct curl_socket){ .fd = fd, .resume = TIME_NEVER };
	}
	s->wanted = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
	return wait_for(loop, s);
}

static int on_timeout(CURLM *multi, long ms, void *arg)
{
	struct curl_loop *loop = arg;

	loop->due = ms < 0 ? TIME_NEVER : clock_now() + (nsec_t)ms * NSEC_PER_MSEC;
	return 0;
}

static int check_library(struct err *err)
{
	const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);

	if (!(info->features & CURL_VERSION_ASYNCHDNS) || !(info->features & CURL_VERSION_HTTP2))
		return err_set(err, -ENOTSUP,
			       "libcurl %s resolves names synchronously or has no HTTP/2; install "
			       "libcurl4, which has both",
			       info->version);
	return 0;
}

int curl_loop_init(struct curl_loop *loop, struct err *err)
{
	struct epoll_event e = { .events = EPOLLIN };
	int r;

	*loop = (struct curl_loop){ .due = TIME_NEVER, .armed = TIME_NEVER };
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	e.data.fd = loop->timer_fd;
	if (loop->epoll_fd < 0 || loop->timer_fd < 0 ||
	    epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->timer_fd, &e) < 0) {
		r = err_errno(err, "cannot create a timer");
		curl_loop_done(loop);
		return r;
	}
	loop->multi = curl_multi_init();
	r = loop->multi ? check_library(err) : err_set(err, -ENOMEM, "cannot initialise libcurl");
	if (r < 0) {
		curl_loop_done(loop);
		return r;
	}
	curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
	curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
	return 0;
}

void curl_loop_done(struct curl_loop *loop)
{
	curl_multi_cleanup(loop->multi); /* calls on_socket() */
	vec_done(&loop->sockets);
	closep(&loop->timer_fd);
	closep(&loop->epoll_fd);
	*loop = (struct curl_loop){ .epoll_fd = -1, .timer_fd = -1 };
}

static void resume(struct curl_loop *loop, struct curl_socket *s)
{
	s->resume = TIME_NEVER;
	wait_for(loop, s);
}

/* After the socket was writable, and perhaps nothing was written. */
static void pause_writes(struct curl_loop *loop, struct curl_socket *s)
{
	nsec_t pause = PAUSE_LAST;

	if (!(s->wanted & EPOLLOUT) || ++s->writes < WRITES_AT_ONCE)
		return;
	if (s->writes - WRITES_AT_ONCE < PAUSE_DOUBLINGS)
		pause >>= PAUSE_DOUBLINGS - (s->writes - WRITES_AT_ONCE);
	s->resume = clock_now() + pause;
	wait_for(loop, s);
}

static void act_on_socket(struct curl_loop *loop, const struct epoll_event *e)
{
	struct curl_socket *s = find_socket(loop, e->data.fd);
	bool is_input = e->events & ~(uint32_t)EPOLLOUT;
	int running, events = 0;

	if (!s)
		return; /* closed since the event */
	if (e->events & EPOLLIN)
		events |= CURL_CSELECT_IN;
	/* input can be the permission to write */
	if (e->events & EPOLLOUT || s->resume != TIME_NEVER)
		events |= CURL_CSELECT_OUT;
	if (e->events & (EPOLLERR | EPOLLHUP))
		events |= CURL_CSELECT_ERR;
	if (is_input) {
		s->writes = 0;
		resume(loop, s);
	}
	curl_multi_socket_action(loop->multi, e->data.fd, events, &running);
	s = find_socket(loop, e->data.fd);
	if (s && !is_input)
		pause_writes(loop, s);
}

static void act_on(struct curl_loop *loop, const struct epoll_event *e)
{
	uint64_t expirations;

	if (e->data.fd != loop->timer_fd)
		act_on_socket(loop, e);
	else if (read(loop->timer_fd, &expirations, sizeof(expirations)) > 0)
		loop->armed = TIME_NEVER;
}

void curl_loop_run(struct curl_loop *loop)
{
	struct epoll_event events[EVENTS];
	int running, n = epoll_wait(loop->epoll_fd, events, EVENTS, 0);
	nsec_t now = clock_now();

	for (int i = 0; i < n; i++)
		act_on(loop, &events[i]);
	for (size_t i = 0; i < loop->sockets.count; i++)
		if (loop->sockets.items[i].resume <= now)
			resume(loop, &loop->sockets.items[i]);
	if (loop->due <= now) {
		loop->due = TIME_NEVER; /* libcurl sets it again if it needs another one */
		curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
}

CURL *curl_loop_complete(struct curl_loop *loop, CURLcode *ret_result)
{
	int left;

	for (const CURLMsg *m; (m = curl_multi_info_read(loop->multi, &left));)
		if (m->msg == CURLMSG_DONE) {
			*ret_result = m->data.result;
			return m->easy_handle;
		}
	return NULL;
}

void curl_loop_wake(struct curl_loop *loop, nsec_t time)
{
	struct itimerspec at = { 0 };

	if (loop->due < time)
		time = loop->due;
	for (size_t i = 0; i < loop->sockets.count; i++)
		if (loop->sockets.items[i].resume < time)
			time = loop->sockets.items[i].resume;
	if (time >= loop->armed)
		return;
	/* a time of zero would stop the timer */
	at.it_value.tv_sec = time / NSEC_PER_SEC;
	at.it_value.tv_nsec = time ? time % NSEC_PER_SEC : 1;
	timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
	loop->armed = time;
}
