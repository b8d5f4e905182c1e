/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The letters of a span.
 *
 * Children divide the time of a span into intervals.  In each interval, section_parts.h finds the
 * thread that worked for the span, and the thread's intervals are the letters.
 *
 * An episode (episode.h) is one wait: a look between two of its parts is not work of the program,
 * and counts as part of the wait.
 */
#include "analyse/own_states.h"

#include "analyse/path.h"
#include "analyse/use.h"
#include "analyse/workflow.h"
#include "base/sort.h"

/* ns; how exact the times of two hosts are on one clock. */
enum { CLOCK_ERROR = 50000 };

/* Of an interval.  Bounds the cost if many spans share a thread: such a sequence has no use. */
enum { STRETCHES_MAX = 1 << 14 };

/* An interval that is being filled. */
struct own_fill {
	struct own_states *own;
	struct observation *observation;
	struct own_interval *interval;
	size_t stretches;   /* of its threads, examined so far */
	bool is_too_long;   /* this interval, or one before */
	nsec_t episode_end; /* of the wait that is being walked */
	uint8_t episode_state;
};

void own_states_done(struct own_states *own)
{
	own_states_forget_trace(own);
	episode_cache_done(&own->episodes);
	vec_done(&own->cuts);
	byte_sums_done(&own->bytes);
}

void own_states_forget_trace(struct own_states *own)
{
	span_work_done(&own->work);
	own->work = (struct span_work){ 0 };
}

static nsec_t clamp(nsec_t t, nsec_t from, nsec_t to)
{
	return t < from ? from : t < to ? t : to;
}

/* Whether the clock of a span's host measured its times, or one that is aligned with it. */
static bool has_kernel_clock(const struct span *span)
{
	return span->has_host_clock || span->thread.i || span->source == SPAN_INFERRED;
}

static bool have_one_clock(const struct span *a, const struct span *b)
{
	return a->host == b->host &&
	       (a->service.i == b->service.i || (has_kernel_clock(a) && has_kernel_clock(b)));
}

static bool starts_before(const struct own_cut *a, const struct own_cut *b)
{
	return a->start != b->start ? a->start < b->start : a->end < b->end;
}

/* Merges overlapping cuts; a small overlap is cut off. */
static void merge_cuts(struct own_states *own)
{
	struct own_cut *cuts = own->cuts.items;
	size_t count = 0;

	for (size_t i = 0; i < own->cuts.count; i++) {
		struct own_cut *last = count ? &cuts[count - 1] : NULL;

		if (last &&
		    workflow_is_concurrent(last->start, last->end, cuts[i].start, cuts[i].end)) {
			last->end = last->end > cuts[i].end ? last->end : cuts[i].end;
			last->has_other_clock |= cuts[i].has_other_clock;
			continue;
		}
		cuts[count] = cuts[i];
		if (last && cuts[count].start < last->end)
			cuts[count].start = last->end;
		count++;
	}
	own->cuts.count = count;
}

/*
 * Finds the children that the span waits for, between two times.  A child without duration counts,
 * as rounding can remove it.
 */
static void find_cuts(struct own_states *own, const struct span *span, nsec_t from, nsec_t to)
{
	own->cuts.count = 0;
	for (span_id c = span->first_child; c.i; c = span_set_at(own->spans, c)->next) {
		const struct span *child = span_set_at(own->spans, c);
		nsec_t start = span_arrival(child), end = child->end > start ? child->end : start;
		bool is_empty = start == end && from <= start && start <= to;

		if (!(child->flags & SPAN_FOLLOWS) && workflow_contains(own->spans, child) &&
		    (is_empty || (start < to && end > from)))
			*vec_push(&own->cuts) = (struct own_cut){
				.start = clamp(start, from, to),
				.end = clamp(end, from, to),
				.span = c,
				.has_other_clock = !have_one_clock(span, child),
			};
	}
	sort_items(own->cuts.items, own->cuts.count, starts_before);
	merge_cuts(own);
}

/* Adds time in a state; equal states that meet are one run. */
static void add_run(struct own_fill *f, uint8_t letter, nsec_t time)
{
	struct observation *o = f->observation;

	if (!time)
		return;
	if (!f->interval->run_count || o->runs.items[o->runs.count - 1].letter != letter) {
		*vec_push(&o->runs) = (struct state_run){ .letter = letter };
		f->interval->run_count++;
	}
	o->runs.items[o->runs.count - 1].time += time;
}

static void add_running(struct own_fill *f, const struct stretch *s, nsec_t from, nsec_t to)
{
	nsec_t irq = clamp(use_irq(s, from, to), 0, to - from), time = to - from - irq;

	f->interval->irq += irq;
	f->observation->cpu += time;
	add_run(f, s->interval.start < f->episode_end ? f->episode_state : STATE_RUNNING, time);
}

static void add_blocked(struct own_fill *f, thread_id thread, const struct stretch *s, nsec_t time)
{
	if (s->interval.start >= f->episode_end) {
		struct episode e =
			episode_cached(&f->own->episodes, f->own->spans->model, thread, s);

		f->episode_end = e.last.end;
		f->episode_state = e.state;
	}
	add_run(f, f->episode_state, time);
}

