/* SPDX-License-Identifier: Apache-2.0 */
/* Small models with their expected path. */
#include "analyse/path.h"
#include "story.h"
#include "test.h"

static void check_window(const struct story *s, uint32_t tid, nsec_t from, nsec_t to,
			 const char *want)
{
	_cleanup_(model_freep) struct model *model = story_model(s);
	_cleanup_(freep) char *got = story_path(model, tid, from, to);

	CHECK_STR(got, want);
}

/* The path of thread 1 from 0 to `to`. */
static void check_path(const struct story *s, nsec_t to, const char *want)
{
	check_window(s, 1, 0, to, want);
}

/* Threads 1 to count exist from the start. */
static struct story story_of(uint32_t count)
{
	struct story s = { 0 };

	for (uint32_t tid = 1; tid <= count; tid++)
		story_begin(&s, tid, 0);
	return s;
}

TEST(running_time_belongs_to_the_thread)
{
	_cleanup_(story_done) struct story s = story_of(1);

	story_run(&s, 1, 0, 10);
	story_add(&s, REC(WAIT, wait, 15, 1, .start = 10, .woken = 10, .ready = STATE_READY,
			  .flags = INTERVAL_PREEMPTED));
	story_run(&s, 1, 15, 30);
	check_path(&s, 30, "1R 0-10, 1C 10-15, 1R 15-30");
}

TEST(blocked_time_belongs_to_the_waker)
{
	_cleanup_(story_done) struct story s = story_of(2);

	story_run(&s, 1, 0, 10);
	story_run(&s, 2, 0, 25);
	story_add(&s, REC(WAIT, wait, 30, 1, .start = 10, .woken = 20, .state = STATE_LOCK,
			  .ready = STATE_READY, .waker = 2, .context = WAKE_TASK));
	story_run(&s, 1, 30, 40);
	check_path(&s, 40, "1R 0-10, 1L 10-20 (2R 10-20), 1C 20-30, 1R 30-40");
}

TEST(a_chain_of_waits_is_followed_to_its_end)
{
	_cleanup_(story_done) struct story s = story_of(5);

	for (uint32_t tid = 1; tid <= 5; tid++) {
		story_run(&s, tid, 0, 10 * tid);
		if (tid < 5)
			story_wait(&s, tid, 10 * tid, 100 - 10 * tid, STATE_LOCK, tid + 1);
		story_run(&s, tid, tid < 5 ? 100 - 10 * tid : 50, 100);
	}
	check_path(&s, 100,
		   "1R 0-10, 1L 10-90 (2R 10-20, 2L 20-80 (3R 20-30, 3L 30-70 (4R 30-40, "
		   "4L 40-60 (5R 40-50, 5R 50-60), 4R 60-70), 3R 70-80), 2R 80-90), 1R 90-100");
}

TEST(what_the_waker_waited_for_before_the_bound_does_not_count)
{
	_cleanup_(story_done) struct story s = story_of(3);

	story_run(&s, 1, 0, 30);
	story_wait(&s, 1, 30, 60, STATE_LOCK, 2);
	story_run(&s, 1, 60, 70);
	story_run(&s, 2, 0, 10);
	story_wait(&s, 2, 10, 40, STATE_LOCK, 3); /* contains the bound */
	story_run(&s, 2, 40, 70);
	story_run(&s, 3, 0, 70);
	check_path(&s, 70, "1R 0-30, 1L 30-60 (2L 30-40 (3R 30-40), 2R 40-60), 1R 60-70");
}

TEST(waits_that_no_thread_ended_stay)
{
	_cleanup_(story_done) struct story s = story_of(2);

	story_run(&s, 1, 0, 10);
	story_add(&s, REC(WAIT, wait, 20, 1, .start = 10, .woken = 20, .state = STATE_TIMER,
			  .waker = 2, .context = WAKE_HRTIMER)); /* a thread that was interrupted */
	story_add(&s, REC(WAIT, wait, 30, 1, .start = 20, .woken = 30, .state = STATE_DISK,
			  .waker = 2, .context = WAKE_IRQ));
	story_wait(&s, 1, 30, 40, STATE_UNKNOWN, 0);
	story_wait(&s, 1, 40, 50, STATE_LOCK, 1); /* by a signal to itself, for example */
	story_run(&s, 2, 0, 50);
	check_path(&s, 50, "1R 0-10, 1T 10-20, 1D 20-30, 1? 30-40, 1L 40-50");
}

