/* SPDX-License-Identifier: Apache-2.0 */
#include "record/offer.h"

#include <errno.h>

#include "event/span_socket.h"

enum { BACKLOG = 1024 };

int offer_listen(void)
{
	_cleanup_(closep) int fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : -EADDRINUSE;

	for (int i = 0; i < SPAN_SOCKETS && r == -EADDRINUSE; i++) {
		struct sockaddr_un address;
		socklen_t size = span_socket_name(i, &address);

		r = bind(fd, (struct sockaddr *)&address, size) < 0 ? -errno : 0;
	}
	if (r < 0)
		return r;
	return listen(fd, BACKLOG) < 0 ? -errno : TAKE_FD(fd);
}

/* The one descriptor of a message; -1 if it has none. More do not fit, and are closed by the
 * kernel. */
static int receive_fd(int socket)
{
	char byte;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *head = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
	int fd = -1;

	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

bool offer_take(int listener, uint32_t *ret_pid, int *ret_fd)
{
	for (;;) {
		struct ucred peer = { 0 };
		socklen_t size = sizeof(peer);
		_cleanup_(closep) int s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (s < 0)
			return false;

		int fd = receive_fd(s);

		if (fd >= 0 && getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
			*ret_pid = peer.pid;
			*ret_fd = fd;
			return true;
		}
		closep(&fd);
	}
}

void offer_refuse(int fd)
{
	const off_t place = offsetof(struct span_arena, recording);
	__u32 offers;

	/* if that fails, the agent finds out by itself that nobody comes */
	if (pread(fd, &offers, sizeof(offers), place) != sizeof(offers) || offers == 0)
		return;
	offers--;
	if (pwrite(fd, &offers, sizeof(offers), place) < 0)
		return;
}
