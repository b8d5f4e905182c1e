/* SPDX-License-Identifier: Apache-2.0 */
/* What spans did, in small models. */
#include "analyse/observation.h"

#include "story.h"
#include "test.h"

#define US ((nsec_t)1000)

enum { NR_SLEEP = 230, SPANS_MAX = 16 };

/* The observations of a model as text, by the first byte of the span's id. */
struct observed {
	struct observation_counts counts;
	char order[SPANS_MAX + 1]; /* ids as letters from 'a' on, as they were reported */
	char *text[SPANS_MAX];
	struct observation values[SPANS_MAX]; /* without runs and intervals */
};

static void observed_done(struct observed *o)
{
	for (size_t i = 0; i < SPANS_MAX; i++)
		free(o->text[i]);
}

static void print_beside(FILE *file, const struct own_interval *interval)
{
	const struct {
		char name;
		nsec_t time;
	} times[] = { { 'C', interval->ready },
		      { 'Q', interval->throttled },
		      { 'X', interval->irq },
		      { '^', interval->queued },
		      { '_', interval->gap } };

	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		if (times[i].time)
			fprintf(file, "+%c%" PRIu64, times[i].name, times[i].time / US);
}

/* The sums hold for every observation. */
static void check_sums(const struct observation *o)
{
	nsec_t own = 0;

	for (size_t i = 0; i < o->intervals.count; i++) {
		const struct own_interval *v = &o->intervals.items[i];
		nsec_t sum = v->ready + v->throttled + v->irq + v->queued + v->gap;

		for (size_t k = v->run; k < v->run + v->run_count; k++) {
			CHECK(o->runs.items[k].time > 0);
			CHECK(k == v->run ||
			      o->runs.items[k].letter != o->runs.items[k - 1].letter);
			sum += o->runs.items[k].time;
		}
		CHECK_INT(sum, o->has_states ? v->total : 0);
		own += v->total;
	}
	CHECK_INT(o->own, own);
	CHECK(o->own + o->queueing <= o->duration);
}

/* Intervals are divided by a bar; C, Q, X, ^ (queued) and _ (gap) are beside the runs.  In us. */
static void observe(void *arg, const struct observation *o)
{
	struct observed *observed = arg;
	size_t size, id = o->id[0];
	FILE *file;

	check_sums(o);
	if (id >= SPANS_MAX || observed->text[id])
		return;
	observed->values[id] = *o;
	observed->order[strlen(observed->order)] = 'a' + id;
	file = open_memstream(&observed->text[id], &size);
	for (size_t i = 0; i < o->intervals.count; i++) {
		const struct own_interval *v = &o->intervals.items[i];

		fprintf(file, "%s", i ? "|" : "");
		if (!o->has_states)
			fprintf(file, "%" PRIu64, v->total / US);
		for (size_t k = 0; k < v->run_count; k++)
			fprintf(file, "%s%c%" PRIu64, k ? " " : "",
				o->runs.items[v->run + k].letter,
				o->runs.items[v->run + k].time / US);
		print_beside(file, v);
	}
	fclose(file);
}

static struct observed observe_set(const struct span_set *spans)
{
	struct observed observed = { .order = "" };

	observations_find(spans, observe, &observed, &observed.counts);
	return observed;
}

static struct observed observe_story(const struct story *s)
{
	_cleanup_(model_freep) struct model *model = story_model(s);

	return observe_set(&(struct span_set){ .model = model });
}

static const char *text_of(const struct observed *o, uint8_t id)
{
	return o->text[id] ?: "none";
}

/* One span of thread 1, or several that begin with a number each. */
static void check(const struct story *s, const char *want)
{
	_cleanup_(observed_done) struct observed o = observe_story(s);

	CHECK_STR(text_of(&o, 1), want);
}

static void run(struct story *s, uint32_t tid, nsec_t start, nsec_t end)
{
	story_run(s, tid, start * US, end * US);
}

static void wait(struct story *s, uint32_t tid, nsec_t start, nsec_t end, enum state state)
{
	story_wait(s, tid, start * US, end * US, state, 0);
}

