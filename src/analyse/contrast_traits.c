/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/contrast_traits.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/sort.h"

enum { TRAITS_KEPT = 8, CALLS_KEPT = 8, CALLS_TRIED = 32 };

#define PROBABLE 0.01 /* a probability from which on chance is an explanation */

void contrast_traits_done(struct contrast_traits *traits)
{
	vec_done(&traits->traits);
	vec_done(&traits->calls);
}

/* The requests that reach a service. */
struct service_reach {
	uint32_t slow, usual;
	uint32_t last; /* number of the last request */
};

struct trait_finder {
	const struct span_set *spans;
	const struct contrast *contrast;
	struct contrast_traits *found;
	struct map traits, calls; /* hash of the key -> index + 1 */
	struct map services;      /* name -> index + 1 in `reach` */
	VEC(struct service_reach) reach;
	uint32_t request; /* number of the current request, counted from 1 */
	bool is_slow;
};

/* What a trait is a value of, and the value. */
struct trait_key {
	uint64_t value;
	uint32_t service, key; /* of an attribute: its key */
	uint32_t kind, type;   /* of an attribute: the type of its value */
};

/* Counts a request of a span's service; returns the index of the service. */
static uint32_t reach_service(struct trait_finder *f, const struct span *span)
{
	uint64_t *at = map_insert(&f->services, span->service.i);

	if (!*at) {
		*vec_push(&f->reach) = (struct service_reach){ 0 };
		*at = f->reach.count;
	}

	struct service_reach *reach = &f->reach.items[*at - 1];

	if (reach->last != f->request) {
		reach->last = f->request;
		reach->slow += f->is_slow;
		reach->usual += !f->is_slow;
	}
	return *at - 1;
}

static void add_trait(struct trait_finder *f, struct trait_key key, struct trait trait)
{
	uint64_t *at = map_insert(&f->traits, hash_bytes(&key, sizeof(key)));

	if (!*at) {
		*vec_push(&f->found->traits) = trait;
		*at = f->found->traits.count;
	}

	struct trait *t = &f->found->traits.items[*at - 1];

	if (t->last == f->request)
		return;
	t->last = f->request;
	t->slow_requests += f->is_slow;
	t->usual_requests += !f->is_slow;
}

static void add_attributes(struct trait_finder *f, span_id id, uint32_t reach)
{
	const struct span *span = span_set_at(f->spans, id);
	struct attributes attributes = { 0 };

	if (id.i < model_span_count(f->spans->model))
		attributes = model_span_attributes(f->spans->model, id);
	for (size_t i = 0; i < attributes.count; i++) {
		const struct attribute *a = &attributes.items[i];

		add_trait(f,
			  (struct trait_key){ a->value, span->service.i, a->key.i, TRAIT_ATTRIBUTE,
					      a->type },
			  (struct trait){ .kind = TRAIT_ATTRIBUTE,
					  .span = id,
					  .attribute = a,
					  .reach = reach });
	}
}

static void add_thread(struct trait_finder *f, span_id id, uint32_t reach)
{
	const struct span *span = span_set_at(f->spans, id);
	const struct thread *thread = model_thread(f->spans->model, span->thread);
	const uint64_t values[] = {
		[TRAIT_HOST] = thread->host,
		[TRAIT_PROCESS] = (uint64_t)thread->host << 32 | thread->pid,
		[TRAIT_THREAD] = span->thread.i,
	};

	if (!span->thread.i)
		return;
	for (uint32_t kind = TRAIT_HOST; kind <= TRAIT_THREAD; kind++)
		add_trait(f, (struct trait_key){ values[kind], span->service.i, 0, kind, 0 },
			  (struct trait){ .kind = kind, .span = id, .reach = reach });
}

static void add_call(struct trait_finder *f, span_id id)
{
	const struct span *span = span_set_at(f->spans, id);
	uint64_t names = (uint64_t)span->service.i << 32 | span->operation.i;
	uint64_t *at = map_insert(&f->calls, names);

	if (!*at) {
		*vec_push(&f->found->calls) = (struct call_contrast){ .span = id };
		*at = f->found->calls.count;
	}

	struct call_contrast *call = &f->found->calls.items[*at - 1];
	nsec_t time = span->end > span_arrival(span) ? span->end - span_arrival(span) : 0;

	if (f->is_slow) {
		call->slow++;
		call->slow_time += time;
	} else {
		call->usual++;
		call->usual_time += time;
	}
	if (call->last == f->request)
		return;
	call->last = f->request;
	call->slow_requests += f->is_slow;
	call->usual_requests += !f->is_slow;
}

static void add_requests(struct trait_finder *f, const struct contrast_side *side, bool is_slow)
{
	f->is_slow = is_slow;
	for (size_t i = 0; i < side->compared; i++) {
		span_id root = side->requests[contrast_index(side, i)];

		f->request++;
		for (span_id at = root; at.i; at = span_set_next(f->spans, root, at)) {
			uint32_t reach = reach_service(f, span_set_at(f->spans, at));

			add_attributes(f, at, reach);
			add_thread(f, at, reach);
			if (at.i != root.i)
				add_call(f, at);
		}
	}
}

