/* SPDX-License-Identifier: Apache-2.0 */
#include "record/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "test.h"

static void wait_for_end(pid_t pid)
{
	siginfo_t info;

	waitid(P_PID, pid, &info, WEXITED | WNOWAIT);
}

TEST(a_command_runs_after_its_release)
{
	char *argv[] = { "sh", "-c", "exit 7", NULL };
	_cleanup_(child_done) struct child child = CHILD_NONE;
	struct err err = { "" };
	int status = 0;

	CHECK_INT(child_hold(argv, &child, &err), 0);
	CHECK(!child_ended(&child, &status));
	CHECK_INT(child_release(&child, argv[0], &err), 0);
	wait_for_end(child.pid);
	CHECK(child_ended(&child, &status));
	CHECK_INT(WEXITSTATUS(status), 7);
}

TEST(a_command_that_is_not_released_does_not_run)
{
	char *argv[] = { "sh", "-c", "exit 7", NULL };
	struct child child = CHILD_NONE;
	struct err err = { "" };
	int status = 7;

	CHECK_INT(child_hold(argv, &child, &err), 0);
	closep(&child.go);
	child.go = -1;
	wait_for_end(child.pid);
	CHECK(child_ended(&child, &status));
	CHECK_INT(status, 0);
	child_done(&child);
}

TEST(a_command_that_cannot_be_executed_is_named)
{
	char *argv[] = { "/no/such/command", NULL };
	_cleanup_(child_done) struct child child = CHILD_NONE;
	struct err err = { "" };

	CHECK_INT(child_hold(argv, &child, &err), 0);
	CHECK_INT(child_release(&child, argv[0], &err), -ENOENT);
	CHECK_STR(err.text, "cannot execute '/no/such/command': No such file or directory");
}

/* For example by Ctrl-C, which signals the whole foreground process group. */
TEST(a_command_killed_before_its_release_is_an_error)
{
	char *argv[] = { "true", NULL };
	_cleanup_(child_done) struct child child = CHILD_NONE;
	struct err err = { "" };

	CHECK_INT(child_hold(argv, &child, &err), 0);
	kill(child.pid, SIGKILL);
	wait_for_end(child.pid);
	CHECK_INT(child_release(&child, argv[0], &err), -EPIPE);
	CHECK_STR(err.text, "'true' was killed before it started");
}
