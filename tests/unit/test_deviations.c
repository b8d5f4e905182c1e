/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/deviations.h"

#include "story.h"
#include "test.h"

#define MS NSEC_PER_MSEC

enum { SPANS = 200 };

/* A span each 100 ms that runs, 1 ms long or a little more; the last `faulty` also wait for a lock.
 */
static struct model *model_of(int faulty)
{
	_cleanup_(story_done) struct story s = { 0 };
	nsec_t at = 0;

	story_begin(&s, 1, 0);
	for (int i = 0; i < SPANS; i++) {
		nsec_t start = (nsec_t)i * 100 * MS, end = start + MS + i * 7919 % 100 * 1000;

		story_wait(&s, 1, at, start, STATE_TIMER, 0);
		story_run(&s, 1, start, end);
		at = end;
		if (i >= SPANS - faulty) {
			at = end + 5 * MS;
			story_wait(&s, 1, end, at, STATE_LOCK, 0);
		}
		story_add(&s, REC(SPAN, span, at, 1, .start = start, .trace = { 1, i },
				  .span = { 1, i }, .service = 20, .operation = 1));
	}
	story_run(&s, 1, at, SPANS * 100 * MS);
	return story_model(&s);
}

struct comparing {
	struct baseline *baseline;
	struct profiles profiles;
	struct deviations *deviations;
	struct model *model;
	struct span_set spans;
};

/* Learns a model without faults, and compares one with some. */
static void compare(struct comparing *c, int faulty)
{
	_cleanup_(model_freep) struct model *usual = model_of(0);
	struct span_set spans = { .model = usual };
	struct observation_counts counts;

	c->baseline = baseline_new(&learn_defaults);
	baseline_begin(c->baseline, &spans);
	observations_find(&spans, baseline_add_observation, c->baseline, &counts);
	baseline_end(c->baseline, &counts);
	baseline_finish(c->baseline);
	profiles_build(c->baseline, 1, &c->profiles);
	c->deviations = deviations_new(c->baseline, &c->profiles);
	c->model = model_of(faulty);
	c->spans.model = c->model;
	for (uint32_t i = 1; i < span_set_count(&c->spans); i++)
		deviations_add(c->deviations, (span_id){ i });
	deviations_end_batch(c->deviations, &(struct live_view){ .model = c->model,
								 .spans = &c->spans,
								 .now = SPANS * 100 * MS });
}

static void comparing_done(struct comparing *c)
{
	deviations_free(c->deviations);
	profiles_done(&c->profiles);
	baseline_free(c->baseline);
	model_free(c->model);
}

static span_id find(const struct comparing *c, int number)
{
	return span_set_find(&c->spans, (uint8_t[16]){ 1, number }, (uint8_t[8]){ 1, number });
}

TEST(usual_spans_have_no_finding)
{
	_cleanup_(comparing_done) struct comparing c = { 0 };
	struct deviations_counters counters;

	compare(&c, 0);
	counters = deviations_counters(c.deviations);
	CHECK_INT(counters.compared, SPANS);
	CHECK_INT(counters.found, 0);
	CHECK(!deviations_is_due(c.deviations, UINT64_MAX));
}

TEST(two_spans_that_deviate_are_chance)
{
	_cleanup_(comparing_done) struct comparing c = { 0 };
	struct span_finding finding;

	compare(&c, 2);
	CHECK_INT(deviations_counters(c.deviations).found, 0);
	CHECK(!deviations_find(c.deviations, &c.spans, find(&c, SPANS - 1), &finding));
}

TEST(a_span_of_an_operation_that_leaves_its_baseline_has_a_finding_once)
{
	_cleanup_(comparing_done) struct comparing c = { 0 };
	uint8_t trace[16] = { 1, SPANS - 1 }, id[8] = { 1, SPANS - 1 };
	struct span_finding finding;

	compare(&c, 100);
	CHECK(deviations_counters(c.deviations).found > 80);
	CHECK(deviations_take(c.deviations, trace, id, &finding));
	CHECK_STR(finding.state, "lock");
	CHECK(strstr(finding.words.s, "waits for a lock (L) 5 ms, usually up to "));
	CHECK(finding.score > finding.limit);
	CHECK_INT(finding.compared_by, KEY_POSITION);
	CHECK(!deviations_take(c.deviations, trace, id, &finding));
}

TEST(a_span_on_its_own_is_compared_by_its_subtree)
{
	_cleanup_(comparing_done) struct comparing c = { 0 };
	struct span_finding finding;

	compare(&c, 100);
	CHECK(deviations_find(c.deviations, &c.spans, find(&c, SPANS - 1), &finding));
	CHECK_STR(finding.state, "lock");
	CHECK_INT(finding.compared_by, KEY_SUBTREE);
	CHECK(!deviations_find(c.deviations, &c.spans, find(&c, 0), &finding));
}

TEST(findings_that_were_not_taken_are_due_after_a_delay)
{
	_cleanup_(comparing_done) struct comparing c = { 0 };
	struct span_finding finding, taken;
	size_t found, due = 0;

	compare(&c, 100);
	found = deviations_counters(c.deviations).found;
	CHECK(deviations_take(c.deviations, (uint8_t[16]){ 1, SPANS - 1 },
			      (uint8_t[8]){ 1, SPANS - 1 }, &taken));
	CHECK(!deviations_next(c.deviations, DEVIATION_DELAY, &finding));
	while (deviations_next(c.deviations, SPANS * 100 * MS + DEVIATION_DELAY, &finding)) {
		CHECK(finding.trace[1] != SPANS - 1);
		due++;
	}
	CHECK_INT(due + 1 + deviations_counters(c.deviations).shed, found);
}
