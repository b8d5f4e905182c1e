/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests_match - whose work it was that came back to be answered by its reader.
 *
 * Work goes out through a queue and comes back through another one.  So who is
 * done first is answered first, and who began first has what was read first.  Of
 * each item of work is known that it was done between the last answer that it
 * heard and the next thing that its thread did, which leaves one item for most of
 * the reader's answers.  Where that leaves several, the one is taken whose place
 * among all that began is nearest to the request's place among all that were read.
 *
 * There are no more items than requests; so if there seem to be, a worker that
 * asked the same one again did so for the same request.
 */
#include "analyse/requests_parts.h"

/* How many items are looked at for an answer. */
enum { CHOICES_MAX = 8, LOOK_MAX = 256 };

struct place {
	uint32_t state;
	nsec_t time;
	nsec_t earliest; /* answers: when the first was read, of this one and all after it */
};

typedef VEC(struct place) places;

/* What one reader has handed out: requests and items of work, and their order. */
struct match {
	struct finder *f;
	places answers, done; /* by time of answer; of the last that was heard */
	size_t unanswered;    /* requests that may have items, too */
	uint32_t *rank;       /* by state, of all readers: place among those read or begun */
	float offset;         /* between both ranks, as it was lately */
};

static int by_time(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time)
		       ?: (x->state > y->state) - (x->state < y->state);
}

static void add_place(places *list, uint32_t state, nsec_t time)
{
	*vec_push(list) = (struct place){ .state = state, .time = time };
}

static void sort(places *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(list->items[0]), by_time);
}

/* Number the states by the times that they stand with. */
static void number(struct match *m, places *list)
{
	sort(list);
	for (size_t i = 0; i < list->count; i++)
		m->rank[list->items[i].state] = i;
	vec_done(list);
}

static void number_all(struct match *m)
{
	places read = { 0 }, begun = { 0 };

	for (size_t i = 0; i < m->answers.count; i++) {
		uint32_t state = m->answers.items[i].state;

		add_place(&read, state, work_at(m->f, state)->came->time);
	}
	for (size_t i = 0; i < m->done.count; i++) {
		uint32_t state = m->done.items[i].state;

		add_place(&begun, state, work_at(m->f, state)->popped);
	}
	number(m, &read);
	number(m, &begun);
}

/* What was believed to be done when its thread asked somebody again was not. */
static void join_parts(struct match *m, bool all)
{
	size_t kept = 0;

	/* parts come after what they are part of */
	for (size_t i = 0; i < m->done.count; i++) {
		uint32_t state = m->done.items[i].state;
		struct work *work = work_at(m->f, state);

		if (!work->origin || (!all && !work->weak)) {
			m->done.items[kept++] = m->done.items[i];
			continue;
		}
		work->part_of = work_at(m->f, work->origin)->part_of ?: work->origin;

		struct work *whole = work_at(m->f, work->part_of);

		whole->last = work->last;
		whole->upto = work->upto;
		work->settled = true;
	}
	m->done.count = kept;
	for (size_t i = 0; i < kept; i++)
		m->done.items[i].time = work_at(m->f, m->done.items[i].state)->last;
}

/* Those that can have been what is answered: it was read before, and it is answered after. */
static size_t find_choices(struct match *m, const struct place *answer, size_t from,
			   uint32_t *choices)
{
	const struct work *request = work_at(m->f, answer->state);
	nsec_t bound = answer->time;
	size_t count = 0;

	for (size_t i = from; i < m->done.count && i < from + LOOK_MAX; i++) {
		const struct place *done = &m->done.items[i];
		const struct work *work = work_at(m->f, done->state);

		if (done->time > bound || count == CHOICES_MAX)
			break;
		if (work->settled || work->first < request->came->time)
			continue;
		choices[count++] = done->state;
		if (work->upto && work->upto < bound)
			bound = work->upto; /* who was done after that is not the first */
	}
	return count;
}

static float distance(const struct match *m, uint32_t work, uint32_t request)
{
	float d = (float)m->rank[work] - (float)m->rank[request] - m->offset;

	return d < 0 ? -d : d;
}

static void give(struct match *m, uint32_t work, uint32_t request, float confidence)
{
	struct request_span *span = span_at(m->f, work);

	work_at(m->f, work)->settled = true;
	work_at(m->f, request)->holder = work;
	span->parent = request;
	span->confidence = confidence;
	if (span->start < span_at(m->f, request)->start)
		span->start = span_at(m->f, request)->start;
	m->offset += ((float)m->rank[work] - (float)m->rank[request] - m->offset) / 16;
}

