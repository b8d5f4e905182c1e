/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models built from records.  The states of a thread are written as "R 0-10, L 10-20"; a
 * blank instead of the letter is a gap.
 */
#include <malloc.h>
#include <netinet/in.h>

#include "story.h"
#include "test.h"

static char *states_of(const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	struct stretch s;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	bool more = model_stretch_at(model, id, thread->begin, &s);

	for (bool first = true; more; first = false) {
		fprintf(file, "%s%c %" PRIu64 "-%" PRIu64, first ? "" : ", ", s.interval.state,
			s.interval.start, s.end);
		more = model_stretch_next(model, id, &s);
	}
	fclose(file);
	return text;
}

static void check_states(const struct model *model, thread_id id, const char *want)
{
	_cleanup_(freep) char *got = states_of(model, id);

	CHECK_STR(got, want);
}

/* The waker of the thread's interval at a time; 0 if there is no cause. */
static uint32_t waker_at(const struct model *model, uint32_t tid, nsec_t t)
{
	thread_id id = model_find_thread(model, tid, t);
	struct stretch s;

	if (!model_stretch_at(model, id, t, &s))
		return 0;

	const struct cause *cause = model_cause(model, id, &s.interval);

	return cause ? model_thread(model, cause->waker)->tid : 0;
}

TEST(states_cover_the_life_of_a_thread)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 5);
	story_run(&s, 1, 5, 10);
	story_add(&s, REC(WAIT, wait, 30, 1, .start = 10, .woken = 20, .state = STATE_LOCK,
			  .ready = STATE_READY, .waker = 2, .context = WAKE_TASK));
	story_run(&s, 1, 30, 40);
	story_add(&s, REC(WAIT, wait, 45, 1, .start = 40, .woken = 40, .ready = STATE_THROTTLED));
	_cleanup_(model_freep) struct model *model = story_model(&s);
	thread_id id = model_find_thread(model, 1, 5);
	struct stretch at;

	check_states(model, id, "R 5-10, L 10-20, C 20-30, R 30-40, Q 40-45");
	CHECK_INT(model_thread(model, id)->begin, 5);
	CHECK_INT(model_thread(model, id)->end, 45);
	CHECK(!model_stretch_at(model, id, 4, &at));
	CHECK(!model_stretch_at(model, id, 45, &at));
	CHECK(model_stretch_at(model, id, 10, &at) && at.interval.state == STATE_LOCK);
	CHECK(model_stretch_before(model, id, 10, &at) && at.interval.state == STATE_RUNNING);
	CHECK(model_stretch_before(model, id, 45, &at) && at.interval.state == STATE_THROTTLED);
	CHECK_INT(waker_at(model, 1, 15), 2);
	CHECK_INT(waker_at(model, 1, 25), 0);
}

TEST(a_reused_tid_is_another_thread)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 10);
	story_add(&s, REC(EXIT, exit, 10, 1));
	story_create(&s, 1, 9, 20);
	story_run(&s, 1, 20, 30);
	story_create(&s, 1, 9, 40); /* the exit record was lost */
	story_run(&s, 1, 40, 50);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	thread_id first = model_find_thread(model, 1, 0), second = model_find_thread(model, 1, 25),
		  third = model_find_thread(model, 1, 1000);

	CHECK(first.i != second.i && second.i != third.i && first.i != third.i);
	CHECK(model_find_thread(model, 1, 15).i == first.i);
	check_states(model, first, "R 0-10");
	check_states(model, second, "R 20-30");
	check_states(model, third, "R 40-50");
	CHECK(model_thread(model, first)->exited && !model_thread(model, third)->exited);
	CHECK_INT(model_thread(model, model_thread(model, second)->parent)->tid, 9);
	CHECK_INT(model_find_thread(model, 77, 0).i, 0);
}

TEST(a_thread_is_found_by_tid_and_time)
{
	enum { COUNT = 1000 };
	_cleanup_(story_done) struct story s = { 0 };

	for (uint32_t i = 0; i < COUNT; i++) {
		story_create(&s, 7, 1, 100 + 10 * i);
		story_run(&s, 7, 100 + 10 * i, 105 + 10 * i);
	}

	_cleanup_(model_freep) struct model *model = story_model(&s);

	CHECK_INT(model_thread(model, model_find_thread(model, 7, 0))->begin, 100);
	for (nsec_t t = 100; t < 100 + 10 * COUNT; t += 3)
		CHECK_INT(model_thread(model, model_find_thread(model, 7, t))->begin, t / 10 * 10);
	CHECK_INT(model_thread(model, model_find_thread(model, 7, UINT64_MAX))->begin,
		  90 + 10 * COUNT);
}

