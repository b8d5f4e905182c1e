/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that work for a span: models with contexts and their expected path; CPU time of
 * spans; and both with random contexts, checked nanosecond by nanosecond.
 */
#include "analyse/span_cpu.h"
#include "analyse/span_work.h"
#include "story.h"
#include "test.h"

static void check_path(const struct story *s, uint8_t id, const char *want)
{
	_cleanup_(model_freep) struct model *model = story_model(s);
	_cleanup_(freep) char *got = story_span_path(model, id);

	CHECK_STR(got, want);
}

static void check_cpu(const struct story *s, uint8_t id, nsec_t want)
{
	_cleanup_(model_freep) struct model *model = story_model(s);
	_cleanup_(freep) nsec_t *cpu = span_cpu_find(model);

	CHECK_INT(cpu[story_find_span(model, id).i], want);
}

/* Thread 1 runs an event loop: first for span 1, then for span 2, then for span 1 again. */
static void two_tasks(struct story *s)
{
	story_begin(s, 1, 0);
	story_run(s, 1, 0, 20);
	story_wait(s, 1, 20, 30, STATE_TIMER, 0);
	story_run(s, 1, 30, 100);
	story_context(s, 1, 5, 1);
	story_context(s, 1, 10, 0);
	s->trace = 2;
	story_context(s, 1, 15, 2);
	story_context(s, 1, 60, 0);
	story_span(s, 14, 61, 2, 0, 1);
	s->trace = 0;
	story_context(s, 1, 65, 1);
	story_context(s, 1, 70, 0);
	story_span(s, 4, 71, 1, 0, 1);
}

TEST(a_task_waits_while_its_thread_works_for_another_span)
{
	_cleanup_(story_done) struct story s = { 0 };

	two_tasks(&s);
	check_path(&s, 1, "1R 4-15, 1R>2 15-20, 1T>2 20-30, 1R>2 30-60, 1R 60-71");
	check_path(&s, 2, "1R 14-20, 1T 20-30, 1R 30-61");
}

TEST(each_task_gets_the_time_that_its_thread_ran_for_it)
{
	_cleanup_(story_done) struct story s = { 0 };

	two_tasks(&s);
	story_span(&s, 0, 100, 3, 0, 1); /* without contexts */
	check_cpu(&s, 1, 10);
	check_cpu(&s, 2, 35);
	check_cpu(&s, 3, CPU_UNKNOWN);
}

TEST(waits_of_another_span_are_explained_too)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	story_run(&s, 1, 0, 20);
	story_wait(&s, 1, 20, 50, STATE_LOCK, 2);
	story_run(&s, 1, 50, 100);
	story_run(&s, 2, 0, 100);
	story_context(&s, 1, 0, 1);
	story_context(&s, 1, 10, 2);
	story_context(&s, 1, 90, 1);
	story_span(&s, 0, 100, 1, 0, 1);
	story_span(&s, 10, 90, 2, 9, 1); /* its parent is missing, so it is not below span 1 */
	check_path(&s, 1, "1R 0-10, 1R>2 10-20, 1L>2 20-50 (2R 20-50), 1R>2 50-90, 1R 90-100");
}

TEST(an_idle_loop_waits_for_what_its_task_waits_for)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	story_run(&s, 1, 0, 20);
	story_wait(&s, 1, 20, 50, STATE_PROCESS, 2);
	story_run(&s, 1, 50, 100);
	story_run(&s, 2, 0, 100);
	story_context(&s, 1, 0, 1);
	story_context(&s, 1, 15, 0);
	story_context(&s, 1, 55, 1);
	story_span(&s, 0, 100, 1, 0, 1);
	check_path(&s, 1, "1R 0-20, 1I 20-50 (2R 20-50), 1R 50-100");
}

