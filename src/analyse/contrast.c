/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/contrast.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

/* Latencies are sorted, slowest first. */
static nsec_t at_percentile(const nsec_t *times, size_t count, unsigned int thousandths)
{
	size_t rank = ((double)count * thousandths + 99999) / 100000;

	return times[count - (rank ? rank : 1)];
}

struct contrast_choice contrast_choose(const nsec_t *times, size_t count,
				       struct contrast_limit limit)
{
	struct contrast_choice ret = { 0 };

	if (!count)
		return ret;

	nsec_t median = at_percentile(times, count, 50000);
	nsec_t least =
		limit.thousandths ? at_percentile(times, count, limit.thousandths) : limit.time;

	while (ret.slow < count && times[ret.slow] >= least)
		ret.slow++;
	if (limit.thousandths) {
		if (ret.slow < CONTRAST_SLOW_MIN)
			ret.slow = count < CONTRAST_SLOW_MIN ? count : CONTRAST_SLOW_MIN;
		while (ret.slow && times[ret.slow - 1] <= median)
			ret.slow--;
	}
	while (ret.usual < count - ret.slow && times[count - 1 - ret.usual] <= median)
		ret.usual++;
	return ret;
}

bool contrast_is_enough(struct contrast_choice choice, struct contrast_limit limit)
{
	/* the user knows what is slow, so one request is enough */
	size_t least = limit.thousandths ? CONTRAST_SLOW_MIN : 1;

	return choice.slow >= least && choice.usual >= CONTRAST_USUAL_MIN;
}

double contrast_mean(const struct contrast_side *side)
{
	return side->compared ? (double)side->time / side->compared : 0;
}

size_t contrast_index(const struct contrast_side *side, size_t n)
{
	return n * side->count / side->compared;
}

void contrast_done(struct contrast *contrast)
{
	vec_done(&contrast->causes);
	vec_done(&contrast->patterns);
	vec_done(&contrast->states);
}

enum { SLOW, HALVES, GROUPS = 3 }; /* the slow requests, and the two halves of the usual ones */

struct contrasting {
	const struct span_set *spans;
	struct cause_sum causes[GROUPS];
	struct path_shares shares[GROUPS];
	struct map index; /* key of a cause -> index + 1 in `merged` */
	VEC(struct contrast_cause) merged;
	VEC(double) halves; /* of each of them: times in the halves of the usual requests */
};

static void contrasting_done(struct contrasting *c)
{
	for (int i = 0; i < GROUPS; i++) {
		cause_sum_done(&c->causes[i]);
		path_shares_done(&c->shares[i]);
	}
	map_done(&c->index);
	vec_done(&c->merged);
	vec_done(&c->halves);
}

/* A random bit of a span, the same in every run: requests that follow each other can differ for a
 * reason. */
static int half_of(span_id span)
{
	uint64_t mixed = span.i * 0x9e3779b97f4a7c15ull;

	return (mixed ^ mixed >> 32) * 0xbf58476d1ce4e5b9ull >> 63;
}

static void add_side(struct contrasting *c, struct contrast_side *side, bool is_slow)
{
	side->compared = side->count < CONTRAST_SAMPLE_MAX ? side->count : CONTRAST_SAMPLE_MAX;
	for (size_t i = 0; i < side->compared; i++) {
		span_id span = side->requests[contrast_index(side, i)];
		int group = is_slow ? SLOW : HALVES + half_of(span);
		struct account account = { 0 };

		account_of_span_brief(c->spans, span, &account);
		cause_sum_add(&c->causes[group], c->spans, &account);
		path_shares_add(&c->shares[group], c->spans, &account, 1);
		side->time += account.nodes.items[0].time;
		account_done(&account);
	}
}

static void merge_group(struct contrasting *c, int group, const struct cause_group *g)
{
	uint64_t *at = map_insert(&c->index, g->key);

	if (!*at) {
		*vec_push(&c->merged) = (struct contrast_cause){ .group = *g };
		*vec_push(&c->halves) = 0;
		*vec_push(&c->halves) = 0;
		*at = c->merged.count;
	}

	struct contrast_cause *cause = &c->merged.items[*at - 1];

	cause->group.several |= g->several || cause->group.thread.i != g->thread.i;
	cause->group.several_processes |= g->several_processes;
	cause->group.is_lost |= g->is_lost;
	if (group == SLOW) {
		cause->slow = g->time;
		cause->slow_requests = g->requests;
		return;
	}
	cause->usual += g->time;
	cause->usual_requests += g->requests;
	c->halves.items[2 * (*at - 1) + group - HALVES] = g->time;
}

/* The slow requests come first, so the examples are theirs. */
static void merge_causes(struct contrasting *c)
{
	for (int group = 0; group < GROUPS; group++)
		for (size_t i = 0; i < c->causes[group].groups.count; i++)
			merge_group(c, group, &c->causes[group].groups.items[i]);
}

static double mean(double sum, size_t count)
{
	return count ? sum / count : 0;
}

/* The part of each cause, and whether it stands out. */
static void measure_causes(struct contrasting *c, const struct contrast *ret)
{
	uint32_t first = c->causes[HALVES].accounts, second = c->causes[HALVES + 1].accounts;

	for (size_t i = 0; i < c->merged.count; i++) {
		struct contrast_cause *cause = &c->merged.items[i];
		const double *halves = &c->halves.items[2 * i];

		cause->part = mean(cause->slow, ret->slow.compared) -
			      mean(cause->usual, ret->usual.compared);
		cause->noise = fabs(mean(halves[0], first) - mean(halves[1], second));
		cause->stands_out = !cause->group.is_lost && cause->part > 0 &&
				    cause->part * 10 >= ret->difference &&
				    cause->part >= 2 * cause->noise;
	}
}

