/* SPDX-License-Identifier: Apache-2.0 */
/* Requests found from messages, wakeups and births; in the words of play.h. */
#include "play.h"
#include "test.h"

TEST(a_thread_that_reads_asks_and_answers_works_for_one_request_after_another)
{
	_cleanup_(play_done) struct play p = { 0 };

	play_connection(&p, 0);
	play_connection(&p, 1);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	for (nsec_t t = 10; t < 30; t += 10) {
		play_unrecorded_call(&p, 0);
		play_receive_call(&p, t, 1, 0);
		play_call(&p, t + 1, 1, 1);
		play_receive_call(&p, t + 2, 2, 1);
		play_reply(&p, t + 3, 2, 1);
		play_receive_reply(&p, t + 4, 1, 1);
		play_reply(&p, t + 5, 1, 0);
	}
	play_check_trees(&p, "1(2) 1(2)");
}

TEST(parts_of_a_request_and_of_an_answer_are_one)
{
	_cleanup_(play_done) struct play p = { 0 };

	play_connection(&p, 0);
	play_thread(&p, 1, 1);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 11, 1, 0);
	play_reply(&p, 12, 1, 0);
	play_reply(&p, 13, 1, 0);
	play_check_trees(&p, "1");
}

TEST(a_thread_works_for_a_long_answer_to_its_end)
{
	_cleanup_(play_done) struct play p = { 0 };
	nsec_t time = 0;

	play_connection(&p, 0);
	play_thread(&p, 1, 1);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_reply(&p, 12, 1, 0);
	play_reply(&p, 20, 1, 0);
	play_reply(&p, 90, 1, 0);

	_cleanup_(model_freep) struct model *model = story_model(&p.story);
	_cleanup_(requests_done) struct requests requests;

	requests_find(model, &requests);
	for (size_t i = 0; i < requests.work.count; i++)
		time += requests.work.items[i].to - requests.work.items[i].from;
	CHECK_INT(time, 80);
}

TEST(a_client_that_is_recorded_is_no_service)
{
	_cleanup_(play_done) struct play p = { 0 };

	play_connection(&p, 0);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	play_call(&p, 10, 1, 0);
	play_receive_call(&p, 11, 2, 0);
	play_reply(&p, 12, 2, 0);
	play_receive_reply(&p, 13, 1, 0);
	play_check_trees(&p, "2");
}

TEST(an_event_loop_works_for_what_it_read_last)
{
	_cleanup_(play_done) struct play p = { 0 };

	for (unsigned c = 0; c < 4; c++)
		play_connection(&p, c);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_call(&p, 11, 1, 2);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 12, 1, 1);
	play_call(&p, 13, 1, 3);
	play_poll(&p, 14, 20, 1, 0);
	play_receive_call(&p, 15, 2, 2);
	play_reply(&p, 16, 2, 2);
	play_receive_call(&p, 17, 2, 3);
	play_reply(&p, 18, 2, 3);
	play_receive_reply(&p, 21, 1, 3);
	play_reply(&p, 22, 1, 1);
	play_receive_reply(&p, 23, 1, 2);
	play_reply(&p, 24, 1, 0);
	play_check_trees(&p, "1(2) 1(2)");
}

TEST(what_an_event_loop_sends_without_reading_is_left_open_if_it_may_be_for_two)
{
	_cleanup_(play_done) struct play p = { 0 };

	for (unsigned c = 0; c < 3; c++)
		play_connection(&p, c);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 11, 1, 1);
	play_poll(&p, 12, 20, 1, 0);
	play_call(&p, 21, 1, 2);
	play_receive_call(&p, 22, 2, 2);
	play_reply(&p, 23, 2, 2);
	play_poll(&p, 24, 30, 1, 0);
	play_reply(&p, 31, 1, 0);
	play_reply(&p, 32, 1, 1);
	play_check_trees(&p, "1 1 ?2");
}