TEST(a_span_moves_from_thread_to_thread)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	story_run(&s, 1, 0, 100);
	story_wait(&s, 2, 0, 30, STATE_LOCK, 1);
	story_run(&s, 2, 30, 100);
	story_context(&s, 1, 10, 1);
	story_context(&s, 1, 20, 0);
	story_context(&s, 2, 40, 1);
	story_context(&s, 2, 60, 0);
	story_context(&s, 1, 70, 1);
	story_span(&s, 10, 80, 1, 0, 1);
	/* while no thread is in it, the next one counts: first the woken worker, then the loop */
	check_path(&s, 1, "1R 10-20, 2L 20-30 (1R 20-30), 2R 30-60, 1R 60-80");
	check_cpu(&s, 1, 10 + 20 + 30);
}

TEST(a_span_waits_for_a_busy_pool)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	story_run(&s, 1, 0, 100);
	story_run(&s, 2, 0, 100);
	story_context(&s, 1, 0, 1);
	story_context(&s, 1, 20,
		      3); /* the thread that handed the task off continues with another one */
	story_context(&s, 2, 0, 2);
	story_context(&s, 2, 60, 1);
	story_span(&s, 0, 80, 1, 0, 1);
	story_span(&s, 0, 60, 2, 0, 2);
	story_span(&s, 20, 100, 3, 0, 1);
	check_path(&s, 1, "1R 0-20, 2R>2 20-60, 2R 60-80");
}

TEST(before_a_thread_of_a_span_begins_its_creator_counts)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 100);
	story_create(&s, 2, 1, 40);
	story_run(&s, 2, 40, 100);
	story_context(&s, 1, 0, 1);
	story_context(&s, 1, 20, 0);
	story_context(&s, 2, 50, 1);
	story_span(&s, 0, 80, 1, 0, 1);
	check_path(&s, 1, "1R 0-40, 2R 40-80");
}

TEST(unknown_contexts_count_as_no_contexts)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 100);
	story_observed(&s, 1, 0, 30, 2);
	story_unknown(&s, 1, 40);
	story_context(&s, 1, 60, 1);
	story_span(&s, 0, 100, 1, 0, 1);
	story_span(&s, 0, 100, 2, 0, 1);
	check_path(&s, 1, "1R 0-30, 1R>2 30-40, 1R 40-100");
	check_cpu(&s, 2, 10); /* not the time before the observation */
}

TEST(a_span_without_contexts_has_the_thread_that_created_it)
{
	_cleanup_(story_done) struct story s = { 0 };

	two_tasks(&s);
	story_span(&s, 0, 100, 3, 1, 1);
	check_path(&s, 3, "1R 0-20, 1T 20-30, 1R 30-100");
}

TEST(a_span_without_a_thread_gets_threads_from_contexts)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 100);
	story_observed(&s, 1, 10, 30, 1);
	story_span(&s, 20, 80, 1, 0, 0);
	check_path(&s, 1, "1R 20-80");
}

TEST(a_parent_counts_as_another_span_only_between_entry_and_exit_of_the_child)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 100);
	story_context(&s, 1, 0, 1);
	story_context(&s, 1, 22, 2);
	story_context(&s, 1, 40, 1); /* the child awaits something */
	story_context(&s, 1, 50, 2);
	story_context(&s, 1, 58, 1);
	story_span(&s, 0, 100, 1, 0, 1);
	story_span(&s, 20, 60, 2, 1, 1);
	check_path(&s, 2, "1R 20-40, 1R>1 40-50, 1R 50-60");
	check_path(&s, 1, "1R 0-20, 1R 20-40, 1R>1 40-50, 1R 50-60, 1R 60-100");
}

TEST(unrecorded_spans_of_other_traces_are_other_spans)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 100);
	story_context(&s, 1, 0, 1);
	story_context(&s, 1, 20, 8); /* can be below it */
	story_context(&s, 1, 40, 1);
	s.trace = 2;
	story_context(&s, 1, 60, 9);
	s.trace = 0;
	story_context(&s, 1, 80, 1);
	story_span(&s, 0, 100, 1, 0, 1);
	check_path(&s, 1, "1R 0-60, 1R>9 60-80, 1R 80-100");
	check_cpu(&s, 1, 60);
}

