/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/baseline.h"

#include <string.h>
#include <xxhash.h>

#include "base/sort.h"

/* Samples beyond those of the last pruning that trigger the next one. */
enum { PRUNE_AFTER = 1 << 16 };

const struct learn_options learn_defaults = {
	.support = 0.95,
	.gap_least = 0,
	.gap_most = 2,
	.sigma = 3,
	.cv = 0.5,
};

struct baseline *baseline_new(const struct learn_options *options)
{
	struct baseline *b = must_alloc(sizeof(*b));

	b->options = *options;
	b->strings = strtab_new();
	b->arena = arena_new();
	return b;
}

void baseline_free(struct baseline *b)
{
	if (!b)
		return;
	strtab_free(b->strings);
	arena_free(b->arena);
	vec_done(&b->recordings);
	vec_done(&b->types);
	vec_done(&b->samples);
	for (int kind = 0; kind < KEY_KINDS; kind++)
		map_done(&b->counts[kind]);
	map_done(&b->type_index);
	map_done(&b->folded);
	map_done(&b->root_types);
	vec_done(&b->pending);
	vec_done(&b->pending_types);
	free(b);
}

void baseline_begin(struct baseline *b, const struct span_set *spans)
{
	b->spans = spans;
	b->now =
		(struct recording){ .length = model_end(spans->model) - model_begin(spans->model) };
	b->pending.count = b->pending_types.count = 0;
}

/* In which quarter of the recording a span began. */
static uint32_t quarter_of(const struct baseline *b, nsec_t start)
{
	nsec_t begin = model_begin(b->spans->model), since = start > begin ? start - begin : 0;
	uint32_t quarter = since / (b->now.length / 4 + 1);

	return quarter < 4 ? quarter : 3;
}

void baseline_add_observation(void *baseline, const struct observation *o)
{
	struct baseline *b = baseline;
	struct kept_span sample;

	b->now.spans++;
	b->now.digest += o->identity; /* in any order */
	if (o->span.i == o->root.i) {
		str_id service = strtab_add(b->strings, span_set_string(b->spans, o->service));
		str_id operation = strtab_add(b->strings, span_set_string(b->spans, o->operation));

		*vec_push(&b->pending_types) =
			(struct trace_type){ o->type, o->folded, 1, service, operation };
	}
	if (o->is_lost) {
		b->now.lost++;
		return;
	}
	sample = kept_span_of(o, b->spans, b->strings);
	kept_span_move(&sample, b->arena);
	sample.quarter = quarter_of(b, o->start);
	*vec_push(&b->pending) = sample;
}

static void count_type(struct baseline *b, const struct trace_type *type)
{
	uint64_t *index = map_find(&b->type_index, type->type);

	if (index) {
		b->types.items[*index - 1].traces++;
		return;
	}
	if (b->types.count == TYPES_KEPT)
		return;
	*vec_push(&b->types) = *type;
	*map_insert(&b->type_index, type->type) = b->types.count;
}

static bool is_known(const struct baseline *b, uint64_t digest)
{
	for (size_t i = 0; i < b->recordings.count; i++)
		if (b->recordings.items[i].digest == digest)
			return true;
	return false;
}

static bool is_first(const struct kept_span *a, const struct kept_span *b)
{
	if (a->identity != b->identity)
		return a->identity < b->identity;
	return a->recording < b->recording;
}

struct keyed_sample {
	uint64_t key;
	uint32_t sample; /* index; samples are in the order of their identities */
};

static bool is_key_first(const struct keyed_sample *a, const struct keyed_sample *b)
{
	return a->key < b->key;
}

/* Marks the samples that a kind of key keeps: of each key, the first. */
static void mark_kept(const struct baseline *b, enum key_kind kind, struct keyed_sample *room,
		      bool *keep)
{
	size_t of_key = 0;

	for (size_t i = 0; i < b->samples.count; i++)
		room[i] = (struct keyed_sample){ b->samples.items[i].keys[kind], i };
	sort_items(room, b->samples.count, is_key_first); /* stable */
	for (size_t i = 0; i < b->samples.count; i++) {
		of_key = i && room[i].key == room[i - 1].key ? of_key + 1 : 0;
		keep[room[i].sample] |= of_key < KEPT_MAX;
	}
}