TEST(out_of_scope_and_kernel_threads_are_not_followed)
{
	_cleanup_(story_done) struct story s = story_of(1);

	story_add(&s,
		  REC(TASK, task, 0, 2, .pid = 2, .event = TASK_EXISTING, .flags = TASK_KERNEL));
	story_add(&s, REC(TASK, task, 0, 3, .pid = 3, .event = TASK_OUT_OF_SCOPE));
	story_run(&s, 2, 0, 30);
	story_add(&s, REC(RUN, run, 30, 3, .start = 0, .flags = INTERVAL_OUT_OF_SCOPE));
	story_wait(&s, 1, 0, 10, STATE_DISK, 2);
	story_wait(&s, 1, 10, 20, STATE_LOCK, 3);
	story_wait(&s, 1, 20, 30, STATE_LOCK, 99); /* without a TASK record */
	check_path(&s, 30, "1D 0-10, 1L 10-20, 1L 20-30");
}

TEST(a_wait_that_never_ended_has_no_cause)
{
	_cleanup_(story_done) struct story s = story_of(2);

	story_run(&s, 1, 0, 10);
	story_run(&s, 2, 0, 20);
	story_add(&s, REC(WAIT, wait, 20, 1, .start = 10, .woken = 20, .state = STATE_LOCK,
			  .waker = 2, .context = WAKE_TASK, .flags = INTERVAL_OPEN));
	check_path(&s, 20, "1R 0-10, 1L 10-20");
}

TEST(before_a_thread_began_its_creator_worked)
{
	_cleanup_(story_done) struct story s = story_of(2);

	story_wait(&s, 1, 0, 40, STATE_PROCESS, 3);
	story_run(&s, 2, 0, 20);
	story_wait(&s, 2, 20, 60, STATE_TIMER, 0);
	story_create(&s, 3, 2, 15);
	story_run(&s, 3, 15, 40);
	check_path(&s, 40, "1I 0-40 (2R 0-15, 3R 15-40)");
	check_path(&s, 10, "1I 0-10 (2R 0-10)");
}

TEST(a_thread_cannot_explain_its_own_wait)
{
	_cleanup_(story_done) struct story s = story_of(1);

	/* its child, with a TASK record that comes too late */
	story_wait(&s, 1, 0, 40, STATE_PROCESS, 2);
	story_create(&s, 2, 1, 15);
	story_run(&s, 2, 15, 40);
	check_path(&s, 40, "1I 0-40 (2?! 0-15, 2R 15-40)");
}

TEST(threads_that_wait_for_each_other_cause_no_endless_loop)
{
	_cleanup_(story_done) struct story s = story_of(3);

	for (uint32_t tid = 1; tid <= 3; tid++) {
		story_wait(&s, tid, 0, 40, STATE_LOCK, tid % 3 + 1);
		story_run(&s, tid, 40, 50);
	}
	check_path(&s, 50, "1L 0-40 (2L 0-40 (3L 0-40)), 1R 40-50");
}

TEST(a_waker_recorded_too_late_leaves_a_gap)
{
	_cleanup_(story_done) struct story s = story_of(1);

	story_wait(&s, 1, 0, 40, STATE_LOCK, 2);
	story_begin(&s, 2, 30);
	story_run(&s, 2, 30, 40);
	check_path(&s, 40, "1L 0-40 (2?! 0-30, 2R 30-40)");
	/* too late for all of it */
	story_wait(&s, 1, 40, 50, STATE_LOCK, 3);
	story_begin(&s, 3, 50);
	check_path(&s, 50, "1L 0-40 (2?! 0-30, 2R 30-40), 1L 40-50 (3?! 40-50)");
}

TEST(lost_records_leave_a_gap)
{
	_cleanup_(story_done) struct story s = story_of(2);

	story_wait(&s, 1, 0, 40, STATE_LOCK, 2);
	story_run(&s, 2, 0, 10);
	story_run(&s, 2, 30, 35);
	check_path(&s, 50, "1L 0-40 (2R 0-10, 2  10-30, 2R 30-35, 2 ! 35-40), 1 ! 40-50");
	check_window(&s, 2, 0, 20, "2R 0-10, 2  10-20");
}

