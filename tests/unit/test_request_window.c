/* SPDX-License-Identifier: Apache-2.0 */
/* When the window returns requests, and what it forgets. */
#include "analyse/requests/window.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "scenario.h"
#include "test.h"

#define MS NSEC_PER_MSEC

static const nsec_t length = 5 * NSEC_PER_SEC;

struct watch {
	struct scenario scenario;
	struct model *model;
	struct request_window *window;
	size_t ended, in_flight; /* number of requests in the last batch */
	nsec_t latency;          /* of the last one that ended */
};

static void watch_done(struct watch *w)
{
	request_window_free(w->window);
	model_free(w->model);
	scenario_done(&w->scenario);
}

static void look(struct watch *w, struct request_batch *batch)
{
	w->ended = batch->ended.count;
	w->in_flight = batch->in_flight.count;
	if (w->ended) {
		span_id last = batch->ended.items[w->ended - 1];
		const struct span *span = span_set_at(&batch->spans, last);

		w->latency = span->end - span_arrival(span);
	}
	request_batch_done(batch);
}

/* Advances such that events up to `until` are processed; returns the number of requests. */
static size_t advance(struct watch *w, nsec_t until)
{
	struct request_batch batch;

	if (!w->model) {
		w->model = story_model(&w->scenario.story);
		w->window = request_window_new(length);
	}
	request_window_advance(w->window, w->model, until + REQUEST_LAG, &batch);
	look(w, &batch);
	model_forget(w->model, request_window_needs(w->window));
	return w->ended;
}

static size_t finish(struct watch *w)
{
	struct request_batch batch;

	request_window_finish(w->window, w->model, &batch);
	look(w, &batch);
	return w->ended;
}

/* Without a record of its slices, a request waits for it. */
static void add_slices(struct watch *w)
{
	story_run(&w->scenario.story, 1, 0, length);
	story_run(&w->scenario.story, 2, 0, length);
}

TEST(a_request_is_returned_once_when_its_connection_was_quiet)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	scenario_add(&w.scenario, 0, "process 1; 10 1 gets a; 30 1 replies a");
	add_slices(&w);
	CHECK_INT(advance(&w, 20), 0);
	CHECK_INT(w.in_flight, 1);
	CHECK_INT(advance(&w, 40), 0);
	CHECK_INT(w.in_flight, 0);
	CHECK_INT(advance(&w, REQUEST_QUIET + 40), 1);
	CHECK_INT(w.latency, 20);
	CHECK_INT(advance(&w, 2 * REQUEST_QUIET), 0);
	CHECK_INT(advance(&w, length), 0);
	CHECK_INT(finish(&w), 0);
	CHECK_INT(request_window_counts(w.window).ended, 1);
}

TEST(the_next_request_on_its_connection_settles_a_request)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	scenario_add(&w.scenario, 0, "process 1; 10 1 gets a; 30 1 replies a; 40 1 gets a");
	add_slices(&w);
	CHECK_INT(advance(&w, 50), 1);
	CHECK_INT(w.in_flight, 1);
	CHECK_INT(finish(&w), 0);
	CHECK_INT(request_window_counts(w.window).no_reply, 1);
}

TEST(a_late_part_of_the_reply_counts_while_the_connection_is_not_quiet)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	scenario_add(&w.scenario, 0, "process 1; 10 1 gets a; 30 1 replies a");
	scenario_add(&w.scenario, 200 * MS, "20 1 replies a");
	add_slices(&w);
	CHECK_INT(advance(&w, 100 * MS), 0);
	CHECK_INT(advance(&w, 300 * MS), 0);
	CHECK_INT(advance(&w, 500 * MS), 1);
	CHECK_INT(w.latency, 200 * MS + 10);
}

TEST(a_request_waits_for_its_open_parts_but_not_for_ever)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	scenario_add(
		&w.scenario, 0,
		"process 1; process 2; 10 1 gets a; 11 1 calls b; 12 2 takes b; 30 1 replies a");
	CHECK_INT(advance(&w, 900 * MS), 0);
	CHECK_INT(advance(&w, REQUEST_SETTLED + 30), 1);
}

