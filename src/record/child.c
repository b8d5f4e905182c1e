/* SPDX-License-Identifier: Apache-2.0 */
#include "record/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/caps.h"

__attribute__((noreturn)) static void child_main(char **argv, int go, int error)
{
	char byte;

	caps_init(0); /* the command does not inherit the binary's capabilities */
	if (read(go, &byte, 1) != 1)
		_exit(0); /* the recorder failed to start */
	signal(SIGXFSZ, SIG_DFL);
	execvp(argv[0], argv);

	int code = errno;

	if (write(error, &code, sizeof(code)) < 0)
		_exit(126);
	_exit(127);
}

int child_hold(char **argv, struct child *ret, struct err *err)
{
	int go[2], error[2];

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_errno(err, "cannot create a pipe");
	if (pipe2(error, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return err_errno(err, "cannot create a pipe");
	}

	pid_t pid = fork();

	if (pid == 0) {
		close(go[1]);
		close(error[0]);
		child_main(argv, go[0], error[1]);
	}
	close(go[0]);
	close(error[1]);
	*ret = (struct child){ pid, go[1], error[0] };
	if (pid < 0) {
		ret->pid = 0;
		return err_errno(err, "cannot start a process");
	}
	return 0;
}

/* Returns whether the child still runs; if not, ignore SIGPIPE. */
static bool send_go(int go)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

	sigaction(SIGPIPE, &ignore, &before);
	bool sent = write(go, "", 1) == 1;
	sigaction(SIGPIPE, &before, NULL);
	return sent;
}

int child_release(struct child *child, const char *name, struct err *err)
{
	int code = 0;

	if (!send_go(child->go))
		return err_set(err, -EPIPE, "'%s' was killed before it started", name);
	/* a successful exec closes the other end */
	if (read(child->error, &code, sizeof(code)) == sizeof(code))
		return err_set(err, -code, "cannot execute '%s': %s", name, strerror(code));
	return 0;
}

bool child_ended(struct child *child, int *ret_status)
{
	if (!child->pid || waitpid(child->pid, ret_status, WNOHANG) != child->pid)
		return false;
	child->pid = 0;
	return true;
}

void child_done(struct child *child)
{
	closep(&child->go);
	closep(&child->error);
	if (child->pid > 0)
		kill(child->pid, SIGTERM);
	/* wait at most 2 s for a child that ignores the signal */
	for (int i = 0, status; i < 200 && child->pid > 0 && !child_ended(child, &status); i++)
		usleep(10000);
}