TEST(lost_records_are_a_gap)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 10);
	story_run(&s, 1, 25, 30);
	story_add(&s, REC(LOSS, loss, 31, 0, .start = 11, .end = 24, .count = 7));
	_cleanup_(model_freep) struct model *model = story_model(&s);

	check_states(model, model_find_thread(model, 1, 0), "R 0-10,   10-25, R 25-30");
	CHECK_INT(model_loss_count(model), 1);
	CHECK_INT(model_loss(model, 0)->count, 7);
	CHECK_INT(model_loss(model, 0)->start, 11);
}

TEST(states_never_overlap_even_with_contradictory_records)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 20);
	story_wait(&s, 1, 10, 30, STATE_LOCK, 2); /* starts before the end of the last one */
	story_wait(&s, 1, 5, 30, STATE_DISK, 3);  /* contains nothing new */
	story_run(&s, 1, 50, 40);                 /* ends before it starts */
	story_add(&s, REC(WAIT, wait, 60, 1, .start = 30, .woken = 99, .state = STATE_TIMER,
			  .ready = STATE_READY)); /* woken after its end */
	story_run(&s, 1, 60, 70);
	_cleanup_(model_freep) struct model *model = story_model(&s);

	check_states(model, model_find_thread(model, 1, 0), "R 0-20, L 20-30, T 30-60, R 60-70");
	/* the rest of the wait keeps the cause */
	CHECK_INT(waker_at(model, 1, 25), 2);
}

TEST(a_slice_of_centuries_takes_little_memory)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, UINT64_MAX);
	_cleanup_(model_freep) struct model *model = story_model(&s);

	CHECK(model_memory(model) < 2000000);
	check_states(model, model_find_thread(model, 1, 0), "R 0-18446744073709551615");
}

/* The thread takes over the tid of the main thread, which is gone. */
TEST(an_exec_by_another_thread_begins_a_new_main_thread)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_add(&s, REC(TASK, task, 0, 10, .pid = 10, .comm = 1));
	story_add(&s, REC(TASK, task, 0, 11, .pid = 10, .comm = 1));
	story_run(&s, 10, 0, 5);
	story_add(&s, REC(EXIT, exit, 5, 10, .pid = 10));
	story_run(&s, 11, 0, 8);
	story_add(&s, REC(EXIT, exit, 8, 11, .pid = 10));
	story_add(&s, REC(TASK, task, 8, 10, .pid = 10, .event = TASK_EXEC, .comm = 2));
	story_run(&s, 10, 8, 20);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	thread_id before = model_find_thread(model, 10, 0), after = model_find_thread(model, 10, 8);

	CHECK(before.i != after.i);
	check_states(model, before, "R 0-5");
	check_states(model, after, "R 8-20");
	check_states(model, model_find_thread(model, 11, 0), "R 0-8");
	CHECK_STR(model_string(model, model_thread(model, after)->comm), "string 2");
	CHECK(!model_thread(model, after)->out_of_scope);
}

TEST(an_exec_by_the_main_thread_keeps_the_thread)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_add(&s, REC(TASK, task, 0, 10, .pid = 10, .comm = 1));
	story_run(&s, 10, 0, 5);
	story_add(&s, REC(TASK, task, 5, 10, .pid = 10, .event = TASK_EXEC, .comm = 2));
	story_add(&s, REC(TASK, task, 6, 10, .pid = 10, .event = TASK_RENAMED, .comm = 3));
	story_run(&s, 10, 5, 20);
	_cleanup_(model_freep) struct model *model = story_model(&s);

	CHECK_INT(model_thread_count(model), 2);
	check_states(model, (thread_id){ 1 }, "R 0-5, R 5-20");
	CHECK_STR(model_string(model, model_thread(model, (thread_id){ 1 })->comm), "string 3");
}

