/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_main - the process that starts recorders (keeper.h).
 *
 * It has the privileges to record and a hostile reader at worst, so it does little: it reads
 * messages whose content does not matter, forks, waits, and writes.  It allocates no memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/caps.h"
#include "record/keeper_message.h"
#include "record/privilege.h"
#include "record/serve.h"

/* How long a recorder may take to end after SIGTERM. */
enum { END_TIMEOUT_MS = 2000 };

enum { CONTROL = 3 }; /* descriptor of the control socket */

struct keeping {
	const struct record_options *options; /* borrowed */
	pid_t recorder;                       /* 0: none */
	int pidfd;
	int report; /* pipe: the error message of the recorder */
};

/* A recorder that failed writes its message here and exits. */
__attribute__((noreturn)) static void recorder_main(const struct record_options *options,
						    int stream, int report)
{
	struct err err = { "" };
	int r = recorder_serve(options, stream, &err);

	if (r == 0)
		_exit(0);
	_exit(write(report, err.text, strlen(err.text)) < 0 ? 2 : 1);
}

static void reply(enum keeper_message_kind kind, int status, const char *text, int fd)
{
	struct keeper_message message = { .kind = kind, .status = status };
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} ancillary = { 0 };
	struct iovec part = { &message, sizeof(message) };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	snprintf(message.text, sizeof(message.text), "%s", text);
	if (fd >= 0) {
		m.msg_control = &ancillary;
		m.msg_controllen = sizeof(ancillary.room);
		*CMSG_FIRSTHDR(&m) =
			(struct cmsghdr){ CMSG_LEN(sizeof(fd)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
	}
	/* the reader is gone, or does not read: poll() tells */
	(void)!sendmsg(CONTROL, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void refuse(int code, const char *what)
{
	char text[256];

	snprintf(text, sizeof(text), "cannot start a recorder: %s: %s", what, strerror(code));
	reply(KEEPER_REFUSED, -code, text, -1);
}

static void close_pair(int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

static void fork_recorder(struct keeping *k, int stream[2], int report[2])
{
	pid_t pid = fork();

	if (pid == 0) {
		close(CONTROL);
		close(stream[0]);
		close(report[0]);
		recorder_main(k->options, stream[1], report[1]);
	}
	if (pid < 0) {
		refuse(errno, "fork");
		close_pair(stream);
		close_pair(report);
		return;
	}
	k->recorder = pid;
	k->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	k->report = report[0];
	close(report[1]);
	close(stream[1]);
	reply(KEEPER_STARTED, 0, "", stream[0]);
	close(stream[0]);
}

static void start_recorder(struct keeping *k)
{
	int stream[2], report[2];

	if (k->recorder) {
		reply(KEEPER_REFUSED, -EBUSY, "a recorder runs already", -1);
		return;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, stream) < 0) {
		refuse(errno, "socketpair");
		return;
	}
	if (pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0) {
		refuse(errno, "pipe");
		close_pair(stream);
		return;
	}
	fork_recorder(k, stream, report);
}

static void report_end(struct keeping *k, int status)
{
	char text[sizeof(((struct keeper_message *)0)->text)];
	ssize_t n = read(k->report, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	close(k->report);
	close(k->pidfd);
	k->recorder = 0;
	k->pidfd = k->report = -1;
	reply(KEEPER_ENDED, status, text, -1);
}

static void check_recorder(struct keeping *k)
{
	int status;

	if (k->recorder && waitpid(k->recorder, &status, WNOHANG) == k->recorder)
		report_end(k, status);
}

/* The reader has ended. */
__attribute__((noreturn)) static void end(struct keeping *k)
{
	struct pollfd p = { k->pidfd, POLLIN, 0 };

	if (k->recorder) {
		kill(k->recorder, SIGTERM);
		poll(&p, 1, END_TIMEOUT_MS);
		kill(k->recorder, SIGKILL);
		waitpid(k->recorder, NULL, 0);
	}
	_exit(0);
}

/* Own process group, default signals, and no descriptor of the reader except the control socket. */
static void leave_reader(int control)
{
	static const int defaults[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
					SIGUSR2, SIGWINCH, SIGALRM, SIGCHLD };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	setpgid(0, 0);
	for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
		signal(defaults[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (control != CONTROL)
		dup3(control, CONTROL, O_CLOEXEC);
	for (int fd = 0; fd < CONTROL && null >= 0; fd++)
		if (fd != STDERR_FILENO || !secure_getenv("SONDE_DEBUG"))
			dup2(null, fd);
	close_range(CONTROL + 1, ~0u, 0);
}

void keeper_main(const struct record_options *options, int control)
{
	struct keeping k = { .options = options, .pidfd = -1, .report = -1 };
	struct err err;

	leave_reader(control);
	prctl(PR_SET_NAME, "sonde-keeper");
	if (privilege_limit_keeper(options->event_count > 0, &err) < 0)
		reply(KEEPER_REFUSED, -EPERM, err.text, -1);
	for (;;) {
		struct pollfd p[] = { { CONTROL, POLLIN, 0 }, { k.pidfd, POLLIN, 0 } };
		struct keeper_message message;

		if (poll(p, ARRAY_LEN(p), -1) < 0 && errno != EINTR)
			end(&k);
		check_recorder(&k);
		if (!p[0].revents)
			continue;

		ssize_t n = recv(CONTROL, &message, sizeof(message), MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			end(&k);
		if (n == sizeof(message) && message.kind == KEEPER_START)
			start_recorder(&k);
	}
}
