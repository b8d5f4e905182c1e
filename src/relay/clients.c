/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/clients.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "base/clock.h"

enum { ACCEPTS = 64 }; /* connections accepted from a listener at once, to be fair to the others */

#define PAUSE NSEC_PER_SEC /* until the next accept() if there are no descriptors */
#define NEVER UINT64_MAX

static int watch(struct clients *c, int fd, void *ptr)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = ptr };

	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int clients_init(struct clients *c, struct receiver *receiver, const int *listeners, size_t count,
		 struct err *err)
{
	int r;

	c->receiver = receiver;
	c->due = NEVER;
	c->now = clock_now();
	c->listener_count = count;
	c->listeners = must_alloc(count * sizeof(*listeners) + 1);
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	r = c->epoll < 0 || c->timer < 0 ? -errno : watch(c, c->timer, &c->timer);
	for (size_t i = 0; i < count; i++) {
		c->listeners[i] = listeners[i];
		r = r < 0 ? r : watch(c, listeners[i], &c->listeners[i]);
	}
	if (r < 0)
		err_set(err, r, "cannot poll the listeners of the relay: %s", strerror(-r));
	return r;
}

void clients_done(struct clients *c)
{
	closep(&c->timer);
	closep(&c->epoll);
	free(c->listeners);
}

void clients_begin(struct clients *c)
{
	c->now = clock_now();
}

static void list_append(struct client_list *list, struct client *client)
{
	client->older = list->newest;
	client->newer = NULL;
	if (list->newest)
		list->newest->newer = client;
	else
		list->oldest = client;
	list->newest = client;
}

static void list_remove(struct client_list *list, struct client *client)
{
	if (client->older)
		client->older->newer = client->newer;
	else
		list->oldest = client->newer;
	if (client->newer)
		client->newer->older = client->older;
	else
		list->newest = client->older;
}

static void move(struct clients *c, struct client *client, enum client_state state)
{
	list_remove(&c->lists[client->state], client);
	client->state = state;
	client->since = c->now;
	client->received = 0;
	list_append(&c->lists[state], client);
}

void client_set_busy(struct clients *c, struct client *client)
{
	if (client->state == CLIENT_IDLE)
		move(c, client, CLIENT_BUSY);
}

void client_set_idle(struct clients *c, struct client *client)
{
	if (client->state != CLIENT_CLOSING)
		move(c, client, CLIENT_IDLE);
}

void client_progress(struct clients *c, struct client *client, size_t bytes)
{
	client->received += bytes;
	if (client->state == CLIENT_BUSY && client->received >= PROGRESS_BYTES)
		move(c, client, CLIENT_BUSY);
}

static void pause_accept(struct clients *c)
{
	for (size_t i = 0; i < c->listener_count; i++)
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->listeners[i], NULL);
	c->paused_until = c->now + PAUSE;
}

static void resume_accept(struct clients *c)
{
	for (size_t i = 0; i < c->listener_count; i++)
		watch(c, c->listeners[i], &c->listeners[i]);
	c->paused_until = 0;
}

void clients_add(struct clients *c, struct client *client)
{
	client->number = ++c->receiver->intake->last_sender;
	client->state = CLIENT_BUSY;
	client->since = c->now;
	list_append(&c->lists[CLIENT_BUSY], client);
	c->count++;
}

void clients_remove(struct clients *c, struct client *client)
{
	list_remove(&c->lists[client->state], client);
	c->count--;
	if (c->paused_until)
		resume_accept(c);
}

void client_close(struct clients *c, struct client *client)
{
	if (client->state == CLIENT_CLOSING)
		return;
	move(c, client, CLIENT_CLOSING);
	c->close(c->arg, client);
}

/* Closes the connection that has been idle for the longest time; false if none is. */
static bool evict(struct clients *c)
{
	struct client *client = c->lists[CLIENT_IDLE].oldest;

	if (!client)
		return false;
	c->receiver->counters.connections_evicted++;
	client_close(c, client);
	return true;
}

static void accept_all(struct clients *c, int listener)
{
	struct receive_counters *counters = &c->receiver->counters;

	for (int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		bool is_short = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
					   errno == ENOMEM);

		if (is_short && !evict(c))
			pause_accept(c);
		if (fd < 0)
			return; /* the listener is still readable if there are more */
		if (c->count >= c->receiver->limits.connections && !evict(c)) {
			counters->connections_refused++;
			close(fd);
			continue;
		}
		counters->connections++;
		c->open(c->arg, fd);
	}
}

/* Closes all connections of a list that had no progress since a time. */
static void expire(struct clients *c, enum client_state state, nsec_t timeout, uint64_t *counter)
{
	struct client *client;

	while ((client = c->lists[state].oldest) && client->since + timeout <= c->now) {
		++*counter;
		client_close(c, client);
	}
}

static void on_timer(struct clients *c)
{
	struct receive_counters *counters = &c->receiver->counters;
	const struct receive_limits *limits = &c->receiver->limits;
	uint64_t expirations;

	if (read(c->timer, &expirations, sizeof(expirations)) < 0)
		return;
	c->due = NEVER;
	expire(c, CLIENT_BUSY, limits->request_timeout, &counters->connections_expired);
	expire(c, CLIENT_IDLE, limits->idle_timeout, &counters->connections_idle);
	if (c->paused_until && c->paused_until <= c->now)
		resume_accept(c);
}

bool clients_handle(struct clients *c, const struct epoll_event *event)
{
	int *fd = event->data.ptr;

	if (fd == &c->timer)
		on_timer(c);
	else if (fd >= c->listeners && fd < c->listeners + c->listener_count)
		accept_all(c, *fd);
	else
		return false;
	return true;
}

static nsec_t earlier(nsec_t a, nsec_t b)
{
	return a < b ? a : b;
}

/* The timer is set only if it would be late: times of connections mostly move ahead. */
void clients_end(struct clients *c, bool wake)
{
	const struct receive_limits *limits = &c->receiver->limits;
	const struct client *busy = c->lists[CLIENT_BUSY].oldest,
			    *idle = c->lists[CLIENT_IDLE].oldest;
	struct itimerspec timer = { 0 };
	nsec_t due = wake ? 1 : NEVER;

	if (busy)
		due = earlier(due, busy->since + limits->request_timeout);
	if (idle)
		due = earlier(due, idle->since + limits->idle_timeout);
	if (c->paused_until)
		due = earlier(due, c->paused_until);
	if (due >= c->due)
		return;
	c->due = due;
	timer.it_value.tv_sec = due / NSEC_PER_SEC;
	timer.it_value.tv_nsec = due % NSEC_PER_SEC;
	timerfd_settime(c->timer, TFD_TIMER_ABSTIME, &timer, NULL);
}
