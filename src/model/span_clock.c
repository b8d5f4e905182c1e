/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock skew between the services of span files.
 *
 * A span that begins before its parent contradicts causality: the clocks of the two
 * differ.  If there is such a span, the clocks are corrected as tracing systems do, but
 * from all calls in all inputs together:
 *
 * - Spans have the same clock if they name the same host or, if they name none, if they
 *   belong to the same service and process.
 * - A call bounds the difference of two clocks.  The child does not begin before its
 *   parent.  Unless the call is asynchronous or takes longer than its parent, the child
 *   does not end after the parent either.  If it does, that is no contradiction, because a
 *   server can continue after its reply, but it bounds a correction.  The same holds for a
 *   server that begins after its client has given up; but if all calls look like
 *   that, the clocks differ.
 * - Clocks are corrected from the roots of traces downwards.  A clock without a
 *   contradiction stays.  Any other is set to the middle of what all calls from and to
 *   corrected clocks allow, so that the network latency is split evenly.
 * - If no offset satisfies all calls, each trace gets its own offset.  This happens if the
 *   clock was set during the trace, or if several processes report under one name.
 * - Clocks of hosts with kernel records are never shifted: read/ has aligned them by
 *   messages.
 *
 * Each span keeps the shift that was added to its times.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "model/model_internal.h"

/* ns; some formats round to microseconds, which is no contradiction. */
enum { ROUNDING = NSEC_PER_USEC };

/* A bound that no call has set; sums of these do not overflow. */
#define FAR (INT64_MAX / 4)

struct clock {
	bool fixed;
	uint32_t depth; /* minimum depth of its spans in their trees */
	uint32_t rank;  /* order of correction */
	bool per_trace; /* offsets differ by trace */
	int64_t offset;
};

/* What a call implies for the clock that is corrected later of the two. */
struct bound {
	uint32_t clock, other; /* bounded clock, and the clock that the bound is relative to */
	uint32_t trace;
	int64_t least, most;                 /* without a contradiction */
	int64_t soft_least, soft_most;       /* splits the latency evenly */
	int64_t overlap_least, overlap_most; /* makes client and server overlap */
};

/* The offsets that all bounds allow; soft bounds are narrower, those of overlap the widest. */
struct offset_range {
	int64_t least, most, soft_least, soft_most, overlap_least, overlap_most;
};

struct skew {
	struct model *model;
	VEC(struct clock) clocks;
	struct map clock_index; /* key -> index + 1 */
	uint32_t *clock_of;     /* by span */
	uint32_t *trace_of;     /* by span */
	struct map trace_index; /* -> index + 1 */
	VEC(struct bound) bounds;
	struct map offsets; /* of clock and trace, if they differ by trace */
};

static const struct offset_range anything = { -FAR, FAR, -FAR, FAR, FAR, -FAR };

static int64_t limit(int64_t n)
{
	return n < -FAR ? -FAR : n > FAR ? FAR : n;
}

static bool has_same_clock(const struct span *a, const struct span *b)
{
	if (a->host_name.i || b->host_name.i)
		return a->host_name.i == b->host_name.i;
	return a->service.i == b->service.i && a->pid == b->pid && a->host == b->host;
}

static const struct span *parent_of(const struct model *model, const struct span *span)
{
	return span->parent.i ? &model->spans.items[span->parent.i] : NULL;
}

/* Whether the parent waits for the child, judging by their kinds. */
static bool is_waited_for(const struct span *parent, const struct span *child)
{
	return !(child->flags & (SPAN_FOLLOWS | SPAN_OPEN)) && !(parent->flags & SPAN_OPEN) &&
	       parent->kind != SPAN_PRODUCER && child->kind != SPAN_CONSUMER &&
	       child->end - child->start <= parent->end - parent->start;
}

/* Whether they are the two sides of a call. */
static bool is_call(const struct span *parent, const struct span *child)
{
	return parent->kind == SPAN_CLIENT && child->kind == SPAN_SERVER &&
	       is_waited_for(parent, child);
}

static bool is_contradiction(const struct model *model, const struct span *span)
{
	const struct span *parent = parent_of(model, span);

	if (!parent || has_same_clock(span, parent))
		return false;
	return span->start + ROUNDING <= parent->start ||
	       (is_call(parent, span) && span->start > parent->end);
}

static bool is_contradictory(const struct model *model)
{
	for (uint32_t i = 1; i < model->spans.count; i++)
		if (is_contradiction(model, &model->spans.items[i]))
			return true;
	return false;
}

static uint64_t clock_key(const struct span *span)
{
	uint64_t key[3] = { span->host_name.i };

	if (!span->host_name.i) {
		key[1] = (uint64_t)span->service.i << 32 | span->pid;
		key[2] = 1 + span->host;
	}
	return hash_bytes(key, sizeof(key));
}

static uint32_t take_clock(struct skew *s, const struct span *span)
{
	uint64_t *index = map_insert(&s->clock_index, clock_key(span));

	if (!*index) {
		*vec_push(&s->clocks) = (struct clock){ .depth = UINT32_MAX };
		*index = s->clocks.count;
	}
	s->clocks.items[*index - 1].fixed |= span->has_host_clock || span->thread.i;
	return *index - 1;
}

