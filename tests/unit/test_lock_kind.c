/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/lock_kind.h"

#include "event/futex.h"
#include "story.h"
#include "test.h"

enum { NR_FUTEX = 202, NR_EPOLL_WAIT = 232, NR_EPOLL_PWAIT = 281, NR_FLOCK = 73, ADDRESS = 0x7000 };
enum { BITSET = FUTEX_COMMAND_WAIT_BITSET | FUTEX_PRIVATE };

/* Threads 1 and 2 of process 1, and thread 3 of another one. */
static void begin(struct story *s, uint32_t comm, uint32_t other_comm)
{
	story_add(s, REC(TASK, task, 0, 1, .pid = 1, .comm = comm));
	story_add(s, REC(TASK, task, 0, 2, .pid = 1, .comm = other_comm));
	story_add(s, REC(TASK, task, 0, 3, .pid = 3, .comm = comm));
}

/* A thread waits for a futex until another one wakes it. */
static void wait_futex(struct story *s, nsec_t start, uint32_t tid, uint32_t waker,
		       uint64_t address, uint8_t op, uint8_t value)
{
	story_add(s, REC(WAIT, wait, start + 5, tid, .start = start, .woken = start + 5,
			 .state = STATE_LOCK, .ready = STATE_READY, .syscall = NR_FUTEX,
			 .object = address, .object_kind = OBJECT_FUTEX, .waker = waker,
			 .context = WAKE_TASK, .futex_op = op, .futex_value = value,
			 .flags = futex_is_condvar(op, value) ? INTERVAL_CONDVAR : 0));
}

/* The kind of the wait of thread 1 that begins at a time. */
static const char *kind_at(const struct story *s, nsec_t start)
{
	_cleanup_(model_freep) struct model *model = story_model(s);
	thread_id id = model_find_thread(model, 1, start);
	struct stretch wait;

	CHECK(model_stretch_at(model, id, start, &wait));

	const char *name = lock_kind_name(lock_kind_of(model, id, wait.interval.state,
						       model_cause(model, id, &wait.interval)));

	return name ? name : "none";
}

/* The kind of a single wait of thread 1. */
static const char *kind_of(uint8_t op, uint8_t value, uint32_t waker)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s, 7, 7);
	wait_futex(&s, 10, 1, waker, ADDRESS, op, value);
	return kind_at(&s, 10);
}

TEST(the_value_of_a_futex_shows_its_kind)
{
	CHECK_STR(kind_of(FUTEX_COMMAND_WAIT | FUTEX_PRIVATE, 2, 2), "lock");
	CHECK_STR(kind_of(BITSET, 2, 2), "lock");
	CHECK_STR(kind_of(BITSET, 3, 2), "rwlock");
	CHECK_STR(kind_of(BITSET, 255, 2), "result");
	CHECK_STR(kind_of(FUTEX_COMMAND_WAIT, 255, 2), "result");
	CHECK_STR(kind_of(BITSET, 0, 2), "lock or result");
	CHECK_STR(kind_of(BITSET, 0, 3), "lock or result"); /* shared with another process */
	CHECK_STR(kind_of(0, 0, 2), "lock");                /* unknown, as in older captures */
}

TEST(all_waits_for_an_rwlock_are_for_an_rwlock)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s, 7, 7);
	wait_futex(&s, 10, 1, 2, ADDRESS, BITSET, 2);
	wait_futex(&s, 20, 2, 1, ADDRESS + 4, BITSET, 3);
	CHECK_STR(kind_at(&s, 10), "rwlock");
}

TEST(a_condition_variable_that_only_others_signal_is_a_result)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s, 7, 7);
	wait_futex(&s, 10, 1, 2, ADDRESS, BITSET, 0);
	wait_futex(&s, 20, 1, 2, ADDRESS + 4, BITSET, 0);
	CHECK_STR(kind_at(&s, 10), "result");
}

