/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match - assign the work of a pool to the requests that its reader replied to.
 *
 * A reader hands requests to workers through a queue and gets results back through another queue.
 * So it replies in the order in which items are finished, and items begin in the order in which
 * requests were received.  An item was finished between the last reply that its worker read and the
 * worker's next action, which leaves one item for most of the reader's replies.  If it leaves
 * several, the best is the one whose rank among all begun items is nearest to the request's rank
 * among all received requests.
 *
 * A worker can take its next item without a visible event, so pool.c cuts its work before each call
 * that can start an item.  Which cuts are real follows from numbers, as there are as many items as
 * requests: if all requests take the same number of calls, items end after that many; otherwise
 * items end where a call repeats a target, if that makes no more items than requests.  If no rule
 * fits, the work gets no request.
 */
#include "analyse/requests/internal.h"

/*
 * Limits on the items that are considered for a reply.  With more than INDISTINCT possible items,
 * of which none is clearly the nearest, the nearest is used up, so that the next replies get
 * theirs, but none of these items gets a request.
 */
enum { CHOICES_MAX = 8, SEARCH_MAX = 256, INDISTINCT = 2 };

struct timed_state {
	uint32_t state;
	nsec_t time;
	nsec_t earliest; /* of replies: the earliest receive of this and all later requests */
};

typedef VEC(struct timed_state) timed_states;

/* Which cuts of work start an item for another request. */
enum cut_rule {
	RULE_EVEN,          /* after the number of calls that each request takes */
	RULE_REPEATED,      /* where a call repeats a target */
	RULE_NOT_HANDSHAKE, /* where a call repeats a target, other than on a new connection */
	RULE_UNCUT,         /* none */
	RULE_NONE,          /* unknown */
	RULE_COUNT
};

/* The requests and items of work of one reader. */
struct reader_match {
	struct finder *f;
	struct worker *reader;
	timed_states replies, done; /* by time of reply; by time of the last message */
	size_t no_reply;            /* requests without a reply, which can have items as well */
	uint32_t *rank; /* by state: rank among the received or begun ones of its reader */
	uint32_t even;  /* calls that each request takes */
	bool handshake; /* without counting calls after a handshake */
	float offset;   /* recent mean difference between both ranks */
};

static int by_time(const void *a, const void *b)
{
	const struct timed_state *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time)
		       ?: (x->state > y->state) - (x->state < y->state);
}

static void add_timed(timed_states *list, uint32_t state, nsec_t time)
{
	*vec_push(list) = (struct timed_state){ .state = state, .time = time };
}

static void sort(timed_states *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(list->items[0]), by_time);
}

/* Ranks the states by their times. */
static void rank_list(struct reader_match *m, timed_states *list)
{
	sort(list);
	for (size_t i = 0; i < list->count; i++)
		m->rank[list->items[i].state] = i;
	vec_done(list);
}

static void rank_all(struct reader_match *m)
{
	timed_states read = { 0 }, begun = { 0 };

	for (size_t i = 0; i < m->replies.count; i++) {
		uint32_t state = m->replies.items[i].state;

		add_timed(&read, state, state_at(m->f, state)->received->time);
	}
	for (size_t i = 0; i < m->done.count; i++) {
		uint32_t state = m->done.items[i].state;

		add_timed(&begun, state, state_at(m->f, state)->taken);
	}
	rank_list(m, &read);
	rank_list(m, &begun);
}

enum { COUNTED_RULES = RULE_NONE - RULE_REPEATED };

static bool starts_item(const struct work_state *part, enum cut_rule rule)
{
	static const uint8_t least[] = { [RULE_REPEATED] = CUT_HANDSHAKE,
					 [RULE_NOT_HANDSHAKE] = CUT_REPEATED,
					 [RULE_UNCUT] = UINT8_MAX };

	return !part->origin || part->cut >= least[rule];
}

/* Whether a part continues the item that it was cut from. */
static bool continues(struct reader_match *m, const struct work_state *part, enum cut_rule rule)
{
	const struct work_state *origin = state_at(m->f, part->origin);
	const struct work_state *whole = origin->part_of ? state_at(m->f, origin->part_of) : origin;

	switch (rule) {
	case RULE_EVEN:
		return whole->calls < m->even || (m->handshake && part->cut == CUT_HANDSHAKE);
	case RULE_REPEATED:
	case RULE_NOT_HANDSHAKE:
		return !starts_item(part, rule);
	default:
		return true;
	}
}

static uint32_t calls_of(const struct reader_match *m, const struct work_state *part)
{
	return m->handshake && part->cut == CUT_HANDSHAKE ? 0 : part->calls;
}

static void join(struct reader_match *m, struct work_state *part)
{
	part->part_of = state_at(m->f, part->origin)->part_of ?: part->origin;
	part->settled = true;

	struct work_state *whole = state_at(m->f, part->part_of);

	whole->last_message = part->last_message;
	whole->over_by = part->over_by;
	whole->calls += calls_of(m, part);
}

