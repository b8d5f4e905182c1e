/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare - requests of a batch against the baseline.
 *
 * Each span of a request is compared (diagnose/watch.h), and counts for the operation of top that
 * the request belongs to.  If there are too many requests, a sample is compared.  It does not
 * prefer slow ones, as that of accounts does: their share among usual requests is what counts.
 */
#include "report/deviation.h"
#include "top/sample.h"
#include "top/top_internal.h"

enum {
	TREE_MAX = 1000,     /* spans of a request; larger ones are not compared */
	SPANS_MAX = 3000,    /* per tick */
	STATES_SHOWN = 8,    /* of an operation */
	REQUESTS_MAX = 1000, /* per tick */
};

struct comparing {
	struct watch *watch;
	uint64_t group;
	size_t spans;
};

static void compare_span(void *arg, const struct observation *o)
{
	struct comparing *c = arg;

	c->spans++;
	watch_add(c->watch, c->group, o, true);
}

struct to_compare {
	const struct operation *op;
	span_id span;
};

typedef VEC(struct to_compare) to_compare_list;

static void list_requests(const struct operations *ops, to_compare_list *ret)
{
	for (size_t i = 0; i <= ops->items.count; i++) {
		const struct operation *op = i ? ops->items.items[i - 1] : ops->rest;

		for (size_t k = 0; op && k < op->batch.count; k++)
			*vec_push(ret) = (struct to_compare){ op, op->batch.items[k].span };
	}
}

/* Requests that are chosen with equal probabilities. */
static void choose(struct top *top, size_t count, samples *ret)
{
	size_t most = top->to_compare / (top->spans_per_tree ?: 1);
	latencies equal = { 0 };

	for (size_t i = 0; i < count; i++)
		*vec_push(&equal) = 1;
	sample_choose(equal.items, count, most < REQUESTS_MAX ? most : REQUESTS_MAX, &top->seed,
		      ret);
	vec_done(&equal);
}

void top_compare_batch(struct top *top, const struct live_view *view)
{
	_cleanup_(observer_freep) struct observer *observer = NULL;
	struct comparing c = { .watch = top->watch };
	to_compare_list requests = { 0 };
	samples chosen = { 0 };

	if (!top->watch)
		return;
	watch_advance(top->watch, top->operations.second);
	list_requests(&top->operations, &requests);
	choose(top, requests.count, &chosen);
	observer = chosen.count ? observer_new(view->spans) : NULL;
	for (size_t i = 0; i < chosen.count && c.spans < top->to_compare; i++) {
		const struct to_compare *r = &requests.items[chosen.items[i].index];

		c.group = r->op->key;
		observer_tree(observer, r->span, TREE_MAX, compare_span, &c);
	}
	if (chosen.count)
		top->spans_per_tree = (c.spans + chosen.count - 1) / chosen.count;
	top->to_compare -= c.spans < top->to_compare ? c.spans : top->to_compare;
	vec_done(&requests);
	vec_done(&chosen);
}

void top_compare_tick(struct top *top)
{
	top->to_compare = SPANS_MAX;
}

static struct top_deviation deviation_of(const struct top *top, struct arena *arena,
					 const struct watched_state *s)
{
	const struct baseline *b = top->options.baseline;
	struct phrase text = deviation_of_operation(b, s);

	return (struct top_deviation){
		.service = top_copy(arena, strtab_get(b->strings, s->service)),
		.operation = top_copy(arena, strtab_get(b->strings, s->operation)),
		.state = deviation_state(s->feature),
		.is_faster = s->is_faster,
		.spans = s->spans,
		.flagged = s->flagged,
		.observed = s->observed,
		.usual = s->usual,
		.compared_by = key_kind_name(s->compared_by),
		.text = top_copy(arena, text.s),
	};
}

void top_fill_deviations(const struct top *top, const struct watch_summary *summary,
			 const struct operation *op, struct arena *arena, struct top_row *row)
{
	const uint64_t *first = map_find(&summary->first, op->key);
	const uint64_t *compared = map_find(&summary->compared, op->key);
	struct top_deviation *list = arena_alloc(arena, STATES_SHOWN * sizeof(*list));
	size_t count = 0;

	row->compared = compared ? *compared : 0;
	for (size_t i = first ? *first - 1 : summary->states.count;
	     i < summary->states.count && summary->states.items[i].group == op->key &&
	     count < STATES_SHOWN;
	     i++)
		list[count++] = deviation_of(top, arena, &summary->states.items[i]);
	row->deviations = list;
	row->deviation_count = count;
}
