/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/agents.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "arena_build.h"
#include "bpf/wire.h"
#include "build.h"
#include "record/clock.h"
#include "record/file_sink.h"
#include "record/spans/ring_reader.h"
#include "test.h"

enum { SPANS_MAX = 16, ROUNDS = 12, NO_PROCESS = 1 << 23 };

/* Agents without kernel programs: the test decides which processes are recorded. */
struct rig {
	struct file_sink sink;
	struct sorter *sorter;
	struct agents *agents;
	struct record_span spans[SPANS_MAX];
	size_t count;
	bool was_refused; /* cannot open an arena, without privileges */
	size_t busy;      /* warnings that another recorder reads an arena */
};

static void warning(void *arg, const char *words)
{
	struct rig *rig = arg;

	rig->was_refused |= strstr(words, "cannot read the spans") != NULL;
	rig->busy += strstr(words, "another recorder") != NULL;
}

static void rig_init(struct rig *rig)
{
	*rig = (struct rig){ .sorter = sorter_new(1) };
	file_sink_init(&rig->sink, NULL, warning, rig);
	rig->sink.writer = build_capture(scratch("agents"));
	rig->agents = agents_new(&(struct agents_config){
		.sorter = rig->sorter, .sink = &rig->sink.sink, .warning = warning, .arg = rig });
}

static void rig_done(struct rig *rig)
{
	agents_free(rig->agents);
	sorter_free(rig->sorter);
	file_sink_done(&rig->sink);
}

/* Start to record a process, which has the pid `ns_tid` in its pid namespace. */
static void rig_see_in(struct rig *rig, enum task_event event, uint32_t pid, uint32_t parent,
		       uint32_t space, uint32_t inner)
{
	struct wire_task t = { .task = { .head = { .time = clock_now(),
						   .tid = pid,
						   .kind = RECORD_TASK,
						   .words = sizeof(t) / 8 },
					 .pid = pid,
					 .parent = parent,
					 .event = event },
			       .comm = "name",
			       .pid_ns = space,
			       .ns_tid = inner };

	agents_add_record(rig->agents, &t.task.head);
}

static void rig_see(struct rig *rig, enum task_event event, uint32_t pid, uint32_t parent)
{
	rig_see_in(rig, event, pid, parent, 0, 0);
}

static int keep(void *arg, const struct record *record, struct err *err)
{
	struct rig *rig = arg;

	(void)err;
	if (record->kind == RECORD_SPAN)
		memcpy(&rig->spans[rig->count++ % SPANS_MAX], record, sizeof(rig->spans[0]));
	return 0;
}

/* Run the recorder for longer than a ring waits for its owner. */
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

/* An idle process, without the mappings that we create later. */
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

/* End a span in a ring that claims this pid and tid. */
static void put_span(struct arena_build *b, size_t ring, uint32_t pid, uint32_t tid, uint8_t span)
{
	nsec_t now = clock_now();

	arena_build_end(arena_build_take(b, ring, pid, tid), now,
			&(struct arena_span){ 1, span, .start = now, .tid = tid, .name = "x" });
}

/* Find a span by the first byte of its id; NULL if it was not recorded. */
static const struct record_span *find_span(const struct rig *rig, uint8_t span)
{
	for (size_t i = 0; i < rig->count && i < SPANS_MAX; i++)
		if (rig->spans[i].span[0] == span)
			return &rig->spans[i];
	return NULL;
}

TEST(a_ring_that_claims_a_process_without_this_arena_is_rejected)
{
	_cleanup_(end) pid_t other = spawn();
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(rig_done) struct rig rig;

	rig_init(&rig);
	rig_see(&rig, TASK_EXISTING, getpid(), 1);
	rig_see(&rig, TASK_EXISTING, other, 1);
	put_span(&b, 0, getpid(), getpid(), 1);
	put_span(&b, 1, other, other, 2);
	put_span(&b, 2, other, getpid(), 3);
	put_span(&b, 3, NO_PROCESS, NO_PROCESS, 4); /* not recorded */
	rig_run(&rig);
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");

	const struct record_span *ours = find_span(&rig, 1);

	CHECK_INT(rig.count, 1);
	CHECK(ours && ours->pid == (uint32_t)getpid() && ours->head.tid == (uint32_t)getpid());
}

TEST(a_ring_that_claims_a_thread_of_another_process_has_no_thread)
{
	_cleanup_(end) pid_t other = spawn();
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(rig_done) struct rig rig;

	rig_init(&rig);
	rig_see(&rig, TASK_EXISTING, getpid(), 1);
	rig_see(&rig, TASK_EXISTING, other, 1);
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
	rig_see(&rig, TASK_EXISTING, getpid(), 1);
	rig_see(&rig, TASK_NEW, child, getpid());
	put_span(&b, 0, child, child, 1);
	rig_run(&rig);
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	CHECK_INT(rig.count, 1);
	CHECK(find_span(&rig, 1) && find_span(&rig, 1)->pid == (uint32_t)child);
}

