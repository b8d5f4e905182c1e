/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of an input as text: its origin, its threads, where their time went, and
 * losses.  Losses are listed by CPU; ranges that nearly touch come from one burst and are
 * merged.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#include "base/out.h"
#include "base/text.h"
#include "report/info.h"
#include "event/kind.h"

enum { LOSS_LINES = 10, INDENT = 11, WIDTH = 79, SERVICES = 12 };
#define LOSS_GAP (10 * NSEC_PER_MSEC) /* the recorder drains its rings more often */

__attribute__((format(printf, 2, 3))) static void put(struct out *out, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n > 0)
		out_bytes(out, line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

static void put_name(struct out *out, const char *label, const char *s)
{
	out_str(out, label);
	out_escaped(out, s, strlen(s));
}

/* Append a piece to a line that starts with a label, and wrap; *at is the column. */
static void put_wrapped(struct out *out, size_t *at, const char *s, size_t len)
{
	if (*at + 1 + len > WIDTH && *at > INDENT) {
		out_char(out, '\n');
		out_fill(out, INDENT, ' ');
		*at = INDENT;
	} else if (*at > INDENT) {
		out_char(out, ' ');
		*at += 1;
	}
	*at += out_escaped(out, s, len);
}

static void put_paragraph(struct out *out, const char *s, size_t len)
{
	size_t at = INDENT;

	for (size_t i = 0; i < len;) {
		const char *blank = memchr(s + i, ' ', len - i);
		size_t word = blank ? (size_t)(blank - s) - i : len - i;

		if (word)
			put_wrapped(out, &at, s + i, word);
		i += word + 1;
	}
	out_char(out, '\n');
}

static void put_state_of_file(struct out *out, const struct info *info)
{
	const struct info_origin *origin = &info->origin;
	bool complete = !origin->cut && !*info->damage.text;

	put_name(out, "", origin->file);
	put(out, ": %s, %s%s\n", format_size(origin->size).s,
	    origin->is_capture ? "" : origin->format,
	    origin->is_capture ? complete ? "complete" : "incomplete"
	    : complete         ? ""
			       : ", damaged");
	if (*info->damage.text)
		put(out, "damaged: the following was read before the damage\n");
	else if (origin->cut)
		put(out,
		    "truncated: the recorder did not close the file;\n"
		    "           readable up to offset %" PRIu64 " (%.3f s)\n",
		    origin->cut_at, (double)(info->end - info->begin) / NSEC_PER_SEC);
}

static void put_time(struct out *out, const struct info *info)
{
	time_t seconds = info_realtime(info) / NSEC_PER_SEC;
	struct tm tm;
	char date[64] = "at an unknown time";

	if (info_realtime(info) && gmtime_r(&seconds, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
	put(out, "recorded   %s, for %s\n", date, format_time(info->end - info->begin).s);
}

static void put_host(struct out *out, const struct info *info)
{
	const struct info_origin *origin = &info->origin;
	unsigned cpus = origin->cpu_count ?: info->cpus;
	const char *lead = "host       ";

	if (origin->host && *origin->host) {
		put_name(out, lead, origin->host);
		lead = ", ";
	}
	if (origin->kernel) {
		out_str(out, lead);
		put_name(out, "Linux ", origin->kernel);
		lead = origin->machine ? " " : ", ";
	}
	if (origin->machine) {
		put_name(out, lead, origin->machine);
		lead = ", ";
	}
	if (cpus)
		put(out, "%s%u CPU%s", lead, cpus, cpus == 1 ? "" : "s");
	if (cpus || *lead == ',')
		out_char(out, '\n');
}

static void put_origin(struct out *out, const struct info *info)
{
	const struct info_origin *origin = &info->origin;
	const struct thread_counts *counts = &info->counts;

	put_time(out, info);
	put_host(out, info);
	if (origin->tool) {
		put_name(out, "tool       ", origin->tool);
		out_char(out, '\n');
	}
	if (origin->command) {
		put_name(out, "command    ", origin->command);
		out_char(out, '\n');
	}
	if (!counts->threads && !counts->out_of_scope && !origin->is_capture)
		return;
	put(out, "threads    %s in %s process%s", format_count(counts->threads).s,
	    format_count(counts->processes).s, counts->processes == 1 ? "" : "es");
	if (counts->out_of_scope)
		put(out, "; %s other thread%s out of scope", format_count(counts->out_of_scope).s,
		    counts->out_of_scope == 1 ? "" : "s");
	out_char(out, '\n');
}

static void put_services(struct out *out, const struct info *info)
{
	_cleanup_(freep) uint32_t *ids = info_services(info);
	size_t at = INDENT, shown = 0, all = 0;

	for (size_t i = 0; i < info->services.count; i++)
		all += info->services.items[i].spans > 0;
	out_str(out, "services   ");
	for (; shown < all && shown < SERVICES; shown++) {
		const char *name = strtab_get(info->service_names, (str_id){ ids[shown] });
		_cleanup_(freep) char *piece =
			must_printf("%s %s%s", *name ? name : "(no name)",
				    format_count(info->services.items[ids[shown]].spans).s,
				    shown + 1 < all ? "," : "");

		put_wrapped(out, &at, piece, strlen(piece));
	}
	if (shown < all)
		put(out, " and %zu more", all - shown);
	out_char(out, '\n');
}

static void put_spans(struct out *out, const struct info *info)
{
	uint64_t spans = info->records[RECORD_SPAN];

	if (!spans)
		return;
	put(out, "spans      %s in %s trace%s", format_count(spans).s,
	    format_count(info->traces.count).s, info->traces.count == 1 ? "" : "s");
	if (info->multi_root_traces)
		put(out, " (%s with several roots)", format_count(info->multi_root_traces).s);
	if (info->span_errors)
		put(out, ", %s failed", format_count(info->span_errors).s);
	out_char(out, '\n');
	put_services(out, info);
}

/* Three kinds to a line. */
static void put_records(struct out *out, const struct info *info)
{
	size_t shown = 0, width = 0;

	if (!info->origin.is_capture)
		put(out, "events     %s\n", format_count(info->events).s);
	put(out, "records    %s", format_count(info->total).s);
	for (unsigned kind = 1; kind <= RECORD_KIND_COUNT; kind++) {
		bool rest = kind == RECORD_KIND_COUNT;
		uint64_t count = rest ? info->unknown : info->records[kind];
		const char *name = rest ? "unknown" : kind_name(kind);
		if (!count)
			continue;
		if (shown % 3 == 0)
			out_char(out, '\n');
		else
			out_fill(out, 12 - width, ' ');
		put(out, "%s %s", text_right(format_count(count), 13).s, name);
		width = strlen(name);
		shown++;
	}
	out_char(out, '\n');
}

static void put_state(struct out *out, char letter, const struct info_state *state, nsec_t all)
{
	put(out, "  %c  %-28s%s%8.1f %%%s interval%s\n", letter, state_words(letter),
	    text_right(format_time(state->time), 12).s, 100.0 * (double)state->time / (double)all,
	    text_right(format_count(state->count), 13).s, state->count == 1 ? "" : "s");
}

static void put_states(struct out *out, const struct info *info)
{
	nsec_t all = 0;

	for (const char *letter = state_letters; *letter; letter++)
		all += info->states[(unsigned char)*letter].time;
	if (!all)
		return;
	put(out, "time       %s in total, of the threads in scope\n", format_time(all).s);
	for (const char *letter = state_letters; *letter; letter++) {
		const struct info_state *state = &info->states[(unsigned char)*letter];
		if (!state->count)
			continue;
		put_state(out, *letter, state, all);
		if (*letter == STATE_RUNNING && info->irq)
			put(out, "     %-28s%s\n", "including interrupts",
			    text_right(format_time(info->irq), 12).s);
	}
}

static int by_origin_and_time(const void *a, const void *b)
{
	const struct info_loss *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* Copy the losses, sorted by CPU or thread, and merge ranges that nearly touch; returns their
 * number. */
static size_t merge_losses(struct info_loss *to, const struct info *info)
{
	size_t count = 0;

	memcpy(to, info->losses.items, info->losses.count * sizeof(to[0]));
	qsort(to, info->losses.count, sizeof(to[0]), by_origin_and_time);
	for (size_t i = 0; i < info->losses.count; i++) {
		struct info_loss *last = count ? &to[count - 1] : NULL;
		if (!last || last->cpu != to[i].cpu || last->tid != to[i].tid ||
		    (to[i].start > last->end && to[i].start - last->end > LOSS_GAP)) {
			to[count++] = to[i];
			continue;
		}
		last->count += to[i].count;
		last->packets += to[i].packets;
		if (to[i].end > last->end)
			last->end = to[i].end;
	}
	return count;
}

static double since_start(const struct info *info, nsec_t time)
{
	return ((double)time - (double)info->begin) / NSEC_PER_SEC;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void put_lost(struct out *out, const struct info *info)
{
	const char *what = info->origin.is_capture ? "record" : "event";

	if (info->lost)
		put(out, "lost       %s %s%s", format_count(info->lost).s, what,
		    plural(info->lost));
	else if (!info->lost_packets && !info->lost_by_agents)
		put(out, "lost       an unknown number of %ss", what);
	if (info->lost_packets)
		put(out, "%s%s packet%s of %ss", info->lost ? " and " : "lost       ",
		    format_count(info->lost_packets).s, plural(info->lost_packets), what);
	if (info->lost || info->lost_packets || !info->lost_by_agents)
		out_char(out, '\n');
	if (info->lost_by_agents)
		put(out, "lost       %s span event%s, as reported by their processes\n",
		    format_count(info->lost_by_agents).s, plural(info->lost_by_agents));
}

static void put_loss(struct out *out, const struct info *info, const struct info_loss *loss)
{
	if (loss->count || !loss->packets)
		put(out, "%s",
		    loss->count ? text_right(format_count(loss->count), 14).s : "          some");
	if (loss->packets)
		put(out, "%s%s packet%s", loss->count ? " and " : "       ",
		    format_count(loss->packets).s, plural(loss->packets));
	put(out, "  %s %u between %.6f and %.6f s\n", loss->tid ? "of thread" : "on CPU",
	    loss->tid ? loss->tid : loss->cpu, since_start(info, loss->start),
	    since_start(info, loss->end));
}

static void put_losses(struct out *out, const struct info *info)
{
	if (!info->losses.count) {
		/* files of spans contain no information about losses */
		if (info->origin.is_capture || info->counts.threads)
			put(out, "lost       nothing\n");
		return;
	}
	_cleanup_(freep) struct info_loss *losses =
		must_alloc(info->losses.count * sizeof(losses[0]));
	size_t count = merge_losses(losses, info);

	put_lost(out, info);
	for (size_t i = 0; i < count && i < LOSS_LINES; i++)
		put_loss(out, info, &losses[i]);
	if (count > LOSS_LINES)
		put(out, "                and %zu more range%s\n", count - LOSS_LINES,
		    count - LOSS_LINES == 1 ? "" : "s");
}

/* Drops by reason, and stages between which records disappeared. */
static void put_counters(struct out *out, const struct info *info)
{
	const char *title = "dropped";
	struct counter_sums sums;

	if (!info->records[RECORD_COUNTER])
		return;
	for (unsigned int i = 0; i < COUNTER_COUNT; i++)
		if (counter_drop_reason(i) && info->counters.n[i]) {
			put(out, "%-11s%s %s\n", title, format_count(info->counters.n[i]).s,
			    counter_drop_reason(i));
			title = "";
		}
	for (size_t i = 0; counter_check(&info->counters, i, !info->is_piece, &sums); i++)
		if (sums.before != sums.after)
			put(out, "MISMATCH   %s: %s %s, but %s %s\n", sums.what,
			    format_count(sums.before).s, sums.in, format_count(sums.after).s,
			    sums.out);
}

static void put_warnings(struct out *out, const struct info *info)
{
	const char *warning;
	size_t len;

	for (size_t i = 0; (warning = info_warning(info, i, &len)); i++) {
		/* put_state_of_file() has reported the truncation, which is the first one */
		if (info->origin.cut && i == 0)
			continue;
		out_str(out, "warning    ");
		put_paragraph(out, warning, len);
	}
}

void info_text(const struct info *info, struct out *out)
{
	put_state_of_file(out, info);
	put_origin(out, info);
	put_spans(out, info);
	put_records(out, info);
	put_states(out, info);
	put_losses(out, info);
	put_counters(out, info);
	put_warnings(out, info);
}
