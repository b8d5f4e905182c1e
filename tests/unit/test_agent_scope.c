/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/agent_scope.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "arena_build.h"
#include "base/map.h"
#include "record/clock.h"
#include "record/spans/scope_quota.h"
#include "test.h"

enum { ALICE = 54321 };

/* Instead of BPF programs: the processes that were added, and those with threads in scope. */
struct rig {
	struct map added, in_scope;
	size_t ports;
	struct agent_scope *scope;
};

static int has_process(void *arg, uint32_t pid)
{
	const struct rig *rig = arg;

	return map_find(&rig->in_scope, pid) ? 1 : 0;
}

static int add_process(void *arg, uint32_t pid, nsec_t latest, struct err *err)
{
	struct rig *rig = arg;

	(void)err;
	CHECK(latest <= clock_now());
	*map_insert(&rig->added, pid) = latest;
	return 0;
}

static void remove_process(void *arg, uint32_t pid)
{
	struct rig *rig = arg;

	map_remove(&rig->added, pid);
}

static void add_port(void *arg, uint16_t port)
{
	struct rig *rig = arg;

	rig->ports += port != 0;
}

static int find_threads(void *arg, struct err *err)
{
	struct rig *rig = arg;
	uint64_t pid, latest;

	(void)err;
	for (size_t at = 0; map_next(&rig->added, &at, &pid, &latest);)
		map_insert(&rig->in_scope, pid);
	return 0;
}

static void rig_init(struct rig *rig)
{
	*rig = (struct rig){ 0 };
	rig->scope = agent_scope_new(&(struct agent_scope_programs){
		has_process, add_process, remove_process, add_port, find_threads, rig });
}

static void rig_done(struct rig *rig)
{
	agent_scope_free(rig->scope);
	map_done(&rig->added);
	map_done(&rig->in_scope);
}

/* Until all processes were examined; other processes of the host may be among them. */
static void run_first_pass(struct rig *rig)
{
	for (int i = 0; i < 100000 && agent_scope_is_starting(rig->scope); i++)
		agent_scope_run(rig->scope);
	CHECK(!agent_scope_is_starting(rig->scope));
}

/* Dies with its parent, and writes its pid once that is certain; otherwise it would outlive the
 * test. */
static void wait_for_end(int ready)
{
	pid_t self = getpid();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(ready, &self, sizeof(self)) != sizeof(self))
		abort();
	for (;;)
		pause();
}

static pid_t read_pid(int ready)
{
	pid_t pid;

	if (read(ready, &pid, sizeof(pid)) != sizeof(pid))
		abort();
	return pid;
}

/* A process; with an arena, and with a child that unmapped it, as execve() does. */
static pid_t spawn(bool has_arena, pid_t *ret_child)
{
	struct arena_build b = has_arena ? arena_build_make() : (struct arena_build){ -1, NULL };
	int pipe_ends[2];
	pid_t child = 0;

	if (pipe(pipe_ends) < 0)
		abort();

	pid_t pid = fork();

	if (pid == 0) {
		child = fork();
		if (child == 0) {
			if (has_arena)
				munmap(b.arena, sizeof(*b.arena));
			wait_for_end(pipe_ends[1]);
		}
		wait_for_end(pipe_ends[1]);
	}
	for (int i = 0; i < 2; i++) { /* both, in any order */
		pid_t ready = read_pid(pipe_ends[0]);

		child = ready != pid ? ready : child;
	}
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	if (has_arena)
		arena_build_done(&b);
	if (ret_child)
		*ret_child = child;
	return pid;
}

static void end(pid_t *pid)
{
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
}

static bool is_in_scope(const struct rig *rig, pid_t pid)
{
	return map_find(&rig->in_scope, pid) != NULL;
}

