/* SPDX-License-Identifier: Apache-2.0 */
/* Slow requests are contrasted with usual ones: what they have more, and what adds up. */
#include "analyse/contrast_traits.h"

#include <math.h>

#include "story.h"
#include "test.h"

enum { STRING_CUSTOMER = 30, STRING_GOLD, STRING_FREE };

static const struct contrast_limit p95 = { .thousandths = 95000 };

static struct contrast_choice choose(const nsec_t *times, size_t count, struct contrast_limit limit)
{
	return contrast_choose(times, count, limit);
}

/* Latencies from `count` down to 1. */
static struct contrast_choice choose_of(size_t count, struct contrast_limit limit)
{
	nsec_t times[256];

	for (size_t i = 0; i < count; i++)
		times[i] = count - i;
	return choose(times, count, limit);
}

TEST(slow_requests_are_those_above_the_percentile_and_at_least_five)
{
	CHECK_INT(choose_of(200, p95).slow, 11);
	CHECK_INT(choose_of(200, p95).usual, 100);
	CHECK_INT(choose_of(20, p95).slow, 5);
	CHECK_INT(choose_of(20, p95).usual, 10);
	CHECK_INT(choose_of(200, (struct contrast_limit){ .thousandths = 99000 }).slow, 5);
}

TEST(slow_requests_are_those_above_a_time)
{
	struct contrast_choice choice = choose_of(20, (struct contrast_limit){ .time = 19 });

	CHECK_INT(choice.slow, 2);
	CHECK_INT(choice.usual, 10);
	CHECK(contrast_is_enough(choice, (struct contrast_limit){ .time = 19 }));
	CHECK_INT(choose_of(20, (struct contrast_limit){ .time = 21 }).slow, 0);
	choice = choose_of(20, (struct contrast_limit){ .time = 4 });
	CHECK_INT(choice.slow, 17);
	CHECK_INT(choice.usual, 3);
	CHECK(!contrast_is_enough(choice, (struct contrast_limit){ .time = 4 }));
}

TEST(few_or_equal_requests_are_not_compared)
{
	nsec_t equal[100] = { 0 };

	CHECK(!contrast_is_enough(choose_of(0, p95), p95));
	CHECK(!contrast_is_enough(choose_of(1, p95), p95));
	CHECK(!contrast_is_enough(choose_of(9, p95), p95));
	CHECK(contrast_is_enough(choose_of(10, p95), p95));
	CHECK_INT(choose(equal, 100, p95).slow, 0);
	CHECK_INT(choose(equal, 100, p95).usual, 100);
	CHECK(!contrast_is_enough(choose(equal, 100, p95), p95));
}

TEST(slow_and_usual_requests_are_disjoint)
{
	for (size_t count = 0; count < 256; count++)
		for (unsigned int limit = 1000; limit < 100000; limit += 3000) {
			struct contrast_choice c =
				choose_of(count, (struct contrast_limit){ .thousandths = limit });

			CHECK(c.slow + c.usual <= count);
		}
}

static struct story threads(uint32_t count)
{
	struct story s = { 0 };

	for (uint32_t tid = 1; tid <= count; tid++)
		story_add(&s, REC(TASK, task, 0, tid, .pid = tid, .event = TASK_EXISTING));
	return s;
}

static void sleeps(struct story *s, uint32_t tid, nsec_t from, nsec_t to)
{
	story_add(s, REC(WAIT, wait, to, tid, .start = from, .woken = to, .state = STATE_TIMER,
			 .ready = STATE_READY, .context = WAKE_HRTIMER, .syscall = 230));
}

/* The root spans of requests, in the order of their latency, slowest first. */
struct requests_of {
	span_id spans[256];
	size_t count;
};

static struct requests_of slowest_first(const struct model *model)
{
	struct requests_of r = { .count = 0 };

	for (uint32_t i = 1; i < model_span_count(model); i++) {
		const struct span *span = model_span(model, (span_id){ i });
		nsec_t time = span->end - span->start;
		size_t at = r.count;

		if (span->parent.i)
			continue;
		for (; at > 0; at--) {
			const struct span *before = model_span(model, r.spans[at - 1]);

			if (before->end - before->start >= time)
				break;
			r.spans[at] = r.spans[at - 1];
		}
		r.spans[at] = (span_id){ i };
		r.count++;
	}
	return r;
}

static struct contrast contrast_of(const struct model *model, const struct requests_of *r,
				   size_t slow)
{
	struct span_set set = { .model = model };
	struct contrast c;

	contrast_find(&set, r->spans, slow, r->spans + slow, r->count - slow, &c);
	return c;
}

/* Parts are fractions, but times are not: those of all leaves are the latency, to the nanosecond.
 */
