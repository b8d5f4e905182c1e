/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/baseline.h"

#include "diagnose/verdict.h"
#include "learned.h"
#include "test.h"

struct part {
	uint64_t first, count;
};

/* The text of a baseline that learned these recordings in this order. */
static char *text_of(const struct part *parts, size_t count, bool finishes_each)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);

	for (size_t i = 0; i < count; i++) {
		CHECK(learn_traces(b, parts[i].first, parts[i].count));
		if (finishes_each)
			baseline_finish(b);
	}
	baseline_finish(b);
	return baseline_text(b);
}

TEST(recordings_can_be_learned_in_any_order)
{
	/* more than a key keeps */
	const struct part parts[] = { { 0, 3000 }, { 3000, 4000 }, { 7000, 500 } };
	const struct part back[] = { parts[2], parts[1], parts[0] };
	_cleanup_(freep) char *at_once = text_of(parts, 3, false);
	_cleanup_(freep) char *one_by_one = text_of(parts, 3, true);
	_cleanup_(freep) char *backwards = text_of(back, 3, true);

	CHECK(strcmp(at_once, one_by_one) == 0);
	CHECK(strcmp(at_once, backwards) == 0);
}

TEST(spans_of_overlapping_recordings_take_no_room_of_others)
{
	const struct part parts[] = { { 0, 6000 }, { 1000, 6000 } },
			  back[] = { parts[1], parts[0] };
	_cleanup_(freep) char *forwards = text_of(parts, 2, true);
	_cleanup_(freep) char *backwards = text_of(back, 2, true);
	_cleanup_(freep) char *at_once = text_of(parts, 2, false);
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);

	CHECK(strcmp(forwards, backwards) == 0);
	CHECK(strcmp(forwards, at_once) == 0);
	learn_traces(b, 0, 6000);
	learn_traces(b, 1000, 6000);
	baseline_finish(b);
	CHECK_INT(b->samples.count, 2 * KEPT_MAX);
}

TEST(each_key_keeps_the_samples_with_the_smallest_identities)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);
	uint64_t largest = 0, smaller = 0;

	learn_traces(b, 0, 10000);
	baseline_finish(b);
	CHECK_INT(b->samples.count, 2 * KEPT_MAX);
	for (size_t i = 0; i < b->samples.count; i++) {
		CHECK(!i || b->samples.items[i - 1].identity < b->samples.items[i].identity);
		if (b->samples.items[i].position == 0)
			largest = b->samples.items[i].identity;
	}
	for (uint64_t i = 0; i < 10000; i++)
		smaller += hand_trace(i)->shop.identity <= largest;
	CHECK_INT(smaller, KEPT_MAX);
	CHECK_INT(*map_find(&b->counts[KEY_OPERATION], hand_trace(0)->shop.name), 10000);
}

TEST(a_recording_is_not_learned_twice)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);

	CHECK(learn_traces(b, 0, 100));
	CHECK(!learn_traces(b, 0, 100));
	baseline_finish(b);
	CHECK(!learn_traces(b, 0, 100));
	CHECK(learn_traces(b, 0, 101));
	baseline_finish(b);
	CHECK_INT(b->recordings.count, 2);
	CHECK_INT(b->samples.count, 202);
	CHECK_INT(baseline_type(b, hand_trace(0)->shop.type)->traces, 201);
}

TEST(spans_with_lost_records_are_counted_and_not_learned)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);
	struct observation o = hand_trace(1)->shop;

	o.is_lost = true;
	baseline_begin(b, hand_spans());
	baseline_add_observation(b, &o);
	CHECK_INT(baseline_end(b, &(struct observation_counts){ 1, 2, 3 }), RECORDING_LEARNED);
	baseline_finish(b);
	CHECK_INT(b->samples.count, 0);
	CHECK_INT(b->recordings.items[0].lost, 1);
	CHECK_INT(b->recordings.items[0].spans, 1);
	CHECK_INT(b->recordings.items[0].cut, 2);
	CHECK_INT(b->recordings.items[0].orphaned, 3);
}

