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
 * Where a worker goes on unseen, its work is cut between two questions, and which
 * cuts are real is told by numbers: there are as many items as requests.  If all
 * requests take as many questions as any other, it is so many; else it may be
 * where one is asked whom the worker has asked already, if that makes no more items
 * than there are requests.  Where nothing fits, nothing is said.
 */
#include "analyse/requests/internal.h"

/*
 * How many items are looked at for an answer; and of how many it cannot be told, unless
 * one is clearly the nearest.  One is taken all the same, so that the next answers have
 * theirs, but neither it nor the others that it could have been are given to anybody.
 */
enum { CHOICES_MAX = 8, LOOK_MAX = 256, VAGUE = 2 };

struct place {
	uint32_t state;
	nsec_t time;
	nsec_t earliest; /* answers: when the first was read, of this one and all after it */
};

typedef VEC(struct place) places;

/* Where work was cut for another request, and not for nothing. */
enum rule {
	RULE_EVEN,      /* after as many questions as each takes */
	RULE_AGAIN,     /* where one is asked again */
	RULE_NOT_HELLO, /* likewise, but for the first time on a connection */
	RULE_UNCUT,     /* nowhere */
	RULE_NONE,      /* that cannot be told */
	RULE_COUNT
};

/* What one reader has handed out: requests and items of work, and their order. */
struct match {
	struct finder *f;
	struct worker *reader;
	places answers, done; /* by time of answer; of the last that was heard */
	size_t no_reply;      /* requests that may have items, too */
	uint32_t *rank;       /* by state, of all readers: place among those read or begun */
	uint32_t even;        /* questions that each takes */
	bool hello;           /* not counting those that follow a hello */
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

/* Whether a part is more of what it was cut from. */
static bool is_more(struct match *m, const struct work *part, enum rule rule)
{
	const struct work *origin = work_at(m->f, part->origin);
	const struct work *whole = origin->part_of ? work_at(m->f, origin->part_of) : origin;

	switch (rule) {
	case RULE_EVEN:
		return whole->questions < m->even || (m->hello && part->cut == CUT_HELLO);
	case RULE_AGAIN:
		return part->cut < CUT_HELLO;
	case RULE_NOT_HELLO:
		return part->cut < CUT_AGAIN;
	default:
		return true;
	}
}

static uint32_t questions_of(const struct match *m, const struct work *part)
{
	return m->hello && part->cut == CUT_HELLO ? 0 : part->questions;
}

static void join(struct match *m, struct work *part)
{
	part->part_of = work_at(m->f, part->origin)->part_of ?: part->origin;
	part->settled = true;

	struct work *whole = work_at(m->f, part->part_of);

	whole->last = part->last;
	whole->upto = part->upto;
	whole->questions += questions_of(m, part);
}

static void join_parts(struct match *m, enum rule rule)
{
	size_t kept = 0;

	/* parts come after what they are part of */
	for (size_t i = 0; i < m->done.count; i++) {
		struct work *part = work_at(m->f, m->done.items[i].state);

		if (part->origin && is_more(m, part, rule))
			join(m, part);
		else
			m->done.items[kept++] = m->done.items[i];
	}
	m->done.count = kept;
	for (size_t i = 0; i < kept; i++)
		m->done.items[i].time = work_at(m->f, m->done.items[i].state)->last;
	sort(&m->done);
}

/* How many questions each request took, if all took as many; else 0. */
static uint32_t find_even(struct match *m)
{
	size_t questions = 0, requests = m->answers.count;

	for (size_t i = 0; i < m->done.count; i++)
		questions += questions_of(m, work_at(m->f, m->done.items[i].state));

	size_t each = (questions + requests / 2) / requests;
	size_t off = questions > each * requests ? questions - each * requests
						 : each * requests - questions;

	return off * 50 <= requests ? each : 0;
}

/* Which cuts are real: there are no more items than requests. */
static enum rule choose_rule(struct match *m)
{
	size_t requests = m->answers.count + m->no_reply, counts[RULE_COUNT] = { 0 };

	for (int hello = 0; hello < 2; hello++) {
		m->hello = hello;
		m->even = find_even(m);
		if (m->even)
			return RULE_EVEN;
	}
	for (size_t i = 0; i < m->done.count; i++) {
		const struct work *part = work_at(m->f, m->done.items[i].state);

		for (enum rule rule = RULE_AGAIN; rule < RULE_NONE; rule++)
			counts[rule] += !part->origin || !is_more(m, part, rule);
	}
	for (enum rule rule = RULE_AGAIN; rule < RULE_UNCUT; rule++)
		if (counts[rule] <= requests)
			return rule;
	/* where nothing was cut there must be enough, as some may have gone unseen */
	return counts[RULE_UNCUT] <= requests && counts[RULE_UNCUT] * 50 >= requests * 49
		       ? RULE_UNCUT
		       : RULE_NONE;
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
	span->parent = work_at(m->f, work)->vague ? 0 : request;
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
	if (count > VAGUE && second - nearest <= clear)
		for (size_t i = 0; i < count; i++)
			work_at(m->f, choices[i])->vague = true;
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
	size_t from = 0;

	if (!m->answers.count || !m->done.count)
		return;
	sort(&m->answers);
	find_earliest(m);
	drop_early(m);
	sort(&m->done);

	enum rule rule = choose_rule(m);

	join_parts(m, rule);
	if (rule == RULE_NONE)
		return;
	m->reader->takes_back = true;
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
	const struct work *work = work_at(f, state);
	const struct worker *boss = worker_of(f, work->boss);
	bool late = for_whom->answered && work->first > for_whom->answer;
	bool passed = pool_is_turnstile(f, span->thread.i, work->queue);

	if (for_whom->holder || late || passed || (boss->takes_back && boss->shares))
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
			readers[span->thread.i].no_reply++;
		else if (span->kind == REQUEST_HANDOFF && work->first && !work->settled)
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
		readers[i].reader = &f->workers[i];
		readers[i].rank = rank;
		/* who is always busy is never woken by those who give back, but answers for them */
		if (f->workers[i].shares)
			match_reader(&readers[i]);
		vec_done(&readers[i].answers);
		vec_done(&readers[i].done);
	}
	for (uint32_t i = 1; i < f->out->spans.count; i++) {
		if (!is_handoff(f, i) || work_at(f, i)->settled)
			continue;
		if (work_at(f, i)->origin)
			join(&(struct match){ .f = f }, work_at(f, i));
		else
			keep_or_drop(f, i);
	}
	free(readers);
	free(rank);
}