TEST(ids_of_a_pid_namespace_are_translated)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(rig_done) struct rig rig;
	const uint32_t first_space = 0xeffffffc, space = 77, inner = getpid() + 1;

	rig_init(&rig);
	rig_see_in(&rig, TASK_EXISTING, getpid(), 1, space, inner);
	put_span(&b, 0, inner, inner, 1);
	put_span(&b, 1, inner, inner, 2);
	put_span(&b, 2, getpid(), getpid(), 3);
	put_span(&b, 3, getpid(), getpid(), 4);
	b.arena->rings[0].pid_ns = space;
	b.arena->rings[1].pid_ns = space + 1;
	b.arena->rings[2].pid_ns = first_space;
	b.arena->rings[3].pid_ns = space;
	rig_run(&rig);
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	CHECK(find_span(&rig, 1) && find_span(&rig, 1)->pid == (uint32_t)getpid());
	CHECK(!find_span(&rig, 2));
	CHECK(find_span(&rig, 3) && find_span(&rig, 3)->pid == (uint32_t)getpid());
	CHECK(!find_span(&rig, 4));
}

TEST(a_span_has_the_service_of_its_ring_otherwise_of_its_process)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(rig_done) struct rig rig;

	rig_init(&rig);
	rig_see(&rig, TASK_EXISTING, getpid(), 1);
	put_span(&b, 0, getpid(), getpid(), 1);
	put_span(&b, 1, getpid(), getpid(), 2);
	strcpy(b.arena->rings[1].service, "bank");
	rig_run(&rig);
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	CHECK_INT(rig.count, 2);
	if (rig.count != 2)
		return;
	CHECK_INT(find_span(&rig, 1)->service, capture_add_string(rig.sink.writer, "name"));
	CHECK_INT(find_span(&rig, 2)->service, capture_add_string(rig.sink.writer, "bank"));
}

/* The record of a new process can arrive after the first event in its ring. */
TEST(a_ring_waits_for_the_records_of_its_process)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(end) pid_t child = spawn();
	_cleanup_(rig_done) struct rig rig;

	rig_init(&rig);
	rig_see(&rig, TASK_EXISTING, getpid(), 1);
	for (int i = 0; i < 3; i++, clock_pause(20 * NSEC_PER_MSEC)) /* until it is scanned */
		agents_drain(rig.agents, clock_now());
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	CHECK(agents_has_any(rig.agents));
	put_span(&b, 0, child, child, 1);
	agents_drain(rig.agents, clock_now());
	CHECK_INT(b.arena->rings[0].tail, 0);
	rig_see(&rig, TASK_NEW, child, getpid());
	agents_drain(rig.agents, clock_now());
	CHECK_INT(b.arena->rings[0].tail, b.arena->rings[0].head);
	put_span(&b, 1, NO_PROCESS, NO_PROCESS,
		 2); /* unknown: not read at first, and dropped in the end */
	agents_drain(rig.agents, clock_now());
	CHECK_INT(b.arena->rings[1].tail, 0);
	rig_run(&rig);
	CHECK_INT(b.arena->rings[1].tail, b.arena->rings[1].head);
	CHECK(find_span(&rig, 1) && !find_span(&rig, 2));
}

TEST(rings_of_exited_threads_are_freed)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(rig_done) struct rig rig;
	pid_t child = spawn();

	rig_init(&rig);
	rig_see(&rig, TASK_EXISTING, getpid(), 1);
	rig_see(&rig, TASK_NEW, child, getpid());
	put_span(&b, 0, getpid(), getpid(), 1);
	put_span(&b, 1, child, child, 2);
	for (int i = 0; i < 3; i++, clock_pause(20 * NSEC_PER_MSEC))
		agents_drain(rig.agents, clock_now());
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	CHECK_INT(b.arena->rings[1].state, SPAN_RING_TAKEN);
	end(&child);
	for (int i = 0; i < 50 && b.arena->rings[1].state != SPAN_RING_FREE; i++) {
		agents_drain(rig.agents, clock_now());
		clock_pause(10 * NSEC_PER_MSEC);
	}
	CHECK_INT(b.arena->rings[1].state, SPAN_RING_FREE);
	CHECK_INT(b.arena->rings[0].state, SPAN_RING_TAKEN);
}

TEST(open_spans_end_with_their_process)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(rig_done) struct rig rig;
	_cleanup_(end) pid_t child = spawn();
	struct record_exit exit = {
		.head = { .tid = child, .kind = RECORD_EXIT, .words = sizeof(exit) / 8 },
		.pid = child
	};
	nsec_t begin;

	rig_init(&rig);
	rig_see(&rig, TASK_EXISTING, getpid(), 1);
	rig_see(&rig, TASK_NEW, child, getpid());
	begin = clock_now();
	arena_build_begin(arena_build_take(&b, 0, child, child), begin,
			  &(struct arena_span){ 1, 1, .name = "x" });
	arena_build_begin(arena_build_take(&b, 1, getpid(), getpid()), begin,
			  &(struct arena_span){ 1, 2, .name = "x" });
	for (int i = 0; i < 3; i++, clock_pause(20 * NSEC_PER_MSEC))
		agents_drain(rig.agents, clock_now());
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	exit.head.time = clock_now();
	agents_add_record(rig.agents, &exit.head);
	rig_run(&rig);

	const struct record_span *ended = find_span(&rig, 1), *cut = find_span(&rig, 2);

	CHECK(ended && ended->flags == SPAN_OPEN && ended->start == begin);
	CHECK(ended && ended->head.time == exit.head.time);
	CHECK(cut && cut->flags == SPAN_OPEN && cut->head.time > exit.head.time);
}

