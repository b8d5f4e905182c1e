/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/caps.h"
#include "flight/capture_dir.h"
#include "flight/snap.h"
#include "flight/snap_wire.h"

/* More connections of the allowed users wait in the kernel, or are refused there. */
enum { CLIENTS_MAX = 8 };

struct snap_client {
	int fd;
	bool has_asked;
};

struct snap_server {
	int epoll, listener;
	uid_t users[2]; /* that may ask, beside root */
	struct snap_client clients[CLIENTS_MAX];
	size_t client_count;
};

static int watch(const struct snap_server *s, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* The socket is created with the mode that it keeps: chmod() could follow another user's link. */
static int listen_at(const struct snap_server *s, const struct sockaddr_un *address)
{
	mode_t before = umask(0177);
	int r = bind(s->listener, (const struct sockaddr *)address, sizeof(*address));

	umask(before);
	if (r < 0 || listen(s->listener, CLIENTS_MAX) < 0 || watch(s, s->listener) < 0)
		return -errno;
	return 0;
}

static void find_users(struct snap_server *s)
{
	gid_t gid;

	s->users[0] = s->users[1] = geteuid();
	caps_sudo_user(&s->users[1], &gid);
}

int snap_server_new(const char *directory, struct snap_server **ret, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t room = sizeof(address.sun_path);
	int n = snprintf(address.sun_path, room, "%s/" CAPTURE_DIR_SOCKET "%d", directory,
			 getpid());

	if (n < 0 || (size_t)n >= room)
		return err_set(err, -ENAMETOOLONG,
			       "'sonde snap' will not work, because the path of '%s' is too long "
			       "for a socket; SIGUSR1 does",
			       directory);

	_cleanup_(snap_server_freep) struct snap_server *s = must_alloc(sizeof(*s));

	find_users(s);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = s->epoll < 0 || s->listener < 0 ? -errno : listen_at(s, &address);
	if (r < 0)
		return err_set(err, r, "'sonde snap' will not work: cannot create '%s': %s",
			       address.sun_path, strerror(-r));
	if (s->users[1] != s->users[0] && lchown(address.sun_path, s->users[1], -1) < 0)
		s->users[1] = s->users[0];
	*ret = TAKE(s);
	return 0;
}

void snap_server_free(struct snap_server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->client_count; i++)
		close(s->clients[i].fd);
	closep(&s->listener);
	closep(&s->epoll);
	free(s);
}

int snap_server_fd(const struct snap_server *s)
{
	return s->epoll;
}

static bool is_allowed(const struct snap_server *s, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == s->users[0] || peer.uid == s->users[1]);
}

static void drop_client(struct snap_server *s, size_t at)
{
	close(s->clients[at].fd);
	s->clients[at] = s->clients[--s->client_count];
}

/* One at a time: the rest wakes the caller again. */
static void accept_client(struct snap_server *s)
{
	_cleanup_(closep) int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 || !is_allowed(s, fd))
		return;
	for (size_t i = 0; i < s->client_count && s->client_count == CLIENTS_MAX; i++)
		if (!s->clients[i].has_asked)
			drop_client(s, i);
	if (s->client_count < CLIENTS_MAX && watch(s, fd) == 0)
		s->clients[s->client_count++] = (struct snap_client){ .fd = TAKE_FD(fd) };
}

/* Clients that have sent their byte, or have gone. */
static void read_clients(struct snap_server *s)
{
	char byte[64];

	for (size_t i = s->client_count; i-- > 0;) {
		ssize_t n = recv(s->clients[i].fd, byte, sizeof(byte), 0);

		if (n > 0)
			s->clients[i].has_asked = true;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			drop_client(s, i);
	}
}

bool snap_server_poll(struct snap_server *s)
{
	accept_client(s);
	read_clients(s);
	for (size_t i = 0; i < s->client_count; i++)
		if (s->clients[i].has_asked)
			return true;
	return false;
}

void snap_server_reply(struct snap_server *s, int code, const char *text)
{
	struct snap_reply reply = { .code = code };

	snprintf(reply.text, sizeof(reply.text), "%s", text);
	for (size_t i = s->client_count; i-- > 0;)
		if (s->clients[i].has_asked) {
			send(s->clients[i].fd, &reply, sizeof(reply), MSG_NOSIGNAL);
			drop_client(s, i);
		}
}