TEST(one_of_several_threads_in_a_span_is_followed_until_it_leaves)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	story_run(&s, 1, 0, 100);
	story_run(&s, 2, 0, 100);
	story_context(&s, 1, 10, 1);
	story_context(&s, 2, 20, 1);
	story_context(&s, 1, 50, 0);
	story_span(&s, 10, 100, 1, 0, 1);
	check_path(&s, 1, "1R 10-50, 2R 50-100");
	check_cpu(&s, 1, 40 + 80);
}

/* Threads that enter and leave spans of two traces at random. */
enum { THREADS = 3, SPANS = 8, LENGTH = 200 };

static uint32_t chance(uint32_t n)
{
	return random() % n;
}

static uint8_t trace_of(uint32_t id)
{
	return id % 2;
}

static void random_thread(struct story *s, uint32_t tid)
{
	story_begin(s, tid, 0);
	for (nsec_t t = 0; t < LENGTH; t += 20) {
		nsec_t wait = t + chance(20);

		story_run(s, tid, t, wait);
		story_wait(s, tid, wait, t + 20, STATE_TIMER, 0);
	}
	for (nsec_t t = chance(30); t < LENGTH; t += 1 + chance(20)) {
		uint32_t id = chance(SPANS + 3); /* some of them unrecorded */

		s->trace = trace_of(id);
		if (chance(8) == 0)
			story_unknown(s, tid, t);
		else if (chance(8) == 0)
			story_observed(s, tid, t - chance(t + 1), t, id);
		else
			story_context(s, tid, t, id);
	}
}

static void random_story(struct story *s)
{
	for (uint32_t tid = 1; tid <= THREADS; tid++)
		random_thread(s, tid);
	for (uint32_t id = 1; id <= SPANS; id++) {
		nsec_t start = chance(LENGTH / 2);

		s->trace = trace_of(id);
		story_span(s, start, start + 1 + chance(LENGTH / 2), id, id > 2 ? chance(id) : 0,
			   chance(THREADS + 1));
	}
}

/* The context of a thread, by a scan of all. */
static struct context context_at(const struct model *model, thread_id id, nsec_t t)
{
	struct context found = { .flags = CONTEXT_UNKNOWN };
	struct context_stretch c;

	for (bool more = model_context_from(model, id, 0, &c); more;
	     more = model_context_next(model, id, &c))
		if (c.context.start <= t)
			found = c.context;
	return found;
}

static bool is_below(const struct model *model, span_id id, span_id top)
{
	for (; id.i; id = model_span(model, id)->parent)
		if (id.i == top.i)
			return true;
	return false;
}

static bool is_in(const struct model *model, thread_id thread, nsec_t t, span_id span)
{
	return is_below(model, model_span_ref(model, context_at(model, thread, t).ref)->span, span);
}

/* Whether any thread of the span is in it at t. */
static bool any_thread_is_in(const struct model *model, nsec_t t, span_id span)
{
	uint32_t i = model_span_ref(model, model_span(model, span)->ref)->first_residency;

	for (; i; i = model_residency(model, i)->next)
		if (is_in(model, model_residency(model, i)->thread, t, span))
			return true;
	return false;
}

static void check_moment(const struct model *model, span_id span, const struct span_part *work,
			 nsec_t t)
{
	struct context c = context_at(model, work->thread, t);
	span_id current = model_span_ref(model, c.ref)->span;

	if (any_thread_is_in(model, t, span))
		CHECK(!work->other && is_in(model, work->thread, t, span));
	if (work->other)
		CHECK(c.ref == work->other && !is_below(model, current, span));
	else if (current.i) /* a recorded span: this one, or an ancestor before entry or after exit
			     */
		CHECK(is_below(model, current, span) || is_below(model, span, current));
}

static void check_work(const struct model *model, span_id id)
{
	const struct span *span = model_span(model, id);
	struct span_work work = { 0 };
	nsec_t at = span->start;

	span_work_find(&(struct span_set){ .model = model }, id, span->start, span->end, &work);
	for (size_t i = 0; i < work.items.count; i++) {
		const struct span_part *w = &work.items.items[i];

		CHECK_INT(w->start, at);
		CHECK(w->start < w->end);
		for (nsec_t t = w->start; span->ref && t < w->end; t++)
			if (model_span_ref(model, span->ref)->first_residency)
				check_moment(model, id, w, t);
		at = w->end;
	}
	CHECK_INT(at, span->end);
	span_work_done(&work);
}

