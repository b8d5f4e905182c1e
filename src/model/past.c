/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the window has forgotten of spans that are still open: totals per state.
 *
 * A span is recorded when it ends, and its begin can be older than the window then.  But the
 * context of its thread named it at its begin.  So a thread with contexts has a sum of the time in
 * each state, over all intervals that the window has dropped; and when it drops a context that
 * names a span without an end, it keeps what that sum was at the start of the context.  The
 * difference of the two is what the thread did since.
 *
 * A span begins a moment before its context: the agent reads the clock later, or, without reports
 * of an agent, the context is observed at the next switch-out.  So a mark also has the last few
 * states before it, as far back as the thread can have worked for the span.
 *
 * Each dropped interval and each dropped context is read once.  A thread has a bounded number of
 * such spans; of more, the one that was not in a context for the longest time is dropped: its end
 * was lost.
 */
#include <string.h>

#include "event/kind.h"
#include "model/model_internal.h"

enum {
	PAST_STATES = 12,
	MARKS_MAX = 32,
	RUNS_MAX = 4, /* a slice, and a wait in it with the slice before */
	/* Spans that are looked up each time.  A recorded one stays for a window: many times. */
	LOOKUPS = 8,
};

/* The last changes of state of a thread; the number n is at n % RUNS_MAX. */
struct past_runs {
	nsec_t starts[RUNS_MAX];
	uint8_t states[RUNS_MAX]; /* as below; NO_STATE in a gap */
	uint32_t count;           /* of all since the start */
};

enum { NO_STATE = UINT8_MAX };

/* The sum at the start of a span. */
struct past_mark {
	uint8_t trace[16], id[8];
	nsec_t time; /* start of its context */
	nsec_t lead; /* from here on, the thread can have worked for it */
	struct past_runs runs;
	nsec_t used; /* start of its newest context that was dropped */
	nsec_t end;  /* of the span; 0: unknown yet */
	nsec_t states[PAST_STATES];
};

struct thread_past {
	nsec_t until;               /* end of the sum */
	nsec_t states[PAST_STATES]; /* by position in state_letters */
	struct past_runs runs;
	VEC(struct past_mark) marks;
	size_t next; /* mark whose span is looked up next */
};

void model_past_free(struct thread_past *past)
{
	if (past)
		vec_done(&past->marks);
	free(past);
}

size_t model_past_memory(const struct thread_past *past)
{
	return past ? sizeof(*past) + past->marks.room * sizeof(past->marks.items[0]) : 0;
}

static void add_run(struct past_runs *runs, nsec_t start, uint8_t state)
{
	uint32_t last = runs->count - 1, next = runs->count % RUNS_MAX;

	if (runs->count && runs->states[last % RUNS_MAX] == state)
		return;
	runs->starts[next] = start;
	runs->states[next] = state;
	runs->count++;
}

/* Adds what the thread did up to t; what it does now is recorded later. */
static void advance(const struct model *model, thread_id id, nsec_t t)
{
	const struct thread *thread = model_thread(model, id);
	struct thread_past *past = thread->past;
	struct stretch s;

	if (t > thread->end)
		t = thread->end;
	for (bool more = model_stretch_at(model, id, past->until, &s); more && past->until < t;
	     more = model_stretch_next(model, id, &s)) {
		const char *letter =
			s.interval.state ? strchr(state_letters, s.interval.state) : NULL;
		nsec_t end = s.end < t ? s.end : t;

		add_run(&past->runs, past->until, letter ? letter - state_letters : NO_STATE);
		if (letter)
			past->states[letter - state_letters] += end - past->until;
		past->until = end;
	}
}

static struct past_mark *find_mark(const struct thread_past *past, const uint8_t trace[16],
				   const uint8_t id[8])
{
	for (size_t i = 0; i < past->marks.count; i++) {
		struct past_mark *mark = &past->marks.items[i];

		if (memcmp(mark->id, id, 8) == 0 && memcmp(mark->trace, trace, 16) == 0)
			return mark;
	}
	return NULL;
}

static struct past_mark *new_mark(struct thread_past *past)
{
	struct past_mark *oldest = past->marks.items;

	if (past->marks.count < MARKS_MAX)
		return vec_push(&past->marks);
	for (size_t i = 1; i < past->marks.count; i++)
		if (past->marks.items[i].used < oldest->used)
			oldest = &past->marks.items[i];
	return oldest;
}

/*
 * Since when the thread can have worked for the span of a context: during the context before,
 * unless that is of another trace.
 */
static nsec_t lead_of(const struct model *model, thread_id id, const struct context *context)
{
	const struct span_ref *ref = model_span_ref(model, context->ref), *before;
	struct context_stretch c;

	if (!context->start || !model_context_from(model, id, context->start - 1, &c) ||
	    c.context.start >= context->start)
		return 0;
	before = model_span_ref(model, c.context.ref);
	if (c.context.ref && memcmp(before->trace, ref->trace, sizeof(ref->trace)) != 0)
		return context->start;
	return c.context.start;
}

