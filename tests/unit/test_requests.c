/* SPDX-License-Identifier: Apache-2.0 */
/* Requests rebuilt from messages, wakeups and forks, in the notation of scenario.h. */
#include "scenario.h"
#include "test.h"

/* A service (thread 1) and a backend (thread 2). */
#define SERVICES "process 1; process 2;"

/* Thread 1 receives requests for its pool, threads 3 and 4; thread 2 is a backend. */
#define POOL "process 1 3 4; process 2;"

TEST(a_thread_that_calls_and_replies_works_for_one_request_after_another)
{
	scenario_check(SERVICES "10 1 gets a; 11 1 exchanges b 2; 15 1 replies a;"
				"20 1 gets a; 21 1 exchanges b 2; 25 1 replies a",
		       "1(2) 1(2)");
}

TEST(a_request_and_its_reply_can_come_in_parts)
{
	scenario_check("process 1; 10 1 gets a; 11 1 gets a; 12 1 replies a; 13 1 replies a", "1");
}

TEST(a_thread_works_for_a_long_reply_until_its_end)
{
	_cleanup_(scenario_done) struct scenario s = { 0 };
	nsec_t time = 0;

	scenario_add(&s, 0,
		     "process 1; 10 1 gets a; 12 1 replies a; 20 1 replies a; 90 1 replies a");

	_cleanup_(model_freep) struct model *model = story_model(&s.story);
	_cleanup_(requests_done) struct requests requests;

	requests_find(model, &requests);
	for (size_t i = 0; i < requests.work.count; i++)
		time += requests.work.items[i].to - requests.work.items[i].from;
	CHECK_INT(time, 80);
}

TEST(a_recorded_client_is_not_a_service)
{
	scenario_check(SERVICES "10 1 exchanges a 2", "2");
}

TEST(an_event_loop_works_for_the_request_that_it_read_last)
{
	scenario_check(SERVICES
		       "10 1 gets a; 11 1 calls c; 12 1 gets b; 13 1 calls d; 14-20 1 polls;"
		       "15 2 takes c; 16 2 replies c; 17 2 takes d; 18 2 replies d;"
		       "21 1 reads d; 22 1 replies b; 23 1 reads c; 24 1 replies a",
		       "1(2) 1(2)");
}

TEST(a_call_that_two_requests_can_have_made_has_no_parent)
{
	scenario_check(SERVICES "10 1 gets a; 11 1 gets b; 12-20 1 polls;"
				"21 1 calls c 2; 24-30 1 polls; 31 1 replies a; 32 1 replies b",
		       "1 1 ?2");
}

TEST(the_reply_sent_after_a_reply_was_read_shows_which_request_made_the_call)
{
	scenario_check(SERVICES "10 1 gets a; 11 1 gets b; 12-20 1 polls; 21 1 calls c 2;"
				"24-30 1 polls; 31 1 reads c; 32 1 replies b; 33 1 replies a",
		       "1 1(2)");
}

TEST(the_first_call_on_a_connection_belongs_to_the_request_that_opened_it)
{
	scenario_check(SERVICES "10 1 gets a; 11 1 connects c; 12 1 gets b; 13-20 1 polls;"
				"21 1 calls c 2; 31 1 reads c; 32 1 replies a; 33 1 replies b",
		       "1(2) 1");
}

TEST(a_worker_woken_by_the_reader_works_for_the_reader_s_request)
{
	scenario_check(POOL "10 1 gets a; 2-11 3 waits 1; 12 3 exchanges c 2; 16 3 replies a",
		       "1(h3(2))");
}

TEST(a_worker_woken_from_a_mutex_continues_its_own_work)
{
	scenario_check(POOL "10 1 gets a; 2-11 3 waits 1; 12 1 gets b; 3-13 4 waits 1;"
			    "14-15 3 locks 4; 16 3 exchanges c 2; 20 3 replies a; 21 4 replies b",
		       "1(h3(2)) 1(h4)");
}

/* b waits in the queue, as thread 3 is busy. */
TEST(a_worker_that_replies_has_worked_for_the_request_without_a_wakeup)
{
	scenario_check(POOL "10 1 gets a; 2-11 3 waits 1; 12 1 gets b;"
			    "13 3 replies a; 14 3 exchanges c 2; 18 3 replies b",
		       "1(h3) 1(h3(2))");
}

