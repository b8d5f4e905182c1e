/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "report/baseline.h"
#include "report/json_put.h"
#include "report/split.h"

static void put_name(struct json *j, const struct baseline *b, str_id service, str_id operation)
{
	put_string(j, "service", strtab_get(b->strings, service));
	put_string(j, "operation", strtab_get(b->strings, operation));
}

static void put_recording(struct json *j, const struct recording *r)
{
	json_object(j);
	put_digest(j, "digest", r->digest);
	put_u64(j, "length_ns", r->length);
	put_u64(j, "traces", r->traces);
	put_u64(j, "spans", r->spans);
	put_u64(j, "cut", r->cut);
	put_u64(j, "orphaned", r->orphaned);
	put_u64(j, "lost", r->lost);
	json_end(j);
}

static void put_bands(struct json *j, const struct interval_profile *of)
{
	json_key(j, "bands");
	json_object(j);
	for (enum span_feature f = 0; f < FEATURE_COUNT; f++) {
		const struct band *band = &of->bands[f];

		json_key(j, feature_name(f));
		json_object(j);
		put_real(j, "low_ns", band->low);
		put_real(j, "middle_ns", band->middle);
		put_real(j, "high_ns", band->high);
		put_real(j, "mean_ns", band->mean);
		put_real(j, "deviation_ns", band->deviation);
		put_bool(j, "quantiles", band->by_quantiles);
		json_end(j);
	}
	json_end(j);
}

static void put_interval(struct json *j, const struct interval_profile *of)
{
	json_object(j);
	put_u64(j, "sequences", of->sequences);
	if (of->pattern_count)
		put_string(j, "expression", of->expression);
	json_key(j, "patterns");
	json_array(j);
	for (uint32_t i = 0; i < of->pattern_count; i++) {
		json_object(j);
		json_key(j, "states");
		json_string_n(j, (const char *)of->patterns[i].letters, of->patterns[i].length);
		put_u64(j, "support", of->patterns[i].support);
		json_end(j);
	}
	json_end(j);
	put_bands(j, of);
	json_end(j);
}

/* The parts of a divided profile, each with the bands of all intervals together. */
static void put_split(struct json *j, const struct split *split)
{
	put_real(j, "explained", split->explained);
	json_key(j, "parts");
	json_array(j);
	for (uint32_t i = 0; i < split->part_count; i++) {
		const struct profile *p = split->parts[i].profile;

		json_object(j);
		split_json(j, p);
		put_u64(j, "samples", p->samples);
		put_real(j, "limit", p->limit);
		put_bands(j, &p->all);
		json_end(j);
	}
	json_end(j);
}

static void put_profile(struct json *j, const struct baseline *b, const struct profile *p)
{
	static const char *const kinds[] = { "position", "subtree", "operation" };

	json_object(j);
	put_string(j, "kind", kinds[p->kind]);
	put_digest(j, "key", p->key);
	if (p->kind == KEY_POSITION) {
		put_digest(j, "type", p->type);
		put_u64(j, "position", p->position);
	}
	put_name(j, b, p->service, p->operation);
	put_u64(j, "observed", p->observed);
	put_u64(j, "p50_ns", p->p50);
	put_u64(j, "p95_ns", p->p95);
	put_u64(j, "p99_ns", p->p99);
	put_real(j, "limit", p->limit);
	json_key(j, "intervals");
	json_array(j);
	for (uint32_t i = 0; i < p->interval_count; i++)
		put_interval(j, &p->intervals[i]);
	json_end(j);
	put_bands(j, &p->all);
	if (p->split)
		put_split(j, p->split);
	json_end(j);
}

static void put_types(struct json *j, const struct baseline *b)
{
	json_key(j, "types");
	json_array(j);
	for (size_t i = 0; i < b->types.count; i++) {
		json_object(j);
		put_digest(j, "type", b->types.items[i].type);
		put_u64(j, "traces", b->types.items[i].traces);
		put_name(j, b, b->types.items[i].service, b->types.items[i].operation);
		json_end(j);
	}
	json_end(j);
}

void baseline_json(struct json *j, const char *file, const struct baseline *b,
		   const struct profiles *profiles)
{
	json_object(j);
	put_string(j, "file", file);
	put_string(j, "format", "baseline");
	json_key(j, "recordings");
	json_array(j);
	for (size_t i = 0; i < b->recordings.count; i++)
		put_recording(j, &b->recordings.items[i]);
	json_end(j);
	put_types(j, b);
	json_key(j, "profiles");
	json_array(j);
	for (size_t i = 0; i < profiles->items.count; i++)
		put_profile(j, b, &profiles->items.items[i]);
	json_end(j);
	json_end(j);
}