static uint32_t take_trace(struct skew *s, const struct span *span)
{
	uint64_t *index = map_insert(&s->trace_index, hash_bytes(span->trace, sizeof(span->trace)));

	if (!*index)
		*index = s->trace_index.count;
	return *index - 1;
}

static void collect_clocks(struct skew *s)
{
	size_t count = s->model->spans.count;

	s->clock_of = must_alloc(count * sizeof(*s->clock_of));
	s->trace_of = must_alloc(count * sizeof(*s->trace_of));
	for (uint32_t i = 1; i < count; i++) {
		s->clock_of[i] = take_clock(s, &s->model->spans.items[i]);
		s->trace_of[i] = take_trace(s, &s->model->spans.items[i]);
	}
}

/* The next span in depth-first order, or 0; updates its depth. */
static uint32_t next_in_tree(const struct model *model, uint32_t root, uint32_t at, uint32_t *depth)
{
	const struct span *spans = model->spans.items;

	if (spans[at].first_child.i) {
		++*depth;
		return spans[at].first_child.i;
	}
	for (; at != root; at = spans[at].parent.i, --*depth)
		if (spans[at].next.i)
			return spans[at].next.i;
	return 0;
}

static void find_depths(struct skew *s)
{
	for (uint32_t i = 1; i < s->model->spans.count; i++) {
		uint32_t depth = 0;

		if (s->model->spans.items[i].parent.i)
			continue;
		for (uint32_t at = i; at; at = next_in_tree(s->model, i, at, &depth)) {
			struct clock *clock = &s->clocks.items[s->clock_of[at]];

			clock->depth = depth < clock->depth ? depth : clock->depth;
		}
	}
}

static int by_depth(const void *a, const void *b, void *arg)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct clock *clocks = arg, *x = &clocks[i], *y = &clocks[k];

	if (x->fixed != y->fixed)
		return x->fixed ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void rank_clocks(struct skew *s)
{
	size_t count = s->clocks.count;
	_cleanup_(freep) uint32_t *order = must_alloc(count * sizeof(*order));

	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), by_depth, s->clocks.items);
	for (uint32_t i = 0; i < count; i++)
		s->clocks.items[order[i]].rank = i;
}

static void add_bound(struct skew *s, uint32_t child, uint32_t parent)
{
	const struct span *c = &s->model->spans.items[child], *p = &s->model->spans.items[parent];
	uint32_t clock = s->clock_of[child], other = s->clock_of[parent];
	int64_t begin = limit(p->start - c->start);
	int64_t end = is_waited_for(p, c) ? limit(p->end - c->end) : FAR;
	int64_t overlap = is_call(p, c) ? limit(p->end - c->start) : FAR;

	struct bound bound = { .clock = clock,
			       .other = other,
			       .trace = s->trace_of[child],
			       .least = begin,
			       .most = FAR,
			       .soft_least = begin,
			       .soft_most = end,
			       .overlap_least = FAR,
			       .overlap_most = overlap == FAR ? -FAR : overlap };

	if (s->clocks.items[clock].rank < s->clocks.items[other].rank)
		bound = (struct bound){ .clock = other,
					.other = clock,
					.trace = s->trace_of[child],
					.least = -FAR,
					.most = -begin,
					.soft_least = -end,
					.soft_most = -begin,
					.overlap_least = overlap == FAR ? FAR : -overlap,
					.overlap_most = -FAR };
	*vec_push(&s->bounds) = bound;
}

static int by_clock(const void *a, const void *b, void *arg)
{
	const struct bound *x = a, *y = b;
	const struct clock *clocks = arg;
	uint32_t i = clocks[x->clock].rank, k = clocks[y->clock].rank;

	if (i != k)
		return i < k ? -1 : 1;
	return x->trace < y->trace ? -1 : x->trace > y->trace;
}

static void collect_bounds(struct skew *s)
{
	for (uint32_t i = 1; i < s->model->spans.count; i++) {
		uint32_t parent = s->model->spans.items[i].parent.i;

		if (parent && s->clock_of[i] != s->clock_of[parent])
			add_bound(s, i, parent);
	}
	qsort_r(s->bounds.items, s->bounds.count, sizeof(struct bound), by_clock, s->clocks.items);
}

static int64_t offset_of(const struct skew *s, uint32_t clock, uint32_t trace)
{
	const struct clock *c = &s->clocks.items[clock];
	const uint64_t *found =
		c->per_trace ? map_find(&s->offsets, (uint64_t)clock << 32 | trace) : NULL;

	return found ? (int64_t)*found : c->offset;
}