static void ready(struct story *s, uint32_t tid, nsec_t start, nsec_t end, enum state state)
{
	story_add(s, REC(WAIT, wait, end * US, tid, .start = start * US, .woken = start * US,
			 .ready = state, .flags = INTERVAL_PREEMPTED));
}

static void span(struct story *s, nsec_t start, nsec_t end, uint8_t id, uint8_t parent,
		 uint32_t tid)
{
	story_span(s, start * US, end * US, id, parent, tid);
}

/* Figure 2 of "Towards Efficient Diagnosis of Performance Bottlenecks" (ICPE 2024). */
TEST(children_divide_their_parents_as_in_the_paper)
{
	_cleanup_(story_done) struct story s = { 0 };

	for (uint32_t tid = 1; tid <= 3; tid++)
		story_begin(&s, tid, 0);
	run(&s, 1, 0, 20);
	wait(&s, 1, 20, 60, STATE_NETWORK);
	run(&s, 1, 60, 70);
	wait(&s, 1, 70, 90, STATE_NETWORK);
	run(&s, 1, 90, 100);
	run(&s, 2, 0, 30);
	wait(&s, 2, 30, 40, STATE_DISK);
	run(&s, 2, 40, 100);
	run(&s, 3, 0, 100);
	span(&s, 0, 100, 1, 0, 1);
	span(&s, 20, 60, 2, 1, 2);
	span(&s, 42, 55, 3, 2, 2);
	span(&s, 72, 88, 4, 1, 3);

	_cleanup_(observed_done) struct observed o = observe_story(&s);
	CHECK_STR(text_of(&o, 1), "R20|R10 N2|N2 R10");
	CHECK_STR(text_of(&o, 2), "R10 D10 R2|R5");
	CHECK_STR(text_of(&o, 3), "R13");
	CHECK_STR(text_of(&o, 4), "R16");
	CHECK_STR(o.order, "dceb");
	CHECK_INT(o.counts.traces, 1);
	for (int i = 1; i <= 4; i++)
		CHECK_INT(o.values[i].position, i - 1);
	CHECK_INT(o.values[3].depth, 2);
	CHECK_INT(o.values[1].own, 44 * US);
	CHECK_INT(o.values[1].cpu, 40 * US);
	CHECK(o.values[1].type == o.values[4].type && o.values[1].subtree == o.values[1].type);
	CHECK(o.values[1].name != o.values[2].name && o.values[3].identity != o.values[2].identity);
}

/* As in figure 5: a sync worker reads and writes itself, a thread of a pool only computes. */
TEST(the_type_of_a_worker_shows_in_its_letters)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	for (nsec_t t = 0; t < 60; t += 20) {
		run(&s, 1, t, t + 8);
		wait(&s, 1, t + 8, t + 20, STATE_NETWORK);
	}
	run(&s, 1, 60, 70);
	run(&s, 2, 0, 70);
	span(&s, 0, 70, 1, 0, 1);
	span(&s, 10, 60, 2, 0, 2);

	_cleanup_(observed_done) struct observed o = observe_story(&s);
	CHECK_STR(text_of(&o, 1), "R8 N12 R8 N12 R8 N12 R10");
	CHECK_STR(text_of(&o, 2), "R50");
	CHECK_INT(o.counts.traces, 2);
}

TEST(overlapping_children_are_one_cut)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	run(&s, 1, 0, 100);
	span(&s, 0, 100, 1, 0, 1);
	span(&s, 10, 40, 2, 1, 0);
	span(&s, 30, 60, 3, 1, 0);
	span(&s, 50, 70, 4, 1, 0);
	check(&s, "R10|R30");
	span(&s, 70, 80, 5, 1, 0); /* adjacent */
	check(&s, "R10||R20");
	span(&s, 79, 95, 6, 1, 0); /* by rounding */
	check(&s, "R10|||R5");
}

