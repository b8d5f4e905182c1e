/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/deviations.h"

#include <string.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/hash.h"
#include "report/deviation.h"

enum {
	TREE_MAX = 1000,     /* spans of a request; larger ones are not compared */
	REQUESTS_MAX = 5000, /* of a batch that are considered */
	FINDINGS_MAX = 1000, /* that wait */
	RATE = 100,          /* findings per second */
};

/* CPU time of the comparisons of a batch, of which there is one per second. */
#define COMPARE_MAX (50 * NSEC_PER_MSEC)

/* All spans are in one group. */
enum { GROUP = 1 };

struct deviations {
	struct watch *watch;
	const struct live_view *view; /* of the current batch */
	VEC(span_id) roots;           /* of the current batch */
	struct span_finding waiting[FINDINGS_MAX];
	size_t first, count; /* of those that wait, in a circle */
	struct map index;    /* hash of ids -> index + 1 */
	struct budget budget;
	uint64_t batches;
	struct deviations_counters counters;
};

struct deviations *deviations_new(const struct baseline *baseline, const struct profiles *profiles)
{
	struct deviations *d = must_alloc(sizeof(*d));

	d->watch = watch_new(baseline, profiles);
	d->budget.rate = RATE;
	return d;
}

void deviations_free(struct deviations *d)
{
	if (!d)
		return;
	watch_free(d->watch);
	vec_done(&d->roots);
	map_done(&d->index);
	free(d);
}

struct deviations_counters deviations_counters(const struct deviations *d)
{
	return d->counters;
}

static uint64_t key_of(const uint8_t trace[16], const uint8_t id[8])
{
	return hash_pair(hash_bytes(trace, 16), hash_bytes(id, 8));
}

void deviations_add(struct deviations *d, span_id root)
{
	if (d->roots.count < REQUESTS_MAX)
		*vec_push(&d->roots) = root;
	else
		d->counters.skipped++;
}

/* A state explains more than a total or a missing pattern. */
static const struct deviation *largest(const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->deviations.count; i++)
		if (verdict->deviations.items[i].feature < FEATURE_STATES)
			return &verdict->deviations.items[i];
	return &verdict->deviations.items[0];
}

static struct span_finding finding_of(const struct verdict *verdict, const struct observation *o,
				      nsec_t end)
{
	const struct deviation *of = largest(verdict);
	struct span_finding f = { .end = end,
				  .words = deviation_of_span(of),
				  .state = deviation_state(of->feature),
				  .score = verdict->score,
				  .limit = verdict->profile->limit,
				  .compared_by = verdict->profile->kind };

	memcpy(f.trace, o->trace, sizeof(f.trace));
	memcpy(f.id, o->id, sizeof(f.id));
	return f;
}

static void keep(struct deviations *d, const struct span_finding *finding)
{
	size_t at = (d->first + d->count) % FINDINGS_MAX;

	if (d->count == FINDINGS_MAX || !budget_take(&d->budget, d->view->now, 1)) {
		d->counters.shed++;
		return;
	}
	d->waiting[at] = *finding;
	d->count++;
	*map_insert(&d->index, key_of(finding->trace, finding->id)) = at + 1;
}

/* An observation_fn. */
static void compare_span(void *arg, const struct observation *o)
{
	struct deviations *d = arg;
	const struct span *span = span_set_at(d->view->spans, o->span);
	const struct verdict *verdict;

	if (span->source == SPAN_INFERRED)
		return; /* not a span of a collector */
	verdict = watch_add(d->watch, GROUP, o, true);
	d->counters.compared += verdict->profile != NULL;
	if (!verdict->is_flagged || o->is_lost || !watch_leaves(d->watch, GROUP, o))
		return;
	d->counters.found++;
	keep(d, &(struct span_finding[]){ finding_of(verdict, o, span->end) }[0]);
}

/* A batch begins with another request each time, as the last ones can be left out. */
void deviations_end_batch(struct deviations *d, const struct live_view *view)
{
	_cleanup_(observer_freep) struct observer *observer = NULL;
	nsec_t stop = clock_cpu_time() + COMPARE_MAX;
	size_t count = d->roots.count, from = count ? hash_number(d->batches++) % count : 0, i = 0;

	watch_advance(d->watch, view->now / NSEC_PER_SEC);
	d->view = view;
	if (count)
		observer = observer_new(view->spans);
	for (; i < count && clock_cpu_time() < stop; i++)
		observer_tree(observer, d->roots.items[(from + i) % count], TREE_MAX, compare_span,
			      d);
	d->counters.skipped += count - i;
	d->view = NULL;
	d->roots.count = 0;
}

/* Those that were taken have no index. */
static bool is_waiting(const struct deviations *d, size_t at)
{
	const uint64_t *found =
		map_find(&d->index, key_of(d->waiting[at].trace, d->waiting[at].id));

	return found && *found == at + 1;
}

bool deviations_take(struct deviations *d, const uint8_t trace[16], const uint8_t id[8],
		     struct span_finding *ret)
{
	const uint64_t *at = map_find(&d->index, key_of(trace, id));

	if (!at)
		return false;
	*ret = d->waiting[*at - 1];
	map_remove(&d->index, key_of(trace, id));
	return true;
}

bool deviations_is_due(const struct deviations *d, nsec_t now)
{
	return d->count && now >= d->waiting[d->first].end + DEVIATION_DELAY;
}

bool deviations_next(struct deviations *d, nsec_t now, struct span_finding *ret)
{
	while (deviations_is_due(d, now)) {
		size_t at = d->first;
		bool found = is_waiting(d, at);

		d->first = (at + 1) % FINDINGS_MAX;
		d->count--;
		if (found)
			return deviations_take(d, d->waiting[at].trace, d->waiting[at].id, ret);
	}
	return false;
}

/* One span on its own. */
struct single {
	struct deviations *d;
	const struct span_set *spans;
	bool is_found;
	struct span_finding *ret;
};

static void compare_single(void *arg, const struct observation *o)
{
	struct single *s = arg;
	const struct verdict *verdict = watch_compare(s->d->watch, o);

	s->is_found = verdict->is_flagged && !o->is_lost && watch_leaves(s->d->watch, GROUP, o);
	if (s->is_found)
		*s->ret = finding_of(verdict, o, span_set_at(s->spans, o->span)->end);
}

bool deviations_find(struct deviations *d, const struct span_set *spans, span_id id,
		     struct span_finding *ret)
{
	_cleanup_(observer_freep) struct observer *observer = observer_new(spans);
	struct single s = { .d = d, .spans = spans, .ret = ret };

	observer_span(observer, id, TREE_MAX, compare_single, &s);
	return s.is_found;
}

void span_finding_put(const struct span_finding *f, struct otlp_put *put)
{
	otlp_put_text(put, "sonde.baseline.deviation", f->words.s);
	otlp_put_text(put, "sonde.baseline.state", f->state);
	otlp_put_real(put, "sonde.baseline.score", f->score);
	otlp_put_real(put, "sonde.baseline.limit", f->limit);
	otlp_put_text(put, "sonde.baseline.compared_by", key_kind_name(f->compared_by));
}