static void mark_context(const struct model *model, thread_id id, const struct context *context,
			 nsec_t t)
{
	struct thread_past *past = model_thread(model, id)->past;
	const struct span_ref *ref = model_span_ref(model, context->ref);
	const struct span *span = model_span(model, ref->span);

	if (ref->span.i && span->end <= t)
		return;
	advance(model, id, context->start);
	if (past->until != context->start)
		return;

	struct past_mark *mark = find_mark(past, ref->trace, ref->id);

	if (!mark) {
		mark = new_mark(past);
		*mark = (struct past_mark){ .time = context->start,
					    .lead = lead_of(model, id, context),
					    .runs = past->runs };
		memcpy(mark->trace, ref->trace, sizeof(mark->trace));
		memcpy(mark->id, ref->id, sizeof(mark->id));
		memcpy(mark->states, past->states, sizeof(mark->states));
	}
	mark->used = context->start;
}

/* Most marks are of spans that were never recorded: looking up all each time would take long. */
static void find_ends(const struct model *model, struct thread_past *past)
{
	size_t count = past->marks.count < LOOKUPS ? past->marks.count : LOOKUPS;

	for (size_t i = 0; i < count; i++) {
		struct past_mark *mark = &past->marks.items[past->next++ % past->marks.count];
		const uint64_t *at =
			map_find(&model->span_index, model_span_hash(mark->trace, mark->id));

		if (at)
			mark->end = model->spans.items[*at].end;
	}
}

/* Those of spans that have ended before the window. */
static void drop_marks(struct thread_past *past, nsec_t t)
{
	size_t kept = 0;

	for (size_t i = 0; i < past->marks.count; i++) {
		struct past_mark *mark = &past->marks.items[i];

		if (!mark->end || mark->end > t)
			past->marks.items[kept++] = *mark;
	}
	past->marks.count = kept;
}

void model_past_keep(struct model *model, thread_id id, nsec_t t)
{
	struct thread *thread = thread_at(model, id);
	const struct timeline *contexts = thread->timelines[TIMELINE_CONTEXTS];

	if (!contexts)
		return;
	if (!thread->past) {
		thread->past = must_alloc(sizeof(*thread->past));
		thread->past->until = thread->begin;
	}
	TIMELINE_EACH_BETWEEN(struct context, context, contexts, thread->past->until, t)
	if (context->ref)
		mark_context(model, id, context, t);
	advance(model, id, t);
	find_ends(model, thread->past);
	drop_marks(thread->past, t);
}

/* Takes the mark of a thread if it is earlier than the one that was found. */
static void consider(const struct model *model, thread_id thread, const struct span *span,
		     const struct thread_past **past, const struct past_mark **mark)
{
	const struct thread_past *other = model_thread(model, thread)->past;
	const struct past_mark *found = other ? find_mark(other, span->trace, span->id) : NULL;

	if (!found || (*mark && (*mark)->time <= found->time))
		return;
	*past = other;
	*mark = found;
}

/* Adds what the thread did since `start`, before its context; returns from when on that is known.
 */
static nsec_t add_lead(const struct past_mark *mark, nsec_t start, nsec_t states[128])
{
	const struct past_runs *runs = &mark->runs;
	uint32_t oldest = runs->count > RUNS_MAX ? runs->count - RUNS_MAX : 0;
	nsec_t end = mark->time;

	start = start > mark->lead ? start : mark->lead;
	for (uint32_t i = runs->count; i > oldest && start < end; i--) {
		uint32_t at = (i - 1) % RUNS_MAX;
		nsec_t from = runs->starts[at] > start ? runs->starts[at] : start;

		if (from >= end)
			continue;
		if (runs->states[at] != NO_STATE)
			states[(int)state_letters[runs->states[at]]] += end - from;
		end = from;
	}
	return end;
}

bool model_span_past(const struct model *model, const struct span *span, struct span_past *ret)
{
	const struct thread_past *past = NULL;
	const struct past_mark *mark = NULL;
	uint32_t next = model_span_ref(model, span->ref)->first_residency;

	consider(model, span->thread, span, &past, &mark);
	for (; next; next = model_residency(model, next)->next)
		consider(model, model_residency(model, next)->thread, span, &past, &mark);
	if (!mark)
		return false;
	*ret = (struct span_past){ .until = past->until };
	for (size_t i = 0; state_letters[i]; i++)
		ret->states[(int)state_letters[i]] = past->states[i] - mark->states[i];
	ret->from = add_lead(mark, span->start, ret->states);
	return true;
}