/* How much nearer the nearest must be to be clearly that. */
static const float clear = 3;

static void match_answer(struct match *m, const struct place *answer, size_t from)
{
	uint32_t choices[CHOICES_MAX], best = 0;
	size_t count = find_choices(m, answer, from, choices);
	float nearest = 0, second = 0;

	for (size_t i = 0; i < count; i++) {
		float d = distance(m, choices[i], answer->state);

		if (!best || d < nearest) {
			second = best ? nearest : d + clear + 1;
			nearest = d;
			best = choices[i];
		} else if (d < second) {
			second = d;
		}
	}
	if (best)
		give(m, best, answer->state,
		     count == 1                 ? 0.99f
		     : second - nearest > clear ? 0.95f
						: 0.9f);
}

static void find_earliest(struct match *m)
{
	nsec_t earliest = UINT64_MAX;

	for (size_t i = m->answers.count; i-- > 0;) {
		nsec_t read = work_at(m->f, m->answers.items[i].state)->came->time;

		earliest = read < earliest ? read : earliest;
		m->answers.items[i].earliest = earliest;
	}
}

/* Whether an item has its request, or began before any that is left was read. */
static bool is_over(struct match *m, size_t done, const struct place *answer)
{
	const struct work *work = work_at(m->f, m->done.items[done].state);

	return work->settled || work->first < answer->earliest;
}

/* Leave out what was asked for before the first request was read that is known. */
static void drop_early(struct match *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->done.count; i++)
		if (work_at(m->f, m->done.items[i].state)->first >= m->answers.items[0].earliest)
			m->done.items[kept++] = m->done.items[i];
	m->done.count = kept;
}

static void match_reader(struct match *m)
{
	size_t from = 0, requests = m->answers.count + m->unanswered;

	if (!m->answers.count)
		return;
	sort(&m->answers);
	find_earliest(m);
	drop_early(m);
	sort(&m->done);
	for (int all = 0; all < 2 && m->done.count > requests; all++)
		join_parts(m, all);
	if (m->done.count > requests)
		return; /* several for each */
	sort(&m->done);
	number_all(m);
	for (size_t i = 0; i < m->answers.count; i++) {
		while (from < m->done.count && is_over(m, from, &m->answers.items[i]))
			from++;
		match_answer(m, &m->answers.items[i], from);
	}
}

/* Work of which nothing told whose it was is for whom its thread was woken, if nobody else is. */
static void keep_or_drop(struct finder *f, uint32_t state)
{
	struct request_span *span = span_at(f, state);
	const struct work *for_whom = work_at(f, span->parent);
	const struct worker *boss = worker_of(f, work_at(f, state)->boss);
	bool late = for_whom->answered && work_at(f, state)->first > for_whom->answer;

	if (for_whom->holder || late || (boss->takes_back && boss->shares))
		span->parent = 0;
	else
		span->confidence = 0.9f;
}

/* Requests and items of those that take work back, by reader. */
static void gather(struct finder *f, struct match *readers)
{
	for (uint32_t i = 1; i < f->out->spans.count; i++) {
		const struct request_span *span = span_at(f, i);
		const struct work *work = work_at(f, i);

		if (span->kind == REQUEST_NETWORK && work->by_reader)
			add_place(&readers[span->thread.i].answers, i, work->answer);
		else if (span->kind == REQUEST_NETWORK && !work->answered)
			readers[span->thread.i].unanswered++;
		else if (span->kind == REQUEST_HANDOVER && work->first && !work->settled)
			add_place(&readers[work->boss].done, i, work->last);
	}
}

void match_work(struct finder *f)
{
	size_t threads = model_thread_count(f->model);
	struct match *readers = must_alloc(threads * sizeof(*readers));
	uint32_t *rank = must_alloc(f->out->spans.count * sizeof(*rank));

	gather(f, readers);
	for (size_t i = 0; i < threads; i++) {
		readers[i].f = f;
		readers[i].rank = rank;
		if (f->workers[i].takes_back && f->workers[i].shares)
			match_reader(&readers[i]);
		vec_done(&readers[i].answers);
		vec_done(&readers[i].done);
	}
	for (uint32_t i = 1; i < f->out->spans.count; i++)
		if (is_handover(f, i) && !work_at(f, i)->settled)
			keep_or_drop(f, i);
	free(readers);
	free(rank);
}