TEST(an_out_of_scope_task_can_come_into_scope)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_add(&s, REC(TASK, task, 0, 1, .pid = 1, .event = TASK_OUT_OF_SCOPE, .comm = 1));
	story_add(&s, REC(RUN, run, 10, 1, .start = 0, .flags = INTERVAL_OUT_OF_SCOPE));
	story_begin(&s, 2, 0);
	story_wait(&s, 2, 0, 12, STATE_LOCK, 1);
	_cleanup_(model_freep) struct model *before = story_model(&s);

	CHECK(model_thread(before, model_find_thread(before, 1, 0))->out_of_scope);
	check_states(before, model_find_thread(before, 1, 0), "");

	story_begin(&s, 1, 20);
	story_run(&s, 1, 20, 30);
	_cleanup_(model_freep) struct model *after = story_model(&s);
	thread_id id = model_find_thread(after, 1, 0);

	CHECK_INT(model_thread_count(after), 3);
	CHECK(!model_thread(after, id)->out_of_scope);
	check_states(after, id, "R 20-30");
	CHECK_INT(waker_at(after, 2, 5), 1);
	CHECK(model_slices(after, 0, 0) && timeline_count(model_slices(after, 0, 0)) == 2);
}

/* Its TASK record can be lost. */
TEST(a_thread_with_states_is_in_scope)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 2, 0);
	story_wait(&s, 2, 0, 12, STATE_LOCK, 1); /* mentions thread 1 */
	story_run(&s, 1, 5, 15);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	thread_id id = model_find_thread(model, 1, 0);

	CHECK(!model_thread(model, id)->out_of_scope);
	check_states(model, id, "R 5-15");
}

/* The other side of a message of thread 1, as "2@30": thread and time. */
static void check_other(const struct model *model, uint32_t tid, nsec_t time, const char *want)
{
	const struct timeline *line = model_thread(model, model_find_thread(model, tid, time))
					      ->timelines[TIMELINE_MESSAGES];
	char got[64] = "";
	timeline_pos pos;

	CHECK(line && timeline_find(line, time, &pos));
	if (!line || !timeline_find(line, time, &pos))
		return;

	const struct message *m = timeline_at(line, pos);

	if (m->other.i)
		snprintf(got, sizeof(got), "%u@%" PRIu64, model_thread(model, m->other)->tid,
			 m->other_time);
	CHECK_INT(m->time, time);
	CHECK_STR(got, want);
}

TEST(messages_find_their_other_side)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_connect(&s, 100);
	story_send(&s, 1, 10, 100, 0xfffffff0, 100);
	story_send(&s, 1, 20, 100, 0x10, 0x20); /* position wraps around */
	story_receive(&s, 2, 30, 101, 0xfffffff8, 108);
	story_receive(&s, 2, 35, 101, 0x10, 0x18);
	story_receive(&s, 2, 40, 101, 0x18, 8);
	story_send(&s, 1, 41, 100, 0x18, 8);     /* its time is after the receive */
	story_send(&s, 2, 50, 101, 5000, 10);    /* in the other direction */
	story_receive(&s, 1, 50, 100, 5000, 10); /* at the same time, as the clock is coarse */
	story_send(&s, 2, 60, 101, 5010, 10);
	story_send(&s, 1, 70, 555, 5010, 10); /* a socket without a SOCKET record */
	_cleanup_(model_freep) struct model *model = story_model(&s);

	check_other(model, 1, 10, ""); /* received together with the next one */
	check_other(model, 1, 20, "2@35");
	check_other(model, 2, 30, "1@20");
	check_other(model, 2, 35, "1@20");
	check_other(model, 2, 40, "1@41");
	check_other(model, 1, 41, "2@40");
	check_other(model, 2, 50, "1@50");
	check_other(model, 1, 50, "2@50");
	check_other(model, 2, 60, "");
	check_other(model, 1, 70, "");
}

static void tell_unix(struct story *s, uint64_t object, uint64_t peer)
{
	story_add(s, REC(SOCKET, socket, 0, 0, .object = object, .peer_object = peer,
			 .address = { .family = AF_UNIX }));
}

/* Records of unix sockets have no positions, so the model counts the bytes. */
TEST(messages_over_unix_sockets_find_their_other_side)
{
	_cleanup_(story_done) struct story s = { 0 };

	tell_unix(&s, 7, 8);
	tell_unix(&s, 8, 7);
	story_send(&s, 1, 10, 7, 0, 100);
	story_send(&s, 1, 20, 7, 0, 50);
	story_receive(&s, 2, 30, 8, 0, 60);
	story_receive(&s, 2, 40, 8, 0, 90);
	story_send(&s, 2, 50, 8, 0, 5);
	story_receive(&s, 1, 60, 7, 0, 5);
	story_receive(&s, 2, 70, 8, 0, 10);
	story_send(&s, 1, 71, 7, 0, 10);
	/* two at the same time */
	story_send(&s, 1, 80, 7, 0, 10);
	story_send(&s, 1, 80, 7, 0, 20);
	story_receive(&s, 3, 90, 8, 0, 10);
	story_receive(&s, 2, 91, 8, 0, 20);
	_cleanup_(model_freep) struct model *model = story_model(&s);

	check_other(model, 2, 30, "1@10");
	check_other(model, 2, 40, "1@20");
	check_other(model, 1, 60, "2@50");
	check_other(model, 2, 70, "1@71");
	check_other(model, 3, 90, "1@80");
	check_other(model, 1, 80, "2@91");
}