TEST(the_answer_after_an_answer_tells_who_had_asked)
{
	_cleanup_(play_done) struct play p = { 0 };

	for (unsigned c = 0; c < 3; c++)
		play_connection(&p, c);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 11, 1, 1);
	play_poll(&p, 12, 20, 1, 0);
	play_call(&p, 21, 1, 2);
	play_receive_call(&p, 22, 2, 2);
	play_reply(&p, 23, 2, 2);
	play_poll(&p, 24, 30, 1, 0);
	play_receive_reply(&p, 31, 1, 2);
	play_reply(&p, 32, 1, 1);
	play_reply(&p, 33, 1, 0);
	play_check_trees(&p, "1 1(2)");
}

TEST(a_connection_belongs_to_whom_it_was_made_for)
{
	_cleanup_(play_done) struct play p = { 0 };

	for (unsigned c = 0; c < 3; c++)
		play_connection(&p, c);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	story_add(&p.story,
		  REC(SOCKET_STATE, socket_state, 11, 1, .object = CLIENT + 2, .from = 7, .to = 2));
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 12, 1, 1);
	play_poll(&p, 13, 20, 1, 0);
	play_call(&p, 21, 1, 2);
	play_receive_call(&p, 22, 2, 2);
	play_reply(&p, 23, 2, 2);
	play_receive_reply(&p, 31, 1, 2);
	play_reply(&p, 32, 1, 0);
	play_reply(&p, 33, 1, 1);
	play_check_trees(&p, "1(2) 1");
}

/* Thread 1 reads, 3 and 4 of its process work, 2 is another service. */
static void pool(struct play *p)
{
	for (unsigned c = 0; c < 4; c++)
		play_connection(p, c);
	play_thread(p, 1, 1);
	play_thread(p, 3, 1);
	play_thread(p, 4, 1);
	play_thread(p, 2, 2);
}

TEST(who_is_woken_for_work_works_for_what_the_waker_read)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_wait(&p, 2, 11, 3, 1, FUTEX);
	play_call(&p, 12, 3, 2);
	play_receive_call(&p, 13, 2, 2);
	play_reply(&p, 14, 2, 2);
	play_receive_reply(&p, 15, 3, 2);
	play_reply(&p, 16, 3, 0);
	play_check_trees(&p, "1(h3(2))");
}

TEST(who_is_woken_from_a_lock_goes_on_with_his_own)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_wait(&p, 2, 11, 3, 1, FUTEX);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 12, 1, 1);
	play_wait(&p, 3, 13, 4, 1, FUTEX);
	play_wait(&p, 14, 15, 3, 4, MUTEX);
	play_call(&p, 16, 3, 2);
	play_receive_call(&p, 17, 2, 2);
	play_reply(&p, 18, 2, 2);
	play_receive_reply(&p, 19, 3, 2);
	play_reply(&p, 20, 3, 0);
	play_reply(&p, 21, 4, 1);
	play_check_trees(&p, "1(h3(2)) 1(h4)");
}

TEST(who_answers_has_worked_for_it_though_nobody_woke_him)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_wait(&p, 2, 11, 3, 1, FUTEX);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 12, 1, 1); /* into the queue: 3 is busy */
	play_reply(&p, 13, 3, 0);
	play_call(&p, 14, 3, 2);
	play_receive_call(&p, 15, 2, 2);
	play_reply(&p, 16, 2, 2);
	play_receive_reply(&p, 17, 3, 2);
	play_reply(&p, 18, 3, 1);
	play_check_trees(&p, "1(h3) 1(h3(2))");
}

TEST(who_gives_his_work_back_is_free_for_more)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_wait(&p, 2, 11, 3, 1, FUTEX);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 12, 1, 1); /* into the queue: 3 is busy */
	play_call(&p, 13, 3, 2);
	play_receive_call(&p, 14, 2, 2);
	play_reply(&p, 15, 2, 2);
	play_receive_reply(&p, 16, 3, 2);
	play_poll(&p, 13, 17, 1, 3); /* 3 gives the first back and takes the second */
	play_call(&p, 18, 3, 3);
	play_reply(&p, 19, 1, 0);
	play_receive_call(&p, 20, 2, 3);
	play_reply(&p, 21, 2, 3);
	play_receive_reply(&p, 22, 3, 3);
	play_poll(&p, 20, 23, 1, 3);
	play_reply(&p, 24, 1, 1);
	play_check_trees(&p, "1(h3(2)) 1(h3(2))");
}

