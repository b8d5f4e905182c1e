/* SPDX-License-Identifier: Apache-2.0 */
#include "record/scope.h"

#include <signal.h>
#include <sys/wait.h>

#include "test.h"

TEST(a_zombie_counts_as_exiting)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	CHECK(!scope_is_exiting(pid));
	kill(pid, SIGKILL);
	CHECK_INT(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	CHECK(scope_is_exiting(pid)); /* as a zombie */
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	CHECK(scope_is_exiting(pid));
	CHECK(!scope_is_exiting(getpid()));
}
