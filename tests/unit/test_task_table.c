/* SPDX-License-Identifier: Apache-2.0 */
#include "record/task_table.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test.h"

static void add(struct task_table *t, uint32_t tid, uint32_t pid, enum task_event event,
		const char *comm)
{
	struct wire_task w = {
		.task = { .head = { .tid = tid, .kind = RECORD_TASK }, .pid = pid, .event = event }
	};

	strncpy(w.comm, comm, sizeof(w.comm) - 1);
	task_table_add(t, &w);
}

TEST(threads_stay_until_their_exit)
{
	_cleanup_(task_table_done) struct task_table t = { 0 };

	for (uint32_t tid = 1; tid <= 101; tid++)
		add(&t, tid, 1, TASK_NEW, "new");
	for (uint32_t tid = 1; tid <= 101; tid += 2)
		task_table_remove(&t, tid);
	task_table_remove(&t, 1);
	CHECK_INT(t.tasks.count, 50);
	for (uint32_t tid = 2; tid <= 100; tid += 2)
		CHECK_INT(task_table_find(&t, tid)->task.head.tid, tid);
	CHECK(!task_table_find(&t, 3));
}

TEST(threads_out_of_scope_are_ignored)
{
	_cleanup_(task_table_done) struct task_table t = { 0 };

	add(&t, 7, 7, TASK_OUT_OF_SCOPE, "other");
	CHECK_INT(t.tasks.count, 0);
}

TEST(a_reused_id_has_nothing_of_its_predecessor)
{
	_cleanup_(task_table_done) struct task_table t = { 0 };

	add(&t, 7, 7, TASK_NEW, "one");
	task_table_set_process(&t, 7, "one --option", "/");
	add(&t, 7, 7, TASK_RENAMED, "first");
	CHECK_STR(task_table_find(&t, 7)->cmdline, "one --option");
	CHECK_STR(task_table_find(&t, 7)->comm, "first");
	add(&t, 7, 7, TASK_NEW, "two");
	CHECK(!task_table_find(&t, 7)->cmdline);
}

TEST(a_sweep_removes_threads_that_do_not_exist)
{
	_cleanup_(task_table_done) struct task_table t = { 0 };
	uint32_t own = (uint32_t)syscall(SYS_gettid);

	add(&t, own, getpid(), TASK_EXISTING, "test");
	add(&t, 1, 1, TASK_EXISTING, "init");
	add(&t, 1 << 23, 1 << 23, TASK_EXISTING, "gone");
	task_table_sweep(&t);
	CHECK_INT(t.tasks.count, 2);
	CHECK(task_table_find(&t, own) && task_table_find(&t, 1));
}