TEST(processes_with_an_arena_and_their_children_are_found)
{
	pid_t child, others_child;
	_cleanup_(end) pid_t other = spawn(false, &others_child);
	_cleanup_(end) pid_t pid = spawn(true, &child);
	_cleanup_(rig_done) struct rig rig;

	rig_init(&rig);
	run_first_pass(&rig);
	CHECK(is_in_scope(&rig, pid));
	CHECK(is_in_scope(&rig, child)); /* though it has none any more */
	CHECK(!is_in_scope(&rig, other));
	CHECK(!is_in_scope(&rig, others_child));
	CHECK(!is_in_scope(&rig, getpid()));
}

TEST(a_process_that_registers_is_examined_at_once)
{
	_cleanup_(rig_done) struct rig rig;

	rig_init(&rig);
	run_first_pass(&rig);

	_cleanup_(end) pid_t pid = spawn(true, NULL);

	CHECK(agent_scope_hint(rig.scope, pid, geteuid()));
	agent_scope_run(rig.scope);
	CHECK(is_in_scope(&rig, pid));
}

/* Its own mappings decide, so one process cannot bring in another. */
TEST(a_registration_does_not_bring_in_a_process_without_an_arena)
{
	_cleanup_(end) pid_t victim = spawn(false, NULL);
	_cleanup_(rig_done) struct rig rig;

	rig_init(&rig);
	run_first_pass(&rig);
	CHECK(agent_scope_hint(rig.scope, victim, ALICE));
	CHECK(agent_scope_hint(rig.scope, 1, ALICE));
	CHECK(agent_scope_hint(rig.scope, 0, ALICE));
	CHECK(agent_scope_hint(rig.scope, UINT32_MAX, ALICE));
	agent_scope_run(rig.scope);
	CHECK(!is_in_scope(&rig, victim));
	CHECK(!is_in_scope(&rig, 1));
	CHECK_INT(agent_scope_refused(rig.scope).count, 0);
}

TEST(registrations_of_a_user_are_limited_and_refusals_counted)
{
	_cleanup_(rig_done) struct rig rig;
	size_t accepted = 0;

	rig_init(&rig);
	for (int i = 0; i < 10000; i++)
		accepted += agent_scope_hint(rig.scope, 1, ALICE);
	CHECK(accepted >= SCOPE_QUOTA_BURST && accepted < SCOPE_QUOTA_BURST + 10);
	CHECK_INT(agent_scope_refused(rig.scope).count, 10000 - accepted);
	CHECK_INT(agent_scope_refused(rig.scope).user, ALICE);
	CHECK(agent_scope_hint(rig.scope, 1, 0));
}

/* More processes than a user may have, each with an arena. */
TEST(processes_of_a_user_are_limited)
{
	enum { COUNT = SCOPE_QUOTA_USER + 7 };
	_cleanup_(rig_done) struct rig rig;
	pid_t pids[COUNT];
	size_t in_scope = 0;
	int pipe_ends[2];

	if (geteuid() != 0)
		SKIP("needs root, to become another user");

	if (pipe(pipe_ends) < 0)
		abort();

	struct arena_build b = arena_build_make();

	for (int i = 0; i < COUNT; i++) {
		pids[i] = fork();
		if (pids[i] == 0 && setresuid(ALICE, ALICE, ALICE) == 0)
			wait_for_end(pipe_ends[1]);
		else if (pids[i] == 0)
			_exit(1);
	}
	close(pipe_ends[1]);
	for (int i = 0; i < COUNT; i++)
		read_pid(pipe_ends[0]); /* it is another user now */
	close(pipe_ends[0]);
	arena_build_done(&b);
	rig_init(&rig);
	run_first_pass(&rig);
	for (int i = 0; i < COUNT; i++)
		in_scope += is_in_scope(&rig, pids[i]);
	CHECK_INT(in_scope, SCOPE_QUOTA_USER);
	CHECK_INT(agent_scope_refused(rig.scope).count, COUNT - SCOPE_QUOTA_USER);
	for (int i = 0; i < COUNT; i++)
		end(&pids[i]);
}
