/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/tracker.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/wire.h"
#include "record/clock.h"
#include "test.h"

#define SECOND NSEC_PER_SEC
#define MSEC NSEC_PER_MSEC

struct calls {
	size_t looks, forks, ends;
	uint32_t looked, child, parent;
	int answer;
};

static int look(void *arg, struct tracked_process *p)
{
	struct calls *c = arg;

	c->looks++;
	c->looked = p->pid;
	return c->answer;
}

static void forked(void *arg, struct tracked_process *child, const struct tracked_process *parent,
		   nsec_t time)
{
	struct calls *c = arg;

	(void)time;
	c->forks++;
	c->child = child->pid;
	c->parent = parent->pid;
}

static void ended(void *arg, struct tracked_process *p, nsec_t time)
{
	(void)p;
	(void)time;
	((struct calls *)arg)->ends++;
}

static struct tracker *new_watch(struct calls *c)
{
	return tracker_new(&(struct tracker_callbacks){ look, forked, ended, c });
}

static void see_in(struct tracker *w, enum task_event event, uint32_t pid, uint32_t tid,
		   uint32_t parent, nsec_t now, uint32_t space, uint32_t inner)
{
	struct wire_task t = { .task = { .head = { .time = now,
						   .tid = tid,
						   .kind = RECORD_TASK,
						   .words = sizeof(t) / 8 },
					 .pid = pid,
					 .parent = parent,
					 .event = event },
			       .comm = "name",
			       .pid_ns = space,
			       .ns_tid = inner };

	tracker_add_record(w, &t.task.head, now);
}

static void see(struct tracker *w, enum task_event event, uint32_t pid, uint32_t tid,
		uint32_t parent, nsec_t now)
{
	see_in(w, event, pid, tid, parent, now, 0, 0);
}

static void see_exit(struct tracker *w, uint32_t pid, uint32_t tid, nsec_t now)
{
	struct record_exit e = {
		.head = { .time = now, .tid = tid, .kind = RECORD_EXIT, .words = sizeof(e) / 8 },
		.pid = pid
	};

	tracker_add_record(w, &e.head, now);
}

TEST(a_program_is_scanned_soon_and_then_ever_more_rarely)
{
	struct calls c = { 0 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_EXEC, 10, 10, 1, 0);
	tracker_run(w, 10 * MSEC);
	CHECK_INT(c.looks, 0);
	tracker_run(w, 20 * MSEC);
	CHECK_INT(c.looks, 1);
	CHECK_INT(c.looked, 10);
	tracker_run(w, 30 * MSEC);
	CHECK_INT(c.looks, 1);
}

