/* SPDX-License-Identifier: Apache-2.0 */
#include "record/keeper.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "record/keeper_message.h"
#include "record/privilege.h"

/* How long the reader waits for a reply; the keeper only has to fork. */
enum { REPLY_TIMEOUT_MS = 5000 };

struct keeper {
	int control;
	pid_t pid;
	bool has_end; /* a report that arrived while waiting for a reply */
	struct recorder_end end;
};

int keeper_start(const struct record_options *options, struct keeper **ret, struct err *err)
{
	struct record_options o = *options;
	int ends[2], r = privilege_check(err);

	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "cannot create a socket");
	o.reader = getpid();

	pid_t pid = fork();

	if (pid == 0)
		keeper_main(&o, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_errno(err, "cannot start a process");
	}
	*ret = must_alloc(sizeof(**ret));
	**ret = (struct keeper){ .control = ends[0], .pid = pid };
	return 0;
}

/* The keeper ends by itself when its control socket ends. */
void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	close(k->control);
	while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(k);
}

int keeper_fd(const struct keeper *k)
{
	return k->control;
}

static void describe_end(int status, const char *text, struct recorder_end *ret)
{
	ret->status = status;
	ret->failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	if (WIFSIGNALED(status))
		snprintf(ret->text, sizeof(ret->text), "the recorder was killed by signal %d",
			 WTERMSIG(status));
	else
		snprintf(ret->text, sizeof(ret->text), "%s",
			 text[0]       ? text
			 : ret->failed ? "the recorder failed"
				       : "the recorder has ended");
}

/* Receive one message, and the descriptor that comes with it (otherwise -1).  0 if there is none.
 */
static int receive(struct keeper *k, struct keeper_message *ret, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} ancillary;
	struct iovec part = { ret, sizeof(*ret) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &ancillary,
				  .msg_controllen = sizeof(ancillary) };
	ssize_t n = recvmsg(k->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != sizeof(*ret))
		return -EPIPE;

	const struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	*ret_fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	ret->text[sizeof(ret->text) - 1] = '\0';
	return 1;
}

/* Wait for the reply to a START.  The report of an earlier end can come before it. */
static int wait_for_reply(struct keeper *k, struct keeper_message *ret, int *ret_fd)
{
	for (;;) {
		struct pollfd p = { k->control, POLLIN, 0 };
		int r = poll(&p, 1, REPLY_TIMEOUT_MS);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -ETIMEDOUT;
		r = receive(k, ret, ret_fd);
		if (r < 0)
			return r;
		if (r == 1 && ret->kind != KEEPER_ENDED)
			return 0;
		if (r == 1) {
			k->has_end = true;
			describe_end(ret->status, ret->text, &k->end);
		}
	}
}

int keeper_start_recorder(struct keeper *k, int *ret_stream, struct err *err)
{
	struct keeper_message message = { .kind = KEEPER_START };
	int fd = -1, r = 0;

	if (send(k->control, &message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
		r = -EPIPE;
	if (r == 0)
		r = wait_for_reply(k, &message, &fd);
	if (r < 0)
		return err_set(err, r, "cannot start a recorder: its keeper has ended");
	if (message.kind != KEEPER_STARTED || fd < 0) {
		closep(&fd);
		return err_set(err, message.status < 0 ? message.status : -EIO, "%s", message.text);
	}
	*ret_stream = fd;
	return 0;
}

int keeper_poll(struct keeper *k, struct recorder_end *ret)
{
	struct keeper_message message;
	int fd = -1;

	if (k->has_end) {
		k->has_end = false;
		*ret = k->end;
		return 1;
	}

	int r = receive(k, &message, &fd);

	if (r <= 0)
		return r;
	closep(&fd);
	if (message.kind != KEEPER_ENDED)
		return 0;
	describe_end(message.status, message.text, ret);
	return 1;
}
