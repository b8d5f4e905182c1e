/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of requests as clients see them.  Thread 1 is a client, thread 2 a server; connection n has
 * socket n on the client's side and n + 1 on the server's.
 */
#include "analyse/requests/spans.h"

#include "story.h"
#include "test.h"

/* A thread receives bytes of which the first had arrived `lag` before. */
static void receive_late(struct story *s, nsec_t time, uint32_t position, uint32_t bytes,
			 uint32_t lag)
{
	story_add(s, REC(MESSAGE, message, time, 2, .object = 101, .bytes = bytes,
			 .position = position, .direction = MESSAGE_RECEIVE,
			 .object_kind = OBJECT_INET, .lag = lag));
}

static void begin(struct story *s)
{
	story_begin(s, 1, 0);
	story_begin(s, 2, 0);
	story_connect(s, 100);
}

static struct request_span nth_request(const struct story *s, uint32_t n)
{
	_cleanup_(model_freep) struct model *model = story_model(s);
	struct requests requests = { 0 };

	requests_find(model, &requests);

	struct request_span span = n < requests.roots.count
					   ? requests.spans.items[requests.roots.items[n]]
					   : (struct request_span){ 0 };

	requests_done(&requests);
	return span;
}

TEST(a_request_starts_when_its_first_byte_arrives)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	receive_late(&s, 150, 11, 10, 100);
	story_send(&s, 2, 170, 101, 6, 5);

	struct request_span span = nth_request(&s, 0);

	CHECK_INT(span.start, 50);
	CHECK_INT(span.read, 150);
	CHECK_INT(span.sent, 170);
	CHECK_INT(span.end, 170);
	CHECK(!span.arrival_unknown);
}

TEST(without_a_time_of_arrival_the_send_on_the_same_host_counts)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	story_send(&s, 1, 60, 100, 11, 10);
	story_receive(&s, 2, 150, 101, 11, 10);
	story_send(&s, 2, 170, 101, 6, 5);

	CHECK_INT(nth_request(&s, 0).start, 60);
	CHECK_INT(nth_request(&s, 0).read, 150);
}

TEST(the_first_of_several_sends_that_are_read_at_once_is_the_arrival)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	story_send(&s, 1, 40, 100, 6, 5);
	story_receive(&s, 2, 45, 101, 6, 5);
	story_send(&s, 2, 50, 101, 6, 5);
	story_send(&s, 1, 60, 100, 11, 5);
	story_send(&s, 1, 70, 100, 21, 10);
	story_send(&s, 1, 80, 100, 26, 5);
	story_receive(&s, 2, 150, 101, 26, 20);
	story_send(&s, 2, 170, 101, 11, 5);

	CHECK_INT(nth_request(&s, 0).start, 40);
	CHECK_INT(nth_request(&s, 1).start, 60);
}

TEST(a_send_on_another_host_is_not_the_arrival)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 2, 0);
	story_connect(&s, 100);
	s.host = 1;
	story_begin(&s, 1, 0);
	story_connect(&s, 100);
	story_send(&s, 1, 60, 100, 11, 10);
	s.host = 0;
	story_receive(&s, 2, 150, 101, 11, 10);
	story_send(&s, 2, 170, 101, 6, 5);

	CHECK_INT(nth_request(&s, 0).start, 150);
	CHECK(nth_request(&s, 0).arrival_unknown);
}

TEST(the_slow_rest_of_a_request_is_not_queueing)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	receive_late(&s, 52, 11, 10, 2);
	receive_late(&s, 550, 21, 10, 1);
	story_send(&s, 2, 570, 101, 6, 5);

	CHECK_INT(nth_request(&s, 0).start, 50);
	CHECK_INT(nth_request(&s, 0).read, 52);
}

TEST(a_send_that_returns_after_the_read_leaves_the_start_at_the_read)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	story_receive(&s, 2, 150, 101, 11, 10);
	story_send(&s, 1, 152, 100, 11, 10);
	story_send(&s, 2, 170, 101, 6, 5);

	CHECK_INT(nth_request(&s, 0).start, 150);
	CHECK_INT(nth_request(&s, 0).read, 150);
}

TEST(roots_are_in_the_order_of_arrival)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	story_connect(&s, 200);
	story_receive(&s, 2, 60, 201, 11, 10);
	story_send(&s, 2, 140, 201, 6, 5);
	receive_late(&s, 150, 11, 10, 100);
	story_send(&s, 2, 170, 101, 6, 5);

	CHECK_INT(nth_request(&s, 0).start, 50);
	CHECK_INT(nth_request(&s, 1).start, 60);
}

/* The reply of thread 2, of which bytes stay in the send buffer. */
static void reply_held(struct story *s, nsec_t time, uint32_t position, nsec_t left)
{
	story_add(s, REC(MESSAGE, message, time, 2, .object = 101, .bytes = 5, .position = position,
			 .direction = MESSAGE_SEND, .object_kind = OBJECT_INET,
			 .flags = MESSAGE_HELD));
	if (left)
		story_add(s, REC(TRANSMIT, transmit, left + 1, 0, .object = 101, .left = left,
				 .position = position, .object_kind = OBJECT_INET,
				 .reason = HELD_NAGLE));
}

TEST(a_request_ends_when_its_reply_has_left_the_send_buffer)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	receive_late(&s, 50, 11, 10, 2);
	story_send(&s, 2, 60, 101, 6, 5);
	reply_held(&s, 70, 11, 110);

	struct request_span span = nth_request(&s, 0);

	CHECK_INT(span.sent, 70);
	CHECK_INT(span.end, 110);
	CHECK_INT(span.held, HELD_NAGLE);
}

TEST(a_client_that_sends_its_next_request_has_the_reply)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	receive_late(&s, 50, 11, 10, 2);
	reply_held(&s, 70, 6, 300);
	receive_late(&s, 120, 21, 10, 20);
	story_send(&s, 2, 130, 101, 11, 5);

	CHECK_INT(nth_request(&s, 0).end, 100);
	CHECK_INT(nth_request(&s, 1).start, 100);
}

TEST(a_held_reply_on_a_silent_connection_ends_with_the_read_of_a_recorded_client)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	story_send(&s, 1, 45, 100, 11, 10);
	story_receive(&s, 2, 50, 101, 11, 10);
	reply_held(&s, 70, 6, 0);
	story_receive(&s, 1, 110, 100, 6, 5);

	CHECK_INT(nth_request(&s, 0).sent, 70);
	CHECK_INT(nth_request(&s, 0).end, 110);
}