/* b waits in the queue; at 17, thread 3 hands the result for a back and takes b. */
TEST(a_worker_that_hands_its_result_back_is_free_for_more)
{
	scenario_check(POOL
		       "10 1 gets a; 2-11 3 waits 1; 12 1 gets b;"
		       "13 3 exchanges c 2; 13-17 1 polls 3;"
		       "18 3 calls d; 19 1 replies a; 20 2 takes d; 21 2 replies d; 22 3 reads d;"
		       "20-23 1 polls 3; 24 1 replies b",
		       "1(h3(2)) 1(h3(2))");
}

TEST(a_process_created_for_a_request_works_for_it)
{
	scenario_check(POOL "10 1 gets a; 11 1 forks 9; 12 9 exchanges c 2; 16 1 replies a",
		       "1(f9(2))");
}

TEST(requests_read_at_once_are_told_apart_by_their_replies)
{
	scenario_check(SERVICES "10 1 gets a; 11 1 exchanges b 2; 15 1 replies a;"
				"16 1 exchanges b 2; 20 1 replies a",
		       "1(2) 1(2)");
}

TEST(a_call_after_the_reply_is_for_the_same_request)
{
	scenario_check(SERVICES "10 1 gets a; 11 1 replies a; 12 1 exchanges b 2;"
				"20 1 gets a; 21 1 replies a; 22 1 exchanges b 2",
		       "1(2) 1(2)");
}

/* Both requests sleep; a timer wakes the first, which calls twice and replies. */
TEST(a_call_made_on_a_reply_is_for_the_same_request)
{
	scenario_check(SERVICES "10 1 gets a; 11 1 gets b; 12-20 1 polls;"
				"21 1 calls c 2; 22-30 1 polls; 31 1 reads c;"
				"32 1 calls d 2; 33-40 1 polls; 41 1 reads d;"
				"42 1 replies a; 43 1 replies b",
		       "1(2 2) 1");
}

/* Thread 3 is woken for a, and thread 4 for b. */
#define TWO_HANDOFFS POOL "10 1 gets a; 2-11 3 waits 1; 12 1 gets b; 2-13 4 waits 1;"

/* Thread 4 is faster, takes a and replies. */
TEST(the_worker_that_replies_had_the_work_and_not_the_woken_one)
{
	scenario_check(TWO_HANDOFFS "15 4 calls c; 16 3 calls d; 17 2 takes c; 18 2 replies c;"
				    "19 2 takes d; 20 2 replies d; 21 4 reads c; 22 3 reads d;"
				    "23 4 replies a; 24 3 replies b",
		       "1(h4(2)) 1(h3(2))");
}

/* Both workers call, thread 4 for a, and finish in that order; the reader sends both replies. */
#define BOTH_CALL \
	"15 4 calls c; 16 3 calls d; 17 2 takes c; 18 2 replies c; 19 2 takes d; 20 2 replies d;" \
	"21 4 reads c;"
#define BOTH_FINISH "23-40 4 waits; 24 1 replies a; 25 3 reads d; 26-40 3 waits; 27 1 replies b"

TEST(the_reader_replies_in_the_order_in_which_workers_finish)
{
	scenario_check(TWO_HANDOFFS BOTH_CALL "14-22 1 polls 4;" BOTH_FINISH, "1(h4(2)) 1(h3(2))");
}

TEST(a_busy_reader_that_needs_no_wakeup_replies_in_the_same_order)
{
	scenario_check(TWO_HANDOFFS BOTH_CALL BOTH_FINISH, "1(h4(2)) 1(h3(2))");
}

/* Thread 4 finds the queue empty; thread 3 goes on without a visible break after its first item. */
#define WORKS_ON \
	TWO_HANDOFFS "14-90 4 waits; 15 3 exchanges c 2; 14-19 1 polls 3; 20 3 exchanges c 2;" \
		     "25 1 replies a;"

TEST(a_second_call_to_the_same_backend_is_for_another_request_if_there_is_one)
{
	scenario_check(WORKS_ON "26 1 gets d; 27 3 exchanges c 2; 31 1 replies b; 32-90 3 waits;"
				"33 1 replies d",
		       "1(h3(2)) 1(h3(2)) 1(h3(2))");
}

TEST(a_second_call_to_the_same_backend_is_for_the_same_request_if_there_is_no_other)
{
	scenario_check(WORKS_ON "27 3 exchanges c 2; 32-90 3 waits; 33 1 replies b",
		       "1(h3(2)) 1(h3(2 2))");
}

TEST(a_worker_that_replies_made_all_its_calls_for_one_request)
{
	scenario_check(POOL "10 1 gets a; 2-11 3 waits 1; 15 3 exchanges c 2; 20 3 exchanges c 2;"
			    "25 3 replies a",
		       "1(h3(2 2))");
}

