/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/split.h"

#include <math.h>
#include <stdio.h>

#include "diagnose/verdict.h"
#include "learned.h"
#include "test.h"

/* An observation with one interval, in which it runs. */
static void set_time(struct observation *o, nsec_t time)
{
	o->intervals.count = o->runs.count = o->traits.count = 0;
	*vec_push(&o->runs) = (struct state_run){ time, 'R' };
	*vec_push(&o->intervals) = (struct own_interval){ .run_count = 1, .total = time };
	o->own = o->cpu = time;
	o->duration = time + o->queueing;
}

static void add_number(struct observation *o, const char *key, int64_t number)
{
	*vec_push(&o->traits) = (struct span_trait){ .key = key, .number = number };
}

static void add_text(struct observation *o, const char *key, const char *text)
{
	*vec_push(&o->traits) = (struct span_trait){ .key = key, .text = text };
}

static nsec_t noisy(uint64_t number, double time)
{
	return time * exp(0.1 * random_normal(number, 50));
}

/* Sets the time and the traits of a span by its number. */
typedef void span_fn(struct observation *o, uint64_t number);

struct trial {
	struct baseline *baseline;
	struct profiles profiles;
	const struct profile *profile; /* of the position */
};

static void trial_done(struct trial *t)
{
	profiles_done(&t->profiles);
	baseline_free(t->baseline);
}

static void learn(struct baseline *b, span_fn *fill, uint64_t first, uint64_t count)
{
	baseline_begin(b, hand_spans());
	for (uint64_t i = first; i < first + count; i++) {
		struct hand_trace *t = (struct hand_trace *)hand_trace(i);

		fill(&t->shop, i);
		baseline_add_observation(b, &t->shop);
	}
	baseline_end(b, &(struct observation_counts){ .traces = count });
}

static struct trial try(span_fn *fill, uint64_t first, uint64_t count)
{
	struct trial t = { .baseline = baseline_new(&learn_defaults) };

	learn(t.baseline, fill, first, count);
	baseline_finish(t.baseline);
	profiles_build(t.baseline, 1, &t.profiles);
	t.profile = profiles_find(&t.profiles, KEY_POSITION,
				  t.baseline->samples.items[0].keys[KEY_POSITION]);
	CHECK(t.profile);
	return t;
}

static bool is_flagged(const struct trial *t, span_fn *fill, uint64_t number,
		       const struct profile **ret)
{
	struct verdicts verdicts = { t->baseline, &t->profiles };
	struct hand_trace *trace = (struct hand_trace *)hand_trace(number);
	struct verdict v = { 0 };

	fill(&trace->shop, number);

	struct kept_span s = kept_span_of(&trace->shop, hand_spans(), t->baseline->strings);

	verdict_find(&verdicts, &s, true, &v);
	*ret = v.profile;
	verdict_done(&v);
	return v.is_flagged;
}

/* Flagged ones of 2,000 spans that are not in the baseline. */
static uint64_t flagged(const struct trial *t, span_fn *fill)
{
	const struct profile *compared;
	uint64_t count = 0;

	for (uint64_t i = 0; i < 2000; i++)
		count += is_flagged(t, fill, (1 << 20) + i, &compared);
	return count;
}

/* The time grows with the square of n, and there are attributes that explain nothing. */
static const int64_t sizes[] = { -5, 100, 200, 400 };

static int64_t size_of(uint64_t number)
{
	return sizes[(int)(4 * random_share(number, 60))];
}

static double time_of(int64_t n)
{
	return NSEC_PER_MSEC * (n + 50.0) * (n + 50.0) / 10000;
}

static void factorial(struct observation *o, uint64_t number)
{
	set_time(o, noisy(number, time_of(size_of(number))));
	add_number(o, "request.id", number);
	add_text(o, "colour", random_share(number, 61) < 0.5 ? "red" : "blue");
	add_number(o, "n", size_of(number));
	add_number(o, "shard", 100 * random_share(number, 62));
}

static void small_as_slow_as_large(struct observation *o, uint64_t number)
{
	factorial(o, number);

	span_trait_list traits = o->traits;

	set_time(o, noisy(number, time_of(400)));
	o->traits.count = traits.count;
	o->traits.items[2].number = -5;
}

static void only_large(struct observation *o, uint64_t number)
{
	small_as_slow_as_large(o, number);
	o->traits.items[2].number = 400;
}