static void add_stretch(struct own_fill *f, thread_id thread, const struct stretch *s, nsec_t from,
			nsec_t to)
{
	if (s->interval.state == STATE_RUNNING)
		add_running(f, s, from, to);
	else if (s->interval.state == STATE_READY)
		f->interval->ready += to - from;
	else if (s->interval.state == STATE_THROTTLED)
		f->interval->throttled += to - from;
	else if (s->interval.state == STATE_GAP)
		f->interval->gap += to - from;
	else
		add_blocked(f, thread, s, to - from);
}

/* Adds what a thread did for the span between two times. */
static void add_thread(struct own_fill *f, thread_id thread, nsec_t from, nsec_t to)
{
	const struct model *model = f->own->spans->model;
	nsec_t begin = model_thread(model, thread)->begin;
	struct stretch s;
	bool more = model_stretch_at(model, thread, from, &s);

	if (!f->own->skips_bytes) {
		byte_sums_add(&f->own->bytes, model, thread, from, to,
			      &f->observation->network_bytes, &f->observation->disk_bytes);
		footprint_add(&f->own->footprint, model, thread, from, to);
	}
	if (!more && from < begin && begin < to) {
		f->interval->gap += begin - from;
		from = begin;
		more = model_stretch_at(model, thread, begin, &s);
	}
	f->episode_end = 0;
	for (; more && from < to && f->stretches < STRETCHES_MAX; f->stretches++) {
		nsec_t end = s.end < to ? s.end : to;

		add_stretch(f, thread, &s, from, end);
		from = end;
		more = model_stretch_next(model, thread, &s);
	}
	f->interval->gap += to - from;
}

static void add_part(struct own_fill *f, const struct span_part *part)
{
	nsec_t time = part->end - part->start;

	if (part->other || part->other_span.i || part->flags & STEP_QUEUEING)
		f->interval->queued += time;
	else if (part->flags & STEP_DERIVED)
		add_run(f, part->state, time);
	else if (part->thread.i)
		add_thread(f, part->thread, part->start, part->end);
	else
		f->interval->gap += time;
}

/* Adds the states of an interval; `next` is the child that ends it. */
static void fill_interval(struct own_fill *f, nsec_t from, nsec_t to, span_id owner, span_id next)
{
	const struct span *span = span_set_at(f->own->spans, f->observation->span);
	nsec_t sent = span->sent ? clamp(span->sent, from, to) : to;
	struct span_work *work = &f->own->work;

	work->items.count = 0;
	if (from < sent)
		section_parts_find(f->own->spans,
				   &(struct span_section){ f->observation->span, from, sent },
				   owner, next, work);
	for (size_t i = 0; i < work->items.count; i++)
		add_part(f, &work->items.items[i]);
	add_run(f, STATE_NETWORK, to - sent); /* the reply is in the send buffer */
}

/*
 * Adds the interval between two cuts.  Next to a child on another clock, a short one can be the
 * error of the clocks, and is empty.
 */
static void add_interval(struct own_fill *f, nsec_t from, nsec_t to, const struct own_cut *before,
			 const struct own_cut *after, span_id owner)
{
	bool is_inexact = (before && before->has_other_clock) || (after && after->has_other_clock);
	struct observation *o = f->observation;

	f->interval = vec_push(&o->intervals);
	*f->interval = (struct own_interval){ .run = o->runs.count };
	f->stretches = 0;
	if (is_inexact && to - from < CLOCK_ERROR)
		return;
	f->interval->total = to - from;
	o->own += to - from;
	if (o->has_states && from < to)
		fill_interval(f, from, to, owner, after ? after->span : (span_id){ 0 });
	f->is_too_long |= f->stretches == STRETCHES_MAX;
}

/* Leaves only the totals if no state is known, or too many are. */
static void check_states(bool is_too_long, struct observation *o)
{
	nsec_t gap = 0;

	for (size_t i = 0; i < o->intervals.count; i++)
		gap += o->intervals.items[i].gap;
	o->has_states &= !is_too_long && (!o->own || gap < o->own);
	if (o->has_states)
		return;
	o->runs.count = 0;
	o->cpu = 0;
	for (size_t i = 0; i < o->intervals.count; i++)
		o->intervals.items[i] =
			(struct own_interval){ .total = o->intervals.items[i].total };
}

void own_states_find(struct own_states *own, bool has_thread, struct observation *observation)
{
	nsec_t at = observation->start + observation->queueing;
	nsec_t end = observation->start + observation->duration;
	struct own_fill f = { .own = own, .observation = observation };
	const struct own_cut *before = NULL;
	span_id owner = section_owner(own->spans, observation->span);

	observation->has_states =
		has_thread || owner.i || section_has_contexts(own->spans, observation->span);
	observation->own = observation->cpu = 0;
	observation->disk_bytes = observation->network_bytes = 0;
	observation->intervals.count = observation->runs.count = 0;
	own->footprint.stack_count = own->footprint.probe_count = 0;
	find_cuts(own, span_set_at(own->spans, observation->span), at, end);
	for (size_t i = 0; i < own->cuts.count; i++) {
		const struct own_cut *cut = &own->cuts.items[i];

		add_interval(&f, at, cut->start, before, cut, owner);
		at = cut->end;
		before = cut;
	}
	add_interval(&f, at, end, before, NULL, owner);
	check_states(f.is_too_long, observation);
}