static void check_sums(const struct contrast *c)
{
	nsec_t slow = 0, usual = 0, slow_states = 0, usual_states = 0;
	double parts = 0;

	for (size_t i = 0; i < c->causes.count; i++) {
		slow += c->causes.items[i].slow;
		usual += c->causes.items[i].usual;
		parts += c->causes.items[i].part;
	}
	for (size_t i = 0; i < c->states.count; i++) {
		slow_states += c->states.items[i].slow;
		usual_states += c->states.items[i].usual;
	}
	CHECK_INT(slow, c->slow.time);
	CHECK_INT(usual, c->usual.time);
	CHECK_INT(slow_states, c->slow.time);
	CHECK_INT(usual_states, c->usual.time);
	CHECK(fabs(parts - c->difference) <= 1e-9 * (1 + fabs(c->difference)));
	CHECK(fabs(contrast_mean(&c->slow) - contrast_mean(&c->usual) - c->difference) <= 1e-6);
}

/* 40 requests of thread 1: all run for 10 ns, and the last 8 of them sleep for 100 ns as well. */
static struct story mostly_usual(void)
{
	struct story s = threads(2);
	nsec_t t = 0;

	for (uint8_t i = 1; i <= 40; i++) {
		nsec_t end = t + 10;

		s.trace = i;
		story_run(&s, 1, t, end);
		if (i > 32) {
			sleeps(&s, 1, end, end + 100);
			end += 100;
		}
		story_span(&s, t, end, 1, 0, 1);
		sleeps(&s, 1, end, end + 5);
		t = end + 5;
	}
	return s;
}

TEST(a_cause_that_only_slow_requests_have_explains_the_difference)
{
	_cleanup_(story_done) struct story s = mostly_usual();
	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct requests_of r = slowest_first(model);
	_cleanup_(contrast_done) struct contrast c = contrast_of(model, &r, 8);

	CHECK_INT(r.count, 40);
	check_sums(&c);
	CHECK_INT(c.difference, 100);
	CHECK_INT(c.causes.items[0].part, 100);
	CHECK_INT(c.causes.items[0].slow_requests, 8);
	CHECK_INT(c.causes.items[0].usual_requests, 0);
	CHECK_INT(c.causes.items[0].group.state, STATE_TIMER);
	CHECK(c.causes.items[0].stands_out);
	CHECK(contrast_is_rare(&c, &c.causes.items[0]));
	CHECK(contrast_differs(&c));
	CHECK_INT(c.causes.items[1].part, 0);
	CHECK(!c.causes.items[1].stands_out);
	CHECK_INT(c.states.items[0].state, STATE_TIMER);
}

TEST(requests_of_equal_latency_do_not_differ)
{
	_cleanup_(story_done) struct story s = mostly_usual();
	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct requests_of r = slowest_first(model);

	memmove(r.spans, r.spans + 8, 32 * sizeof(r.spans[0]));
	r.count = 32;

	_cleanup_(contrast_done) struct contrast c = contrast_of(model, &r, 8);

	check_sums(&c);
	CHECK(!contrast_differs(&c));
	for (size_t i = 0; i < c.causes.count; i++)
		CHECK(!c.causes.items[i].stands_out);
}

TEST(slow_requests_that_arrive_together_have_a_period)
{
	_cleanup_(story_done) struct story s = mostly_usual();
	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct requests_of r = slowest_first(model);
	struct span_set set = { .model = model };
	struct contrast c;
	struct contrast_traits traits;

	/* the slow ones come last: between them no usual one arrives, but they are most of the time
	 */
	contrast_find(&set, r.spans, 8, r.spans + 8, 32, &c);
	contrast_traits_find(&set, &c, &traits);
	CHECK_INT(traits.period.to, 0);
	contrast_done(&c);
	contrast_traits_done(&traits);
	/* the last 8 usual ones instead */
	struct requests_of late = { .count = 32 };

	for (size_t i = 0; i < 32; i++)
		late.spans[i] = r.spans[8 + (i + 24) % 32];
	contrast_find(&set, late.spans, 8, late.spans + 8, 24, &c);
	contrast_traits_find(&set, &c, &traits);
	CHECK_INT(traits.period.slow_requests, 8);
	CHECK_INT(traits.period.usual_requests, 0);
	CHECK_INT(traits.traits.count, 0);
	contrast_done(&c);
	contrast_traits_done(&traits);
}

/* Requests of three threads with waits for each other and child spans, some without a thread. */
static struct story random_requests(unsigned int seed)
{
	struct story s = threads(3);
	nsec_t t = 10;

	srand(seed);
	for (uint8_t i = 1; i <= 30; i++) {
		nsec_t start = t;
		uint8_t child = 2;

		s.trace = i;
		for (int steps = rand() % 6; steps >= 0; steps--) {
			nsec_t from = t;

			story_run(&s, 1, t, t + rand() % 50);
			t += 50;
			if (rand() % 2) {
				story_run(&s, 2, t, t + 40);
				story_wait(&s, 1, t, t + 30, STATE_LOCK, 2);
				t += 40;
			} else {
				sleeps(&s, 1, t, t + rand() % 100);
				t += 100;
			}
			if (rand() % 2)
				story_span(&s, from + rand() % 20, t - rand() % 20, child++, 1,
					   rand() % 4);
		}
		story_span(&s, start, t, 1, 0, rand() % 4);
		t += rand() % 30;
	}
	return s;
}

