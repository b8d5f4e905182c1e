/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/diagnosis.h"

#include "analyse/span_path.h"
#include "diagnose/findings.h"

struct diagnosis *diagnosis_new(const struct baseline *baseline, const struct profiles *profiles)
{
	struct diagnosis *d = must_alloc(sizeof(*d));

	d->baseline = baseline;
	d->profiles = profiles;
	d->arena = arena_new();
	return d;
}

void diagnosis_free(struct diagnosis *d)
{
	if (!d)
		return;
	vec_done(&d->tested);
	vec_done(&d->operations);
	vec_done(&d->unknown_types);
	vec_done(&d->findings);
	map_done(&d->operation_index);
	map_done(&d->type_index);
	verdict_done(&d->verdict);
	arena_free(d->arena);
	free(d);
}

void diagnosis_begin(struct diagnosis *d, const struct span_set *spans)
{
	d->spans = spans;
}

static uint32_t operation_of(struct diagnosis *d, const struct kept_span *span)
{
	uint64_t *index = map_insert(&d->operation_index, span->keys[KEY_OPERATION]);

	if (!*index) {
		*vec_push(&d->operations) = (struct tested_operation){
			.service = span->service,
			.operation = span->operation,
			.profile = profiles_find(d->profiles, KEY_OPERATION,
						 span->keys[KEY_OPERATION]),
		};
		*index = d->operations.count;
	}
	return *index - 1;
}

/* Whether the position of a span in its trace can be compared. */
static bool is_type_known(struct diagnosis *d, const struct observation *o)
{
	const struct trace_type *type = baseline_type(d->baseline, o->type);

	return type && !baseline_has_many_types(d->baseline, type->service, type->operation);
}

static void count_type(struct diagnosis *d, const struct observation *o,
		       const struct kept_span *root)
{
	uint64_t *index;

	d->traces++;
	if (is_type_known(d, o) ||
	    baseline_has_many_types(d->baseline, root->service, root->operation))
		return;
	index = map_insert(&d->type_index, o->type);
	if (!*index) {
		bool repeats = baseline_has_folded(d->baseline, o->folded);

		*vec_push(&d->unknown_types) = (struct unknown_type){ .type = o->type,
								      .example = o->root,
								      .is_repetition = repeats };
		*index = d->unknown_types.count;
	}
	d->unknown_types.items[*index - 1].traces++;
}

static const struct kept_span *keep(struct diagnosis *d, const struct kept_span *span)
{
	struct kept_span *kept = arena_new_of(d->arena, struct kept_span);

	*kept = *span;
	kept_span_move(kept, d->arena);
	return kept;
}

/* The share of the own time of each span of a trace that its root waited for. */
static void find_paths(struct diagnosis *d, span_id root)
{
	struct span_path path = { 0 };
	struct map times = { 0 };

	span_path_find(d->spans, root, &path);
	for (size_t i = 0; i < path.items.count; i++) {
		const struct span_section *s = &path.items.items[i];

		*map_insert(&times, s->span.i) += s->end - s->start;
	}
	for (size_t i = d->trace; i < d->tested.count; i++) {
		struct tested *t = &d->tested.items[i];
		const uint64_t *time = map_find(&times, t->span.i);
		nsec_t own = t->times[FEATURE_TOTAL] + t->times[FEATURE_QUEUEING];

		if (time)
			t->on_path = own && *time < own ? (float)*time / own : 1;
	}
	map_done(&times);
	span_path_done(&path);
	d->trace = d->tested.count;
}

static void add_root(struct diagnosis *d, const struct observation *o, const struct tested *t)
{
	if (t->profile && !t->is_lost)
		d->operations.items[t->operation].change +=
			(double)t->duration - t->profile->mean_duration;
	find_paths(d, o->root);
}

void diagnosis_add_observation(void *diagnosis, const struct observation *o)
{
	struct diagnosis *d = diagnosis;
	struct kept_span span = kept_span_of(o, d->spans, d->baseline->strings);
	struct verdicts verdicts = { d->baseline, d->profiles };
	struct tested t = { .span = o->span,
			    .operation = operation_of(d, &span),
			    .is_lost = o->is_lost,
			    .duration = o->duration };

	verdict_find(&verdicts, &span, is_type_known(d, o), &d->verdict);
	tested_set_verdict(&t, &d->verdict);
	if (t.is_flagged)
		t.kept = keep(d, &span);
	*vec_push(&d->tested) = t;
	if (o->span.i != o->root.i)
		return;
	count_type(d, o, &span);
	add_root(d, o, &t);
}

void diagnosis_finish(struct diagnosis *d)
{
	findings_find(d);
}