/* The last thread in a span before t; of several, the span's own. */
static uint32_t slow_last(const struct model *model, const struct span *span, nsec_t t)
{
	uint32_t best = 0;
	nsec_t latest = 0;

	for (uint32_t i = model_span_ref(model, span->ref)->first_residency; i;
	     i = model_residency(model, i)->next) {
		const struct residency *residency = model_residency(model, i);
		nsec_t last = residency->last < t ? residency->last : t;

		if (!model_thread_is_followed(model, residency->thread) || residency->first >= t)
			continue;
		if (last > latest || (last == latest && residency->thread.i == span->thread.i)) {
			best = residency->thread.i;
			latest = last;
		}
	}
	return best;
}

static void check_last(const struct model *model, span_id id)
{
	const struct span *span = model_span(model, id);
	struct span_lanes lanes;

	span_lanes_init(&lanes, model, id);
	for (nsec_t t = span->start; t < span->end; t += 1 + random() % 3) {
		span_lanes_take(&lanes, model, t, t + 1);
		CHECK_INT(span_lanes_last(&lanes, model).i, slow_last(model, span, t));
	}
	span_lanes_done(&lanes);
}

/* The result for a section does not depend on the sections before it, in any order of time. */
static void check_sections(const struct model *model, span_id id)
{
	const struct span *span = model_span(model, id);
	struct span_work all = { 0 };

	for (nsec_t from = span->start; from < span->end;) {
		nsec_t to = from + 1 + random() % 7;
		struct span_work one = { 0 };

		all.items.count = 0;
		span_work_find(&(struct span_set){ .model = model }, id, from, to, &all);
		span_work_find(&(struct span_set){ .model = model }, id, from, to, &one);
		CHECK_INT(all.items.count, one.items.count);
		for (size_t i = 0; i < one.items.count; i++)
			CHECK(memcmp(&all.items.items[i], &one.items.items[i],
				     sizeof(struct span_part)) == 0);
		span_work_done(&one);
		from = random() % 10 || from < span->start + 5 ? to + random() % 3 : from - 5;
	}
	span_work_done(&all);
}

static nsec_t slow_cpu(const struct model *model, span_id span)
{
	nsec_t sum = CPU_UNKNOWN;

	for (uint32_t i = 1; i < model_thread_count(model); i++)
		for (nsec_t t = 0; t < LENGTH; t++) {
			struct context c = context_at(model, (thread_id){ i }, t);
			struct stretch s;

			if (model_span_ref(model, c.ref)->span.i != span.i ||
			    !model_stretch_at(model, (thread_id){ i }, t, &s))
				continue;
			sum = sum == CPU_UNKNOWN ? 0 : sum;
			sum += s.interval.state == STATE_RUNNING;
		}
	return sum;
}

TEST(random_contexts_match_a_simple_search)
{
	for (unsigned seed = 0; seed < 300 && !test_failures; seed++) {
		_cleanup_(story_done) struct story s = { 0 };

		srandom(seed);
		random_story(&s);
		_cleanup_(model_freep) struct model *model = story_model(&s);
		_cleanup_(freep) nsec_t *cpu = span_cpu_find(model);

		for (uint32_t i = 1; i < model_span_count(model); i++) {
			check_work(model, (span_id){ i });
			check_sections(model, (span_id){ i });
			check_last(model, (span_id){ i });
			CHECK_INT(cpu[i], slow_cpu(model, (span_id){ i }));
			for (uint32_t k = 1; k < model_span_count(model); k++)
				CHECK_INT(model_span_is_within(model, (span_id){ i },
							       (span_id){ k }),
					  is_below(model, (span_id){ i }, (span_id){ k }));
		}
		if (test_failures)
			printf("# with seed %u\n", seed);
	}
}
