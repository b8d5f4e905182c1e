/* SPDX-License-Identifier: Apache-2.0 */
#include "record/offer.h"

#include <errno.h>

#include "base/vec.h"
#include "event/span_socket.h"

enum {
	BACKLOG = 1024,
	GUESTS = 64, /* at a time */
};

struct offers {
	int listener;    /* -1 if there is none */
	VEC(int) guests; /* who have connected */
};

/* At the first name that is free; -1 if none is. */
static int listen_there(void)
{
	_cleanup_(closep) int fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -1 : -EADDRINUSE;

	for (int i = 0; i < SPAN_SOCKETS && r == -EADDRINUSE; i++) {
		struct sockaddr_un address;
		socklen_t size = span_socket_name(i, &address);

		r = bind(fd, (struct sockaddr *)&address, size) < 0 ? -errno : 0;
	}
	return r < 0 || listen(fd, BACKLOG) < 0 ? -1 : TAKE_FD(fd);
}

struct offers *offers_new(void)
{
	struct offers *offers = must_alloc(sizeof(*offers));

	offers->listener = listen_there();
	return offers;
}

void offers_free(struct offers *offers)
{
	if (!offers)
		return;
	for (size_t i = 0; i < offers->guests.count; i++)
		close(offers->guests.items[i]);
	vec_done(&offers->guests);
	closep(&offers->listener);
	free(offers);
}

/*
 * The one descriptor of a message; -EAGAIN if nothing has come, -EBADMSG if it is not
 * what it should be.  More than one does not fit, and is closed by the kernel.
 */
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
				  /* in CMSG_SPACE() there is room for two */
				  .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -errno;

	const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	int fd = -EBADMSG;

	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

/* Between its call and its offer, an agent may be held up; but those who just stay make room. */
static void welcome(struct offers *offers)
{
	int guest;

	while (offers->listener >= 0 && offers->guests.count < GUESTS &&
	       (guest = accept4(offers->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		*vec_push(&offers->guests) = guest;
}

static void say_goodbye(struct offers *offers, size_t i)
{
	close(offers->guests.items[i]);
	memmove(&offers->guests.items[i], &offers->guests.items[i + 1],
		(--offers->guests.count - i) * sizeof(offers->guests.items[0]));
}

bool offers_take(struct offers *offers, uint32_t *ret_pid, int *ret_fd)
{
	welcome(offers);
	for (size_t i = 0; i < offers->guests.count;) {
		struct ucred peer = { 0 };
		socklen_t size = sizeof(peer);
		int s = offers->guests.items[i], fd = receive_fd(s);

		if (fd == -EAGAIN && offers->guests.count < GUESTS) {
			i++;
			continue;
		}

		int r = getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &size);

		say_goodbye(offers, i);
		if (fd >= 0 && r == 0) {
			*ret_pid = peer.pid;
			*ret_fd = fd;
			return true;
		}
		closep(&fd);
	}
	return false;
}