/* Recordings can overlap: a span that several of them contain counts once.  Orders the samples. */
static void drop_duplicates(struct baseline *b)
{
	size_t kept = 0;

	sort_items(b->samples.items, b->samples.count, is_first);
	for (size_t i = 0; i < b->samples.count; i++)
		if (!kept || b->samples.items[kept - 1].identity != b->samples.items[i].identity)
			b->samples.items[kept++] = b->samples.items[i];
	b->samples.count = kept;
}

static void prune(struct baseline *b)
{
	struct arena *arena = arena_new();
	size_t kept = 0;

	drop_duplicates(b); /* first, as they would take the room of others */

	_cleanup_(freep) struct keyed_sample *room =
		must_alloc(b->samples.count * sizeof(*room) + 1);
	_cleanup_(freep) bool *keep = must_alloc(b->samples.count + 1);

	for (enum key_kind kind = 0; kind < KEY_KINDS; kind++)
		mark_kept(b, kind, room, keep);
	for (size_t i = 0; i < b->samples.count; i++) {
		if (!keep[i])
			continue;
		b->samples.items[kept] = b->samples.items[i];
		kept_span_move(&b->samples.items[kept++], arena);
	}
	b->samples.count = b->pruned = kept;
	arena_free(b->arena);
	b->arena = arena;
}

enum recording_result baseline_end(struct baseline *b, const struct observation_counts *counts)
{
	uint64_t content[2] = { b->now.digest, b->now.spans };

	b->now.digest = XXH3_64bits(content, sizeof(content));
	b->now.traces = counts->traces;
	b->now.cut = counts->cut;
	b->now.orphaned = counts->orphaned;
	if (!b->now.spans)
		return RECORDING_EMPTY;
	if (is_known(b, b->now.digest))
		return RECORDING_KNOWN;
	*vec_push(&b->recordings) = b->now;
	for (size_t i = 0; i < b->pending_types.count; i++)
		count_type(b, &b->pending_types.items[i]);
	for (size_t i = 0; i < b->pending.count; i++) {
		struct kept_span *sample = vec_push(&b->samples);

		*sample = b->pending.items[i];
		sample->recording = b->now.digest;
		for (enum key_kind kind = 0; kind < KEY_KINDS; kind++)
			++*map_insert(&b->counts[kind], sample->keys[kind]);
	}
	b->pending.count = 0; /* before pruning, which moves all samples */
	if (b->samples.count > b->pruned + PRUNE_AFTER)
		prune(b);
	return RECORDING_LEARNED;
}

static bool is_type_first(const struct trace_type *a, const struct trace_type *b)
{
	return a->type < b->type;
}

static bool is_recording_first(const struct recording *a, const struct recording *b)
{
	return a->digest < b->digest;
}

static uint64_t root_key(str_id service, str_id operation)
{
	return (uint64_t)service.i << 32 | operation.i;
}

static void index_types(struct baseline *b)
{
	map_done(&b->root_types);
	for (size_t i = 0; i < b->types.count; i++) {
		const struct trace_type *t = &b->types.items[i];

		*map_insert(&b->type_index, t->type) = i + 1;
		*map_insert(&b->folded, t->folded) = 1;
		++*map_insert(&b->root_types, root_key(t->service, t->operation));
	}
}

void baseline_finish(struct baseline *b)
{
	prune(b);
	sort_items(b->recordings.items, b->recordings.count, is_recording_first);
	sort_items(b->types.items, b->types.count, is_type_first);
	index_types(b);
}

uint64_t baseline_digest(const struct baseline *b)
{
	const struct learn_options *o = &b->options;
	double options[] = { o->support,        o->gap_least, o->gap_most,
			     o->closed_at_ends, o->sigma,     o->cv };
	uint64_t digest = XXH3_64bits(options, sizeof(options));

	for (size_t i = 0; i < b->recordings.count; i++)
		digest = XXH3_64bits_withSeed(&b->recordings.items[i].digest, sizeof(uint64_t),
					      digest);
	return digest;
}

const struct trace_type *baseline_type(const struct baseline *b, uint64_t type)
{
	const uint64_t *index = map_find(&b->type_index, type);

	return index ? &b->types.items[*index - 1] : NULL;
}

bool baseline_has_folded(const struct baseline *b, uint64_t folded)
{
	return map_find(&b->folded, folded);
}

bool baseline_has_many_types(const struct baseline *b, str_id service, str_id operation)
{
	const uint64_t *count = map_find(&b->root_types, root_key(service, operation));

	return count && *count > TYPES_MAX;
}