TEST(children_outside_of_the_parent_and_asynchronous_ones_cut_nothing)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	run(&s, 1, 0, 200);
	span(&s, 20, 100, 1, 0, 1);
	span(&s, 110, 120, 2, 1, 0);
	span(&s, 5, 20, 3, 1, 0);
	story_add(&s, REC(SPAN, span, 60 * US, 0, .start = 50 * US, .trace = { 1 }, .span = { 4 },
			  .parent = { 1 }, .flags = SPAN_FOLLOWS));
	check(&s, "R80");
	span(&s, 90, 150, 5, 1, 0); /* is clipped */
	span(&s, 0, 30, 6, 1, 0);
	check(&s, "|R60|");
	span(&s, 50, 50, 7, 1, 0); /* without duration */
	check(&s, "|R20|R40|");
}

TEST(equal_states_that_meet_are_merged)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	run(&s, 1, 0, 10);
	ready(&s, 1, 10, 15, STATE_READY);
	run(&s, 1, 15, 30);
	ready(&s, 1, 30, 50, STATE_THROTTLED);
	run(&s, 1, 50, 55);
	wait(&s, 1, 55, 60, STATE_DISK);
	story_add(&s, REC(RUN, run, 80 * US, 1, .start = 60 * US, .irq = 8 * US));
	run(&s, 1, 80, 90);
	span(&s, 5, 90, 1, 0, 1);
	check(&s, "R25 D5 R22+C5+Q20+X8");
}

TEST(interrupts_are_divided_evenly)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_add(&s, REC(RUN, run, 80 * US, 1, .irq = 8 * US));
	span(&s, 40, 80, 1, 0, 1);
	span(&s, 50, 60, 2, 1, 1);
	check(&s, "R9+X1|R18+X2");
}

/* A sleep of thread 1, which a timer ends. */
static void sleep_until(struct story *s, nsec_t start, nsec_t end)
{
	story_add(s, REC(WAIT, wait, end * US, 1, .start = start * US, .woken = (end - 1) * US,
			 .state = STATE_TIMER, .ready = STATE_READY, .syscall = NR_SLEEP,
			 .context = WAKE_HRTIMER));
}

TEST(an_episode_is_one_run)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	run(&s, 1, 0, 100);
	for (nsec_t t = 100; t < 5000; t += 1000) {
		sleep_until(&s, t, t + 980);
		run(&s, 1, t + 980, t + 1000);
	}
	run(&s, 1, 5100, 6000);
	span(&s, 0, 6000, 1, 0, 1);
	/* each sleep ends with 1 us of waiting for the CPU; the last look is work */
	check(&s, "R100 T4975 R920+C5");
}

TEST(the_part_of_an_episode_in_a_span_counts)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	for (nsec_t t = 0; t < 5000; t += 1000) {
		sleep_until(&s, t, t + 980);
		run(&s, 1, t + 980, t + 1000);
	}
	span(&s, 500, 2500, 1, 0, 1);
	check(&s, "T1998+C2");
}

TEST(time_without_records_is_a_gap)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	run(&s, 2, 0, 100);
	run(&s, 1, 0, 40);
	run(&s, 1, 60, 80);
	span(&s, 10, 90, 1, 0, 1);
	check(&s, "R50+_30");
}

TEST(a_span_without_a_thread_has_totals_only)
{
	_cleanup_(story_done) struct story s = { 0 };

	span(&s, 10, 90, 1, 0, 0);
	span(&s, 20, 30, 2, 1, 0);

	_cleanup_(observed_done) struct observed o = observe_story(&s);
	CHECK_STR(text_of(&o, 1), "10|60");
	CHECK(!o.values[1].has_states);
	CHECK_INT(o.values[1].own, 70 * US);
	CHECK_INT(o.counts.traces, 1);
}

static void add_service(struct story *s, nsec_t start, nsec_t end, uint8_t id, uint8_t parent,
			uint32_t tid, uint32_t service)
{
	story_add(s,
		  REC(SPAN, span, end * US, tid, .start = start * US, .trace = { 1, s->trace },
		      .span = { id }, .parent = { parent }, .service = service, .operation = id));
}

