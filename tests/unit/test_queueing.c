/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the thread that reads a request did before.  Thread 2 serves; clients are not recorded.
 * Connection n has socket n on the client's side and n + 1 on the server's.  Times are in
 * microseconds.
 */
#include "analyse/queueing.h"

#include "analyse/requests/spans.h"
#include "story.h"
#include "test.h"

enum { US = 1000 };

static void receive(struct story *s, uint32_t tid, nsec_t time, uint64_t socket, nsec_t arrival)
{
	story_add(s, REC(MESSAGE, message, time * US, tid, .object = socket, .bytes = 10,
			 .position = 11, .direction = MESSAGE_RECEIVE, .object_kind = OBJECT_INET,
			 .lag = (time - arrival) * US));
}

static void reply(struct story *s, uint32_t tid, nsec_t time, uint64_t socket)
{
	story_send(s, tid, time * US, socket, 6, 5);
}

static void run(struct story *s, uint32_t tid, nsec_t start, nsec_t end)
{
	story_run(s, tid, start * US, end * US);
}

static void sleep_until(struct story *s, uint32_t tid, nsec_t start, nsec_t end)
{
	story_wait(s, tid, start * US, end * US, STATE_TIMER, 0);
}

/* In epoll until a packet comes; the thread gets a CPU at `ran`. */
static void poll_until(struct story *s, uint32_t tid, nsec_t start, nsec_t end, nsec_t ran)
{
	story_add(s, REC(WAIT, wait, ran * US, tid, .start = start * US, .woken = end * US,
			 .state = STATE_NETWORK, .ready = STATE_READY, .context = WAKE_SOFTIRQ,
			 .vector = VECTOR_NET_RX, .syscall = 232, .object_kind = OBJECT_EPOLL));
}

/* The path of the request that came over a socket. */
static char *path_of(const struct story *s, uint64_t socket)
{
	_cleanup_(model_freep) struct model *model = story_model(s);
	struct requests requests = { 0 };
	struct span_set spans = { .model = model };
	char *text = NULL;

	requests_find(model, &requests);
	request_spans_add(&requests, NULL, &spans);
	for (uint32_t i = 1; i < span_set_count(&spans) && !text; i++)
		if (span_set_at(&spans, (span_id){ i })->socket == socket)
			text = story_path_of(&spans, (span_id){ i });
	requests_done(&requests);
	span_set_done(&spans);
	return text;
}

static void check_path(const struct story *s, uint64_t socket, const char *want)
{
	_cleanup_(freep) char *text = path_of(s, socket);

	CHECK_STR(text ?: "", want);
}

static void begin(struct story *s)
{
	story_begin(s, 2, 0);
	story_connect(s, 100);
	story_connect(s, 200);
}

TEST(a_request_queues_behind_the_request_that_its_thread_works_for)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	run(&s, 2, 0, 20);
	receive(&s, 2, 10, 101, 9);
	sleep_until(&s, 2, 20, 900);
	run(&s, 2, 900, 1000);
	reply(&s, 2, 910, 101);
	receive(&s, 2, 920, 201, 50);
	reply(&s, 2, 1000, 201);

	check_path(&s, 201,
		   "2T^>101 50000-900000, 2R^>101 900000-910000, 2R^ 910000-920000, "
		   "2R 920000-1000000");
}

TEST(a_thread_that_sleeps_for_no_request_delays_it)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	run(&s, 2, 0, 20);
	sleep_until(&s, 2, 20, 900);
	run(&s, 2, 900, 1000);
	receive(&s, 2, 920, 101, 50);
	reply(&s, 2, 1000, 101);

	check_path(&s, 101, "2T^ 50000-900000, 2R^ 900000-920000, 2R 920000-1000000");
}

TEST(waking_up_is_not_queueing)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	poll_until(&s, 2, 0, 60, 800);
	run(&s, 2, 800, 1000);
	receive(&s, 2, 820, 101, 50);
	reply(&s, 2, 1000, 101);

	check_path(&s, 101, "2N 50000-60000, 2C 60000-800000, 2R 800000-820000, 2R 820000-1000000");
}

TEST(a_woken_thread_that_serves_another_request_first_delays_this_one)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	poll_until(&s, 2, 0, 60, 70);
	run(&s, 2, 70, 1000);
	receive(&s, 2, 80, 101, 50);
	reply(&s, 2, 700, 101);
	receive(&s, 2, 710, 201, 50);
	reply(&s, 2, 1000, 201);

	check_path(&s, 201,
		   "2N 50000-60000, 2C 60000-70000, 2R^ 70000-80000, 2R^>101 80000-700000, "
		   "2R^ 700000-710000, 2R 710000-1000000");
}

TEST(a_poll_that_ends_much_later_waited_for_something_else)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	poll_until(&s, 2, 0, 2000, 2010);
	run(&s, 2, 2010, 2100);
	receive(&s, 2, 2020, 101, 50);
	reply(&s, 2, 2100, 101);

	check_path(&s, 101,
		   "2N^ 50000-2000000, 2C^ 2000000-2010000, 2R^ 2010000-2020000, "
		   "2R 2020000-2100000");
}

TEST(before_a_thread_exists_its_creator_counts)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	run(&s, 2, 0, 20);
	sleep_until(&s, 2, 20, 900);
	run(&s, 2, 900, 1000);
	story_create(&s, 3, 2, 950 * US);
	run(&s, 3, 950, 1100);
	receive(&s, 3, 960, 101, 50);
	reply(&s, 3, 1100, 101);

	check_path(&s, 101,
		   "2T^ 50000-900000, 2R^ 900000-950000, 3R^ 950000-960000, "
		   "3R 960000-1100000");
}

TEST(a_reply_in_the_send_buffer_is_a_part_of_the_request)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	run(&s, 2, 0, 100);
	receive(&s, 2, 50, 101, 50);
	story_add(&s, REC(MESSAGE, message, 80 * US, 2, .object = 101, .bytes = 5, .position = 6,
			  .direction = MESSAGE_SEND, .object_kind = OBJECT_INET,
			  .flags = MESSAGE_HELD));
	story_add(&s, REC(TRANSMIT, transmit, 40090 * US, 0, .object = 101, .left = 40080 * US,
			  .position = 6, .object_kind = OBJECT_INET, .reason = HELD_NAGLE));
	sleep_until(&s, 2, 100, 50000);

	check_path(&s, 101, "2R 50000-80000, 2N_ 80000-40080000");
}

TEST(a_message_that_its_sender_held_explains_the_wait_for_it)
{
	_cleanup_(story_done) struct story s = { 0 };

	begin(&s);
	story_begin(&s, 1, 0);
	run(&s, 1, 0, 100);
	story_add(&s, REC(MESSAGE, message, 20 * US, 1, .object = 100, .bytes = 10, .position = 11,
			  .direction = MESSAGE_SEND, .object_kind = OBJECT_INET,
			  .flags = MESSAGE_HELD));
	story_add(&s, REC(TRANSMIT, transmit, 90 * US, 0, .object = 100, .left = 60 * US,
			  .position = 11, .object_kind = OBJECT_INET, .reason = HELD_NAGLE));
	poll_until(&s, 2, 0, 80, 80);
	run(&s, 2, 80, 100);
	receive(&s, 2, 85, 101, 70);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(freep) char *text = story_path(model, 2, 0, 100 * US);

	CHECK_STR(text,
		  "2N 0-80000 (1R 0-20000, 1N_ 20000-60000, 1N~ 60000-80000), 2R 80000-100000");
}