TEST(an_arena_in_use_by_another_recorder_is_reported_once)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *other = NULL;
	_cleanup_(rig_done) struct rig rig;

	CHECK_INT(ring_reader_open(b.fd, arena_file_device(), &other), 0);
	rig_init(&rig);
	rig_see(&rig, TASK_EXISTING, getpid(), 1);
	put_span(&b, 0, getpid(), getpid(), 1);
	for (int i = 0; i < 2; i++, rig_see(&rig, TASK_EXEC, getpid(), 1))
		for (int round = 0; round < 4; round++, clock_pause(10 * NSEC_PER_MSEC))
			agents_drain(rig.agents, clock_now());
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	CHECK_INT(rig.busy, 1);
	CHECK(!agents_has_any(rig.agents));
	CHECK_INT(b.arena->rings[0].tail, 0);
}

TEST(a_recorder_requests_events_until_it_ends)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(rig_done) struct rig rig;
	nsec_t before;

	rig_init(&rig);
	rig_see(&rig, TASK_EXISTING, getpid(), 1);
	for (int i = 0; i < 3; i++, clock_pause(20 * NSEC_PER_MSEC))
		agents_drain(rig.agents, clock_now());
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	before = clock_now();
	agents_drain(rig.agents, before);
	CHECK_INT(b.arena->recording, SPAN_RECORDING);
	CHECK(b.arena->heartbeat >= before && b.arena->heartbeat <= clock_now());
	put_span(&b, 0, getpid(), getpid(), 1);
	put_span(&b, 1, getpid(), getpid(), 2); /* in time, but after the recording */
	((struct span_event *)b.arena->rings[1].data)->time = before + 3600 * NSEC_PER_SEC;
	rig_run(&rig);
	CHECK_INT(b.arena->recording, 0);
	CHECK(find_span(&rig, 1) && !find_span(&rig, 2));
}

/* Run rounds until no arena is attached, at most for this long; returns whether any is. */
static bool has_any_after(struct rig *rig, nsec_t patience)
{
	nsec_t until = clock_now() + patience;

	do {
		agents_drain(rig->agents, clock_now());
		clock_pause(10 * NSEC_PER_MSEC);
	} while (clock_now() < until && agents_has_any(rig->agents));
	return agents_has_any(rig->agents);
}

/* The recorder gets no exit record of the process. */
TEST(an_arena_stays_attached_while_its_process_lives)
{
	struct arena_build b = arena_build_make();
	_cleanup_(rig_done) struct rig rig;
	pid_t child = spawn();

	arena_build_done(&b); /* the child still maps it */
	rig_init(&rig);
	rig_see(&rig, TASK_EXISTING, child, 1);
	for (int i = 0; i < 5; i++, clock_pause(10 * NSEC_PER_MSEC))
		agents_drain(rig.agents, clock_now());
	if (rig.was_refused) {
		end(&child);
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	}
	CHECK(has_any_after(&rig, 400 * NSEC_PER_MSEC));
	end(&child);
	CHECK(!has_any_after(&rig, 5 * NSEC_PER_SEC));
}

/* Events after `known_until` are only partly known. */
TEST(kernel_records_wait_until_all_earlier_ones_are_known)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(rig_done) struct rig rig;
	nsec_t before = clock_now() - 1;

	rig_init(&rig);
	rig_see(&rig, TASK_EXISTING, getpid(), 1);
	rig_see(&rig, TASK_EXISTING, NO_PROCESS, 0);
	put_span(&b, 0, getpid(), getpid(), 1);
	for (int i = 0; i < 5; i++, clock_pause(10 * NSEC_PER_MSEC))
		agents_drain(rig.agents, before);
	CHECK(!agents_has_any(rig.agents));
	rig_run(&rig);
	if (rig.was_refused)
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	CHECK(find_span(&rig, 1) != NULL);
}

TEST(a_freed_recorder_releases_its_arenas)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *other = NULL;
	struct rig rig;

	rig_init(&rig);
	rig_see(&rig, TASK_EXISTING, getpid(), 1);
	for (int i = 0; i < 5; i++, clock_pause(10 * NSEC_PER_MSEC))
		agents_drain(rig.agents, clock_now());
	CHECK_INT(b.arena->recording, rig.was_refused ? 0 : SPAN_RECORDING);
	rig_done(&rig);
	CHECK_INT(b.arena->recording, 0);
	CHECK_INT(ring_reader_open(b.fd, arena_file_device(), &other), 0);
}