static void join_parts(struct reader_match *m, enum cut_rule rule)
{
	size_t kept = 0;

	/* a part follows its origin in the list */
	for (size_t i = 0; i < m->done.count; i++) {
		struct work_state *part = state_at(m->f, m->done.items[i].state);

		if (part->origin && continues(m, part, rule))
			join(m, part);
		else
			m->done.items[kept++] = m->done.items[i];
	}
	m->done.count = kept;
	for (size_t i = 0; i < kept; i++)
		m->done.items[i].time = state_at(m->f, m->done.items[i].state)->last_message;
	sort(&m->done);
}

/* The number of calls of each request, if it is the same for all; otherwise 0. */
static uint32_t find_even(struct reader_match *m)
{
	const struct pool_counts *before = &m->reader->pool;
	size_t calls = before->calls[m->handshake], requests = before->requests + m->replies.count;

	for (size_t i = 0; i < m->done.count; i++)
		calls += calls_of(m, state_at(m->f, m->done.items[i].state));

	size_t each = (calls + requests / 2) / requests;
	size_t off = calls > each * requests ? calls - each * requests : each * requests - calls;

	return off * 50 <= requests ? each : 0;
}

/* The rule that makes no more items than requests. */
static enum cut_rule choose_rule(struct reader_match *m)
{
	const struct pool_counts *before = &m->reader->pool;
	size_t requests = before->requests + m->replies.count + m->no_reply;
	size_t counts[RULE_COUNT] = { 0 };

	for (int handshake = 0; handshake < 2; handshake++) {
		m->handshake = handshake;
		m->even = find_even(m);
		if (m->even)
			return RULE_EVEN;
	}
	for (enum cut_rule rule = RULE_REPEATED; rule < RULE_NONE; rule++)
		counts[rule] = before->parts[rule - RULE_REPEATED];
	for (size_t i = 0; i < m->done.count; i++) {
		const struct work_state *part = state_at(m->f, m->done.items[i].state);

		for (enum cut_rule rule = RULE_REPEATED; rule < RULE_NONE; rule++)
			counts[rule] += starts_item(part, rule);
	}
	for (enum cut_rule rule = RULE_REPEATED; rule < RULE_UNCUT; rule++)
		if (counts[rule] <= requests)
			return rule;
	/* without cuts there must be enough items: some can have no visible start */
	return counts[RULE_UNCUT] <= requests && counts[RULE_UNCUT] * 50 >= requests * 49
		       ? RULE_UNCUT
		       : RULE_NONE;
}

/* The items that a reply can be the result of: begun after the receive, finished before the reply.
 */
static size_t find_choices(struct reader_match *m, const struct timed_state *reply, size_t from,
			   uint32_t *choices)
{
	const struct work_state *request = state_at(m->f, reply->state);
	nsec_t bound = reply->time;
	size_t count = 0;

	for (size_t i = from; i < m->done.count && i < from + SEARCH_MAX; i++) {
		const struct timed_state *done = &m->done.items[i];
		const struct work_state *work = state_at(m->f, done->state);

		if (done->time > bound || count == CHOICES_MAX)
			break;
		if (work->settled || work->first_call < request->received->time)
			continue;
		choices[count++] = done->state;
		if (work->over_by && work->over_by < bound)
			bound = work->over_by; /* an item that was finished later is not the first
						*/
	}
	return count;
}

static float distance(const struct reader_match *m, uint32_t work, uint32_t request)
{
	float d = (float)m->rank[work] - (float)m->rank[request] - m->offset;

	return d < 0 ? -d : d;
}

static void assign(struct reader_match *m, uint32_t work, uint32_t request, float confidence)
{
	struct request_span *span = span_at(m->f, work);

	state_at(m->f, work)->settled = true;
	state_at(m->f, request)->handoff = work;
	span->parent = state_at(m->f, work)->indistinct ? 0 : request;
	span->confidence = confidence;
	if (span->start < span_at(m->f, request)->start)
		span->start = span_at(m->f, request)->start;
	m->offset += ((float)m->rank[work] - (float)m->rank[request] - m->offset) / 16;
}

/* How much nearer, in ranks, the nearest item must be to be clearly the nearest. */
static const float clear_margin = 3;

static void match_reply(struct reader_match *m, const struct timed_state *reply, size_t from)
{
	uint32_t choices[CHOICES_MAX], best = 0;
	size_t count = find_choices(m, reply, from, choices);
	float nearest = 0, second = 0;

	for (size_t i = 0; i < count; i++) {
		float d = distance(m, choices[i], reply->state);

		if (!best || d < nearest) {
			second = best ? nearest : d + clear_margin + 1;
			nearest = d;
			best = choices[i];
		} else if (d < second) {
			second = d;
		}
	}
	if (count > INDISTINCT && second - nearest <= clear_margin)
		for (size_t i = 0; i < count; i++)
			state_at(m->f, choices[i])->indistinct = true;
	if (best)
		assign(m, best, reply->state,
		       count == 1                        ? 0.99f
		       : second - nearest > clear_margin ? 0.95f
							 : 0.9f);
}

