/* SPDX-License-Identifier: Apache-2.0 */
/* Consecutive waits for the same thing. */
#include "analyse/episode.h"

#include "analyse/path.h"
#include "event/futex.h"
#include "story.h"
#include "test.h"

#define MS 1000000ull
#define US 1000ull

enum { NR_POLL = 7, NR_SLEEP = 230, NR_FUTEX = 202, ADDRESS = 0x7000 };

/* A wait of thread 1 for a condition variable; a timer ends it if there is no waker. */
static void wait_futex(struct story *s, nsec_t start, nsec_t end, uint64_t address, uint32_t waker)
{
	story_add(s, REC(WAIT, wait, end, 1, .start = start, .woken = end,
			 .state = waker ? STATE_LOCK : STATE_TIMER, .ready = STATE_READY,
			 .syscall = NR_FUTEX, .object = address, .object_kind = OBJECT_FUTEX,
			 .waker = waker, .context = waker ? WAKE_TASK : WAKE_HRTIMER,
			 .flags = INTERVAL_CONDVAR, .futex_op = FUTEX_COMMAND_WAIT_BITSET));
}

/* A wait of thread 1 that is for no object; a timer ends it if there is no waker. */
static void wait_call(struct story *s, nsec_t start, nsec_t end, int16_t syscall, uint32_t waker)
{
	story_add(s, REC(WAIT, wait, end, 1, .start = start, .woken = end,
			 .state = waker ? STATE_PROCESS : STATE_TIMER, .ready = STATE_READY,
			 .syscall = syscall, .waker = waker,
			 .context = waker ? WAKE_TASK : WAKE_HRTIMER));
}

static void check(const struct story *s, nsec_t to, const char *want)
{
	_cleanup_(model_freep) struct model *model = story_model(s);
	_cleanup_(freep) char *got = story_path(model, 1, 0, to);

	CHECK_STR(got, want);
}

static struct story story_of_two(void)
{
	struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	story_run(&s, 2, 0, 100 * MS);
	return s;
}

TEST(a_timed_wait_for_a_lock_is_explained_by_the_thread_that_ends_the_last_part)
{
	_cleanup_(story_done) struct story s = story_of_two();

	wait_futex(&s, 0, 5 * MS, ADDRESS, 0);
	story_run(&s, 1, 5 * MS, 5 * MS + 10 * US);
	wait_futex(&s, 5 * MS + 10 * US, 8 * MS, ADDRESS + 4, 2);
	story_run(&s, 1, 8 * MS, 9 * MS);
	check(&s, 9 * MS,
	      "1L 0-5000000 (2R 0-5000000), 1R 5000000-5010000, "
	      "1L 5010000-8000000 (2R 5010000-8000000), 1R 8000000-9000000");
}

TEST(a_wait_for_another_futex_is_another_episode)
{
	_cleanup_(story_done) struct story s = story_of_two();

	wait_futex(&s, 0, 5 * MS, ADDRESS, 0);
	story_run(&s, 1, 5 * MS, 5 * MS + 10 * US);
	wait_futex(&s, 5 * MS + 10 * US, 8 * MS, ADDRESS + 8, 2);
	check(&s, 8 * MS,
	      "1T 0-5000000, 1R 5000000-5010000, 1L 5010000-8000000 (2R 5010000-8000000)");
}

TEST(work_between_two_waits_divides_them)
{
	_cleanup_(story_done) struct story s = story_of_two();

	wait_futex(&s, 0, 5 * MS, ADDRESS, 0);
	story_run(&s, 1, 5 * MS, 7 * MS); /* more than a look */
	wait_futex(&s, 7 * MS, 8 * MS, ADDRESS, 2);
	check(&s, 8 * MS,
	      "1T 0-5000000, 1R 5000000-7000000, 1L 7000000-8000000 (2R 7000000-8000000)");
}