static void of_another_size(struct observation *o, uint64_t number)
{
	small_as_slow_as_large(o, number);
	o->traits.items[2].number = 150;
}

TEST(a_number_that_explains_the_time_divides_an_operation)
{
	_cleanup_(trial_done) struct trial t = try(factorial, 0, 1000);
	const struct split *split = t.profile->split;

	CHECK(split);
	if (!split)
		return;
	CHECK_STR(split->key, "n");
	CHECK(!split->is_text && split->explained > 0.9 && split->explained < 1);
	CHECK_INT(split->part_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct split_part *part = &split->parts[i];
		double middle = part->profile->all.bands[FEATURE_TOTAL].middle;

		CHECK(part->from == sizes[i] && part->to == sizes[i]);
		CHECK(part->profile->part_of == split && part->profile->part == i);
		CHECK(middle > 0.9 * time_of(sizes[i]) && middle < 1.1 * time_of(sizes[i]));
	}
}

TEST(small_spans_as_slow_as_large_ones_are_flagged_and_large_ones_are_not)
{
	_cleanup_(trial_done) struct trial t = try(factorial, 0, 1000);
	uint64_t usual = flagged(&t, factorial), large = flagged(&t, only_large);

	printf("# flagged of 2000: %" PRIu64 " usual and %" PRIu64 " large ones\n", usual, large);
	CHECK_INT(flagged(&t, small_as_slow_as_large), 2000);
	CHECK(usual >= 4 && usual <= 60);
	CHECK(large <= 60);
	/* the same, compared with all sizes */
	((struct profile *)t.profile)->split = NULL;
	CHECK(flagged(&t, small_as_slow_as_large) <= 60);
}

TEST(a_value_outside_of_all_parts_is_compared_with_the_whole)
{
	_cleanup_(trial_done) struct trial t = try(factorial, 0, 1000);
	const struct profile *compared;

	is_flagged(&t, of_another_size, 1 << 20, &compared);
	CHECK(compared == t.profile);
	is_flagged(&t, only_large, 1 << 20, &compared);
	CHECK(compared == t.profile->split->parts[3].profile);
}

/* A few texts have times of their own; there are many others. */
static void by_tenant(struct observation *o, uint64_t number)
{
	static char rare[32];
	double share = random_share(number, 70);
	const char *name = share < 0.4 ? "acme" : share < 0.6 ? "initech" : rare;

	snprintf(rare, sizeof(rare), "tenant %" PRIu64, number);
	set_time(o, noisy(number, *name == 'a' ? 4e6 : *name == 'i' ? 20e6 : 1e6));
	add_text(o, "tenant", name);
	add_number(o, "tenant", 7); /* the same key with another type is another trait */
}

TEST(frequent_texts_and_all_others_together_are_parts)
{
	_cleanup_(trial_done) struct trial t = try(by_tenant, 0, 600);
	const struct split *split = t.profile->split;

	CHECK(split && split->is_text);
	if (!split)
		return;
	CHECK_STR(split->key, "tenant");
	CHECK_INT(split->part_count, 3);
	CHECK_STR(split->parts[0].text, "acme");
	CHECK_STR(split->parts[1].text, "initech");
	CHECK(!split->parts[2].text);
	CHECK(flagged(&t, by_tenant) <= 60);
}

/* A time in 20 ranges of a number; an attribute in half of the spans. */
static void continuous(struct observation *o, uint64_t number)
{
	int64_t n = 3000 * random_share(number, 80);

	set_time(o, noisy(number, 1e5 + (double)n * n));
	add_number(o, "n", n);
	if (number % 2)
		add_number(o, "n", -n); /* the second value does not count */
}

TEST(a_number_with_many_values_is_divided_into_ranges)
{
	_cleanup_(trial_done) struct trial t = try(continuous, 0, 2000);
	const struct split *split = t.profile->split;

	CHECK(split);
	if (!split)
		return;
	CHECK(split->part_count >= 4 && split->part_count <= PARTS_MAX);
	for (uint32_t i = 1; i < split->part_count; i++)
		CHECK(split->parts[i - 1].to < split->parts[i].from);
	CHECK(split->explained > 0.8);
	CHECK(flagged(&t, continuous) <= 60);
}