TEST(a_span_has_the_thread_of_its_parent_only_in_one_service)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	run(&s, 1, 0, 200);
	add_service(&s, 0, 200, 1, 0, 1, 20);
	add_service(&s, 60, 160, 2, 1, 0, 21); /* without a thread, and on another clock */
	add_service(&s, 100, 110, 3, 2, 0, 20);
	add_service(&s, 10, 20, 4, 1, 0, 20);
	_cleanup_(observed_done) struct observed o = observe_story(&s);
	CHECK_STR(text_of(&o, 1), "R10||");
	CHECK_STR(text_of(&o, 2), "0|50");
	CHECK_STR(text_of(&o, 3), "10");
	CHECK_STR(text_of(&o, 4), "R10");
}

TEST(work_for_another_span_is_queueing)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	run(&s, 1, 0, 100);
	story_context(&s, 1, 0, 1);
	story_context(&s, 1, 20 * US, 2);
	story_context(&s, 1, 50 * US, 1);
	span(&s, 0, 100, 1, 0, 1);
	s.trace = 1;
	span(&s, 20, 50, 2, 0, 1);
	s.trace = 0;
	check(&s, "R100"); /* span 2 is not the one of the context: not recorded, of this trace */

	_cleanup_(story_done) struct story both = { 0 };
	story_begin(&both, 1, 0);
	run(&both, 1, 0, 100);
	story_context(&both, 1, 0, 1);
	both.trace = 1;
	story_context(&both, 1, 20 * US, 2);
	span(&both, 20, 50, 2, 0, 1);
	both.trace = 0;
	story_context(&both, 1, 50 * US, 1);
	span(&both, 0, 100, 1, 0, 1);
	check(&both, "R70+^30");
}

TEST(requests_that_wait_for_their_thread_are_queued)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	run(&s, 1, 0, 100);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(span_set_done) struct span_set spans = { .model = model };
	span_set_add(&spans, &(struct span){ .id = { 1 },
					     .start = 10 * US,
					     .arrival = 10 * US,
					     .read = 30 * US,
					     .sent = 80 * US,
					     .end = 90 * US,
					     .thread = { 1 },
					     .source = SPAN_INFERRED });
	span_set_finish(&spans);
	_cleanup_(observed_done) struct observed o = observe_set(&spans);
	CHECK_STR(text_of(&o, 1), "R50 N10");
	CHECK_INT(o.values[1].queueing, 20 * US);
	CHECK_INT(o.values[1].duration, 80 * US);
	CHECK_INT(o.values[1].start, 10 * US);
}

TEST(work_that_no_request_explains_is_not_a_trace)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	run(&s, 1, 0, 100);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(span_set_done) struct span_set spans = { .model = model };
	struct span root = { .id = { 1 },
			     .start = 10 * US,
			     .end = 90 * US,
			     .thread = { 1 },
			     .source = SPAN_INFERRED,
			     .kind = SPAN_INTERNAL,
			     .flags = SPAN_OPEN };
	span_set_add(&spans, &root);
	root.id[0] = 2;
	root.kind = SPAN_SERVER; /* without a reply */
	span_set_add(&spans, &root);
	span_set_finish(&spans);
	_cleanup_(observed_done) struct observed o = observe_set(&spans);
	CHECK_INT(o.counts.traces, 0);
	CHECK_INT(o.counts.cut, 1);
}

TEST(bytes_of_the_own_time_are_counted)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	run(&s, 1, 0, 100);
	story_connect(&s, 4);
	story_send(&s, 1, 10 * US, 4, 0, 100);
	story_send(&s, 1, 30 * US, 4, 100, 10); /* by the child */
	story_receive(&s, 1, 60 * US, 4, 0, 1000);
	story_add(&s, REC(BLOCK, block, 70 * US, 1, .start = 65 * US, .bytes = 4096, .op = 'R'));
	span(&s, 0, 100, 1, 0, 1);
	span(&s, 20, 40, 2, 1, 1);
	_cleanup_(observed_done) struct observed o = observe_story(&s);
	CHECK_INT(o.values[1].network_bytes, 1100);
	CHECK_INT(o.values[2].network_bytes, 10);
	CHECK_INT(o.values[1].disk_bytes, 4096);
}