static double log_choose(size_t n, size_t k)
{
	return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
}

double hypergeometric_tail(size_t all, size_t marked, size_t drawn, size_t hits)
{
	double sum = 0, whole = log_choose(all, drawn);

	for (size_t i = hits; i <= marked && i <= drawn; i++)
		if (drawn - i <= all - marked)
			sum += exp(log_choose(marked, i) + log_choose(all - marked, drawn - i) -
				   whole);
	return sum < 1 ? sum : 1;
}

/* Whether a trait is frequent enough in slow requests, and rare enough in others. */
static bool is_candidate(const struct trait *t, size_t slow, size_t usual)
{
	return t->slow_requests > 1 && (size_t)t->slow_requests * 2 >= slow && usual &&
	       (double)t->slow_requests * usual >= 2.0 * t->usual_requests * slow;
}

static int less_probable_first(const void *a, const void *b)
{
	const struct trait *x = a, *y = b;

	if (x->probability != y->probability)
		return x->probability < y->probability ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->span.i != y->span.i)
		return x->span.i < y->span.i ? -1 : 1;
	return x->attribute < y->attribute ? -1 : x->attribute > y->attribute;
}

/* Whether a thread is one of a process, or a process one of a host, with the same requests. */
static bool is_implied(const struct span_set *spans, const struct trait *by, const struct trait *t)
{
	return by->kind != TRAIT_ATTRIBUTE && t->kind != TRAIT_ATTRIBUTE &&
	       by->slow_requests == t->slow_requests && by->usual_requests == t->usual_requests &&
	       span_set_at(spans, by->span)->service.i == span_set_at(spans, t->span)->service.i;
}

static void drop_implied(const struct span_set *spans, struct contrast_traits *found)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->traits.count && kept < TRAITS_KEPT; i++) {
		struct trait t = found->traits.items[i];
		bool implied = false;

		for (size_t k = 0; k < kept; k++)
			implied |= is_implied(spans, &found->traits.items[k], &t);
		if (!implied)
			found->traits.items[kept++] = t;
	}
	found->traits.count = kept;
}

/* The probability of a trait among the requests that reach its service, or 1. */
static double probability_of(const struct trait_finder *f, const struct trait *t, size_t tried)
{
	struct service_reach reach = f->reach.items[t->reach];

	/* half of all slow requests, of those that reach the service */
	if ((size_t)t->slow_requests * 2 < f->contrast->slow.compared ||
	    !is_candidate(t, reach.slow, reach.usual))
		return 1;
	return tried * hypergeometric_tail((size_t)reach.slow + reach.usual,
					   (size_t)t->slow_requests + t->usual_requests, reach.slow,
					   t->slow_requests);
}

/* Keep the traits that chance does not explain. */
static void keep_traits(const struct trait_finder *f, struct contrast_traits *found)
{
	size_t tried = 0, kept = 0;

	for (size_t i = 0; i < found->traits.count; i++)
		tried += found->traits.items[i].slow_requests > 1;
	for (size_t i = 0; i < found->traits.count; i++) {
		struct trait t = found->traits.items[i];

		t.probability = probability_of(f, &t, tried);
		if (t.probability < PROBABLE)
			found->traits.items[kept++] = t;
	}
	found->traits.count = kept;
	if (kept)
		qsort(found->traits.items, kept, sizeof(found->traits.items[0]),
		      less_probable_first);
}

static double time_added(const struct contrast *c, const struct call_contrast *call)
{
	return (double)call->slow_time / c->slow.compared -
	       (double)call->usual_time / c->usual.compared;
}

static int more_time_first(const void *a, const void *b, void *arg)
{
	const struct call_contrast *x = a, *y = b;
	double x_time = time_added(arg, x), y_time = time_added(arg, y);

	if (x_time != y_time)
		return x_time > y_time ? -1 : 1;
	return x->span.i < y->span.i ? -1 : x->span.i > y->span.i;
}

static bool is_more_frequent(const struct contrast *c, const struct call_contrast *call)
{
	double slow = (double)call->slow / c->slow.compared;
	double usual = (double)call->usual / c->usual.compared;

	return slow >= 2 * usual && slow - usual >= 0.5 && time_added(c, call) * 5 >= c->difference;
}

/* Whether a span that a call is an example of is below another call. */
static bool is_below(const struct span_set *spans, span_id at, const struct call_contrast *call)
{
	const struct span *top = span_set_at(spans, call->span);

	while ((at = span_set_at(spans, at)->parent).i) {
		const struct span *span = span_set_at(spans, at);

		if (span->service.i == top->service.i && span->operation.i == top->operation.i)
			return true;
	}
	return false;
}