static int64_t greater(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static struct offset_range offset_range_of(const struct skew *s, const struct bound *first,
					   const struct bound *end)
{
	struct offset_range r = anything;

	for (const struct bound *b = first; b < end; b++) {
		int64_t other = offset_of(s, b->other, b->trace);

		r.least = greater(r.least, limit(b->least + other));
		r.most = lesser(r.most, limit(b->most + other));
		r.soft_least = greater(r.soft_least, limit(b->soft_least + other));
		r.soft_most = lesser(r.soft_most, limit(b->soft_most + other));
		if (b->overlap_least != FAR)
			r.overlap_least = lesser(r.overlap_least, limit(b->overlap_least + other));
		if (b->overlap_most != -FAR)
			r.overlap_most = greater(r.overlap_most, limit(b->overlap_most + other));
	}
	return r;
}

/* The middle, or the only bound. */
static int64_t middle(int64_t least, int64_t most)
{
	if (most == FAR)
		return least;
	return least == -FAR ? most : least + (most - least) / 2;
}

/* Finds an offset; false if none satisfies all bounds. */
static bool find_offset(const struct offset_range *r, int64_t *ret)
{
	bool overlaps = (r->overlap_least == FAR || r->overlap_least <= 0) &&
			(r->overlap_most == -FAR || r->overlap_most >= 0);
	bool stays = overlaps && r->least < ROUNDING && r->most > -ROUNDING;

	*ret = stays ? 0 : middle(r->soft_least, r->soft_most);
	return stays || r->soft_least <= r->soft_most;
}

/* Finds an offset for each trace; if none satisfies all bounds, one without a contradiction. */
static void correct_traces(struct skew *s, const struct bound *first, const struct bound *end)
{
	s->clocks.items[first->clock].per_trace = true;
	for (const struct bound *next; first < end; first = next) {
		int64_t offset;

		for (next = first; next < end && next->trace == first->trace; next++)
			;

		struct offset_range r = offset_range_of(s, first, next);

		if (!find_offset(&r, &offset))
			offset = r.least > -FAR ? r.least : r.most;
		*map_insert(&s->offsets, (uint64_t)first->clock << 32 | first->trace) = offset;
	}
}

/* The clocks in the order of their ranks. */
static void correct_clocks(struct skew *s)
{
	const struct bound *first = s->bounds.items, *end = first + s->bounds.count;

	for (const struct bound *next; first < end; first = next) {
		struct clock *clock = &s->clocks.items[first->clock];

		for (next = first; next < end && next->clock == first->clock; next++)
			;
		if (clock->fixed)
			continue;

		struct offset_range r = offset_range_of(s, first, next);

		if (!find_offset(&r, &clock->offset)) {
			clock->offset = 0;
			correct_traces(s, first, next);
		}
	}
}

static void report_shift(struct model *model, struct map *services, const struct span *span)
{
	uint64_t *index = map_insert(services, span->service.i);

	if (!*index) {
		*vec_push(&model->clock_shifts) = (struct clock_shift){ .service = span->service,
									.least = span->shift,
									.most = span->shift };
		*index = model->clock_shifts.count;
	}

	struct clock_shift *shift = &model->clock_shifts.items[*index - 1];

	shift->spans++;
	shift->least = lesser(shift->least, span->shift);
	shift->most = greater(shift->most, span->shift);
}

static void shift_spans(struct skew *s)
{
	struct map services = { 0 };

	for (uint32_t i = 1; i < s->model->spans.count; i++) {
		struct span *span = &s->model->spans.items[i];
		int64_t offset = offset_of(s, s->clock_of[i], s->trace_of[i]);

		if (offset < 0 && span->start < (uint64_t)-offset)
			offset = -(int64_t)span->start; /* times are not negative */
		if (!offset)
			continue;
		span->shift = offset;
		span->start += offset;
		span->end += offset;
		report_shift(s->model, &services, span);
	}
	map_done(&services);
}

static void undo_shifts(struct model *model)
{
	model->clock_shifts.count = 0;
	for (uint32_t i = 1; i < model->spans.count; i++) {
		struct span *span = &model->spans.items[i];

		span->start -= span->shift;
		span->end -= span->shift;
		span->shift = 0;
	}
}

/* Without threads, the model begins with its first span. */
static void find_begin(struct model *model)
{
	if (model->begin_is_set || model->threads.count > 1)
		return;
	model->begin = UINT64_MAX;
	for (uint32_t i = 1; i < model->spans.count; i++)
		if (model->spans.items[i].start < model->begin)
			model->begin = model->spans.items[i].start;
}

void model_correct_clocks(struct model *model)
{
	struct skew s = { .model = model };

	undo_shifts(model);
	if (!is_contradictory(model))
		return;
	collect_clocks(&s);
	find_depths(&s);
	rank_clocks(&s);
	collect_bounds(&s);
	correct_clocks(&s);
	shift_spans(&s);
	find_begin(model);
	vec_done(&s.clocks);
	vec_done(&s.bounds);
	map_done(&s.clock_index);
	map_done(&s.trace_index);
	map_done(&s.offsets);
	free(s.clock_of);
	free(s.trace_of);
}

size_t model_clock_shift_count(const struct model *model)
{
	return model->clock_shifts.count;
}

const struct clock_shift *model_clock_shift(const struct model *model, size_t i)
{
	return &model->clock_shifts.items[i];
}