TEST(a_unix_socket_that_sends_before_the_accept_gets_its_peer_later)
{
	_cleanup_(story_done) struct story s = { 0 };

	tell_unix(&s, 7, 0);
	story_send(&s, 1, 10, 7, 0, 100);
	story_add(&s, REC(SOCKET, socket, 20, 2, .object = 8, .peer_object = 7,
			  .address = { .family = AF_UNIX }));
	story_receive(&s, 2, 20, 8, 0, 100);
	story_send(&s, 2, 30, 8, 0, 5);
	story_receive(&s, 1, 40, 7, 0, 5);
	_cleanup_(model_freep) struct model *model = story_model(&s);

	check_other(model, 2, 20, "1@10");
	check_other(model, 1, 40, "2@30");
}

TEST(messages_are_not_joined_across_unaligned_clocks)
{
	for (uint16_t group = 0; group < 2; group++) {
		_cleanup_(story_done) struct story s = { 0 };
		_cleanup_(model_freep) struct model *model = model_new();

		story_connect(&s, 100);
		story_send(&s, 1, 10, 100, 1010, 10);
		s.host = 1;
		story_connect(&s, 100);
		story_receive(&s, 2, 20, 101, 1010, 10);
		for (size_t i = 0; i < s.events.count; i++) {
			struct source source = story_source(s.events.items[i].host);

			source.group = source.host ? group : 0;
			model_add(model, &source, &s.events.items[i].record.head);
		}
		model_finish(model);

		thread_id sender = model_find_thread(model, 1, 10);
		const struct timeline *line =
			model_thread(model, sender)->timelines[TIMELINE_MESSAGES];
		const struct message *sent = timeline_last(line);

		CHECK_INT(model_thread(model, sent->other)->tid, group ? 0 : 2);
		CHECK_INT(sent->other_time, group ? 0 : 20);
	}
}

TEST(threads_and_sockets_are_separate_for_each_host)
{
	_cleanup_(story_done) struct story s = { 0 };

	tell_unix(&s, 7, 8);
	tell_unix(&s, 8, 7);
	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 10);
	story_send(&s, 1, 5, 7, 0, 10);
	s.host = 1;
	tell_unix(&s, 7, 8);
	tell_unix(&s, 8, 7);
	story_begin(&s, 1, 0);
	story_wait(&s, 1, 0, 10, STATE_LOCK, 2);
	story_receive(&s, 2, 6, 8, 0, 10); /* not the message of the other host */
	story_add(&s, REC(SPAN, span, 10, 1, .start = 1, .span = { 1 }));
	_cleanup_(model_freep) struct model *model = story_model(&s);
	thread_id other = model_span(model, (span_id){ 1 })->thread;

	check_states(model, model_find_thread(model, 1, 0), "R 0-10");
	check_states(model, other, "L 0-10");
	CHECK_INT(model_thread(model, other)->host, 1);
	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct timeline *line =
			model_thread(model, (thread_id){ i })->timelines[TIMELINE_MESSAGES];

		if (line)
			CHECK_INT(((struct message *)timeline_last(line))->other.i, 0);
	}
}

TEST(the_thread_of_a_span_is_in_its_process)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 17, 0);
	story_add(&s, REC(SPAN, span, 10, 17, .start = 1, .span = { 1 }, .pid = 17));
	story_add(&s, REC(SPAN, span, 11, 17, .start = 1, .span = { 2 }));
	story_add(&s, REC(SPAN, span, 12, 17, .start = 1, .span = { 3 }, .pid = 5));
	story_add(&s, REC(SPAN, span, 13, 0, .start = 1, .span = { 4 }, .pid = 17));
	_cleanup_(model_freep) struct model *model = story_model(&s);

	CHECK_INT(model_span(model, (span_id){ 1 })->thread.i, 1);
	CHECK_INT(model_span(model, (span_id){ 2 })->thread.i, 1);
	CHECK_INT(model_span(model, (span_id){ 3 })->thread.i, 0);
	CHECK_INT(model_span(model, (span_id){ 4 })->thread.i, 0);
}