/* Drops what the first calls call in turn; calls with less time than their callees are rare. */
static void drop_nested(const struct span_set *spans, struct contrast_traits *found)
{
	size_t kept = 0, count = found->calls.count;

	for (size_t i = 0; i < count && i < CALLS_TRIED && kept < CALLS_KEPT; i++) {
		struct call_contrast call = found->calls.items[i];
		bool is_nested = false;

		for (size_t k = 0; k < kept && !is_nested; k++)
			is_nested = is_below(spans, call.span, &found->calls.items[k]);
		if (!is_nested)
			found->calls.items[kept++] = call;
	}
	found->calls.count = kept;
}

/* Keep the operations that slow requests call more often. */
static void keep_calls(const struct span_set *spans, const struct contrast *c,
		       struct contrast_traits *found)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->calls.count; i++) {
		struct call_contrast call = found->calls.items[i];

		if (is_more_frequent(c, &call))
			found->calls.items[kept++] = call;
	}
	found->calls.count = kept;
	if (kept)
		qsort_r(found->calls.items, kept, sizeof(found->calls.items[0]), more_time_first,
			(void *)c);
	drop_nested(spans, found);
}

static bool is_earlier(const nsec_t *a, const nsec_t *b)
{
	return *a < *b;
}

/* Arrivals of the compared requests, sorted; the caller frees them. */
static nsec_t *arrivals_of(const struct span_set *spans, const struct contrast_side *side)
{
	nsec_t *times = must_alloc(side->compared * sizeof(*times));

	for (size_t i = 0; i < side->compared; i++)
		times[i] =
			span_arrival(span_set_at(spans, side->requests[contrast_index(side, i)]));
	sort_items(times, side->compared, is_earlier);
	return times;
}

static size_t count_between(const nsec_t *times, size_t count, nsec_t from, nsec_t to)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += times[i] >= from && times[i] <= to;
	return found;
}

/* Part of the sorted arrivals of slow requests: the first, and the number. */
struct arrival_range {
	size_t first, count;
};

/* The shortest time in which four fifths of the slow requests arrive. */
static struct arrival_range shortest_range(const nsec_t *slow, size_t all)
{
	struct arrival_range best = { 0, (all * 4 + 4) / 5 };

	for (size_t i = 0; i + best.count <= all; i++)
		if (slow[i + best.count - 1] - slow[i] <
		    slow[best.first + best.count - 1] - slow[best.first])
			best.first = i;
	return best;
}

/* Adds the requests before and after that are no further apart than those in it. */
static struct arrival_range extend_range(const nsec_t *slow, size_t all, struct arrival_range r)
{
	nsec_t gap = 0;

	for (size_t i = r.first; i + 1 < r.first + r.count; i++)
		gap = slow[i + 1] - slow[i] > gap ? slow[i + 1] - slow[i] : gap;
	for (; r.first && slow[r.first] - slow[r.first - 1] <= gap; r.first--)
		r.count++;
	while (r.first + r.count < all &&
	       slow[r.first + r.count] - slow[r.first + r.count - 1] <= gap)
		r.count++;
	return r;
}

/* Its first and last request define the range, so only those in between count against chance. */
static double range_probability(const struct contrast *c, const struct trait *t)
{
	return (double)c->slow.compared *
	       hypergeometric_tail(c->slow.compared + c->usual.compared - 2,
				   t->slow_requests + t->usual_requests - 2, c->slow.compared - 2,
				   t->slow_requests - 2);
}

static void find_period(const struct span_set *spans, const struct contrast *c,
			struct slow_period *ret)
{
	size_t all = c->slow.compared, others = c->usual.compared;
	_cleanup_(freep) nsec_t *slow = arrivals_of(spans, &c->slow);
	_cleanup_(freep) nsec_t *usual = arrivals_of(spans, &c->usual);
	struct arrival_range range = extend_range(slow, all, shortest_range(slow, all));
	nsec_t from = slow[range.first], to = slow[range.first + range.count - 1];
	nsec_t first = slow[0] < usual[0] ? slow[0] : usual[0];
	nsec_t last = slow[all - 1] > usual[others - 1] ? slow[all - 1] : usual[others - 1];
	struct trait trait = { .slow_requests = range.count,
			       .usual_requests = count_between(usual, others, from, to) };

	if (range.count < 4 || to - from > (last - first) / 4 ||
	    !is_candidate(&trait, all, others) || range_probability(c, &trait) >= PROBABLE)
		return;
	*ret = (struct slow_period){ from, to, trait.slow_requests, trait.usual_requests };
}

void contrast_traits_find(const struct span_set *spans, const struct contrast *contrast,
			  struct contrast_traits *ret)
{
	struct trait_finder f = { .spans = spans, .contrast = contrast, .found = ret };

	*ret = (struct contrast_traits){ 0 };
	if (!contrast->slow.compared || !contrast->usual.compared)
		return;
	add_requests(&f, &contrast->slow, true);
	add_requests(&f, &contrast->usual, false);
	keep_traits(&f, ret);
	drop_implied(spans, ret);
	find_period(spans, contrast, &ret->period);
	keep_calls(spans, contrast, ret);
	map_done(&f.traits);
	map_done(&f.calls);
	map_done(&f.services);
	vec_done(&f.reach);
}
