/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sort.h"
#include "base/text.h"
#include "report/baseline.h"
#include "report/split.h"

/* Types that are listed; the others are counted. */
enum { TYPES_SHOWN = 20 };

static void put_name(struct out *out, const struct baseline *b, str_id service, str_id operation)
{
	const char *names[] = { strtab_get(b->strings, service),
				strtab_get(b->strings, operation) };

	out_escaped(out, names[0], strlen(names[0]));
	out_char(out, ' ');
	out_escaped(out, names[1], strlen(names[1]));
}

static void put_time(struct out *out, double ns)
{
	out_str(out, format_time(llround(ns)).s);
}

static void put_recordings(struct out *out, const struct baseline *b)
{
	struct recording sum = { 0 };
	char line[256];

	for (size_t i = 0; i < b->recordings.count; i++) {
		const struct recording *r = &b->recordings.items[i];

		sum.traces += r->traces;
		sum.spans += r->spans;
		sum.cut += r->cut;
		sum.orphaned += r->orphaned;
		sum.lost += r->lost;
		sum.length += r->length;
	}
	snprintf(line, sizeof(line), "learned   %zu recording%s of %s: %s traces, %s spans\n",
		 b->recordings.count, b->recordings.count == 1 ? "" : "s",
		 format_time(sum.length).s, format_count(sum.traces).s, format_count(sum.spans).s);
	out_str(out, line);
	snprintf(line, sizeof(line),
		 "left out  %s cut traces, %s incomplete traces, %s spans with lost records\n",
		 format_count(sum.cut).s, format_count(sum.orphaned).s, format_count(sum.lost).s);
	out_str(out, line);
}

static void put_options(struct out *out, const struct learn_options *o)
{
	char line[200];

	snprintf(line, sizeof(line),
		 "options   support %g %%, gap %u,%u, closed %s, sigma %g, cv %g %%\n",
		 100 * o->support, o->gap_least, o->gap_most, o->closed_at_ends ? "ends" : "all",
		 o->sigma, 100 * o->cv);
	out_str(out, line);
}

static bool is_more_frequent(const struct trace_type *a, const struct trace_type *b)
{
	return a->traces != b->traces ? a->traces > b->traces : a->type < b->type;
}

static void put_types(struct out *out, const struct baseline *b)
{
	size_t count = b->types.count;
	_cleanup_(freep) struct trace_type *types = must_alloc(count * sizeof(*types) + 1);

	if (count)
		memcpy(types, b->types.items, count * sizeof(*types));
	sort_items(types, count, is_more_frequent);
	out_str(out, "\n  traces  type              root\n");
	for (size_t i = 0; i < count && i < TYPES_SHOWN; i++) {
		char line[64];

		snprintf(line, sizeof(line), "%8s  %016lx  ", format_count(types[i].traces).s,
			 (unsigned long)types[i].type);
		out_str(out, line);
		put_name(out, b, types[i].service, types[i].operation);
		out_char(out, '\n');
	}
	if (count > TYPES_SHOWN) {
		out_str(out, format_count(count - TYPES_SHOWN).s);
		out_str(out, " more types\n");
	}
}

/* "R 1.2 ms to 3.4 ms": bands of what an interval consists of. */
static void put_bands(struct out *out, const struct interval_profile *of, nsec_t floor)
{
	for (enum span_feature f = 0; f < FEATURE_COUNT; f++) {
		const struct band *band = &of->bands[f];

		if (band->mean < 1)
			continue;
		out_str(out, "  ");
		if (f < FEATURE_STATES)
			out_char(out, feature_letter(f));
		else
			out_str(out, feature_name(f));
		out_char(out, ' ');
		if (band->low > floor) {
			put_time(out, band->low);
			out_char(out, ' ');
		}
		out_str(out, band->low > floor ? "to " : "up to ");
		put_time(out, band->high);
	}
	out_char(out, '\n');
}

static void put_pattern(struct out *out, const struct interval_profile *of)
{
	const struct pattern *p = &of->patterns[0];

	if (!of->pattern_count) {
		out_str(out, "no pattern");
		return;
	}
	out_str(out, of->expression);
	out_str(out, " in ");
	out_u64(out, 100 * p->support / of->sequences);
	out_str(out, " %");
}

/* The own time of each part. */
static void put_parts(struct out *out, const struct split *split)
{
	for (uint32_t i = 0; i < split->part_count; i++) {
		const struct profile *p = split->parts[i].profile;
		struct phrase text = split_phrase(p);

		out_str(out, "  ");
		out_escaped(out, text.s, strlen(text.s));
		out_str(out, "  ");
		out_str(out, format_count(p->samples).s);
		out_str(out, " samples");
		put_bands(out, &p->all, p->band.floor);
	}
}

static void put_profile(struct out *out, const struct baseline *b, const struct profile *p)
{
	char line[160];

	put_name(out, b, p->service, p->operation);
	snprintf(line, sizeof(line), "  %s spans  p50 %s, p95 %s, p99 %s",
		 format_count(p->observed).s, format_time(p->p50).s, format_time(p->p95).s,
		 format_time(p->p99).s);
	out_str(out, line);
	if (p->samples < LEAST_OBSERVATIONS)
		out_str(out, "  too few to compare with");
	out_char(out, '\n');
	for (uint32_t i = 0; i < p->interval_count; i++) {
		snprintf(line, sizeof(line), "  interval %u  ", i + 1);
		out_str(out, line);
		put_pattern(out, &p->intervals[i]);
		put_bands(out, &p->intervals[i], p->band.floor);
	}
	if (p->kind == KEY_OPERATION && p->samples >= LEAST_OBSERVATIONS) {
		out_str(out, "  own time  ");
		put_bands(out, &p->all, p->band.floor);
	}
	if (p->split)
		put_parts(out, p->split);
}

/* One kind of profiles under a heading. */
static void put_profiles(struct out *out, const struct baseline *b, const struct profiles *profiles,
			 enum key_kind kind, const char *heading)
{
	out_str(out, heading);
	for (size_t i = 0; i < profiles->items.count; i++)
		if (profiles->items.items[i].kind == kind)
			put_profile(out, b, &profiles->items.items[i]);
}

void baseline_text(struct out *out, const char *file, const struct baseline *b,
		   const struct profiles *profiles)
{
	out_str(out, "file      ");
	out_escaped(out, file, strlen(file));
	out_str(out, "\nformat    sonde baseline\n");
	put_recordings(out, b);
	put_options(out, &b->options);
	put_types(out, b);
	put_profiles(out, b, profiles, KEY_OPERATION, "\noperations\n");
	put_profiles(out, b, profiles, KEY_POSITION, "\nspans by type and position\n");
}
