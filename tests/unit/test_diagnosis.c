/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/diagnosis.h"

#include <math.h>

#include "diagnose/findings.h"
#include "learned.h"
#include "test.h"

enum { TRACES = 1000 };

struct compared {
	struct baseline *baseline;
	struct profiles profiles;
	struct diagnosis *diagnosis;
};

static void compared_done(struct compared *c)
{
	diagnosis_free(c->diagnosis);
	profiles_done(&c->profiles);
	baseline_free(c->baseline);
}

static void learn(struct compared *c)
{
	c->baseline = baseline_new(&learn_defaults);
	learn_traces(c->baseline, 0, TRACES);
	baseline_finish(c->baseline);
	profiles_build(c->baseline, 1, &c->profiles);
	c->diagnosis = diagnosis_new(c->baseline, &c->profiles);
	diagnosis_begin(c->diagnosis, hand_spans());
}

typedef void change_fn(struct observation *database);

/* Compares traces that the baseline does not have, with their database changed. */
static void compare(struct compared *c, uint64_t count, change_fn *change)
{
	for (uint64_t i = 0; i < count; i++) {
		struct hand_trace trace = *hand_trace(TRACES + i);

		if (change)
			change(&trace.database);
		diagnosis_add_observation(c->diagnosis, &trace.database);
		diagnosis_add_observation(c->diagnosis, &trace.shop);
	}
	diagnosis_finish(c->diagnosis);
}

static void wait_for_a_lock(struct observation *o)
{
	static struct state_run runs[8];

	for (size_t i = 0; i < o->runs.count && i < ARRAY_LEN(runs); i++) {
		runs[i] = o->runs.items[i];
		if (runs[i].letter == STATE_DISK)
			runs[i] = (struct state_run){ 50 * NSEC_PER_MSEC, STATE_LOCK };
	}
	o->runs.items = runs;
}

TEST(chance_is_the_binomial_tail)
{
	CHECK(fabs(findings_chance(1, 1, 0.01) - 0.01) < 1e-12);
	CHECK(fabs(findings_chance(1, 10, 0.01) - (1 - pow(0.99, 10))) < 1e-9);
	CHECK(fabs(findings_chance(3, 3, 0.5) - 0.125) < 1e-12);
	CHECK(findings_chance(10, 1000, 0.01) == 1); /* as many as expected */
	CHECK(findings_chance(0, 0, 0.01) == 1);
	CHECK(findings_chance(100, 1000, 0.01) < 1e-50);
	CHECK(findings_chance(UINT32_MAX, UINT32_MAX, 0.01) < 1e-50);
}

TEST(usual_requests_have_no_finding)
{
	_cleanup_(compared_done) struct compared c = { 0 };

	learn(&c);
	compare(&c, 2000, NULL);
	CHECK_INT(c.diagnosis->findings.count, 0);
	CHECK_INT(c.diagnosis->spans_tested, 4000);
	CHECK(c.diagnosis->flagged < 80); /* 1 % of 4,000, and chance */
}

TEST(a_new_wait_for_a_lock_is_found_where_it_is)
{
	_cleanup_(compared_done) struct compared c = { 0 };
	const struct finding *first;

	learn(&c);
	compare(&c, 100, wait_for_a_lock);
	CHECK(c.diagnosis->findings.count > 0);
	first = &c.diagnosis->findings.items[0];
	CHECK_INT(first->feature, FEATURE_LOCK);
	CHECK_INT(first->flagged, 100);
	CHECK(!first->is_faster);

	const struct tested_operation *op = &c.diagnosis->operations.items[first->operation];

	CHECK_INT(c.diagnosis->tested.items[0].operation, first->operation); /* the database */
	CHECK_INT(op->slower[FEATURE_LOCK], 100);
	CHECK_INT(first->example_count, EXAMPLES_MAX);
}

static void lose(struct observation *o)
{
	wait_for_a_lock(o);
	o->is_lost = true;
}

TEST(spans_with_lost_records_are_in_no_finding)
{
	_cleanup_(compared_done) struct compared c = { 0 };

	learn(&c);
	compare(&c, 100, lose);
	CHECK_INT(c.diagnosis->findings.count, 0);
	CHECK_INT(c.diagnosis->spans_tested, 100);
}

static void change_type(struct observation *o)
{
	o->type++;
}

TEST(a_span_of_an_unknown_type_is_compared_by_its_subtree)
{
	_cleanup_(compared_done) struct compared c = { 0 };

	learn(&c);
	compare(&c, 10, change_type);
	CHECK(c.diagnosis->tested.items[0].profile->kind == KEY_SUBTREE);
}

static void hide_states(struct observation *o)
{
	o->has_states = false;
	o->runs.count = 0;
	for (size_t i = 0; i < o->intervals.count; i++)
		o->intervals.items[i].run_count = 0;
}

TEST(a_span_without_states_is_compared_by_its_total)
{
	_cleanup_(compared_done) struct compared c = { 0 };

	learn(&c);
	compare(&c, 500, hide_states);
	CHECK_INT(c.diagnosis->findings.count, 0);
	CHECK(c.diagnosis->flagged < 30); /* 1 % of 1,000, and chance */
}
