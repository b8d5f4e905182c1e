/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/control.h"
#include "base/control_address.h"

static bool may_talk_to(uid_t uid)
{
	return getuid() == 0 || uid == 0 || uid == getuid();
}

static int set_timeout(int fd, int option, nsec_t timeout)
{
	struct timeval limit = { .tv_sec = timeout / NSEC_PER_SEC,
				 .tv_usec = timeout % NSEC_PER_SEC / NSEC_PER_USEC };

	return setsockopt(fd, SOL_SOCKET, option, &limit, sizeof(limit));
}

int control_connect(const char *address, struct control_peer *ret_peer)
{
	_cleanup_(closep) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un to;
	int size = control_address(address, &to);
	struct ucred peer;
	socklen_t peer_size = sizeof(peer);

	if (size < 0)
		return size;
	if (fd < 0)
		return -errno;
	/* a listener that does not accept must not stop the caller */
	set_timeout(fd, SO_SNDTIMEO, 2 * NSEC_PER_SEC);
	if (connect(fd, (struct sockaddr *)&to, size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) < 0)
		return -errno;
	if (!may_talk_to(peer.uid))
		return -EPERM;
	*ret_peer = (struct control_peer){ peer.pid, peer.uid };
	return TAKE_FD(fd);
}

/* Another process could send commands for the terminal. */
static bool is_printable(const char *text)
{
	while (*text && (unsigned char)*text >= ' ' && *text != 0x7f)
		text++;
	return !*text;
}

int control_ask(int fd, struct view request, nsec_t timeout, struct control_reply *ret)
{
	struct control_reply reply;
	ssize_t n;

	set_timeout(fd, SO_RCVTIMEO, timeout);
	if (send(fd, request.s, request.len, MSG_NOSIGNAL) < 0)
		return errno == EMSGSIZE || errno == EAGAIN ? -errno : -EPIPE;
	while ((n = recv(fd, &reply, sizeof(reply), 0)) < 0 && errno == EINTR)
		;
	if (n < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (n != sizeof(reply))
		return -EPIPE;
	reply.text[sizeof(reply.text) - 1] = '\0';
	if (!is_printable(reply.text))
		return -EBADMSG;
	*ret = reply;
	return 0;
}