TEST(who_is_created_for_a_request_works_for_it)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	story_create(&p.story, 9, 1, 11);
	play_call(&p, 12, 9, 2);
	play_receive_call(&p, 13, 2, 2);
	play_reply(&p, 14, 2, 2);
	play_receive_reply(&p, 15, 9, 2);
	play_reply(&p, 16, 1, 0);
	play_check_trees(&p, "1(f9(2))");
}

TEST(requests_that_were_read_at_once_are_told_apart_by_their_answers)
{
	_cleanup_(play_done) struct play p = { 0 };

	play_connection(&p, 0);
	play_connection(&p, 1);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_exchange(&p, 11, 1, 1);
	play_reply(&p, 15, 1, 0);
	play_exchange(&p, 16, 1, 1);
	play_reply(&p, 20, 1, 0);
	play_check_trees(&p, "1(2) 1(2)");
}

TEST(a_thread_that_asks_after_its_answer_does_so_for_the_same)
{
	_cleanup_(play_done) struct play p = { 0 };

	play_connection(&p, 0);
	play_connection(&p, 1);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	for (nsec_t t = 10; t < 30; t += 10) {
		play_unrecorded_call(&p, 0);
		play_receive_call(&p, t, 1, 0);
		play_reply(&p, t + 1, 1, 0);
		play_exchange(&p, t + 2, 1, 1);
	}
	play_check_trees(&p, "1(2) 1(2)");
}

/* Two sleep; the first is woken by its timer, asks twice, and answers. */
TEST(what_follows_from_a_question_is_for_whom_it_was)
{
	_cleanup_(play_done) struct play p = { 0 };

	for (unsigned c = 0; c < 4; c++)
		play_connection(&p, c);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 11, 1, 1);
	play_poll(&p, 12, 20, 1, 0);
	play_call(&p, 21, 1, 2);
	play_receive_call(&p, 22, 2, 2);
	play_reply(&p, 23, 2, 2);
	play_poll(&p, 22, 30, 1, 0);
	play_receive_reply(&p, 31, 1, 2);
	play_call(&p, 32, 1, 3);
	play_receive_call(&p, 33, 2, 3);
	play_reply(&p, 34, 2, 3);
	play_poll(&p, 33, 40, 1, 0);
	play_receive_reply(&p, 41, 1, 3);
	play_reply(&p, 42, 1, 0);
	play_reply(&p, 43, 1, 1);
	play_check_trees(&p, "1(2 2) 1");
}

/* Thread 1 reads what comes over connection c, and wakes a worker at t. */
static void hands_over(struct play *p, nsec_t t, uint32_t worker, unsigned c)
{
	play_unrecorded_call(p, c);
	play_receive_call(p, t - 1, 1, c);
	play_wait(p, 2, t, worker, 1, FUTEX);
}

TEST(who_is_woken_is_not_always_who_takes_it)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	hands_over(&p, 11, 3, 0);
	hands_over(&p, 13, 4, 1);
	/* 4 was quicker, and answers the first */
	play_call(&p, 15, 4, 2);
	play_call(&p, 16, 3, 3);
	play_receive_call(&p, 17, 2, 2);
	play_reply(&p, 18, 2, 2);
	play_receive_call(&p, 19, 2, 3);
	play_reply(&p, 20, 2, 3);
	play_receive_reply(&p, 21, 4, 2);
	play_receive_reply(&p, 22, 3, 3);
	play_reply(&p, 23, 4, 0);
	play_reply(&p, 24, 3, 1);
	play_check_trees(&p, "1(h4(2)) 1(h3(2))");
}