TEST(a_message_between_two_waits_divides_them)
{
	_cleanup_(story_done) struct story s = story_of_two();

	story_connect(&s, 10);
	wait_futex(&s, 0, 5 * MS, ADDRESS, 0);
	story_run(&s, 1, 5 * MS, 5 * MS + 10 * US);
	story_send(&s, 1, 5 * MS + 5 * US, 10, 7, 7);
	wait_futex(&s, 5 * MS + 10 * US, 8 * MS, ADDRESS, 2);
	check(&s, 8 * MS,
	      "1T 0-5000000, 1R 5000000-5010000, 1L 5010000-8000000 (2R 5010000-8000000)");
}

TEST(a_poll_with_a_timeout_waits_for_what_comes_in_the_end)
{
	_cleanup_(story_done) struct story s = story_of_two();

	for (nsec_t t = 0; t < 40 * MS; t += 10 * MS) {
		wait_call(&s, t, t + 10 * MS - 10 * US, NR_POLL, t == 30 * MS ? 2 : 0);
		story_run(&s, 1, t + 10 * MS - 10 * US, t + 10 * MS);
	}
	check(&s, 20 * MS,
	      "1I 0-9990000 (2R 0-9990000), 1R 9990000-10000000, "
	      "1I 10000000-19990000 (2R 10000000-19990000), 1R 19990000-20000000");
}

TEST(a_thread_that_got_its_work_later_does_not_explain_earlier_waits)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	wait_call(&s, 0, 10 * MS, NR_POLL, 0); /* its own timer */
	story_run(&s, 1, 10 * MS, 10 * MS + 50 * US);
	story_wait(&s, 2, 0, 10 * MS + 20 * US, STATE_LOCK, 1); /* gets work */
	story_run(&s, 2, 10 * MS + 20 * US, 21 * MS);
	wait_call(&s, 10 * MS + 50 * US, 20 * MS, NR_POLL, 2); /* its result */
	check(&s, 20 * MS,
	      "1T 0-10000000, 1R 10000000-10050000, 1I 10050000-20000000 (2R 10050000-20000000)");
}

/* As pthread_join() does: the address belongs to the stack, which the next thread inherits. */
TEST(a_thread_that_was_born_later_does_not_explain_earlier_waits)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	for (uint32_t i = 0; i < 3; i++) {
		nsec_t t = i * 5 * MS;

		story_create(&s, 2 + i, 1, t);
		story_run(&s, 2 + i, t, t + 5 * MS - 20 * US);
		wait_futex(&s, t, t + 5 * MS - 20 * US, ADDRESS, 2 + i);
		story_run(&s, 1, t + 5 * MS - 20 * US, t + 5 * MS);
	}
	check(&s, 10 * MS,
	      "1L 0-4980000 (2R 0-4980000), 1R 4980000-5000000, "
	      "1L 5000000-9980000 (3R 5000000-9980000), 1R 9980000-10000000");
}

TEST(a_thread_that_was_only_recorded_later_explains_earlier_waits)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	wait_futex(&s, 0, 5 * MS, ADDRESS, 0);
	story_run(&s, 1, 5 * MS, 5 * MS + 10 * US);
	story_begin(&s, 2, 6 * MS); /* comes into scope */
	story_run(&s, 2, 6 * MS, 9 * MS);
	wait_futex(&s, 5 * MS + 10 * US, 8 * MS, ADDRESS, 2);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	thread_id id = model_find_thread(model, 1, 0);
	struct stretch wait;

	CHECK(model_stretch_at(model, id, 0, &wait));
	CHECK_INT(episode_from(model, id, &wait).parts, 2);
}

TEST(sleeps_in_a_row_are_polling)
{
	_cleanup_(story_done) struct story s = { 0 };
	struct stretch wait;

	story_begin(&s, 1, 0);
	for (nsec_t t = 0; t < 5 * MS; t += MS) {
		wait_call(&s, t, t + MS - 10 * US, NR_SLEEP, 0);
		story_run(&s, 1, t + MS - 10 * US, t + MS);
	}

	_cleanup_(model_freep) struct model *model = story_model(&s);
	thread_id id = model_find_thread(model, 1, 0);

	CHECK(model_stretch_at(model, id, 2 * MS, &wait));

	struct episode e = episode_from(model, id, &wait);

	CHECK(e.is_polling);
	CHECK_INT(e.parts, 3);
	CHECK_INT(e.state, STATE_TIMER);
}