TEST(losses_mark_the_spans_that_they_touch)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	run(&s, 1, 0, 100);
	story_add(&s, REC(LOSS, loss, 20 * US, 0, .start = 10 * US, .count = 3));
	span(&s, 0, 100, 1, 0, 1);
	span(&s, 30, 40, 2, 1, 1);
	_cleanup_(observed_done) struct observed o = observe_story(&s);
	CHECK(o.values[1].is_lost);
	CHECK(!o.values[2].is_lost);
}

TEST(traces_at_the_edges_of_the_recording_are_cut)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 100 * US);
	run(&s, 1, 100, 200);
	span(&s, 90, 120, 1, 0, 1);
	s.trace = 1;
	span(&s, 110, 150, 2, 0, 1);
	s.trace = 2;
	span(&s, 110, 150, 3, 0, 1);
	span(&s, 110, 201, 4, 3, 1);
	s.trace = 3;
	story_add(&s, REC(SPAN, span, 150 * US, 1, .start = 120 * US, .trace = { 9 }, .span = { 5 },
			  .flags = SPAN_OPEN));
	_cleanup_(observed_done) struct observed o = observe_story(&s);
	CHECK_STR(o.order, "c");
	CHECK_INT(o.counts.traces, 1);
	CHECK_INT(o.counts.cut, 3);
	CHECK_INT(o.counts.orphaned, 0);
}

TEST(traces_that_began_before_the_window_are_cut)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	run(&s, 1, 0, 300);
	span(&s, 50, 200, 1, 0, 1);
	s.trace = 1;
	span(&s, 150, 200, 2, 0, 1);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	model_forget(model, 100 * US);
	_cleanup_(observed_done) struct observed o =
		observe_set(&(struct span_set){ .model = model });
	CHECK_STR(o.order, "c");
	CHECK_INT(o.counts.cut, 1);
}

TEST(traces_with_a_missing_parent_are_counted_once)
{
	_cleanup_(story_done) struct story s = { 0 };

	for (s.trace = 0; s.trace < 3; s.trace++) {
		span(&s, 0, 100, 1, 0, 0);
		span(&s, 10, 50, 2, 1, 0);
		span(&s, 20, 30, 3, s.trace ? 2 : 9, 0);
		span(&s, 60, 70, 4, s.trace ? 1 : 8, 0);
	}
	_cleanup_(observed_done) struct observed o = observe_story(&s);
	CHECK_INT(o.counts.traces, 2);
	CHECK_INT(o.counts.orphaned, 1);
	CHECK_INT(o.counts.cut, 0);
}

TEST(a_span_whose_parents_are_never_recorded_is_a_root)
{
	_cleanup_(story_done) struct story s = { 0 };

	for (s.trace = 0; s.trace < 3; s.trace++) {
		span(&s, 0, 100, 1, 9, 0);
		span(&s, 10, 50, 2, 1, 0);
	}
	_cleanup_(observed_done) struct observed o = observe_story(&s);
	CHECK_INT(o.counts.traces, 3);
	CHECK_INT(o.counts.orphaned, 0);
}

/* Random spans of a thread, and the same sums counted nanosecond by nanosecond. */
enum { LENGTH = 400 };

struct random_case {
	const struct model *model;
	uint8_t states[LENGTH]; /* of the thread */
	size_t checked;
};

static bool is_in_child(const struct model *model, const struct span *span, nsec_t t)
{
	for (span_id c = span->first_child; c.i; c = model_span(model, c)->next) {
		const struct span *child = model_span(model, c);

		if (!(child->flags & SPAN_FOLLOWS) && child->start <= t && t < child->end)
			return true;
	}
	return false;
}