/* Both ask, 4 for the first, and are done in that order: the reader answers both. */
static void come_back(struct play *p, bool reader_sleeps)
{
	pool(p);
	hands_over(p, 11, 3, 0);
	hands_over(p, 13, 4, 1);
	play_call(p, 15, 4, 2);
	play_call(p, 16, 3, 3);
	play_receive_call(p, 17, 2, 2);
	play_reply(p, 18, 2, 2);
	play_receive_call(p, 19, 2, 3);
	play_reply(p, 20, 2, 3);
	play_receive_reply(p, 21, 4, 2);
	if (reader_sleeps)
		play_poll(p, 14, 22, 1, 4);
	play_wait(p, 23, 40, 4, 0, FUTEX);
	play_reply(p, 24, 1, 0);
	play_receive_reply(p, 25, 3, 3);
	play_wait(p, 26, 40, 3, 0, FUTEX);
	play_reply(p, 27, 1, 1);
	play_check_trees(p, "1(h4(2)) 1(h3(2))");
}

TEST(who_is_done_first_is_answered_first)
{
	_cleanup_(play_done) struct play p = { 0 };

	come_back(&p, true);
}

TEST(also_by_a_reader_that_is_busy_and_need_not_be_woken)
{
	_cleanup_(play_done) struct play p = { 0 };

	come_back(&p, false);
}

/* Thread 3 does three, and is not seen to stop between the last two. */
static void works_unseen(struct play *p)
{
	pool(p);
	hands_over(p, 11, 3, 0);
	hands_over(p, 13, 4, 1);
	play_wait(p, 14, 90, 4, 0, FUTEX); /* there was nothing left for it */
	play_exchange(p, 15, 3, 2);
	play_poll(p, 14, 19, 1, 3);
	play_exchange(p, 20, 3, 2);
	play_reply(p, 25, 1, 0);
}

TEST(who_asks_the_same_again_works_for_another_if_there_is_one)
{
	_cleanup_(play_done) struct play p = { 0 };

	works_unseen(&p);
	play_unrecorded_call(&p, 3);
	play_receive_call(&p, 26, 1, 3);
	play_exchange(&p, 27, 3, 2);
	play_reply(&p, 31, 1, 1);
	play_wait(&p, 32, 90, 3, 0, FUTEX);
	play_reply(&p, 33, 1, 3);
	play_check_trees(&p, "1(h3(2)) 1(h3(2)) 1(h3(2))");
}

TEST(who_asks_the_same_again_works_for_the_same_if_there_is_no_other)
{
	_cleanup_(play_done) struct play p = { 0 };

	works_unseen(&p);
	play_exchange(&p, 27, 3, 2);
	play_wait(&p, 32, 90, 3, 0, FUTEX);
	play_reply(&p, 33, 1, 1);
	play_check_trees(&p, "1(h3(2)) 1(h3(2 2))");
}

TEST(who_answers_himself_has_asked_the_same_twice_for_one)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	hands_over(&p, 11, 3, 0);
	play_exchange(&p, 15, 3, 2);
	play_exchange(&p, 20, 3, 2);
	play_reply(&p, 25, 3, 0);
	play_check_trees(&p, "1(h3(2 2))");
}

TEST(who_takes_one_thing_from_a_queue_and_wakes_the_next_is_not_who_hands_it_out)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	hands_over(&p, 11, 3, 0);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 12, 1, 1);
	play_wait(&p, 2, 13, 4, 3, FUTEX);
	play_call(&p, 14, 3, 2);
	play_call(&p, 15, 4, 3);
	play_receive_call(&p, 16, 2, 2);
	play_reply(&p, 17, 2, 2);
	play_receive_call(&p, 18, 2, 3);
	play_reply(&p, 19, 2, 3);
	play_receive_reply(&p, 20, 4, 3);
	play_poll(&p, 14, 21, 1, 4);
	play_reply(&p, 22, 1, 1);
	play_receive_reply(&p, 23, 3, 2);
	play_poll(&p, 22, 24, 1, 3);
	play_reply(&p, 25, 1, 0);
	play_check_trees(&p, "1(h3(2)) 1(h4(2))");
}