/* Thread 3 takes a from the queue and wakes thread 4, as the queue is not empty. */
TEST(a_worker_that_wakes_the_next_worker_is_not_the_dispatcher)
{
	scenario_check(POOL "10 1 gets a; 2-11 3 waits 1; 12 1 gets b; 2-13 4 waits 3;"
			    "14 3 calls c; 15 4 calls d; 16 2 takes c; 17 2 replies c;"
			    "18 2 takes d; 19 2 replies d; 20 4 reads d; 14-21 1 polls 4;"
			    "22 1 replies b; 23 3 reads c; 22-24 1 polls 3; 25 1 replies a",
		       "1(h3(2)) 1(h4(2))");
}

TEST(a_request_received_in_two_reads_belongs_to_its_sender)
{
	_cleanup_(scenario_done) struct scenario s = { 0 };

	scenario_add(&s, 0, SERVICES "10 1 gets a; 11 1 calls b");
	scenario_take_part(&s, 12, 2, 'b', 4, 4);
	scenario_take_part(&s, 13, 2, 'b', 10, 6);
	scenario_add(&s, 0, "14 2 replies b; 15 1 reads b; 16 1 replies a");
	scenario_check_trees(&s, "1(2)");
}

/* Both requests sleep.  b calls; the first part of its reply arrives when a wakes up. */
TEST(a_call_between_two_parts_of_a_reply_is_for_another_request)
{
	scenario_check(SERVICES "10 1 gets a; 11 1 gets b; 12-20 1 polls;"
				"21 1 calls c 2; 22-30 1 polls; 31 1 reads c;"
				"32 1 calls d; 33 2 takes d; 34 2 replies c; 33-40 1 polls;"
				"41 1 reads c; 42 1 replies a;"
				"43 2 replies d; 43-50 1 polls; 51 1 reads d; 52 1 replies b",
		       "1(2) 1(2)");
}

/* Both requests sleep; then the loop calls over c and d without reading anything. */
#define TWO_CALLS_AT_ONCE \
	SERVICES "10 1 gets a; 11 1 gets b; 12-20 1 polls; 21 1 calls c; 22 1 calls d;" \
		 "23 2 takes c; 24 2 replies c; 25 2 takes d; 26 2 replies d; 23-30 1 polls;" \
		 "31 1 reads c;"

TEST(calls_to_several_backends_at_once_are_for_one_request)
{
	scenario_check(TWO_CALLS_AT_ONCE
		       "32-40 1 polls; 41 1 reads d; 42 1 replies a; 43 1 replies b",
		       "1(2 2) 1");
}

TEST(calls_at_once_have_no_parent_if_the_loop_acts_before_all_replies_are_read)
{
	scenario_check(TWO_CALLS_AT_ONCE
		       "32 1 replies a; 33-40 1 polls; 41 1 reads d; 42 1 replies b",
		       "1 1 ?2 ?2");
}

TEST(a_worker_that_makes_as_many_calls_as_two_requests_need_works_for_two)
{
	scenario_check(TWO_HANDOFFS
		       "14-90 4 waits; 15 3 exchanges c 2; 20 3 exchanges c 2;"
		       "14-24 1 polls 3; 25 1 replies a; 26 1 gets d;"
		       "30 3 exchanges c 2; 35 3 exchanges c 2; 40 3 exchanges c 2;"
		       "45 3 exchanges c 2; 41 1 replies b; 50-90 3 waits; 51 1 replies d",
		       "1(h3(2 2)) 1(h3(2 2)) 1(h3(2 2))");
}

TEST(a_worker_that_creates_a_process_has_taken_work)
{
	scenario_check(POOL "10 1 gets a; 2-11 3 waits 1; 12 1 gets b; 13 3 replies a;"
			    "14 3 forks 9; 15 9 exchanges c 2; 20 3 replies b",
		       "1(h3) 1(h3(f9(2)))");
}

TEST(a_call_after_a_read_has_no_parent_if_another_request_sleeps)
{
	scenario_check(SERVICES "10 1 gets a; 12-20 1 polls; 21 1 gets b; 22 1 calls c 2;"
				"23-30 1 polls; 31 1 replies a; 32 1 replies b",
		       "1 1 ?2");
}

TEST(a_wakeup_from_a_mutex_hands_over_no_work)
{
	scenario_check(POOL "10 1 gets a; 2-11 3 waits 1; 2-12 4 locks 1; 13 4 exchanges c 2;"
			    "20 1 replies a",
		       "1(h3) ?2");
}

