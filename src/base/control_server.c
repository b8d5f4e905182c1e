/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "base/caps.h"
#include "base/control.h"
#include "base/control_address.h"

struct control_client {
	int fd;
	char *request; /* NULL: none yet */
	size_t size;
};

struct control_server {
	int epoll, listener;
	uid_t users[2]; /* that may send requests, beside root */
	struct control_client clients[CONTROL_CLIENTS];
	size_t client_count;
};

static int watch(const struct control_server *s, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* The socket is created with the mode that it keeps: chmod() could follow another user's link. */
static int listen_at(const struct control_server *s, const char *address)
{
	struct sockaddr_un bound;
	int size = control_address(address, &bound);

	if (size < 0)
		return size;

	mode_t before = umask(0177);
	int r = bind(s->listener, (const struct sockaddr *)&bound, size);

	umask(before);
	if (r < 0 || listen(s->listener, CONTROL_CLIENTS) < 0 || watch(s, s->listener) < 0)
		return -errno;
	return 0;
}

/* The user who called sudo must be able to connect, too. */
static void find_users(struct control_server *s, const char *address)
{
	gid_t gid;

	s->users[0] = s->users[1] = geteuid();
	if (caps_sudo_user(&s->users[1], &gid) && address[0] != '@' &&
	    lchown(address, s->users[1], -1) < 0)
		s->users[1] = s->users[0];
}

int control_server_new(const char *address, struct control_server **ret)
{
	_cleanup_(control_server_freep) struct control_server *s = must_alloc(sizeof(*s));

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = s->epoll < 0 || s->listener < 0 ? -errno : listen_at(s, address);
	if (r < 0)
		return r;
	find_users(s, address);
	*ret = TAKE(s);
	return 0;
}

static void drop_client(struct control_server *s, size_t at)
{
	close(s->clients[at].fd);
	free(s->clients[at].request);
	s->client_count--;
	memmove(&s->clients[at], &s->clients[at + 1],
		(s->client_count - at) * sizeof(s->clients[0]));
}

void control_server_free(struct control_server *s)
{
	if (!s)
		return;
	while (s->client_count)
		drop_client(s, s->client_count - 1);
	closep(&s->listener);
	closep(&s->epoll);
	free(s);
}

int control_server_fd(const struct control_server *s)
{
	return s->epoll;
}

static bool is_allowed(const struct control_server *s, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == s->users[0] || peer.uid == s->users[1]);
}

/* One at a time: the rest wakes the caller again. */
static void accept_client(struct control_server *s)
{
	_cleanup_(closep) int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 || !is_allowed(s, fd))
		return;
	for (size_t i = 0; i < s->client_count && s->client_count == CONTROL_CLIENTS; i++)
		if (!s->clients[i].request)
			drop_client(s, i);
	if (s->client_count < CONTROL_CLIENTS && watch(s, fd) == 0)
		s->clients[s->client_count++] = (struct control_client){ .fd = TAKE_FD(fd) };
}

/* Whether a client goes on: it has sent its only request, or nothing yet. */
static bool read_client(struct control_client *c)
{
	char peeked;
	ssize_t n = recv(c->fd, &peeked, 1, MSG_PEEK | MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0 || n > CONTROL_REQUEST_MAX || c->request)
		return false;
	c->request = must_alloc(n);
	c->size = n;
	return recv(c->fd, c->request, n, 0) == n;
}

bool control_server_poll(struct control_server *s)
{
	struct view unused;

	accept_client(s);
	for (size_t i = s->client_count; i-- > 0;)
		if (!read_client(&s->clients[i]))
			drop_client(s, i);
	return control_server_next(s, &unused);
}

bool control_server_next(const struct control_server *s, struct view *ret)
{
	for (size_t i = 0; i < s->client_count; i++)
		if (s->clients[i].request) {
			*ret = (struct view){ s->clients[i].request, s->clients[i].size };
			return true;
		}
	return false;
}

void control_server_reply(struct control_server *s, int code, const char *text)
{
	struct control_reply reply = { .code = code };
	size_t at = 0;

	while (at < s->client_count && !s->clients[at].request)
		at++;
	if (at == s->client_count)
		return;
	snprintf(reply.text, sizeof(reply.text), "%s", text);
	send(s->clients[at].fd, &reply, sizeof(reply), MSG_NOSIGNAL);
	drop_client(s, at);
}