TEST(a_request_that_comes_in_two_reads_is_of_who_sent_it)
{
	_cleanup_(play_done) struct play p = { 0 };

	play_connection(&p, 0);
	play_connection(&p, 1);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_call(&p, 11, 1, 1);
	story_receive(&p.story, 2, 12, SERVER + 1, 1 + 4, 4);
	story_receive(&p.story, 2, 13, SERVER + 1, 1 + 10, 6);
	play_reply(&p, 14, 2, 1);
	play_receive_reply(&p, 15, 1, 1);
	play_reply(&p, 16, 1, 0);
	play_check_trees(&p, "1(2)");
}

/* Two sleep.  One asks; the first of its answer comes when the other wakes up, and then the rest.
 */
TEST(what_is_done_when_half_an_answer_came_is_for_another)
{
	_cleanup_(play_done) struct play p = { 0 };

	for (unsigned c = 0; c < 4; c++)
		play_connection(&p, c);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 11, 1, 1);
	play_poll(&p, 12, 20, 1, 0);
	play_call(&p, 21, 1, 2);
	play_receive_call(&p, 22, 2, 2);
	play_reply(&p, 23, 2, 2);
	play_poll(&p, 22, 30, 1, 0);
	play_receive_reply(&p, 31, 1, 2);
	play_call(&p, 32, 1, 3);
	play_receive_call(&p, 33, 2, 3);
	play_reply(&p, 34, 2, 2);
	play_poll(&p, 33, 40, 1, 0);
	play_receive_reply(&p, 41, 1, 2);
	play_reply(&p, 42, 1, 0);
	play_reply(&p, 43, 2, 3);
	play_poll(&p, 43, 50, 1, 0);
	play_receive_reply(&p, 51, 1, 3);
	play_reply(&p, 52, 1, 1);
	play_check_trees(&p, "1(2) 1(2)");
}

/* Thread 1 sleeps for connections 0 and 1, and asks over 2 and 3. */
static void asks_two_at_once(struct play *p)
{
	for (unsigned c = 0; c < 4; c++)
		play_connection(p, c);
	play_thread(p, 1, 1);
	play_thread(p, 2, 2);
	play_unrecorded_call(p, 0);
	play_receive_call(p, 10, 1, 0);
	play_unrecorded_call(p, 1);
	play_receive_call(p, 11, 1, 1);
	play_poll(p, 12, 20, 1, 0);
	play_call(p, 21, 1, 2);
	play_call(p, 22, 1, 3);
	play_receive_call(p, 23, 2, 2);
	play_reply(p, 24, 2, 2);
	play_receive_call(p, 25, 2, 3);
	play_reply(p, 26, 2, 3);
	play_poll(p, 23, 30, 1, 0);
	play_receive_reply(p, 31, 1, 2);
}

TEST(what_is_asked_at_once_of_several_is_for_one)
{
	_cleanup_(play_done) struct play p = { 0 };

	asks_two_at_once(&p);
	play_poll(&p, 32, 40, 1, 0);
	play_receive_reply(&p, 41, 1, 3);
	play_reply(&p, 42, 1, 0);
	play_reply(&p, 43, 1, 1);
	play_check_trees(&p, "1(2 2) 1");
}

TEST(but_not_if_something_is_done_before_all_have_answered)
{
	_cleanup_(play_done) struct play p = { 0 };

	asks_two_at_once(&p);
	play_reply(&p, 32, 1, 0);
	play_poll(&p, 33, 40, 1, 0);
	play_receive_reply(&p, 41, 1, 3);
	play_reply(&p, 42, 1, 1);
	play_check_trees(&p, "1 1 ?2 ?2");
}