/* At 11, thread 8 passes on a lock that both need for all they do. */
TEST(a_thread_that_goes_back_to_its_poll_got_a_lock_and_no_work)
{
	scenario_check(POOL "2-5 4 polls; 6 4 spawns 8; 10 8 gets a; 7-11 4 waits 8; 12-20 4 polls;"
			    "21 4 spawns 9; 22 8 replies a; 24 9 gets b; 26 9 replies b",
		       "8 9");
}

/* At 11, thread 3 seems to get work; at 15, it waits for the same with a request of its own. */
TEST(a_lock_that_busy_threads_wait_for_is_not_a_work_queue)
{
	scenario_check(POOL "10 4 gets a; 2-11 3 waits 4; 12 3 gets b; 13-15 3 waits 4;"
			    "16 4 replies a; 17 3 replies b",
		       "4 3");
}

TEST(a_call_to_a_service_that_was_not_recorded_is_a_span)
{
	_cleanup_(scenario_done) struct scenario s = { 0 };

	scenario_add(&s, 0, "process 1; 10 1 gets a; 12 1 calls b; 30 1 reads b; 32 1 replies a");

	_cleanup_(model_freep) struct model *model = story_model(&s.story);
	_cleanup_(requests_done) struct requests requests;

	requests_find(model, &requests);
	CHECK_INT(requests.spans.count, 3);
	CHECK_INT(requests.spans.items[2].kind, REQUEST_CALL);
	CHECK_INT(requests.spans.items[2].parent, 1);
	CHECK_INT(requests.spans.items[2].start, 12);
	CHECK_INT(requests.spans.items[2].end, 30);
	CHECK_INT(requests.replies.count, 1);
	CHECK_INT(requests.replies.items[0].span, 1);
}

TEST(a_message_without_a_reply_is_not_a_call)
{
	scenario_check("process 1; 10 1 gets a; 12 1 calls b; 32 1 replies a", "1");
}

TEST(a_call_of_a_process_that_serves_no_request_has_no_span)
{
	scenario_check("process 1; 12 1 calls b; 32 1 reads b", "");
}

/* Thread 3 hands the result for a over at 20, takes b from its queue, and hands that over at 30. */
TEST(the_reply_after_a_wakeup_shows_which_request_a_busy_worker_worked_for)
{
	scenario_check("process 1 3; 10 1 gets a; 2-11 3 waits 1; 12 1 gets b; 13-20 1 polls 3;"
		       "21 1 replies a; 22-30 1 polls 3; 31 1 replies b; 32-40 3 waits 1",
		       "1(h3) 1(h3)");
}

TEST(a_thread_that_grows_a_pool_hands_results_to_other_requests)
{
	scenario_check("process 1 2; 10 1 gets a; 11 1 spawns 3; 12 2 gets b; 12-20 1 awaits 3;"
		       "21 1 replies a; 13-30 2 awaits 3; 31 2 replies b",
		       "1(f3) 2(h3)");
}

/* A wait of a Python thread near its global interpreter lock; a timer ends it without a waker. */
static void wait_gil(struct scenario *s, uint32_t tid, nsec_t start, nsec_t end, uint64_t address,
		     uint32_t waker)
{
	story_add(&s->story,
		  REC(WAIT, wait, end, tid, .start = start, .woken = end, .state = STATE_LOCK,
		      .ready = STATE_READY, .syscall = 202, .object = address,
		      .object_kind = OBJECT_FUTEX, .flags = INTERVAL_CONDVAR, .waker = waker,
		      .context = waker ? WAKE_TASK : WAKE_HRTIMER));
}

/*
 * Thread 3 waits for a whole turn, and then gets the lock from thread 1, which waits until it was
 * taken.
 */
static void check_gil(str_id name, const char *want)
{
	const nsec_t ms = 1000000;
	_cleanup_(scenario_done) struct scenario s = { 0 };

	scenario_add(&s, 0, "process 1 3; 10 1 gets a; 40000000 1 replies a");
	story_add(&s.story, REC(TASK, task, 1, 1, .pid = 1, .comm = name.i, .event = TASK_RENAMED));
	wait_gil(&s, 3, 20, 2 * ms, 0x9000, 0);
	wait_gil(&s, 3, 2 * ms, 7 * ms, 0x1000, 0);
	wait_gil(&s, 3, 7 * ms + 10, 9 * ms, 0x1004, 1);
	wait_gil(&s, 1, 9 * ms, 20 * ms, 0x1058, 3);
	scenario_check_trees(&s, want);
}

TEST(the_lock_of_python_hands_over_neither_work_nor_results)
{
	check_gil((str_id){ STRING_PYTHON }, "1");
	check_gil((str_id){ STRING_POSTGRES }, "1(h3)");
}
