/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event loops that do not act for what they have read last, and tasks that move; in the
 * words of play.h.  Thread 1 is the loop; clients come by connections 0 to 2, and for them it
 * asks threads 2 to 4, over connections 10 to 12.
 */
#include "play.h"
#include "test.h"

enum { ASKED = 10, CLIENTS = 3 };

static void loop(struct play *p)
{
	for (unsigned c = 0; c < CLIENTS; c++) {
		play_connection(p, c);
		play_connection(p, ASKED + c);
		play_thread(p, 2 + c, 2 + c);
	}
	play_thread(p, 1, 1);
}

static void request(struct play *p, nsec_t t, unsigned c)
{
	play_unrecorded_call(p, c);
	play_receive_call(p, t, 1, c);
}

/* 1 asks for somebody, and is answered though it has not read that yet. */
static void question(struct play *p, nsec_t t, unsigned c)
{
	play_call(p, t, 1, ASKED + c);
	play_receive_call(p, t + 1, 2 + c, ASKED + c);
	play_reply(p, t + 2, 2 + c, ASKED + c);
}

/* As haproxy does: both requests, both questions, both answers. */
static void both_at_once(struct play *p, nsec_t t)
{
	request(p, t, 0);
	request(p, t + 1, 1);
	question(p, t + 2, 0);
	question(p, t + 6, 1);
	play_poll(p, t + 10, t + 20, 1, 0);
	play_receive_reply(p, t + 21, 1, ASKED + 0);
	play_receive_reply(p, t + 22, 1, ASKED + 1);
	play_reply(p, t + 23, 1, 0);
	play_reply(p, t + 24, 1, 1);
	play_poll(p, t + 25, t + 30, 1, 0);
}

TEST(of_two_that_were_read_at_once_none_is_asked_for_by_the_last_read)
{
	_cleanup_(play_done) struct play p = { 0 };

	loop(&p);
	both_at_once(&p, 100);
	play_check_trees(&p, "1 1 ?2 ?3");
}

/* One after the other, the loop hears of requests whose questions are known, and answers in order.
 */
static void keeps_order(struct play *p, nsec_t t)
{
	request(p, t, 0);
	question(p, t + 1, 0);
	play_poll(p, t + 5, t + 10, 1, 0);
	request(p, t + 11, 1);
	question(p, t + 12, 1);
	play_poll(p, t + 16, t + 20, 1, 0);
	play_receive_reply(p, t + 21, 1, ASKED + 0);
	play_receive_reply(p, t + 22, 1, ASKED + 1);
	play_reply(p, t + 23, 1, 0);
	play_reply(p, t + 24, 1, 1);
	play_poll(p, t + 25, t + 30, 1, 0);
}

TEST(who_keeps_the_order_of_what_he_read_is_known_by_that)
{
	_cleanup_(play_done) struct play p = { 0 };

	loop(&p);
	keeps_order(&p, 100);
	both_at_once(&p, 200);
	play_check_trees(&p, "1(2) 1(3) 1(2) 1(3)");
}

/* 0 and 1 sleep; 2 is read, and something asked and heard.  Then 0 is answered. */
static void answers_a_sleeper(struct play *p, nsec_t t)
{
	request(p, t, 0);
	play_poll(p, t + 1, t + 5, 1, 0);
	request(p, t + 6, 1);
	play_poll(p, t + 7, t + 10, 1, 0);
	request(p, t + 11, 2);
	question(p, t + 12, 2);
	play_receive_reply(p, t + 15, 1, ASKED + 2);
	play_reply(p, t + 16, 1, 0);
	play_poll(p, t + 17, t + 20, 1, 0);
	play_reply(p, t + 21, 1, 1);
	play_reply(p, t + 22, 1, 2);
	play_poll(p, t + 23, t + 30, 1, 0);
}

TEST(what_was_asked_when_one_was_read_and_answered_to_another_is_left_open)
{
	_cleanup_(play_done) struct play p = { 0 };

	loop(&p);
	answers_a_sleeper(&p, 100);
	play_check_trees(&p, "1 1 1 ?4");
}

/* Two sleep, and ask when they wake up: nothing was read then. */
static void ask_when_awake(struct play *p, nsec_t t)
{
	request(p, t, 0);
	request(p, t + 1, 1);
	for (unsigned c = 0; c < 2; c++) {
		nsec_t u = t + 10 + 20 * c;

		play_poll(p, u - 8, u, 1, 0);
		question(p, u + 1, c);
		play_poll(p, u + 2, u + 5, 1, 0);
		play_receive_reply(p, u + 6, 1, ASKED + c);
		play_reply(p, u + 7, 1, c);
	}
	play_poll(p, t + 40, t + 50, 1, 0);
}

TEST(but_it_is_for_whom_it_was_answered_where_questions_follow_timers)
{
	_cleanup_(play_done) struct play p = { 0 };

	loop(&p);
	ask_when_awake(&p, 100);
	answers_a_sleeper(&p, 200);
	play_check_trees(&p, "1(2) 1(3) 1(4) 1 1");
}

/* It connects before anybody asks it. */
TEST(who_holds_one_request_asks_for_that_over_a_connection_of_before)
{
	_cleanup_(play_done) struct play p = { 0 };

	loop(&p);
	story_add(&p.story, REC(SOCKET_STATE, socket_state, 50, 1, .object = CLIENT + ASKED,
				.from = 7, .to = 2));
	request(&p, 100, 0);
	question(&p, 101, 0);
	play_receive_reply(&p, 105, 1, ASKED + 0);
	play_reply(&p, 106, 1, 0);
	play_check_trees(&p, "1(2)");
}

/* The parent of the only span of thread 2 is told with this confidence. */
static void check_confidence(const struct play *p, float want)
{
	_cleanup_(model_freep) struct model *model = story_model(&p->story);
	_cleanup_(requests_done) struct requests r;

	requests_find(model, &r);
	for (uint32_t i = 1; i < r.spans.count; i++)
		if (model_thread(model, r.spans.items[i].thread)->tid == 2)
			CHECK(r.spans.items[i].confidence == want);
}

/* As in Go: 1 and 5 read, and each goes on with what the other one has read. */
TEST(nothing_is_beyond_doubt_where_tasks_move_between_threads)
{
	_cleanup_(play_done) struct play p = { 0 };

	loop(&p);
	play_thread(&p, 5, 1);
	request(&p, 100, 0);
	question(&p, 101, 0);
	play_receive_reply(&p, 105, 1, ASKED + 0);
	play_reply(&p, 106, 1, 0);
	check_confidence(&p, 1);
	request(&p, 110, 1);
	play_unrecorded_call(&p, 2);
	play_receive_call(&p, 111, 5, 2);
	play_reply(&p, 112, 5, 1);
	play_reply(&p, 113, 1, 2);
	check_confidence(&p, 0.95f);
}
