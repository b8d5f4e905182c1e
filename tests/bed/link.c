/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

#include "link.h"

#define PIECE_PAUSE (100 * NSEC_PER_USEC) /* long enough for the peer to read a piece */

const char *const way_names[WAY_COUNT] = { "send",    "write",    "writev",
					   "sendmsg", "sendfile", "splice" };

union any_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_storage storage;
};

static socklen_t parse_unix(const char *path, union any_address *ret)
{
	ret->un.sun_family = AF_UNIX;
	snprintf(ret->un.sun_path, sizeof(ret->un.sun_path), "%s", path);
	return sizeof(ret->un);
}

static socklen_t parse_address(const char *text, union any_address *ret)
{
	char host[64];
	unsigned port;

	memset(ret, 0, sizeof(*ret));
	if (strncmp(text, "unix:", 5) == 0)
		return parse_unix(text + 5, ret);
	if (sscanf(text, "[%63[^]]]:%u", host, &port) == 2 &&
	    inet_pton(AF_INET6, host, &ret->in6.sin6_addr) == 1) {
		ret->in6.sin6_family = AF_INET6;
		ret->in6.sin6_port = htons((uint16_t)port);
		return sizeof(ret->in6);
	}
	if (sscanf(text, "%63[^:]:%u", host, &port) == 2 &&
	    inet_pton(AF_INET, host, &ret->in.sin_addr) == 1) {
		ret->in.sin_family = AF_INET;
		ret->in.sin_port = htons((uint16_t)port);
		return sizeof(ret->in);
	}
	errno = EINVAL;
	die("'%s' is not an address", text);
}

static void format_address(const union any_address *a, char *ret, size_t room)
{
	char host[INET6_ADDRSTRLEN];

	if (a->any.sa_family == AF_INET)
		snprintf(ret, room, "%s:%u",
			 inet_ntop(AF_INET, &a->in.sin_addr, host, sizeof(host)),
			 ntohs(a->in.sin_port));
	else if (a->any.sa_family == AF_INET6)
		snprintf(ret, room, "[%s]:%u",
			 inet_ntop(AF_INET6, &a->in6.sin6_addr, host, sizeof(host)),
			 ntohs(a->in6.sin6_port));
	else
		snprintf(ret, room, "unix");
}

void link_name_ends(struct link *l)
{
	union any_address local, peer;
	socklen_t local_size = sizeof(local), peer_size = sizeof(peer);
	struct stat st;

	if (getsockname(l->fd, &local.any, &local_size) ||
	    getpeername(l->fd, &peer.any, &peer_size) || fstat(l->fd, &st))
		die("cannot get the addresses of a connection");
	format_address(&local, l->ends.local, sizeof(l->ends.local));
	format_address(&peer, l->ends.peer, sizeof(l->ends.peer));
	l->ends.inode = st.st_ino;
}

int link_listen(const char *at)
{
	union any_address address;
	socklen_t size = parse_address(at, &address);
	int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, &address.any, size) || listen(fd, 1024))
		die("cannot listen on '%s'", at);
	return fd;
}

static struct link *link_new(int fd)
{
	struct link *l = must_alloc(sizeof(*l));
	int on = 1;

	l->fd = fd;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on,
		   sizeof(on)); /* fails harmlessly if it is not TCP */
	return l;
}

struct link *link_accept(int listener, int flags)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | flags);

	if (fd < 0 && errno == EAGAIN)
		return NULL;
	if (fd < 0)
		die("cannot accept a connection");

	struct link *l = link_new(fd);
	link_name_ends(l);
	return l;
}

struct link *link_connect(const char *to, int flags)
{
	union any_address address;
	socklen_t size = parse_address(to, &address);
	int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	if (fd < 0 || (connect(fd, &address.any, size) && errno != EINPROGRESS))
		die("cannot connect to '%s'", to);

	struct link *l = link_new(fd);
	if (!(flags & SOCK_NONBLOCK))
		link_name_ends(l);
	return l;
}

