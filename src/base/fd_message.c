/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/base.h"

union fd_control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

int fd_message_send(int socket, int status, int fd)
{
	struct iovec part = { &status, sizeof(status) };
	union fd_control control = { .room = { 0 } };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	do
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* The descriptor of a received message, or -1.  There is room for one only. */
static int received_fd(struct msghdr *message)
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

int fd_message_receive(int socket, int *ret_fd)
{
	int status = 0;
	struct iovec part = { &status, sizeof(status) };
	union fd_control control;
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t n;

	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;

	_cleanup_(closep) int fd = received_fd(&message);

	if (n != sizeof(status) || status > 0 || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EBADMSG;
	if (status == 0 && ret_fd)
		*ret_fd = TAKE_FD(fd);
	return status;
}