TEST(a_window_can_begin_and_end_anywhere)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 10);
	story_begin(&s, 2, 10);
	story_run(&s, 1, 10, 20);
	story_wait(&s, 1, 20, 50, STATE_LOCK, 2);
	story_run(&s, 1, 50, 60);
	story_run(&s, 2, 10, 30);
	story_wait(&s, 2, 30, 40, STATE_TIMER, 0);
	story_run(&s, 2, 40, 60);
	check_window(&s, 1, 0, 70,
		     "1 ! 0-10, 1R 10-20, 1L 20-50 (2R 20-30, 2T 30-40, 2R 40-50), 1R 50-60, "
		     "1 ! 60-70");
	check_window(&s, 1, 25, 50, "1L 25-50 (2R 25-30, 2T 30-40, 2R 40-50)");
	/* the end of the window cuts off a wait */
	check_window(&s, 1, 15, 35, "1R 15-20, 1L 20-35 (2R 20-30, 2T 30-35)");
	check_window(&s, 1, 22, 23, "1L 22-23 (2R 22-23)");
	check_window(&s, 1, 0, 5, "1 ! 0-5");
	check_window(&s, 1, 65, 70, "1 ! 65-70");
	check_window(&s, 1, 20, 20, "");
}

/* Thread 2 receives a request from thread 1 and replies. */
static void tell_request(struct story *s)
{
	story_connect(s, 100);
	story_run(s, 1, 0, 10);
	story_send(s, 1, 9, 100, 1009, 9);
	story_wait_packet(s, 1, 10, 40);
	story_receive(s, 1, 42, 100, 2020, 20);
	story_run(s, 1, 40, 50);
	story_wait_packet(s, 2, 0, 15);
	story_receive(s, 2, 16, 101, 1009, 9);
	story_run(s, 2, 15, 35);
	story_send(s, 2, 34, 101, 2020, 20);
	story_wait_packet(s, 2, 35, 50);
}

TEST(a_receiver_waits_for_the_sender)
{
	_cleanup_(story_done) struct story s = story_of(2);

	tell_request(&s);
	check_path(&s, 50, "1R 0-10, 1N 10-40 (2N 10-15, 2R 15-34, 2N~ 34-40), 1R 40-50");
}

TEST(a_message_sent_before_the_wait_was_in_transit)
{
	_cleanup_(story_done) struct story s = story_of(2);

	story_connect(&s, 100);
	story_run(&s, 1, 0, 10);
	story_wait_packet(&s, 1, 10, 40);
	story_receive(&s, 1, 42, 100, 2020, 20);
	story_run(&s, 1, 40, 50);
	story_run(&s, 2, 0, 50);
	story_send(&s, 2, 5, 101, 2020, 20);
	check_path(&s, 50, "1R 0-10, 1N 10-40 (2N~ 10-40), 1R 40-50");
}

TEST(a_send_can_return_after_the_wakeup_that_it_caused)
{
	_cleanup_(story_done) struct story s = story_of(2);

	story_connect(&s, 100);
	story_wait_packet(&s, 1, 0, 40);
	story_receive(&s, 1, 41, 100, 2020, 20);
	story_run(&s, 1, 40, 50);
	story_run(&s, 2, 0, 50);
	story_send(&s, 2, 45, 101, 2020, 20);
	check_path(&s, 50, "1N 0-40 (2R 0-40), 1R 40-50");
}

TEST(only_a_message_received_before_the_next_wait_counts)
{
	_cleanup_(story_done) struct story s = story_of(2);

	story_connect(&s, 100);
	story_wait_packet(&s, 1, 0, 20); /* a packet without data */
	story_run(&s, 1, 20, 25);
	story_wait_packet(&s, 1, 25, 40);
	story_receive(&s, 1, 41, 100, 2020, 20);
	story_run(&s, 1, 40, 50);
	story_run(&s, 2, 0, 50);
	story_send(&s, 2, 38, 101, 2020, 20);
	check_path(&s, 50, "1N 0-20, 1R 20-25, 1N 25-40 (2R 25-38, 2N~ 38-40), 1R 40-50");
}