TEST(threads_that_wait_for_each_other_share_a_semaphore)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s, 7, 7);
	wait_futex(&s, 10, 1, 2, ADDRESS, BITSET, 0);
	wait_futex(&s, 20, 2, 1, ADDRESS, BITSET, 0);
	CHECK_STR(kind_at(&s, 10), "semaphore");
}

TEST(turns_of_5_ms_in_python_are_for_the_gil)
{
	const nsec_t turn = 5000000;
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s, STRING_PYTHON, STRING_PYTHON);
	for (nsec_t t = 0; t < 2 * turn; t += turn)
		story_add(&s, REC(WAIT, wait, t + turn, 2, .start = t, .woken = t + turn,
				  .state = STATE_TIMER, .ready = STATE_READY, .syscall = NR_FUTEX,
				  .object = ADDRESS, .object_kind = OBJECT_FUTEX,
				  .context = WAKE_HRTIMER, .flags = INTERVAL_CONDVAR,
				  .futex_op = BITSET));
	wait_futex(&s, 10, 1, 2, ADDRESS + 4, BITSET, 0);
	wait_futex(&s, 20, 1, 2, ADDRESS + 64, BITSET, 0);
	CHECK_STR(kind_at(&s, 10), "gil");
	CHECK_STR(kind_at(&s, 20), "lock or result");
}

TEST(the_jvm_stops_its_threads_or_parks_them)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s, STRING_JAVA, STRING_VM_THREAD);
	wait_futex(&s, 10, 1, 2, ADDRESS, FUTEX_COMMAND_WAIT | FUTEX_PRIVATE, 1);
	wait_futex(&s, 20, 1, 3, ADDRESS, BITSET, 0);
	CHECK_STR(kind_at(&s, 10), "safepoint");
	CHECK_STR(kind_at(&s, 20), "lock or result");
}

TEST(the_kernel_does_not_show_what_goroutines_wait_for)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s, 7, 7);
	story_add(&s, REC(WAIT, wait, 9, 2, .start = 1, .woken = 9, .state = STATE_NETWORK,
			  .ready = STATE_READY, .syscall = NR_EPOLL_PWAIT));
	wait_futex(&s, 10, 1, 2, ADDRESS, FUTEX_COMMAND_WAIT | FUTEX_PRIVATE, 0);
	CHECK_STR(kind_at(&s, 10), "go scheduler");
}

static void wait_in(struct story *s, nsec_t start, int16_t syscall, uint8_t kind, uint8_t state,
		    uint32_t waker)
{
	story_add(s, REC(WAIT, wait, start + 5, 1, .start = start, .woken = start + 5,
			 .state = state, .ready = STATE_READY, .syscall = syscall,
			 .object_kind = kind, .object = 5, .waker = waker, .context = WAKE_TASK));
}

TEST(a_backend_of_postgres_waits_for_a_lock_of_another_backend)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s, STRING_POSTGRES, STRING_POSTGRES);
	story_add(&s, REC(TASK, task, 0, 4, .pid = 4, .comm = STRING_POSTGRES));
	story_connect(&s, 20);
	story_receive(&s, 3, 1, 20, 7, 7);
	wait_in(&s, 10, NR_EPOLL_WAIT, OBJECT_NONE, STATE_PROCESS, 3);
	wait_in(&s, 20, NR_EPOLL_WAIT, OBJECT_NONE, STATE_PROCESS, 4); /* has no client */
	CHECK_STR(kind_at(&s, 10), "backend lock");
	CHECK_STR(kind_at(&s, 20), "none");
}

TEST(locks_of_files_and_of_the_kernel_are_told_apart)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s, 7, 7);
	wait_in(&s, 10, NR_FLOCK, OBJECT_FILE, STATE_LOCK, 3);
	wait_in(&s, 20, SYSCALL_NONE, OBJECT_NONE, STATE_LOCK, 3);
	wait_in(&s, 30, NR_FLOCK, OBJECT_FILE, STATE_DISK, 3);
	CHECK_STR(kind_at(&s, 10), "file lock");
	CHECK_STR(kind_at(&s, 20), "kernel lock");
	CHECK_STR(kind_at(&s, 30), "none");
}