/* The request with the longest leaf of the cause that explains most. */
static span_id find_example(const struct contrasting *c)
{
	const struct contrast_cause *most = NULL;

	for (size_t i = 0; i < c->merged.count; i++) {
		const struct contrast_cause *cause = &c->merged.items[i];

		if (!cause->group.is_pattern && (!most || cause->part > most->part))
			most = cause;
	}
	return most ? most->group.example : (span_id){ 0 };
}

/*
 * Causes are easier to read together if they describe one request.  So that request is the example
 * of all causes that take a typical time in it.
 */
static void share_example(struct contrasting *c)
{
	span_id example = find_example(c);
	_cleanup_(cause_sum_done) struct cause_sum sum = { 0 };
	_cleanup_(account_done) struct account account = { 0 };

	if (!example.i)
		return;
	account_of_span_brief(c->spans, example, &account);
	cause_sum_add(&sum, c->spans, &account);
	for (size_t i = 0; i < sum.groups.count; i++) {
		const struct cause_group *g = &sum.groups.items[i];
		struct contrast_cause *cause = &c->merged.items[*map_find(&c->index, g->key) - 1];

		if (g->longest < cause->slow / 2 / (cause->slow_requests ?: 1))
			continue;
		cause->group.example = example;
		cause->group.node = g->node;
		cause->group.longest = g->longest;
	}
}

static void keep_causes(const struct contrasting *c, struct contrast *ret)
{
	for (size_t i = 0; i < c->merged.count; i++)
		if (c->merged.items[i].group.is_pattern)
			*vec_push(&ret->patterns) = c->merged.items[i];
		else
			*vec_push(&ret->causes) = c->merged.items[i];
}

static int larger_part_first(const void *a, const void *b)
{
	const struct contrast_cause *x = a, *y = b;

	if (x->part != y->part)
		return x->part > y->part ? -1 : 1;
	if (x->group.example.i != y->group.example.i)
		return x->group.example.i < y->group.example.i ? -1 : 1;
	return x->group.node < y->group.node ? -1 : x->group.node > y->group.node;
}

static int larger_state_first(const void *a, const void *b)
{
	const struct contrast_state *x = a, *y = b;
	int names = strcmp(x->service, y->service);

	if (x->part != y->part)
		return x->part > y->part ? -1 : 1;
	return names ? names : x->state - y->state;
}

static void add_state(struct contrast *ret, struct map *index, const struct path_share *share,
		      bool is_slow)
{
	uint64_t key = hash_bytes(share->service, strlen(share->service)) ^ share->state;
	uint64_t *at = map_insert(index, key);

	if (!*at) {
		*vec_push(&ret->states) =
			(struct contrast_state){ .service = share->service, .state = share->state };
		*at = ret->states.count;
	}

	struct contrast_state *state = &ret->states.items[*at - 1];

	if (is_slow)
		state->slow += share->time;
	else
		state->usual += share->time;
}

static void find_states(struct contrasting *c, struct contrast *ret)
{
	struct map index = { 0 };

	for (int group = 0; group < GROUPS; group++)
		for (size_t i = 0; i < c->shares[group].items.count; i++)
			add_state(ret, &index, &c->shares[group].items.items[i], group == SLOW);
	map_done(&index);
	for (size_t i = 0; i < ret->states.count; i++) {
		struct contrast_state *state = &ret->states.items[i];

		state->part = mean(state->slow, ret->slow.compared) -
			      mean(state->usual, ret->usual.compared);
	}
	if (ret->states.count)
		qsort(ret->states.items, ret->states.count, sizeof(ret->states.items[0]),
		      larger_state_first);
}

void contrast_find(const struct span_set *spans, const span_id *slow, size_t slow_count,
		   const span_id *usual, size_t usual_count, struct contrast *ret)
{
	_cleanup_(contrasting_done) struct contrasting c = { .spans = spans };

	*ret = (struct contrast){ .slow = { .requests = slow, .count = slow_count },
				  .usual = { .requests = usual, .count = usual_count } };
	add_side(&c, &ret->slow, true);
	add_side(&c, &ret->usual, false);
	ret->difference = contrast_mean(&ret->slow) - contrast_mean(&ret->usual);
	merge_causes(&c);
	measure_causes(&c, ret);
	share_example(&c);
	keep_causes(&c, ret);
	find_states(&c, ret);
	if (ret->causes.count)
		qsort(ret->causes.items, ret->causes.count, sizeof(ret->causes.items[0]),
		      larger_part_first);
	if (ret->patterns.count)
		qsort(ret->patterns.items, ret->patterns.count, sizeof(ret->patterns.items[0]),
		      larger_part_first);
}

bool contrast_differs(const struct contrast *contrast)
{
	return contrast->difference * 2 >= contrast_mean(&contrast->usual) &&
	       contrast->difference > 0;
}

bool contrast_is_rare(const struct contrast *contrast, const struct contrast_cause *cause)
{
	/* a third as frequent */
	return (double)cause->usual_requests * 3 * contrast->slow.compared <=
	       (double)cause->slow_requests * contrast->usual.compared;
}