static void find_earliest(struct reader_match *m)
{
	nsec_t earliest = UINT64_MAX;

	for (size_t i = m->replies.count; i-- > 0;) {
		nsec_t read = state_at(m->f, m->replies.items[i].state)->received->time;

		earliest = read < earliest ? read : earliest;
		m->replies.items[i].earliest = earliest;
	}
}

/* Whether an item has its request, or began before any remaining request was received. */
static bool is_over(struct reader_match *m, size_t done, const struct timed_state *reply)
{
	const struct work_state *work = state_at(m->f, m->done.items[done].state);

	return work->settled || work->first_call < reply->earliest;
}

/* Leave out items that began before the first known request was received. */
static void drop_early(struct reader_match *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->done.count; i++)
		if (state_at(m->f, m->done.items[i].state)->first_call >=
		    m->replies.items[0].earliest)
			m->done.items[kept++] = m->done.items[i];
	m->done.count = kept;
}

static void match_reader(struct reader_match *m)
{
	size_t from = 0;

	if (!m->replies.count || !m->done.count)
		return;
	sort(&m->replies);
	find_earliest(m);
	drop_early(m);
	sort(&m->done);

	enum cut_rule rule = choose_rule(m);

	join_parts(m, rule);
	if (rule == RULE_NONE)
		return;
	m->reader->gets_results = true;
	rank_all(m);
	for (size_t i = 0; i < m->replies.count; i++) {
		while (from < m->done.count && is_over(m, from, &m->replies.items[i]))
			from++;
		match_reply(m, &m->replies.items[i], from);
	}
}

static bool is_item(const struct request_span *span, const struct work_state *work)
{
	return span->kind == REQUEST_HANDOFF && work->first_call && !work->settled;
}

void pool_counts_add(struct pool_counts *counts, const struct request_span *span,
		     const struct work_state *work)
{
	counts->requests += span->kind == REQUEST_NETWORK && work->reader_replied;
	if (!is_item(span, work))
		return;
	counts->calls[0] += work->calls;
	counts->calls[1] += work->cut == CUT_HANDSHAKE ? 0 : work->calls;
	for (size_t i = 0; i < COUNTED_RULES; i++)
		counts->parts[i] += starts_item(work, RULE_REPEATED + i);
}

void pool_counts_halve(struct pool_counts *counts)
{
	counts->requests /= 2;
	counts->calls[0] /= 2;
	counts->calls[1] /= 2;
	for (size_t i = 0; i < COUNTED_RULES; i++)
		counts->parts[i] /= 2;
}

/* Work without a match is for the request of the wakeup, unless that request has other work. */
static void keep_or_drop(struct finder *f, uint32_t state)
{
	struct request_span *span = span_at(f, state);
	const struct work_state *request = state_at(f, span->parent);
	const struct work_state *work = state_at(f, state);
	const struct worker *dispatcher = worker_of(f, work->dispatcher);
	bool late = request->replied && work->first_call > request->replied_at;
	bool is_lock = pool_is_shared_lock(f, span->thread.i, work->queue);

	if (request->handoff || late || is_lock ||
	    (dispatcher->gets_results && dispatcher->holds_several))
		span->parent = 0;
	else
		span->confidence = 0.9f;
}

/* Collect requests and items by reader. */
static void gather(struct finder *f, struct reader_match *readers)
{
	for (uint32_t i = 1; i < f->out->spans.count; i++) {
		const struct request_span *span = span_at(f, i);
		const struct work_state *work = state_at(f, i);

		if (span->kind == REQUEST_NETWORK && work->reader_replied)
			add_timed(&readers[span->thread.i].replies, i, work->replied_at);
		else if (span->kind == REQUEST_NETWORK && !work->replied)
			readers[span->thread.i].no_reply++;
		else if (is_item(span, work))
			add_timed(&readers[work->dispatcher].done, i, work->last_message);
	}
}

void match_handoffs(struct finder *f)
{
	size_t threads = model_thread_count(f->model);
	struct reader_match *readers = must_alloc(threads * sizeof(*readers));
	uint32_t *rank = must_alloc(f->out->spans.count * sizeof(*rank));

	gather(f, readers);
	for (size_t i = 0; i < threads; i++) {
		readers[i].f = f;
		readers[i].reader = worker_of(f, i);
		readers[i].rank = rank;
		/* a busy reader needs no wakeups from its workers, but sends their replies */
		if (worker_of(f, i)->holds_several)
			match_reader(&readers[i]);
		vec_done(&readers[i].replies);
		vec_done(&readers[i].done);
	}
	for (uint32_t i = 1; i < f->out->spans.count; i++) {
		if (!state_is_handoff(f, i) || state_at(f, i)->settled)
			continue;
		if (state_at(f, i)->origin)
			join(&(struct reader_match){ .f = f }, state_at(f, i));
		else
			keep_or_drop(f, i);
	}
	free(readers);
	free(rank);
}