TEST(an_existing_process_is_scanned_in_the_next_round)
{
	struct calls c = { 0 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	CHECK(!tracker_has_unscanned(w));
	see(w, TASK_EXISTING, 10, 10, 1, 0);
	see(w, TASK_EXISTING, 10, 11, 1, 0);
	CHECK(tracker_has_unscanned(w));
	tracker_run(w, 0);
	CHECK(!tracker_has_unscanned(w));
	CHECK_INT(c.looks, 1);
	CHECK_INT(c.looked, 10);
}

TEST(a_scan_does_not_run_before_its_due_time)
{
	struct calls c = { .answer = 1 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_EXEC, 10, 10, 1, 1000);
	tracker_run(w, 1000 + 15 * MSEC - 1);
	CHECK_INT(c.looks, 0);
	tracker_run(w, 1000 + 15 * MSEC);
	CHECK_INT(c.looks, 1);
	see(w, TASK_NEW, 11, 11, 10, SECOND);
	tracker_run(w, 2 * SECOND - 1);
	CHECK_INT(c.looks, 1);
	tracker_run(w, 2 * SECOND);
	CHECK_INT(c.looks, 2);
	CHECK_INT(c.looked, 11);
}

TEST(a_scan_is_cancelled_by_an_exec)
{
	struct calls c = { .answer = 1 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_EXEC, 10, 10, 1, 0);
	see(w, TASK_EXEC, 20, 20, 1, 0);
	see(w, TASK_EXEC, 10, 10, 1, 5 * MSEC);
	see_exit(w, 20, 20, 5 * MSEC);
	tracker_run(w, 15 * MSEC);
	CHECK_INT(c.looks, 0);
	tracker_run(w, 20 * MSEC);
	CHECK_INT(c.looks, 1);
	CHECK_INT(c.looked, 10);
}

/* The sanitizer reports leaks. */
TEST(many_tracked_processes_are_freed)
{
	struct calls c = { 0 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	for (uint32_t pid = 1; pid <= 1009; pid++)
		see_in(w, TASK_EXISTING, pid, pid, 0, 0, 77, pid);
	CHECK(tracker_find(w, 1009) != NULL);
}

/* After the first scan, the real clock counts. */
TEST(pauses_between_scans_grow_up_to_a_limit)
{
	static const nsec_t pauses[] = { 100 * MSEC, SECOND, 5 * SECOND, 30 * SECOND, 30 * SECOND };
	struct calls c = { 0 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_EXEC, 10, 10, 1, 0);

	nsec_t before = clock_now(), due = 15 * MSEC;

	for (size_t i = 0; i < ARRAY_LEN(pauses); i++) {
		tracker_run(w, due);
		CHECK_INT(c.looks, i + 1);
		due = clock_now() + pauses[i];
		tracker_run(w, before + pauses[i] - 1);
		CHECK_INT(c.looks, i + 1);
		before = clock_now();
	}
}

TEST(a_process_is_named_after_its_first_thread)
{
	struct calls c = { 0 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_NEW, 10, 11, 1, 0);
	CHECK_STR(tracker_find(w, 10)->comm, "");
	see(w, TASK_RENAMED, 10, 10, 1, 0);
	CHECK_STR(tracker_find(w, 10)->comm, "name");
	CHECK_INT(tracker_find(w, 10)->threads, 2);
}

TEST(a_thread_that_is_recorded_twice_counts_once)
{
	struct calls c = { 0 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_EXISTING, 10, 10, 1, 0);
	see(w, TASK_EXISTING, 10, 11, 1, 0);
	see(w, TASK_RENAMED, 10, 11, 1, 0);
	CHECK_INT(tracker_find(w, 10)->threads, 2);
	see_exit(w, 10, 11, MSEC);
	see_exit(w, 10, 11, MSEC);
	CHECK_INT(tracker_find(w, 10)->threads, 1);
	see(w, TASK_NEW, 10, 11, 10, 2 * MSEC); /* the tid is reused */
	CHECK_INT(tracker_find(w, 10)->threads, 2);
	tracker_run(w, 2 * SECOND);
	CHECK(tracker_find_by_thread(w, 11) == tracker_find(w, 10));
	CHECK_INT(c.ends, 0);
}

TEST(a_tid_can_move_to_another_process)
{
	struct calls c = { 0 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_EXISTING, 10, 11, 1, 0);
	see(w, TASK_EXISTING, 20, 20, 1, 0);
	see(w, TASK_EXISTING, 20, 11, 1, 0);
	CHECK(tracker_find_by_thread(w, 11) == tracker_find(w, 20));
	CHECK(tracker_find(w, 10) == NULL);
	CHECK_INT(tracker_find(w, 20)->threads, 2);
}

TEST(a_completely_scanned_process_is_not_scanned_again)
{
	struct calls c = { .answer = 1 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_EXISTING, 10, 10, 1, 0);
	for (nsec_t t = 0; t < 100 * SECOND; t += SECOND)
		tracker_run(w, t);
	CHECK_INT(c.looks, 1);
	see(w, TASK_EXEC, 10, 10, 1, 100 * SECOND);
	tracker_run(w, 101 * SECOND);
	CHECK_INT(c.looks, 2);
}

TEST(a_short_lived_child_is_never_scanned)
{
	struct calls c = { .answer = 1 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_EXISTING, 10, 10, 1, 0);
	tracker_run(w, 20 * MSEC);
	see(w, TASK_NEW, 11, 11, 10, 30 * MSEC);
	CHECK_INT(c.forks, 1);
	CHECK_INT(c.parent, 10);
	see_exit(w, 11, 11, 500 * MSEC);
	tracker_run(w, 5 * SECOND);
	CHECK_INT(c.looks, 1);
	CHECK_INT(c.ends, 1);
}

TEST(an_exited_process_is_remembered_for_a_second)
{
	struct calls c = { 0 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_NEW, 10, 10, 1, 0);
	see(w, TASK_NEW, 10, 11, 10, 0);
	see_exit(w, 10, 10, 100 * MSEC);
	CHECK_INT(c.ends, 0);
	see_exit(w, 10, 11, 900 * MSEC);
	CHECK_INT(c.ends, 1);
	tracker_run(w, 1500 * MSEC);
	CHECK(tracker_find(w, 10) != NULL);
	CHECK(tracker_find_by_thread(w, 11) == tracker_find(w, 10));
	tracker_run(w, 2000 * MSEC);
	CHECK(tracker_find(w, 10) == NULL);
	CHECK(tracker_find_by_thread(w, 11) == NULL);
}

TEST(a_reused_pid_is_another_process)
{
	struct calls c = { .answer = 1 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_NEW, 10, 10, 1, 0);
	uint32_t image = tracker_find(w, 10)->image;
	see_exit(w, 10, 10, 100 * MSEC);
	see(w, TASK_NEW, 10, 10, 1, 200 * MSEC);
	CHECK(tracker_find(w, 10)->image != image);
	tracker_run(w, 1150 * MSEC);
	CHECK(tracker_find(w, 10) != NULL);
	CHECK_INT(tracker_find(w, 10)->threads, 1);
	CHECK_INT(c.ends, 2);
}

TEST(a_child_has_a_parent_until_it_executes_a_program)
{
	struct calls c = { 0 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_EXISTING, 10, 10, 1, 0);
	see(w, TASK_EXISTING, 10, 12, 1, 0);
	see(w, TASK_NEW, 20, 20, 12, 1);
	CHECK(tracker_find_parent(w, tracker_find(w, 20)) == tracker_find(w, 10));
	see(w, TASK_EXEC, 20, 20, 10, 2);
	CHECK(tracker_find_parent(w, tracker_find(w, 20)) == NULL);
}

TEST(a_thread_is_found_by_its_tid_in_a_namespace)
{
	struct calls c = { 0 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see_in(w, TASK_NEW, 10, 10, 1, 0, 77, 1);
	see_in(w, TASK_NEW, 10, 11, 10, 0, 77, 2);
	see_in(w, TASK_RENAMED, 10, 11, 10, 0, 0, 0);
	CHECK_INT(tracker_translate(w, 77, 1), 10);
	CHECK_INT(tracker_translate(w, 77, 2), 11);
	CHECK_INT(tracker_translate(w, 78, 2), 0);
	see_exit(w, 10, 11, MSEC);
	CHECK_INT(tracker_translate(w, 77, 2), 11);
	tracker_run(w, 2 * SECOND);
	CHECK_INT(tracker_translate(w, 77, 2), 0);
	CHECK_INT(tracker_translate(w, 77, 1), 10);
}

TEST(a_process_marked_gone_is_forgotten)
{
	struct calls c = { .answer = -ESRCH };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);

	see(w, TASK_NEW, 10, 10, 1, 0);
	tracker_run(w, 2 * SECOND);
	CHECK_INT(c.ends, 1);
	CHECK_INT(tracker_find(w, 10)->threads, 0);
	tracker_run(w, UINT64_MAX);
	CHECK(tracker_find(w, 10) == NULL);
}

TEST(out_of_scope_tasks_and_kernel_threads_are_not_tracked)
{
	struct calls c = { 0 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);
	struct wire_task kernel = { .task = { .head = { .tid = 3, .kind = RECORD_TASK },
					      .pid = 3,
					      .flags = TASK_KERNEL } };

	see(w, TASK_OUT_OF_SCOPE, 10, 10, 1, 0);
	tracker_add_record(w, &kernel.task.head, 0);
	CHECK(tracker_find(w, 10) == NULL);
	CHECK(tracker_find(w, 3) == NULL);
}

TEST(exited_processes_leave_nothing_behind)
{
	struct calls c = { .answer = 1 };
	_cleanup_(tracker_freep) struct tracker *w = new_watch(&c);
	nsec_t now = 0;

	see(w, TASK_EXISTING, 1, 1, 0, now);
	for (uint32_t pid = 2; pid < 20011; pid++, now += MSEC) {
		see(w, TASK_NEW, pid, pid, 1, now);
		see_exit(w, pid, pid, now);
		tracker_run(w, now);
	}
	CHECK(tracker_find(w, 2) == NULL);
	CHECK(tracker_find(w, 20010) != NULL);
	CHECK_INT(c.looks, 1);
}