TEST(a_request_of_unknown_parent_waits_for_the_reply_that_can_show_it)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	/* 1 holds two requests when it calls 2; its first reply decides for which */
	scenario_add(
		&w.scenario, 0,
		"process 1; process 2; 10 1 gets a; 11 1 gets b; 12-20 1 polls; 21 1 calls c 2;"
		"24-30 1 polls; 31 1 reads c");
	scenario_add(&w.scenario, 2000 * MS, "32 1 replies b; 33 1 replies a");
	add_slices(&w);
	CHECK_INT(advance(&w, 1500 * MS), 0);
	CHECK_INT(advance(&w, 2500 * MS), 2); /* with the call in one of them */
	CHECK_INT(finish(&w), 0);
}

/* The third call comes while thread 2 is stopped. */
TEST(a_call_that_its_server_has_not_read_is_in_flight)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	scenario_add(&w.scenario, 0,
		     "process 1; process 2; 10 1 exchanges a 2; 20 1 exchanges a 2; 30 1 calls a");
	add_slices(&w);
	advance(&w, 25);
	CHECK_INT(w.in_flight, 0);
	advance(&w, 40);
	CHECK_INT(w.in_flight, 1);
	for (nsec_t t = 0; t < 2 * length; t += 500 * MS)
		advance(&w, t + 50);
	CHECK_INT(w.in_flight, 1);
}

/* Reports of bytes that no thread reads, for longer than the window. */
static void add_reports(struct watch *w, uint64_t object, nsec_t arrived)
{
	struct socket_address address = { .family = AF_INET,
					  .protocol = IPPROTO_TCP,
					  .local_port = 11,
					  .peer_port = object ? 10 : 99 };

	for (nsec_t t = arrived + NSEC_PER_SEC; t < 3 * length; t += NSEC_PER_SEC)
		story_add(&w->scenario.story, REC(UNREAD, unread, t, 0, .object = object,
						  .arrived = arrived, .address = address));
}

static void add_served_request(struct watch *w)
{
	scenario_add(&w->scenario, 0, "process 1");
	story_connect(&w->scenario.story, 10);
	story_receive(&w->scenario.story, 1, 10, 11, 10, 10);
	story_send(&w->scenario.story, 1, 20, 11, 20, 10);
}

/* One request is served, then the server reads nothing any more. */
static void hang(struct watch *w, uint64_t object)
{
	add_served_request(w);
	add_reports(w, object, NSEC_PER_SEC);
	for (nsec_t t = 0; t < 3 * length; t += NSEC_PER_SEC)
		advance(w, t);
}

TEST(what_a_server_that_hangs_does_not_read_stays_in_flight)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	hang(&w, 11);
	CHECK_INT(w.in_flight, 1);
}

TEST(what_a_server_that_hangs_does_not_accept_stays_in_flight)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	hang(&w, 0);
	CHECK_INT(w.in_flight, 1);
}

TEST(a_request_longer_than_the_window_is_returned_and_counted)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	scenario_add(&w.scenario, 0, "process 1; 10 1 gets a");
	scenario_add(&w.scenario, 3 * length, "0 1 replies a");
	for (nsec_t t = 0; t < 3 * length; t += 500 * MS) {
		CHECK_INT(advance(&w, t + 20), 0);
		CHECK_INT(w.in_flight, 1);
		CHECK(request_window_needs(w.window) + length >= t);
	}
	CHECK_INT(advance(&w, 3 * length + NSEC_PER_SEC), 1);
	CHECK_INT(w.latency, 3 * length - 10);
	CHECK_INT(request_window_counts(w.window).truncated, 1);
}

TEST(a_request_is_counted_if_its_thread_exits)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	scenario_add(&w.scenario, 0, "process 1; 10 1 gets a");
	story_add(&w.scenario.story, &(struct record){ .time = 50,
						       .tid = 1,
						       .kind = RECORD_EXIT,
						       .words = sizeof(struct record) / 8 });
	for (nsec_t t = 0; t < 3 * length; t += 500 * MS)
		CHECK_INT(advance(&w, t + 60), 0);
	CHECK_INT(w.in_flight, 0);
	CHECK_INT(request_window_counts(w.window).no_reply, 1);
}

