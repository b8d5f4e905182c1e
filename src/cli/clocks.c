/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/clocks.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/log.h"
#include "read/merge.h"
#include "report/json_put.h"

static const char *alignment_name(enum merge_alignment alignment)
{
	static const char *const names[] = {
		[MERGE_REFERENCE] = "reference",
		[MERGE_ALIGNED] = "aligned",
		[MERGE_CONTRADICTORY] = "contradictory",
		[MERGE_TOO_FEW_MESSAGES] = "too_few_messages",
		[MERGE_UNALIGNED] = "unaligned",
	};

	return names[alignment];
}

static bool is_aligned(const struct merge_clock *clock)
{
	return clock->alignment == MERGE_ALIGNED || clock->alignment == MERGE_CONTRADICTORY;
}

static void clock_json(struct json *j, const struct merge_clock *clock)
{
	json_object(j);
	put_string(j, "host", clock->host);
	put_string(j, "alignment", alignment_name(clock->alignment));
	put_u64(j, "group", clock->group);
	if (clock->alignment != MERGE_REFERENCE) {
		put_string(j, "reference", clock->reference);
		put_string(j, "peer_host", clock->via);
		put_u64(j, "messages_from", clock->from);
		put_u64(j, "messages_to", clock->to);
		put_u64(j, "messages_rejected", clock->dropped);
	}
	if (is_aligned(clock)) {
		json_key(j, "offset");
		json_i64(j, clock->offset);
		json_key(j, "drift_ppm");
		json_real(j, clock->drift);
		if (clock->bound != UINT64_MAX)
			put_u64(j, "max_error", clock->bound);
	}
	json_end(j);
}

static struct text signed_time(int64_t ns)
{
	struct text size = format_time(ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns), t;

	snprintf(t.s, sizeof(t.s), "%.24s %s", size.s, ns < 0 ? "ahead" : "behind");
	return t;
}

static void put_host(struct out *out, const char *name)
{
	if (*name)
		out_escaped(out, name, strlen(name));
	else
		out_str(out, "(no name)");
}

static void put_alignment(struct out *out, const struct merge_clock *clock)
{
	char line[128];

	out_str(out, signed_time(clock->offset).s);
	if (clock->bound != UINT64_MAX) {
		out_str(out, " ± ");
		out_str(out, format_time(clock->bound).s);
	}
	snprintf(line, sizeof(line), ", drift %.3f ppm\n             ", clock->drift);
	out_str(out, line);
	snprintf(line, sizeof(line), "by %s messages from and %s to ", format_count(clock->from).s,
		 format_count(clock->to).s);
	out_str(out, line);
	put_host(out, clock->via);
	if (clock->dropped) {
		snprintf(line, sizeof(line), "; %s contradict the others",
			 format_count(clock->dropped).s);
		out_str(out, line);
	}
	out_char(out, '\n');
}

static void clock_text(struct out *out, const struct merge_clock *clock)
{
	out_str(out, "  ");
	put_host(out, clock->host);
	out_str(out, "  ");
	switch (clock->alignment) {
	case MERGE_REFERENCE:
		out_str(out, "reference: all times are on this clock\n");
		return;
	case MERGE_ALIGNED:
	case MERGE_CONTRADICTORY:
		put_alignment(out, clock);
		return;
	case MERGE_TOO_FEW_MESSAGES:
		out_str(out, "too few messages to align its clock: aligned by its time of day;\n"
			     "             the order of events across hosts is unreliable\n");
		return;
	case MERGE_UNALIGNED:
		out_str(out, "time of day unknown: assumed to start with the first input\n");
		return;
	}
}

void clocks_warn(const struct merge *merge)
{
	for (size_t i = 0; i < merge_host_count(merge); i++) {
		struct merge_clock clock = merge_clock(merge, i);

		if (!is_aligned(&clock))
			continue;

		bool is_bound = clock.bound != UINT64_MAX;

		log_message("the clock of '%s' is %s%s '%s'%s%s, computed from %s messages",
			    clock.host, signed_time(clock.offset).s, clock.offset < 0 ? " of" : "",
			    clock.reference, is_bound ? " ± " : "",
			    is_bound ? format_time(clock.bound).s : "",
			    format_count(clock.from + clock.to).s);
	}
}

/* Read to the end, because some warnings are only complete then. */
static int read_all(struct merge *merge, struct err *err)
{
	const struct record *record;
	const struct source *source;
	int r;

	while ((r = merge_next(merge, &record, &source, err)) > 0)
		;
	return r;
}

static void report_text(const struct merge *merge, struct out *out)
{
	if (merge_host_count(merge) > 1)
		out_str(out, "\nclocks\n");
	for (size_t i = 0; merge_host_count(merge) > 1 && i < merge_host_count(merge); i++) {
		struct merge_clock clock = merge_clock(merge, i);

		clock_text(out, &clock);
	}
}

void clocks_json(const struct merge *merge, struct json *j)
{
	json_key(j, "clocks");
	json_array(j);
	for (size_t i = 0; i < merge_host_count(merge); i++) {
		struct merge_clock clock = merge_clock(merge, i);

		clock_json(j, &clock);
	}
	json_end(j);
}

static void report_json(const struct merge *merge, struct json *j)
{
	clocks_json(merge, j);
	json_key(j, "warnings");
	json_array(j);
	for (size_t i = 0; merge_warning(merge, i); i++)
		json_string(j, merge_warning(merge, i));
	json_end(j);
}

int clocks_report(char **paths, const char *format, struct out *out, struct json *j,
		  struct err *err)
{
	_cleanup_(merge_freep) struct merge *merge = NULL;
	int r = merge_open(paths, format, &merge, err);

	if (r == 0)
		r = read_all(merge, err);
	if (r < 0)
		return r;
	if (j)
		report_json(merge, j);
	else
		report_text(merge, out);
	return 0;
}