/*
 * A busy system: pairs of threads that exchange messages and locks.  Calls fn with each record, in
 * time order.
 */
enum { PAIRS = 8, ROUND = 1000 };

typedef void tell_fn(void *arg, const struct record *r);

static void tell_work(uint64_t round, tell_fn *fn, void *arg)
{
	nsec_t t = ROUND * (round + 1);
	uint32_t position = 10 * (round + 1);

	for (uint32_t a = 1; a < 2 * PAIRS; a += 2) {
		uint32_t socket = 100 * a;

		fn(arg, REC(RUN, run, t + 300, a, .start = t));
		fn(arg, REC(MESSAGE, message, t + 301, a, .object = socket, .bytes = 10,
			    .position = position, .direction = MESSAGE_SEND));
		t++;
	}
	for (uint32_t a = 1; a < 2 * PAIRS; a += 2) {
		uint32_t b = a + 1, socket = 100 * a;

		fn(arg, REC(WAIT, wait, t + 350, b, .start = t - PAIRS, .woken = t + 340,
			    .state = STATE_NETWORK, .ready = STATE_READY, .context = WAKE_SOFTIRQ));
		fn(arg, REC(MESSAGE, message, t + 351, b, .object = socket + 1, .bytes = 10,
			    .position = position, .direction = MESSAGE_RECEIVE));
		t++;
	}
	for (uint32_t a = 1; a < 2 * PAIRS; a += 2) {
		uint32_t b = a + 1;

		fn(arg, REC(RUN, run, t + 700, b, .start = t + 342));
		fn(arg, REC(WAIT, wait, t + 710, a, .start = t + 290, .woken = t + 690,
			    .state = STATE_LOCK, .ready = STATE_READY, .context = WAKE_TASK,
			    .waker = b));
		t++;
	}
}

static void add_to(void *arg, const struct record *r)
{
	struct source source = story_source(0);

	model_add(arg, &source, r);
}

static struct model *work_model(void)
{
	_cleanup_(story_done) struct story s = { 0 };

	for (uint32_t tid = 1; tid <= 2 * PAIRS; tid++)
		story_begin(&s, tid, ROUND);
	for (uint32_t a = 1; a < 2 * PAIRS; a += 2)
		story_connect(&s, 100 * a);
	return story_model(&s);
}

TEST(forgetting_leaves_the_rest_unchanged)
{
	_cleanup_(model_freep) struct model *whole = work_model(), *window = work_model();
	enum { ROUNDS = 8000, KEPT = 100 };
	nsec_t from = (nsec_t)ROUND * (ROUNDS - KEPT), to = (nsec_t)ROUND * ROUNDS;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		tell_work(i, add_to, whole);
		tell_work(i, add_to, window);
		if (i > KEPT && i % 10 == 0)
			model_forget(window, (i - KEPT) * ROUND);
	}
	CHECK(model_begin(window) <= from && model_begin(window) > from - 20 * ROUND);
	for (uint32_t tid = 1; tid <= 2 * PAIRS; tid++) {
		_cleanup_(freep) char *want = story_path(whole, tid, from, to);
		_cleanup_(freep) char *got = story_path(window, tid, from, to);

		CHECK(strlen(want) > 1000);
		CHECK_STR(got, want);
	}
	CHECK(model_memory(window) < model_memory(whole) / 4);
}

TEST(a_sliding_window_has_constant_memory)
{
	_cleanup_(model_freep) struct model *model = work_model();
	size_t early = 0;

	for (uint64_t i = 0; i < 20000; i++) {
		tell_work(i, add_to, model);
		if (i > 1000 && i % 100 == 0)
			model_forget(model, (i - 1000) * ROUND);
		if (i == 5000)
			early = model_memory(model);
	}
	CHECK(model_memory(model) < early + early / 4);
}