TEST(the_parts_of_all_causes_add_up_to_the_difference)
{
	for (unsigned int seed = 0; seed < 200; seed++) {
		_cleanup_(story_done) struct story s = random_requests(seed);
		_cleanup_(model_freep) struct model *model = story_model(&s);
		struct requests_of r = slowest_first(model);
		_cleanup_(contrast_done) struct contrast c = contrast_of(model, &r, r.count / 4);

		check_sums(&c);
	}
}

TEST(one_request_without_duration_or_none_at_all_have_no_difference)
{
	_cleanup_(story_done) struct story s = threads(1);

	story_run(&s, 1, 0, 10);
	story_span(&s, 5, 5, 1, 0, 1);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct requests_of r = slowest_first(model), none = { .count = 0 };

	CHECK_INT(r.count, 1);
	for (size_t slow = 0; slow <= 1; slow++) {
		_cleanup_(contrast_done) struct contrast c = contrast_of(model, &r, slow);
		struct span_set set = { .model = model };
		_cleanup_(contrast_traits_done) struct contrast_traits traits;

		check_sums(&c);
		CHECK(!contrast_differs(&c));
		contrast_traits_find(&set, &c, &traits);
		CHECK_INT(traits.traits.count, 0);
	}

	_cleanup_(contrast_done) struct contrast c = contrast_of(model, &none, 0);

	CHECK_INT(c.causes.count, 0);
	CHECK(c.difference == 0);
}

TEST(the_tail_of_a_hypergeometric_distribution_is_exact)
{
	CHECK(fabs(hypergeometric_tail(10, 5, 5, 5) - 1.0 / 252) < 1e-12);
	CHECK(fabs(hypergeometric_tail(10, 5, 5, 0) - 1) < 1e-12);
	CHECK(fabs(hypergeometric_tail(4, 1, 2, 1) - 0.5) < 1e-12);
	CHECK(hypergeometric_tail(4, 4, 2, 2) > 0.999);
	CHECK(hypergeometric_tail(4, 1, 2, 2) == 0);
}

static void attribute(struct story *s, nsec_t time, uint32_t value)
{
	story_add(s, REC(ATTRIBUTE, attribute, time, 1, .value = value, .key = STRING_CUSTOMER,
			 .type = ATTRIBUTE_STRING, .trace = { 1, s->trace }, .span = { 1 }));
}

/* 40 requests; the 8 slow ones are those of a customer, with 12 calls instead of one. */
TEST(slow_requests_share_an_attribute_and_more_calls)
{
	_cleanup_(story_done) struct story s = threads(1);
	nsec_t t = 0;

	for (uint8_t i = 1; i <= 40; i++) {
		bool is_slow = i % 5 == 0;
		nsec_t start = t;

		s.trace = i;
		for (uint8_t call = 0; call < (is_slow ? 12 : 1); call++, t += 10)
			story_add(&s, REC(SPAN, span, t + 10, 1, .start = t, .service = 20,
					  .operation = 21, .trace = { 1, i },
					  .span = { 100 + call }, .parent = { 1 }));
		attribute(&s, t, is_slow || i == 1 ? STRING_GOLD : STRING_FREE);
		story_span(&s, start, t, 1, 0, 1);
		t += 5;
	}
	story_run(&s, 1, 0, t);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct requests_of r = slowest_first(model);
	_cleanup_(contrast_done) struct contrast c = contrast_of(model, &r, 8);
	struct span_set set = { .model = model };
	_cleanup_(contrast_traits_done) struct contrast_traits traits;

	check_sums(&c);
	contrast_traits_find(&set, &c, &traits);
	CHECK_INT(traits.traits.count, 1);
	CHECK_INT(traits.traits.items[0].kind, TRAIT_ATTRIBUTE);
	CHECK_INT(traits.traits.items[0].slow_requests, 8);
	CHECK_INT(traits.traits.items[0].usual_requests, 1);
	CHECK(traits.traits.items[0].probability < 0.01);
	CHECK_INT(traits.calls.count, 1);
	CHECK_INT(traits.calls.items[0].slow, 96);
	CHECK_INT(traits.calls.items[0].usual, 32);
}

TEST(time_without_records_is_no_cause)
{
	_cleanup_(story_done) struct story s = threads(1);
	nsec_t t = 0;

	for (uint8_t i = 1; i <= 20; i++) {
		nsec_t end = i % 4 ? t + 10 : t + 500;

		s.trace = i;
		story_run(&s, 1, t, t + 10);
		if (end > t + 10)
			story_add(&s,
				  REC(LOSS, loss, end, 0, .start = t + 10, .end = end, .count = 7));
		story_span(&s, t, end, 1, 0, 1);
		t = end;
	}
	story_run(&s, 1, t, t + 10);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct requests_of r = slowest_first(model);
	_cleanup_(contrast_done) struct contrast c = contrast_of(model, &r, 5);

	check_sums(&c);
	CHECK(contrast_differs(&c));
	CHECK(c.causes.items[0].group.is_lost);
	for (size_t i = 0; i < c.causes.count; i++)
		CHECK(!c.causes.items[i].stands_out);
}