static void check_random(void *arg, const struct observation *o)
{
	struct random_case *r = arg;
	const struct span *span = model_span(r->model, o->span);
	nsec_t want[128] = { 0 }, got[128] = { 0 }, own = 0;

	check_sums(o);
	for (nsec_t t = span->start; t < span->end; t++)
		if (!is_in_child(r->model, span, t)) {
			want[r->states[t]]++;
			own++;
		}
	for (size_t i = 0; i < o->runs.count; i++)
		got[o->runs.items[i].letter] += o->runs.items[i].time;
	for (size_t i = 0; i < o->intervals.count; i++)
		got[STATE_READY] += o->intervals.items[i].ready;
	CHECK_INT(o->own, own);
	CHECK_INT(o->cpu, want[STATE_RUNNING]);
	CHECK(o->has_states && memcmp(want, got, sizeof(want)) == 0);
	r->checked++;
}

static void random_thread(struct story *s, struct random_case *r)
{
	static const uint8_t states[] = { STATE_READY, STATE_DISK, STATE_NETWORK, STATE_UNKNOWN };

	story_begin(s, 1, 0);
	for (nsec_t t = 0, end; t < LENGTH; t = end) {
		uint8_t state = states[random() % ARRAY_LEN(states)];
		nsec_t middle = t + 1 + random() % 20;

		middle = middle < LENGTH ? middle : LENGTH;
		end = middle + random() % 20;
		end = end < LENGTH ? end : LENGTH;
		memset(r->states + t, STATE_RUNNING, middle - t);
		memset(r->states + middle, state, end - middle);
		story_run(s, 1, t, middle);
		if (middle < end && state == STATE_READY)
			story_add(s, REC(WAIT, wait, end, 1, .start = middle, .woken = middle,
					 .ready = STATE_READY, .flags = INTERVAL_PREEMPTED));
		else if (middle < end)
			story_wait(s, 1, middle, end, state, 0);
	}
}

TEST(random_traces_match_a_simple_search)
{
	for (unsigned seed = 0; seed < 300 && !test_failures; seed++) {
		_cleanup_(story_done) struct story s = { 0 };
		struct random_case r = { 0 };
		struct observation_counts counts;

		srandom(seed);
		random_thread(&s, &r);
		for (uint8_t id = 1; id <= 12; id++) {
			nsec_t start = random() % (LENGTH - 1);
			nsec_t end = start + random() % (LENGTH - start);

			story_add(&s, REC(SPAN, span, end, 1, .start = start, .trace = { 1 },
					  .span = { id }, .parent = { random() % id },
					  .flags = random() % 8 ? 0 : SPAN_FOLLOWS));
		}
		_cleanup_(model_freep) struct model *model = story_model(&s);
		r.model = model;
		observations_find(&(struct span_set){ .model = model }, check_random, &r, &counts);
		CHECK_INT(r.checked, 12);
		if (test_failures)
			printf("# with seed %u\n", seed);
	}
}

static void count_intervals(void *arg, const struct observation *o)
{
	*(size_t *)arg += o->intervals.count;
	CHECK(o->has_states);
	check_sums(o);
}

static size_t chain_or_fan(size_t count, bool is_chain)
{
	_cleanup_(model_freep) struct model *model = model_new();
	struct source source = story_source(0);
	struct observation_counts counts;
	size_t intervals = 0;

	model_add(model, &source, REC(TASK, task, 0, 1, .pid = 1, .event = TASK_EXISTING));
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t parent = is_chain ? i - 1 : i > 1;
		nsec_t start = is_chain || i == 1 ? i : 2 * i;
		nsec_t end = is_chain || i == 1 ? 3 * count - i : 2 * i + 1;
		struct record_span r = { .head = { .time = end,
						   .tid = 1,
						   .kind = RECORD_SPAN,
						   .words = sizeof(r) / 8 },
					 .start = start };

		memcpy(r.span, &i, sizeof(i));
		memcpy(r.parent, &parent, sizeof(parent));
		model_add(model, &source, &r.head);
	}
	model_add(model, &source, REC(RUN, run, 3 * count, 1, .start = 0));
	model_finish(model);
	observations_find(&(struct span_set){ .model = model }, count_intervals, &intervals,
			  &counts);
	CHECK_INT(counts.traces, 1);
	return intervals;
}