TEST(a_request_without_a_reply_is_given_up_at_last)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	scenario_add(&w.scenario, 0, "process 1; 10 1 gets a");
	for (nsec_t t = 0; t < 5 * length; t += 500 * MS)
		advance(&w, t + 20);
	CHECK_INT(w.in_flight, 1);
	for (nsec_t t = 5 * length; t < 8 * length; t += 500 * MS)
		advance(&w, t + 20);
	CHECK_INT(w.in_flight, 0);
	CHECK_INT(request_window_counts(w.window).no_reply, 1);
}

/* Each request has a connection of its own, and calls a backend over another one. */
static void add_visit(struct story *s, uint64_t i, nsec_t time)
{
	uint64_t front = 10 + 4 * i, back = front + 2;

	story_connect(s, front);
	story_connect(s, back);
	story_receive(s, 1, time, front + 1, 10, 10);
	story_send(s, 1, time + 10, back, 10, 10);
	story_receive(s, 2, time + 20, back + 1, 10, 10);
	story_send(s, 2, time + 30, back + 1, 20, 10);
	story_receive(s, 1, time + 40, back, 20, 10);
	story_send(s, 1, time + 50, front + 1, 20, 10);
}

TEST(memory_does_not_grow_with_connections_that_come_and_go)
{
	_cleanup_(watch_done) struct watch w = { 0 };
	enum { PER_SECOND = 50, SECONDS = 40 };
	size_t ended = 0, early = 0;

	scenario_add(&w.scenario, 0, "process 1; process 2");
	for (uint64_t i = 0; i < PER_SECOND * SECONDS; i++)
		add_visit(&w.scenario.story, i, 1 + i * NSEC_PER_SEC / PER_SECOND);
	for (nsec_t t = 1; t <= SECONDS + 1; t++) {
		ended += advance(&w, t * NSEC_PER_SEC);
		if (t == 15)
			early = request_window_memory(w.window);
	}
	CHECK_INT(ended, PER_SECOND * SECONDS);
	CHECK(request_window_memory(w.window) <= early + early / 10);
}

TEST(memory_of_a_burst_of_requests_is_given_back)
{
	_cleanup_(watch_done) struct watch w = { 0 };
	enum { BURST = 5000, SECONDS = 20 };
	size_t most = 0;

	scenario_add(&w.scenario, 0, "process 1; process 2");
	for (uint64_t i = 0; i < BURST; i++)
		add_visit(&w.scenario.story, i, 1 + i * NSEC_PER_SEC / BURST);
	for (uint64_t i = 1; i < SECONDS; i++)
		add_visit(&w.scenario.story, BURST + i, i * NSEC_PER_SEC);
	for (nsec_t t = 1; t <= SECONDS; t++) {
		advance(&w, t * NSEC_PER_SEC);
		if (request_window_memory(w.window) > most)
			most = request_window_memory(w.window);
	}
	CHECK(request_window_memory(w.window) < most / 20);
}

TEST(a_recorded_root_is_returned_once)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	story_span(&w.scenario.story, 100, 900, 1, 0, 0);
	story_span(&w.scenario.story, 200, 300, 2, 1, 0);
	CHECK_INT(advance(&w, 1000), 0);
	CHECK_INT(advance(&w, 1000 + REQUEST_QUIET), 1);
	CHECK_INT(w.latency, 800);
	CHECK_INT(finish(&w), 0);
}

/* Spans of one service and operation; their parents are never recorded. */
TEST(a_recorded_span_with_an_unrecorded_parent_waits_only_at_first)
{
	_cleanup_(watch_done) struct watch w = { 0 };

	story_span(&w.scenario.story, 100, 900, 1, 9, 0);
	w.scenario.story.trace = 1;
	story_span(&w.scenario.story, 4000 * MS, 4001 * MS, 1, 9, 0);
	CHECK_INT(advance(&w, 1000 + REQUEST_QUIET), 0);
	CHECK_INT(advance(&w, 1000 + REQUEST_REACH), 1);
	CHECK_INT(advance(&w, 4001 * MS + REQUEST_QUIET), 1);
	CHECK_INT(finish(&w), 0);
}