TEST(who_asks_as_often_as_two_requests_take_works_for_two)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	hands_over(&p, 11, 3, 0);
	hands_over(&p, 13, 4, 1);
	play_wait(&p, 14, 90, 4, 0, FUTEX);
	play_exchange(&p, 15, 3, 2);
	play_exchange(&p, 20, 3, 2);
	play_poll(&p, 14, 24, 1, 3);
	play_reply(&p, 25, 1, 0);
	play_unrecorded_call(&p, 3);
	play_receive_call(&p, 26, 1, 3);
	for (nsec_t t = 30; t < 50; t += 5)
		play_exchange(&p, t, 3, 2);
	play_reply(&p, 41, 1, 1);
	play_wait(&p, 50, 90, 3, 0, FUTEX);
	play_reply(&p, 51, 1, 3);
	play_check_trees(&p, "1(h3(2 2)) 1(h3(2 2)) 1(h3(2 2))");
}

TEST(a_worker_that_creates_a_thread_has_taken_work)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	hands_over(&p, 11, 3, 0);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 12, 1, 1);
	play_reply(&p, 13, 3, 0);
	story_create(&p.story, 9, 3, 14);
	play_exchange(&p, 15, 9, 2);
	play_reply(&p, 20, 3, 1);
	play_check_trees(&p, "1(h3) 1(h3(f9(2)))");
}

TEST(what_was_read_last_is_not_what_is_asked_for_if_others_sleep)
{
	_cleanup_(play_done) struct play p = { 0 };

	for (unsigned c = 0; c < 3; c++)
		play_connection(&p, c);
	play_thread(&p, 1, 1);
	play_thread(&p, 2, 2);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 1, 0);
	play_poll(&p, 12, 20, 1, 0);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 21, 1, 1);
	play_call(&p, 22, 1, 2);
	play_receive_call(&p, 23, 2, 2);
	play_reply(&p, 24, 2, 2);
	play_poll(&p, 23, 30, 1, 0);
	play_reply(&p, 31, 1, 0);
	play_reply(&p, 32, 1, 1);
	play_check_trees(&p, "1 1 ?2");
}

TEST(who_is_woken_from_a_lock_is_handed_nothing)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	hands_over(&p, 11, 3, 0);
	play_wait(&p, 2, 12, 4, 1, MUTEX);
	play_exchange(&p, 13, 4, 2);
	play_reply(&p, 20, 1, 0);
	play_check_trees(&p, "1(h3) ?2");
}

static void creates(struct play *p, nsec_t t, uint32_t tid, uint32_t other)
{
	story_add(&p->story, REC(TASK, task, t, other, .pid = 1, .parent = tid, .event = TASK_NEW));
}

TEST(who_is_back_at_its_poll_was_handed_a_lock_and_no_work)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	play_poll(&p, 2, 5, 4, 0); /* a connection: 4 creates a thread for it */
	creates(&p, 6, 4, 8);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 8, 0);
	play_wait(&p, 7, 11, 4, 8, FUTEX); /* the lock that both need for all they do */
	play_poll(&p, 12, 20, 4, 0);
	creates(&p, 21, 4, 9);
	play_reply(&p, 22, 8, 0);
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 24, 9, 1);
	play_reply(&p, 26, 9, 1);
	play_check_trees(&p, "8 9");
}

TEST(what_busy_threads_wait_for_is_no_queue_of_work)
{
	_cleanup_(play_done) struct play p = { 0 };

	pool(&p);
	play_unrecorded_call(&p, 0);
	play_receive_call(&p, 10, 4, 0);
	play_wait(&p, 2, 11, 3, 4, FUTEX); /* it seems to be handed work */
	play_unrecorded_call(&p, 1);
	play_receive_call(&p, 12, 3, 1);
	play_wait(&p, 13, 15, 3, 4, FUTEX); /* but now it has its own, and waits there again */
	play_reply(&p, 16, 4, 0);
	play_reply(&p, 17, 3, 1);
	play_check_trees(&p, "4 3");
}
