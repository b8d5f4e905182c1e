/* SPDX-License-Identifier: Apache-2.0 */
#include "record/agents.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "arena_build.h"
#include "bpf/wire.h"
#include "build.h"
#include "record/clock.h"
#include "test.h"

enum { SPANS_MAX = 16, ROUNDS = 12 };

/* Agents without kernel programs: the test says which processes are recorded. */
struct rig {
	struct capture_writer *writer;
	struct sorter *sorter;
	struct agents *agents;
	struct record_span spans[SPANS_MAX];
	size_t count;
	bool was_refused; /* an arena, for want of privileges */
};

static void notice(void *arg, const char *words)
{
	struct rig *rig = arg;

	rig->was_refused |= strstr(words, "cannot read the spans") != NULL;
}

static void rig_init(struct rig *rig)
{
	*rig = (struct rig){ .writer = build_capture(scratch("agents")), .sorter = sorter_new(1) };
	rig->agents = agents_new(&(struct agents_config){
		.sorter = rig->sorter, .writer = rig->writer, .notice = notice, .arg = rig });
}

static void rig_done(struct rig *rig)
{
	agents_free(rig->agents);
	sorter_free(rig->sorter);
	capture_writer_free(rig->writer);
}

/* The process is recorded from now on. */
static void rig_see(struct rig *rig, enum task_event event, uint32_t pid, uint32_t parent)
{
	struct wire_task t = { .task = { .head = { .time = clock_now(),
						   .tid = pid,
						   .kind = RECORD_TASK,
						   .words = sizeof(t) / 8 },
					 .pid = pid,
					 .parent = parent,
					 .event = event },
			       .comm = "name" };

	agents_see(rig->agents, &t.task.head);
}

static int keep(void *arg, const struct record *record, struct err *err)
{
	struct rig *rig = arg;

	(void)err;
	if (record->kind == RECORD_SPAN)
		memcpy(&rig->spans[rig->count++ % SPANS_MAX], record, sizeof(rig->spans[0]));
	return 0;
}

/* Rounds of the recorder, for longer than it waits for the owner of a ring to become known. */
static void rig_run(struct rig *rig)
{
	struct err err;

	for (int i = 0; i < ROUNDS; i++) {
		agents_drain(rig->agents, clock_now());
		clock_pause(10 * NSEC_PER_MSEC);
	}
	agents_finish(rig->agents, clock_now());
	sorter_flush(rig->sorter, UINT64_MAX, keep, rig, &err);
}

/* A process that does nothing; it does not have what we map later. */
static pid_t spawn(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	if (pid < 0)
		abort();
	return pid;
}

static void end(pid_t *pid)
{
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
}

/* A thread of a process, as a ring says, ends a span. */
static void put_span(struct arena_build *b, size_t ring, uint32_t pid, uint32_t tid, uint8_t span)
{
	nsec_t now = clock_now();

	arena_build_end(arena_build_take(b, ring, pid, tid), now,
			&(struct arena_span){ 1, span, .start = now, .tid = tid, .name = "x" });
}

/* The span that the first byte of an id names; NULL if it was not recorded. */
static const struct record_span *find_span(const struct rig *rig, uint8_t span)
{
	for (size_t i = 0; i < rig->count && i < SPANS_MAX; i++)
		if (rig->spans[i].span[0] == span)
			return &rig->spans[i];
	return NULL;
}

TEST(a_ring_that_names_a_process_without_this_arena_is_not_believed)
{
	_cleanup_(end) pid_t other = spawn();
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(rig_done) struct rig rig;

	rig_init(&rig);
	rig_see(&rig, TASK_SEEN, getpid(), 1);
	rig_see(&rig, TASK_SEEN, other, 1);
	put_span(&b, 0, getpid(), getpid(), 1);
	put_span(&b, 1, other, other, 2);
	put_span(&b, 2, other, getpid(), 3);
	put_span(&b, 3, 1, 1, 4); /* not recorded at all */
	rig_run(&rig);
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");

	const struct record_span *ours = find_span(&rig, 1);

	CHECK_INT(rig.count, 1);
	CHECK(ours && ours->pid == (uint32_t)getpid() && ours->head.tid == (uint32_t)getpid());
}

TEST(a_ring_that_names_a_thread_of_another_process_has_no_thread)
{
	_cleanup_(end) pid_t other = spawn();
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(rig_done) struct rig rig;

	rig_init(&rig);
	rig_see(&rig, TASK_SEEN, getpid(), 1);
	rig_see(&rig, TASK_SEEN, other, 1);
	put_span(&b, 0, getpid(), other, 1);
	rig_run(&rig);
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");

	const struct record_span *span = find_span(&rig, 1);

	CHECK(!span || span->head.tid == 0);
}

TEST(a_forked_child_has_the_arena_of_its_parent)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(end) pid_t child = spawn();
	_cleanup_(rig_done) struct rig rig;

	rig_init(&rig);
	rig_see(&rig, TASK_SEEN, getpid(), 1);
	rig_see(&rig, TASK_NEW, child, getpid());
	put_span(&b, 0, child, child, 1);
	rig_run(&rig);
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	CHECK_INT(rig.count, 1);
	CHECK(find_span(&rig, 1) && find_span(&rig, 1)->pid == (uint32_t)child);
}