TEST(a_root_with_many_types_is_recognised)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);
	struct observation o = hand_trace(1)->shop;

	baseline_begin(b, hand_spans());
	for (uint64_t i = 0; i <= TYPES_MAX; i++) {
		o.type = i;
		o.identity = hand_trace(i)->shop.identity;
		baseline_add_observation(b, &o);
	}
	CHECK_INT(baseline_end(b, &(struct observation_counts){ .traces = TYPES_MAX + 1 }),
		  RECORDING_LEARNED);
	baseline_finish(b);

	const struct trace_type *t = baseline_type(b, 7);

	CHECK(t && t->traces == 1);
	CHECK(!baseline_type(b, TYPES_MAX + 1));
	CHECK(baseline_has_folded(b, o.folded));
	CHECK(!baseline_has_folded(b, 1));
	CHECK(baseline_has_many_types(b, t->service, t->operation));
	CHECK(!baseline_has_many_types(b, t->operation, t->service));
}

TEST(profiles_do_not_depend_on_the_number_of_threads)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);
	struct profiles one = { 0 }, four = { 0 };

	learn_traces(b, 0, 300);
	baseline_finish(b);
	profiles_build(b, 1, &one);
	profiles_build(b, 4, &four);

	_cleanup_(freep) char *a = profiles_text(b, &one), *c = profiles_text(b, &four);

	CHECK(strcmp(a, c) == 0);
	profiles_done(&one);
	profiles_done(&four);
}

/* Verdicts of fresh traces: how many of `count` are flagged after a change of their times. */
struct trial {
	struct baseline *baseline;
	struct profiles profiles;
};

static struct trial begin_trial(uint64_t recordings, uint64_t traces)
{
	struct trial t = { .baseline = baseline_new(&learn_defaults) };

	for (uint64_t i = 0; i < recordings; i++)
		learn_traces(t.baseline, i * traces, traces);
	baseline_finish(t.baseline);
	profiles_build(t.baseline, 1, &t.profiles);
	return t;
}

static void trial_done(struct trial *t)
{
	profiles_done(&t->profiles);
	baseline_free(t->baseline);
}

typedef void change_fn(struct observation *o);

static void change_nothing(struct observation *o)
{
}

/* How many of 3,000 fresh spans of the shop are flagged. */
static uint64_t flagged(const struct trial *t, change_fn *change, bool by_type)
{
	struct verdicts verdicts = { t->baseline, &t->profiles };
	struct verdict v = { 0 };
	uint64_t count = 0;

	for (uint64_t i = 0; i < 3000; i++) {
		struct observation o = hand_trace((1 << 20) + i)->shop;

		change(&o);

		struct kept_span s = kept_span_of(&o, hand_spans(), t->baseline->strings);

		verdict_find(&verdicts, &s, by_type, &v);
		CHECK(v.profile);
		count += v.is_flagged;
	}
	verdict_done(&v);
	return count;
}

TEST(about_one_percent_of_usual_spans_is_flagged)
{
	static const struct {
		uint64_t recordings, traces;
	} cases[] = { { 1, 500 }, { 1, 3000 }, { 4, 500 }, { 5, 1000 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(trial_done) struct trial t =
			begin_trial(cases[i].recordings, cases[i].traces);
		uint64_t by_type = flagged(&t, change_nothing, true);
		uint64_t by_operation = flagged(&t, change_nothing, false);

		printf("# %" PRIu64 " recordings of %" PRIu64 " traces: flagged %" PRIu64
		       " and %" PRIu64 " of 3000\n",
		       cases[i].recordings, cases[i].traces, by_type, by_operation);
		CHECK(by_type >= 6 && by_type <= 75);
		CHECK(by_operation >= 6 && by_operation <= 75);
	}
}

static void add_disk(struct observation *o)
{
	*vec_push(&o->runs) = (struct state_run){ 5 * NSEC_PER_MSEC, 'D' };
	o->intervals.items[1].run_count++;
	o->intervals.items[1].total += 5 * NSEC_PER_MSEC;
}

static void wait_longer(struct observation *o)
{
	o->intervals.items[0].ready += 10 * NSEC_PER_MSEC;
	o->intervals.items[0].total += 10 * NSEC_PER_MSEC;
}

static void run_faster(struct observation *o)
{
	for (size_t i = 0; i < o->runs.count; i++) {
		nsec_t saved = o->runs.items[i].time - o->runs.items[i].time / 8;

		o->runs.items[i].time -= saved;
		o->intervals.items[i > 0].total -= saved;
	}
}

TEST(a_new_state_a_longer_wait_and_a_faster_run_are_flagged)
{
	_cleanup_(trial_done) struct trial t = begin_trial(2, 1000);

	CHECK(flagged(&t, add_disk, true) > 2970);
	CHECK(flagged(&t, wait_longer, true) > 2970);
	CHECK(flagged(&t, run_faster, true) > 2970);
	CHECK(flagged(&t, add_disk, false) > 2970);
}
