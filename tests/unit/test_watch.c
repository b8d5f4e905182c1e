/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/watch.h"

#include "learned.h"
#include "test.h"

enum { LEARNED = 2000, GROUP = 7 };

struct watching {
	struct baseline *baseline;
	struct profiles profiles;
	struct watch *watch;
	uint64_t next; /* number of the next trace */
};

static void watching_begin(struct watching *w)
{
	w->baseline = baseline_new(&learn_defaults);
	w->next = LEARNED;
	learn_traces(w->baseline, 0, LEARNED);
	baseline_finish(w->baseline);
	profiles_build(w->baseline, 1, &w->profiles);
	w->watch = watch_new(w->baseline, &w->profiles);
}

static void watching_done(struct watching *w)
{
	watch_free(w->watch);
	profiles_done(&w->profiles);
	baseline_free(w->baseline);
}

/* Adds the database's span of the next trace, with a disk wait of so many times its length. */
static const struct verdict *add_span(struct watching *w, double factor)
{
	struct observation o = hand_trace(w->next++)->database;
	nsec_t *disk = &o.runs.items[1].time, longer = *disk * (factor - 1);

	*disk += longer;
	o.intervals.items[0].total += longer;
	o.own += longer;
	o.duration += longer;
	return watch_add(w->watch, GROUP, &o, true);
}

static bool leaves(const struct watching *w)
{
	return watch_leaves(w->watch, GROUP, &hand_trace(0)->database);
}

static size_t state_count(const struct watching *w)
{
	_cleanup_(watch_summary_done) struct watch_summary summary;

	watch_sum(w->watch, &summary);
	return summary.states.count;
}

TEST(usual_spans_stay_within_their_baseline)
{
	_cleanup_(watching_done) struct watching w = { 0 };
	size_t flagged = 0;

	watching_begin(&w);
	for (uint64_t second = 0; second < 60; second++) {
		watch_advance(w.watch, second);
		for (int i = 0; i < 100; i++)
			flagged += add_span(&w, 1)->is_flagged;
		CHECK(!leaves(&w));
		CHECK_INT(state_count(&w), 0);
	}
	CHECK(flagged > 10 && flagged < 180); /* about 1 % of 6,000 */
}

TEST(a_few_outliers_are_no_finding)
{
	_cleanup_(watching_done) struct watching w = { 0 };

	watching_begin(&w);
	for (int i = 0; i < 300; i++)
		add_span(&w, i % 60 ? 1 : 30);
	CHECK(!leaves(&w));
}

TEST(one_span_alone_is_no_finding_and_four_in_a_row_are)
{
	_cleanup_(watching_done) struct watching w = { 0 };

	watching_begin(&w);
	for (int i = 1; i <= 4; i++) {
		CHECK(add_span(&w, 30)->is_flagged);
		CHECK_INT(leaves(&w), i == 4);
	}
}

TEST(a_deviation_has_its_state_and_times)
{
	_cleanup_(watching_done) struct watching w = { 0 };
	_cleanup_(watch_summary_done) struct watch_summary summary;

	watching_begin(&w);
	for (int i = 0; i < 200; i++)
		add_span(&w, 30);
	watch_sum(w.watch, &summary);
	CHECK_INT(*map_find(&summary.compared, GROUP), 200);
	CHECK_INT(*map_find(&summary.first, GROUP), 1);
	CHECK_INT(summary.states.count, 1);

	const struct watched_state *s = &summary.states.items[0];

	CHECK_STR(strtab_get(w.baseline->strings, s->service), "database");
	CHECK_STR(strtab_get(w.baseline->strings, s->operation), "SELECT");
	CHECK_INT(s->feature, FEATURE_DISK);
	CHECK(!s->is_faster);
	CHECK_INT(s->spans, 200);
	CHECK_INT(s->flagged, 200);
	CHECK_INT(s->compared_by, KEY_POSITION);
	CHECK(s->usual > 900 * NSEC_PER_USEC && s->usual < 1200 * NSEC_PER_USEC);
	CHECK(s->observed > 28 * s->usual && s->observed < 32 * s->usual);
}

TEST(seconds_are_forgotten_one_by_one)
{
	_cleanup_(watching_done) struct watching w = { 0 };

	watching_begin(&w);
	for (int i = 0; i < 20; i++)
		add_span(&w, 30);
	for (uint64_t second = 1; second < WATCH_SECONDS; second++) {
		watch_advance(w.watch, second);
		add_span(&w, 1);
		CHECK(leaves(&w));
	}
	watch_advance(w.watch, WATCH_SECONDS);
	CHECK(!leaves(&w));
	add_span(&w, 1);
	CHECK(!leaves(&w));
	watch_advance(w.watch, 1000);
	CHECK_INT(state_count(&w), 0);
}

TEST(groups_are_counted_apart)
{
	_cleanup_(watching_done) struct watching w = { 0 };

	watching_begin(&w);
	for (int i = 0; i < 20; i++)
		add_span(&w, 30);
	CHECK(leaves(&w));
	CHECK(!watch_leaves(w.watch, GROUP + 1, &hand_trace(0)->database));
}

TEST(a_span_on_its_own_is_compared_by_its_subtree_or_operation)
{
	_cleanup_(watching_done) struct watching w = { 0 };
	struct observation o = hand_trace(LEARNED)->database;

	watching_begin(&w);
	CHECK_INT(watch_add(w.watch, GROUP, &o, true)->profile->kind, KEY_POSITION);
	CHECK_INT(watch_add(w.watch, GROUP, &o, false)->profile->kind, KEY_SUBTREE);
	o.subtree ^= 1;
	CHECK_INT(watch_add(w.watch, GROUP, &o, false)->profile->kind, KEY_OPERATION);
	o.name ^= 1;
	CHECK(!watch_add(w.watch, GROUP, &o, false)->profile);
}

TEST(a_span_without_states_is_not_compared_with_spans_that_have_them)
{
	_cleanup_(watching_done) struct watching w = { 0 };

	watching_begin(&w);

	struct observation o = hand_trace(LEARNED)->database;

	CHECK(watch_compare(w.watch, &o)->profile);
	o.has_states = false;
	CHECK(!watch_compare(w.watch, &o)->profile);
	CHECK(!watch_add(w.watch, GROUP, &o, true)->is_flagged);
}

TEST(spans_with_lost_records_and_unknown_ones_are_not_counted)
{
	_cleanup_(watching_done) struct watching w = { 0 };
	_cleanup_(watch_summary_done) struct watch_summary summary;
	struct observation o = hand_trace(LEARNED)->database;

	watching_begin(&w);
	o.is_lost = true;
	watch_add(w.watch, GROUP, &o, true);
	o.is_lost = false;
	o.type ^= 1;
	o.subtree ^= 1;
	for (int i = 0; i < 5000; i++) {
		o.name++;
		watch_add(w.watch, GROUP, &o, true);
	}
	watch_sum(w.watch, &summary);
	CHECK_INT(summary.compared.count, 0);
}

TEST(the_number_of_operations_is_bounded)
{
	_cleanup_(watching_done) struct watching w = { 0 };
	_cleanup_(watch_summary_done) struct watch_summary summary;

	watching_begin(&w);
	for (uint64_t group = 1; group <= 2 * WATCHED_MAX; group++)
		watch_add(w.watch, group, &hand_trace(LEARNED)->database, true);
	watch_sum(w.watch, &summary);
	CHECK_INT(summary.compared.count, WATCHED_MAX);
}
