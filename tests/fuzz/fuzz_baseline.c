/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a baseline file, or the intervals and runs of a sample after a byte with the size of
 * the intervals, which are also read as traits.  A file that can be loaded has profiles.
 * Intervals, runs and traits that can be decoded are within their bounds and the same after they
 * were encoded again.
 */
#include <assert.h>
#include <string.h>

#include "diagnose/feature.h"
#include "store/baseline_file.h"
#include "store/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

/* Larger baselines take seconds to mine. */
enum { RUNS_MAX = 1 << 14 };

static void check_states(const struct kept_span *s)
{
	uint32_t next = 0;
	nsec_t all[FEATURE_COUNT];

	for (uint32_t i = 0; i < s->interval_count; i++) {
		assert(s->intervals[i].run == next);
		next += s->intervals[i].run_count;
	}
	assert(next == s->run_count);
	features_of(s, INTERVAL_ALL, all);
	for (enum span_feature f = 0; f < FEATURE_COUNT; f++)
		assert(all[f] <= INT64_MAX);
}

static struct view view_of(const packed_bytes *bytes)
{
	return (struct view){ bytes->count ? (const char *)bytes->items : "", bytes->count };
}

static void check_packed(struct view intervals, struct view runs)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	packed_bytes packed_intervals = { 0 }, packed_runs = { 0 };
	struct kept_span s = { 0 }, again = { 0 };

	if (unpack_states(intervals, runs, arena, &s))
		return;
	check_states(&s);
	pack_states(&s, &packed_intervals, &packed_runs);
	assert(packed_intervals.count <= intervals.len && packed_runs.count <= runs.len);
	assert(!unpack_states(view_of(&packed_intervals), view_of(&packed_runs), arena, &again));
	assert(again.interval_count == s.interval_count && again.run_count == s.run_count);
	for (uint32_t i = 0; i < s.run_count; i++)
		assert(s.runs[i].letter == again.runs[i].letter &&
		       s.runs[i].time == again.runs[i].time);
	vec_done(&packed_intervals);
	vec_done(&packed_runs);
}

static void check_traits(const struct kept_span *s)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct kept_span again = { 0 };
	packed_bytes packed = { 0 };

	assert(s->trait_count <= SPAN_TRAITS_MAX);
	pack_traits(s, &packed);
	assert(!unpack_traits(view_of(&packed), arena, &again));
	assert(again.trait_count == s->trait_count);
	for (uint32_t i = 0; i < s->trait_count; i++) {
		const struct span_trait *a = &s->traits[i], *b = &again.traits[i];

		assert(a->kind == b->kind && a->number == b->number && !a->text == !b->text);
		assert(strcmp(a->key, b->key) == 0);
		assert(!a->text || strcmp(a->text, b->text) == 0);
	}
	vec_done(&packed);
}

static void check_packed_traits(struct view bytes)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct kept_span s = { 0 };

	if (!unpack_traits(bytes, arena, &s))
		check_traits(&s);
}

static void check_file(struct view bytes)
{
	_cleanup_(baseline_freep) struct baseline *b = NULL;
	struct profiles profiles = { 0 };
	struct err err = { "" };
	size_t runs = 0;
	int r = baseline_load_bytes(bytes, "input", &b, &err);

	assert((r == 0) == (b != NULL) && (r < 0) == (err.text[0] != '\0'));
	if (!b)
		return;
	for (size_t i = 0; i < b->samples.count; i++) {
		check_states(&b->samples.items[i]);
		check_traits(&b->samples.items[i]);
		runs += b->samples.items[i].run_count;
	}
	if (runs > RUNS_MAX)
		return;
	profiles_build(b, 1, &profiles);
	assert(profiles.items.count <= KEY_KINDS * b->samples.count);
	profiles_done(&profiles);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	const char *s = (const char *)input;

	if (size >= 16 && memcmp(s, "SQLite format 3", 16) == 0) {
		check_file((struct view){ s, size });
	} else if (size && *input < size) {
		size_t first = *input;

		check_packed_traits((struct view){ s + 1, size - 1 });
		check_packed((struct view){ s + 1, first },
			     (struct view){ s + 1 + first, size - 1 - first });
	}
	return 0;
}