/* A root of 100 us that calls twice: 2, which calls 3, and then 4. */
static void add_calls(struct story *s)
{
	for (uint32_t tid = 1; tid <= 2; tid++) {
		story_begin(s, tid, 0);
		run(s, tid, 0, 40);
		wait(s, tid, 40, 50, STATE_DISK);
		run(s, tid, 50, 100);
	}
	span(s, 0, 100, 1, 0, 1);
	span(s, 20, 60, 2, 1, 2);
	span(s, 30, 45, 3, 2, 2);
	span(s, 70, 80, 4, 1, 2);
}

TEST(a_tree_is_observed_as_in_the_whole_set)
{
	_cleanup_(story_done) struct story s = { 0 };
	_cleanup_(observed_done) struct observed one = { .order = "" };

	add_calls(&s);

	_cleanup_(observed_done) struct observed all = observe_story(&s);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct span_set spans = { .model = model };
	_cleanup_(observer_freep) struct observer *observer = observer_new(&spans);
	CHECK(observer_tree(observer,
			    span_set_find(&spans, (uint8_t[16]){ 1, 0 }, (uint8_t[8]){ 1 }), 4,
			    observe, &one));
	CHECK_STR(one.order, all.order);
	for (uint8_t i = 1; i <= 4; i++) {
		CHECK_STR(text_of(&one, i), text_of(&all, i));
		CHECK(one.values[i].type == all.values[i].type);
		CHECK(one.values[i].subtree == all.values[i].subtree);
		CHECK_INT(one.values[i].position, all.values[i].position);
	}
}

TEST(a_span_with_a_parent_is_observed_by_its_subtree)
{
	_cleanup_(story_done) struct story s = { 0 };
	_cleanup_(observed_done) struct observed one = { .order = "" };

	add_calls(&s);

	_cleanup_(observed_done) struct observed all = observe_story(&s);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct span_set spans = { .model = model };
	_cleanup_(observer_freep) struct observer *observer = observer_new(&spans);
	CHECK(observer_span(observer,
			    span_set_find(&spans, (uint8_t[16]){ 1, 0 }, (uint8_t[8]){ 2 }), 2,
			    observe, &one));
	CHECK_STR(one.order, "c");
	CHECK_STR(text_of(&one, 2), text_of(&all, 2));
	CHECK(one.values[2].subtree == all.values[2].subtree);
	CHECK(one.values[2].type == all.values[2].subtree);
	CHECK(one.values[2].name == all.values[2].name);
	CHECK_INT(one.values[2].position, 0);
}

TEST(a_tree_that_is_too_large_or_cut_is_not_observed)
{
	_cleanup_(story_done) struct story s = { 0 };
	_cleanup_(observed_done) struct observed none = { .order = "" };

	add_calls(&s);
	span(&s, 90, 110, 5, 0, 1);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct span_set spans = { .model = model };
	_cleanup_(observer_freep) struct observer *observer = observer_new(&spans);
	CHECK(!observer_tree(observer,
			     span_set_find(&spans, (uint8_t[16]){ 1, 0 }, (uint8_t[8]){ 1 }), 3,
			     observe, &none));
	CHECK(!observer_span(observer,
			     span_set_find(&spans, (uint8_t[16]){ 1, 0 }, (uint8_t[8]){ 5 }), 3,
			     observe, &none));
	CHECK_STR(none.order, "");
}

TEST(an_interval_with_too_many_states_has_none)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	for (nsec_t t = 0; t < 20000; t += 2) {
		run(&s, 1, t, t + 1);
		wait(&s, 1, t + 1, t + 2, STATE_DISK);
	}
	span(&s, 0, 10000, 1, 0, 1);
	span(&s, 10, 10000, 2, 0, 1);
	span(&s, 0, 20000, 3, 0, 1);

	_cleanup_(observed_done) struct observed o = observe_story(&s);
	CHECK(o.values[1].has_states);
	CHECK_STR(text_of(&o, 3), "20000");
}

TEST(a_chain_of_100000_spans_needs_no_stack)
{
	CHECK_INT(chain_or_fan(100000, true), 2 * 100000 - 1);
}

TEST(a_span_can_have_100000_children)
{
	CHECK_INT(chain_or_fan(100001, false), 2 * 100000 + 1);
}