/* On a busy host, most of the time is waiting for a CPU. */
static void on_busy_host(struct observation *o, uint64_t number)
{
	factorial(o, number);
	o->intervals.items[0].ready = 1e7 * exp(2 * random_normal(number, 63));
	o->intervals.items[0].total += o->intervals.items[0].ready;
}

TEST(waits_for_a_cpu_do_not_hide_what_explains_the_time)
{
	_cleanup_(trial_done) struct trial t = try(on_busy_host, 0, 1000);

	CHECK(t.profile->split);
	if (t.profile->split)
		CHECK_STR(t.profile->split->key, "n");
	CHECK(flagged(&t, on_busy_host) <= 60);
}

static void steady(struct observation *o, uint64_t number)
{
	int64_t n = number % 2;

	set_time(o, noisy(number, 1e6 + 3e5 * n));
	add_number(o, "n", n);
}

TEST(an_operation_that_varies_little_is_not_divided)
{
	_cleanup_(trial_done) struct trial t = try(steady, 0, 1000);

	CHECK(!t.profile->split);
}

TEST(few_samples_are_not_divided)
{
	_cleanup_(trial_done) struct trial t = try(factorial, 0, 60);

	CHECK(!t.profile->split);
}

/* Two modes without any reason. */
static void random_keys(struct observation *o, uint64_t number)
{
	static char names[200][16];
	static const char *const texts[] = { "a", "b", "c", "d" };

	set_time(o, noisy(number, random_share(number, 90) < 0.5 ? 1e6 : 1e7));
	for (uint64_t i = 0; i < ARRAY_LEN(names); i++) {
		double value = random_share(number, 1000 + i);

		snprintf(names[i], sizeof(names[i]), "key %" PRIu64, i);
		if (i % 2)
			add_number(o, names[i], value * 1000);
		else
			add_text(o, names[i], texts[(int)(4 * value)]);
	}
}

TEST(two_hundred_random_keys_divide_nothing)
{
	size_t divided = 0;

	for (uint64_t run = 0; run < 100; run++) {
		_cleanup_(trial_done) struct trial t = try(random_keys, 10000 * run, 200);

		divided += t.profile->split != NULL;
	}
	printf("# divided %zu of 100\n", divided);
	CHECK(divided <= 5);
}

static void by_function(struct observation *o, uint64_t number)
{
	bool slow = random_share(number, 91) < 0.5;

	set_time(o, noisy(number, slow ? 1e7 : 1e6));
	*vec_push(&o->traits) = (struct span_trait){ .key = "",
						     .text = slow ? "scan" : "look_up",
						     .kind = SPAN_TRAIT_FUNCTION };
}

static void by_both(struct observation *o, uint64_t number)
{
	by_function(o, number);
	add_text(o, "index", (o->own < 3e6) == (random_share(number, 92) < 0.95) ? "yes" : "no");
}

TEST(functions_divide_if_no_attribute_does)
{
	_cleanup_(trial_done) struct trial alone = try(by_function, 0, 400);
	_cleanup_(trial_done) struct trial both = try(by_both, 0, 400);

	CHECK(alone.profile->split && alone.profile->split->kind == SPAN_TRAIT_FUNCTION);
	CHECK(both.profile->split && both.profile->split->kind == SPAN_TRAIT_ATTRIBUTE);
}

TEST(parts_do_not_depend_on_the_order_of_learning)
{
	struct trial trials[3] = { 0 };
	char *texts[3];

	for (size_t i = 0; i < 3; i++) {
		trials[i].baseline = baseline_new(&learn_defaults);
		learn(trials[i].baseline, factorial, i == 1 ? 3000 : 0, 3000);
		if (i == 2)
			baseline_finish(trials[i].baseline);
		learn(trials[i].baseline, factorial, i == 1 ? 0 : 3000, 3000);
		baseline_finish(trials[i].baseline);
		profiles_build(trials[i].baseline, 1 + i, &trials[i].profiles);
		texts[i] = profiles_text(trials[i].baseline, &trials[i].profiles);
	}
	CHECK(strstr(texts[0], "split by 0 'n'"));
	CHECK(strcmp(texts[0], texts[1]) == 0);
	CHECK(strcmp(texts[0], texts[2]) == 0);
	for (size_t i = 0; i < 3; i++) {
		free(texts[i]);
		trial_done(&trials[i]);
	}
}