void link_free(struct link *l)
{
	if (!l)
		return;
	close(l->fd);
	free(l);
}

ssize_t link_read(struct link *l, const struct io_style *how)
{
	size_t room = sizeof(l->buf) - l->used;
	ssize_t size = read(l->fd, l->buf + l->used,
			    how->read_size && how->read_size < room ? how->read_size : room);

	if (size < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (size < 0 && errno == ECONNRESET)
		return 0;
	if (size < 0)
		die("cannot read from %s", l->ends.peer);
	l->last = (struct reading){ .tid = (uint32_t)gettid(), .time = now() };
	if (!l->used)
		l->first = l->last;
	l->used += (size_t)size;
	return size;
}

/* The remaining bytes came with the last read. */
void link_take(struct link *l, size_t size)
{
	l->used -= size;
	memmove(l->buf, l->buf + size, l->used);
	l->first = l->last;
}

static ssize_t send_writev(int fd, const char *bytes, size_t size)
{
	size_t half = size / 2;
	struct iovec parts[] = {
		{ .iov_base = (void *)bytes, .iov_len = half },
		{ .iov_base = (void *)(bytes + half), .iov_len = size - half },
	};

	return writev(fd, parts, ARRAY_LEN(parts));
}

static ssize_t send_msg(int fd, const char *bytes, size_t size)
{
	struct iovec part = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static ssize_t send_file(int fd, const char *bytes, size_t size)
{
	static _Thread_local int file = -1;
	off_t at = 0;

	if (file < 0)
		file = memfd_create("bed", MFD_CLOEXEC);
	if (pwrite(file, bytes, size, 0) != (ssize_t)size)
		die("cannot write a file to send");
	return sendfile(fd, file, &at, size);
}

static ssize_t send_splice(int fd, const char *bytes, size_t size)
{
	static _Thread_local int ends[2] = { -1, -1 };
	char rest[1 << 16];

	if (ends[0] < 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		die("cannot open a pipe");

	ssize_t held = write(ends[1], bytes, size < sizeof(rest) ? size : sizeof(rest));
	if (held < 0)
		die("cannot write to a pipe");

	ssize_t sent = splice(ends[0], NULL, fd, NULL, (size_t)held, 0);
	int error = errno;
	while (read(ends[0], rest, sizeof(rest)) > 0)
		; /* the caller sends the rest again */
	errno = error;
	return sent;
}

static ssize_t send_by(int fd, enum way way, const char *bytes, size_t size)
{
	switch (way) {
	case WAY_WRITE:
		return write(fd, bytes, size);
	case WAY_WRITEV:
		return send_writev(fd, bytes, size);
	case WAY_SENDMSG:
		return send_msg(fd, bytes, size);
	case WAY_SENDFILE:
		return send_file(fd, bytes, size);
	case WAY_SPLICE:
		return send_splice(fd, bytes, size);
	default:
		return send(fd, bytes, size, MSG_NOSIGNAL);
	}
}

ssize_t link_send_some(struct link *l, const struct io_style *how, const char *bytes, size_t size,
		       size_t whole)
{
	size_t piece = how->pieces > 1 ? whole / how->pieces + 1 : size;
	ssize_t sent = send_by(l->fd, how->way, bytes, size < piece ? size : piece);

	if (sent < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (sent < 0)
		die("cannot send to %s", l->ends.peer);
	return sent;
}

void link_send(struct link *l, const struct io_style *how, const char *bytes, size_t size)
{
	struct pollfd room = { .fd = l->fd, .events = POLLOUT };

	for (size_t done = 0; done < size;) {
		ssize_t sent = link_send_some(l, how, bytes + done, size - done, size);

		if (sent < 0) {
			poll(&room, 1, -1);
			continue;
		}
		done += (size_t)sent;
		if (how->pieces > 1 && done < size)
			nanosleep(&(struct timespec){ .tv_nsec = PIECE_PAUSE }, NULL);
	}
}