TEST(exited_threads_are_dropped)
{
	_cleanup_(model_freep) struct model *model = model_new();
	size_t early = 0;

	for (uint32_t i = 1; i <= 100000; i++) {
		nsec_t t = 100ull * i;

		add_to(model, REC(TASK, task, t, i, .pid = i, .event = TASK_NEW));
		add_to(model, REC(RUN, run, t + 10, i, .start = t));
		add_to(model, REC(EXIT, exit, t + 10, i, .pid = i));
		if (i % 100 == 0)
			model_forget(model, t);
		if (i == 10000)
			early = model_memory(model);
	}
	/* their names stay for later lookups, their timelines do not */
	CHECK(model_memory(model) < 16 * early);
	CHECK(model_memory(model) < 100000 * 400);
}

/* Less than 64 bytes of heap for each of a million records. */
TEST(a_record_takes_little_memory)
{
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	_cleanup_(model_freep) struct model *model = work_model();

	for (uint64_t i = 0; model_record_count(model) < 1000000; i++)
		tell_work(i, add_to, model);

	size_t heap = mallinfo2().uordblks + mallinfo2().hblkhd - before;
	uint64_t records = model_record_count(model);

	CHECK(heap < 64 * records);
	CHECK(model_memory(model) < 64 * records);
	if (heap) /* the heap of a sanitizer has no such count */
		CHECK(model_memory(model) < heap + heap / 20 &&
		      model_memory(model) > heap - heap / 20);
	if (test_failures)
		printf("# %zu bytes on the heap, %zu in the model, %" PRIu64 " records\n", heap,
		       model_memory(model), records);
}

TEST(a_span_that_ends_before_it_begins_has_no_duration)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_span(&s, 50, 40, 7, 0, 1);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	const struct span *span = model_span(model, story_find_span(model, 7));

	CHECK_INT(span->start, 40);
	CHECK_INT(span->end, 40);
}

TEST(a_loss_affects_only_overlapping_time_on_its_cpu_or_process)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_add(&s, REC(TASK, task, 0, 12, .pid = 11, .event = TASK_EXISTING));
	story_add(&s, REC(LOSS, loss, 50, 0, .start = 20, .end = 30, .count = 7));
	story_add(&s, REC(LOSS, loss, 60, 0, .start = 25, .end = 55, .count = 0));
	story_add(&s, REC(LOSS, loss, 70, 12, .start = 40, .end = 70, .count = 3));
	s.host = 1;
	story_add(&s, REC(LOSS, loss, 80, 0, .head.cpu = 2, .start = 0, .end = 80, .count = 100));

	_cleanup_(model_freep) struct model *model = story_model(&s);

	CHECK_INT(model_lost(model, 0, 100).records, 110);
	CHECK_INT(model_lost(model, 0, 100).losses, 4);
	CHECK_INT(model_lost_on_host(model, 0, 0, 19).losses, 0);
	CHECK_INT(model_lost_on_host(model, 0, 0, 20).records, 7);
	CHECK_INT(model_lost_on_host(model, 0, 31, 40).records, 0);
	CHECK_INT(model_lost_on_host(model, 0, 31, 40).losses, 1);
	CHECK_INT(model_lost_on_host(model, 0, 56, 100).losses, 0);
	CHECK_INT(model_lost_on_cpu(model, 0, 0, 30, 30).losses, 2);
	CHECK_INT(model_lost_on_cpu(model, 0, 2, 0, 100).losses, 0);
	CHECK_INT(model_lost_on_cpu(model, 1, 2, 0, 100).records, 100);
	CHECK_INT(model_lost_in_process(model, 0, 11, 0, 100).records, 3);
	CHECK_INT(model_lost_in_process(model, 0, 11, 71, 100).losses, 0);
	CHECK_INT(model_lost_in_process(model, 0, 12, 0, 100).losses, 0);
}

TEST(a_frame_without_a_function_is_the_offset_in_its_file)
{
	_cleanup_(story_done) struct story s = { 0 };
	struct {
		struct record_stack stack;
		uint32_t frames[2];
	} two = { .stack = { .head = { .time = 1, .kind = RECORD_STACK, .words = sizeof(two) / 8 },
			     .stack = 1,
			     .user_count = 2 },
		  .frames = { 1, 2 } };

	story_add(&s, REC(FRAME, frame, 1, 0, .frame = 1, .module = STRING_PYTHON,
			  .address = 0x7f0000001234, .offset = 0x1234));
	story_add(&s, REC(FRAME, frame, 1, 0, .frame = 2, .address = 0x7f0000005678));
	story_add(&s, &two.stack.head);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(freep) char *text = model_stack_text(model, 1, ";", true);

	CHECK_STR(text, "python3+0x1234;0x7f0000005678");
}
