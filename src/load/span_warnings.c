/* SPDX-License-Identifier: Apache-2.0 */
#include "load/span_warnings.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"

/* "+12.3 ms" */
static struct text shift_text(int64_t ns)
{
	struct text size = format_time(ns < 0 ? -(uint64_t)ns : (uint64_t)ns), t;

	snprintf(t.s, sizeof(t.s), "%c%.24s", ns < 0 ? '-' : '+', size.s);
	return t;
}

static void add_shift(const struct model *model, const struct clock_shift *shift,
		      struct warnings *warnings)
{
	const char *service = model_string(model, shift->service);
	struct text least = shift_text(shift->least), most = shift_text(shift->most);
	bool is_one = strcmp(least.s, most.s) == 0;

	warnings_add(warnings, "shifted service '%s' by %s%s%s (%s span%s): %s", service, least.s,
		     is_one ? "" : " to ", is_one ? "" : most.s, format_count(shift->spans).s,
		     shift->spans == 1 ? "" : "s",
		     shift->most > 0 ? "its spans began before their parents"
				     : "its spans were ahead of the calls they belong to");
}

void span_warnings_shifts(const struct model *model, struct warnings *warnings)
{
	for (size_t i = 0; i < model_clock_shift_count(model); i++)
		add_shift(model, model_clock_shift(model, i), warnings);
}

struct roots {
	struct map by_trace; /* hash of the trace id -> number of roots */
	size_t several;      /* traces with more than one root */
	size_t orphans;      /* roots of those traces that name a missing parent */
	const struct span *example;
};

static uint64_t trace_key(const struct span *span)
{
	return hash_bytes(span->trace, sizeof(span->trace));
}

static bool names_parent(const struct span *span)
{
	static const uint8_t none[8];

	return memcmp(span->parent_id, none, sizeof(none)) != 0;
}

static void count_roots(const struct span_set *spans, struct roots *roots)
{
	for (uint32_t i = 1; i < span_set_count(spans); i++) {
		const struct span *span = span_set_at(spans, (span_id){ i });

		if (!span->parent.i && ++*map_insert(&roots->by_trace, trace_key(span)) == 2)
			roots->several++;
	}
	for (uint32_t i = 1; roots->several && i < span_set_count(spans); i++) {
		const struct span *span = span_set_at(spans, (span_id){ i });

		if (span->parent.i || *map_find(&roots->by_trace, trace_key(span)) < 2)
			continue;
		roots->example = roots->example ?: span;
		roots->orphans += names_parent(span);
	}
}

void span_warnings_roots(const struct span_set *spans, struct warnings *warnings)
{
	struct roots roots = { 0 };
	char trace[33], orphans[96] = "";

	count_roots(spans, &roots);
	if (roots.orphans)
		snprintf(orphans, sizeof(orphans), " (%s of these name a parent that is missing)",
			 format_count(roots.orphans).s);
	for (size_t i = 0; roots.example && i < sizeof(roots.example->trace); i++)
		snprintf(trace + 2 * i, 3, "%02x", roots.example->trace[i]);
	if (roots.several)
		warnings_add(warnings,
			     "%s of %s traces %s several roots%s, such as '%s': each root is a "
			     "request of its own",
			     format_count(roots.several).s, format_count(roots.by_trace.count).s,
			     roots.several == 1 ? "has" : "have", orphans, trace);
	map_done(&roots.by_trace);
}