TEST(a_message_on_another_socket_does_not_count)
{
	_cleanup_(story_done) struct story s = story_of(3);

	story_connect(&s, 100);
	story_connect(&s, 200);
	story_run(&s, 2, 0, 50);
	story_run(&s, 3, 0, 50);
	story_send(&s, 2, 15, 101, 2020, 20);
	story_send(&s, 3, 16, 201, 2020, 20);
	story_add(&s, REC(WAIT, wait, 20, 1, .start = 0, .woken = 20, .state = STATE_NETWORK,
			  .context = WAKE_SOFTIRQ, .object_kind = OBJECT_INET, .object = 200));
	story_receive(&s, 1, 21, 100, 2020, 20);
	story_receive(&s, 1, 22, 200, 2020, 20);
	story_run(&s, 1, 20, 30);
	check_path(&s, 30, "1N 0-20 (3R 0-16, 3N~ 16-20), 1R 20-30");
}

TEST(a_message_from_an_unknown_sender_does_not_blame_the_waker)
{
	_cleanup_(story_done) struct story s = story_of(2);

	story_connect(&s, 100);
	story_run(&s, 2, 0, 50);
	story_wait(&s, 1, 0, 20, STATE_NETWORK, 2);
	story_receive(&s, 1, 21, 100, 2020, 20);
	story_run(&s, 1, 20, 30);
	check_path(&s, 30, "1N 0-20, 1R 20-30");
	/* without any message, the waker ended the wait */
	story_wait(&s, 1, 30, 40, STATE_NETWORK, 2);
	story_run(&s, 1, 40, 50);
	check_path(&s, 50, "1N 0-20, 1R 20-30, 1N 30-40 (2R 30-40), 1R 40-50");
}

/* The records of thread 3 begin with the message that it receives from 2. */
TEST(before_a_thread_was_recorded_the_sender_of_its_first_message_worked)
{
	_cleanup_(story_done) struct story s = story_of(2);

	story_connect(&s, 100);
	story_wait(&s, 1, 0, 50, STATE_LOCK, 3);
	story_run(&s, 2, 0, 15);
	story_wait(&s, 2, 15, 60, STATE_TIMER, 0);
	story_send(&s, 2, 12, 100, 1010, 10);
	story_begin(&s, 3, 20);
	story_run(&s, 3, 20, 50);
	story_receive(&s, 3, 25, 101, 1010, 10);
	check_path(&s, 50, "1L 0-50 (2R 0-12, 2N~ 12-25, 3R 25-50)");
}

/* Without known threads, the path follows spans alone; each step has its span. */
TEST(a_spans_path_goes_along_its_children_and_their_threads)
{
	_cleanup_(story_done) struct story s = story_of(2);

	tell_request(&s);
	story_add(&s, REC(SPAN, span, 50, 1, .start = 0, .span = { 1 }));
	story_add(&s, REC(SPAN, span, 35, 2, .start = 15, .span = { 2 }, .parent = { 1 }));
	story_add(&s, REC(SPAN, span, 30, 0, .start = 20, .span = { 3 }, .parent = { 2 }));
	story_add(&s, REC(SPAN, span, 48, 0, .start = 46, .span = { 4 }, .parent = { 1 }));

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(path_done) struct path path = { 0 };
	static const struct {
		nsec_t start, end;
		uint32_t tid;
		uint8_t state, span;
	} want[] = {
		{ 0, 10, 1, 'R', 1 },  { 10, 15, 2, 'N', 1 }, { 15, 20, 2, 'R', 2 },
		{ 20, 30, 2, 'R', 3 }, { 30, 35, 2, 'R', 2 }, { 35, 40, 2, 'N', 1 },
		{ 40, 46, 1, 'R', 1 }, { 46, 48, 1, 'R', 4 }, { 48, 50, 1, 'R', 1 },
	};
	size_t n = 0;

	for (uint32_t i = 1; i < model_span_count(model); i++)
		if (model_span(model, (span_id){ i })->id[0] == 1)
			path_of_span(&(struct span_set){ .model = model }, (span_id){ i }, &path);
	for (size_t i = 0; i < path.steps.count; i++) {
		const struct step *step = &path.steps.items[i];

		if (!step->is_leaf)
			continue;
		CHECK(n < ARRAY_LEN(want));
		if (n == ARRAY_LEN(want))
			return;
		CHECK_INT(step->start, want[n].start);
		CHECK_INT(step->end, want[n].end);
		CHECK_INT(model_thread(model, step->thread)->tid, want[n].tid);
		CHECK_INT(step->state, want[n].state);
		CHECK_INT(model_span(model, step->span)->id[0], want[n].span);
		n++;
	}
	CHECK_INT(n, ARRAY_LEN(want));
}
