/* SPDX-License-Identifier: Apache-2.0 */
#include "record/offer.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "event/span_wire.h"

enum { BACKLOG = 1024 };

int offer_listen(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t size = offsetof(struct sockaddr_un, sun_path) + sizeof(SPAN_SOCKET_NAME);
	_cleanup_(closep) int fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* abstract: a 0 before the name, and none behind it */
	memcpy(address.sun_path + 1, SPAN_SOCKET_NAME, sizeof(SPAN_SOCKET_NAME) - 1);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return TAKE_FD(fd);
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
	const __u32 no = 0;

	/* if that fails, it finds out by itself */
	if (pwrite(fd, &no, sizeof(no), offsetof(struct span_arena, recording)) < 0)
		return;
}