TEST(python_threads_wait_for_the_thread_that_ran_if_none_woke_them)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_add(&s, REC(TASK, task, 0, 1, .pid = 1, .comm = STRING_PYTHON));
	story_add(&s, REC(TASK, task, 0, 2, .pid = 1, .comm = STRING_PYTHON));
	for (nsec_t t = 0; t < 10 * MS; t += 5 * MS) {
		story_run(&s, 2, t, t + 5 * MS - 10 * US);
		wait_futex(&s, t, t + 5 * MS - 10 * US, ADDRESS, 0);
		story_run(&s, 1, t + 5 * MS - 10 * US, t + 5 * MS);
	}
	check(&s, 10 * MS,
	      "1L 0-4990000 (2R 0-4990000), 1R 4990000-5000000, "
	      "1L 5000000-9990000 (2R 5000000-9990000), 1R 9990000-10000000");
}

/* Thread `tid` waits for a mutex until `waker` releases it. */
static void wait_mutex(struct story *s, uint32_t tid, nsec_t start, nsec_t end, uint32_t waker)
{
	story_add(s, REC(WAIT, wait, end, tid, .start = start, .woken = end, .state = STATE_LOCK,
			 .ready = STATE_READY, .syscall = NR_FUTEX, .object = ADDRESS,
			 .object_kind = OBJECT_FUTEX, .waker = waker, .context = WAKE_TASK,
			 .futex_op = FUTEX_PRIVATE, .futex_value = 2));
}

TEST(a_lock_that_changed_hands_was_held_by_each_thread_in_turn)
{
	_cleanup_(story_done) struct story s = { 0 };

	for (uint32_t tid = 1; tid <= 3; tid++)
		story_begin(&s, tid, 0);
	wait_mutex(&s, 1, 0, 90, 2);
	story_run(&s, 1, 90, 100);
	story_run(&s, 2, 0, 20); /* before it wants the lock */
	wait_mutex(&s, 2, 20, 50, 3);
	story_run(&s, 2, 50, 95);
	story_run(&s, 3, 0, 60);
	check(&s, 100, "1L 0-90 (3R 0-50, 2R 50-90), 1R 90-100");
}

TEST(a_thread_that_waits_for_its_client_holds_no_lock)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	story_connect(&s, 20);
	story_add(&s, REC(SOCKET_STATE, socket_state, 0, 0, .to = 10 /* TCP_LISTEN */,
			  .address = { .family = 2, .protocol = 6, .local_port = 20 }));
	wait_mutex(&s, 1, 0, 90, 2);
	story_run(&s, 1, 90, 100);
	story_add(&s, REC(WAIT, wait, 30, 2, .start = 0, .woken = 30, .state = STATE_NETWORK,
			  .ready = STATE_READY, .object = 20, .object_kind = OBJECT_INET,
			  .context = WAKE_SOFTIRQ, .vector = VECTOR_NET_RX));
	story_run(&s, 2, 30, 95);
	check(&s, 100, "1L 0-90 (1L 0-30, 2R 30-90), 1R 90-100");
}

TEST(a_poll_with_a_timeout_waits_for_the_peer_of_a_pending_call)
{
	_cleanup_(story_done) struct story s = story_of_two();

	story_connect(&s, 10);
	story_run(&s, 1, 0, MS);
	story_send(&s, 1, MS / 2, 10, 7, 7);
	story_receive(&s, 2, MS, 11, 7, 7);
	wait_call(&s, MS, 5 * MS, NR_POLL, 0);
	check(&s, 5 * MS, "1R 0-1000000, 1N 1000000-5000000 (2R 1000000-5000000)");
}
