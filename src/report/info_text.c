/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of a capture for people: what it is, who is in it, how their time
 * went, and what is missing.  A loss is told per CPU; ranges that nearly touch
 * come from one burst, and are told as one.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#include "base/out.h"
#include "base/text.h"
#include "report/info.h"
#include "report/kind.h"

enum { LOSS_LINES = 10 };
#define LOSS_GAP (10 * NSEC_PER_MSEC) /* the recorder comes by more often than this */

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

static void put_state_of_file(struct out *out, const struct info *info)
{
	put_name(out, "", info->file);
	put(out, ": %s, %s\n", format_size(info->size).s,
	    info->complete ? "complete" : "not complete");
	if (*info->damage.text)
		put(out, "damaged: what follows was read before the damage\n");
	else if (!info->complete)
		put(out,
		    "cut: the recorder was stopped before it could close the file;\n"
		    "     readable up to offset %" PRIu64 " (%.3f s)\n",
		    info->cut_at, (double)(info->end - info->meta->start) / NSEC_PER_SEC);
}

static void put_origin(struct out *out, const struct info *info)
{
	const struct capture_meta *meta = info->meta;
	time_t seconds =
		(int64_t)(meta->start + (uint64_t)meta->realtime_offset) / (int64_t)NSEC_PER_SEC;
	struct tm tm;
	char date[64] = "at an unknown time";

	if (gmtime_r(&seconds, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
	put(out, "recorded   %s, for %s\n", date, format_time(info->end - meta->start).s);
	put_name(out, "on         ", meta->host);
	put_name(out, ", Linux ", meta->kernel);
	put_name(out, " ", meta->machine);
	put(out, ", %u CPU%s\n", meta->cpu_count, meta->cpu_count == 1 ? "" : "s");
	put_name(out, "by         ", meta->tool);
	put_name(out, "\ncommand    ", meta->command);
	put(out, "\nthreads    %s in %s process%s", format_count(info->threads).s,
	    format_count(info->processes).s, info->processes == 1 ? "" : "es");
	if (info->neighbours)
		put(out, ", beside %s neighbour%s", format_count(info->neighbours).s,
		    info->neighbours == 1 ? "" : "s");
	out_char(out, '\n');
}

/* Three kinds to a line. */
static void put_records(struct out *out, const struct info *info)
{
	size_t told = 0, width = 0;

	put(out, "records    %s", format_count(info->total).s);
	for (unsigned kind = 1; kind <= RECORD_KIND_COUNT; kind++) {
		bool rest = kind == RECORD_KIND_COUNT;
		uint64_t count = rest ? info->unknown : info->records[kind];
		const char *name = rest ? "unknown" : kind_name(kind);
		if (!count)
			continue;
		if (told % 3 == 0)
			out_char(out, '\n');
		else
			out_fill(out, 12 - width, ' ');
		put(out, "%s %s", text_right(format_count(count), 13).s, name);
		width = strlen(name);
		told++;
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
	put(out, "time       %s of the threads in scope\n", format_time(all).s);
	for (const char *letter = state_letters; *letter; letter++) {
		const struct info_state *state = &info->states[(unsigned char)*letter];
		if (!state->count)
			continue;
		put_state(out, *letter, state, all);
		if (*letter == STATE_RUNNING && info->irq)
			put(out, "     %-28s%s\n", "of it in interrupts",
			    text_right(format_time(info->irq), 12).s);
	}
}

static int by_cpu_and_time(const void *a, const void *b)
{
	const struct info_loss *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* Sort a copy of the losses by CPU and put together what nearly touches; how many are left. */
static size_t merge_losses(struct info_loss *to, const struct info *info)
{
	size_t count = 0;

	memcpy(to, info->losses.items, info->losses.count * sizeof(to[0]));
	qsort(to, info->losses.count, sizeof(to[0]), by_cpu_and_time);
	for (size_t i = 0; i < info->losses.count; i++) {
		struct info_loss *last = count ? &to[count - 1] : NULL;
		if (!last || last->cpu != to[i].cpu ||
		    (to[i].start > last->end && to[i].start - last->end > LOSS_GAP)) {
			to[count++] = to[i];
			continue;
		}
		last->count += to[i].count;
		if (to[i].end > last->end)
			last->end = to[i].end;
	}
	return count;
}

static double since_start(const struct info *info, nsec_t time)
{
	return ((double)time - (double)info->meta->start) / NSEC_PER_SEC;
}

static void put_losses(struct out *out, const struct info *info)
{
	if (!info->losses.count) {
		put(out, "lost       nothing\n");
		return;
	}
	_cleanup_(freep) struct info_loss *losses =
		must_alloc(info->losses.count * sizeof(losses[0]));
	size_t count = merge_losses(losses, info);

	put(out, "lost       %s record%s\n", format_count(info->lost).s,
	    info->lost == 1 ? "" : "s");
	for (size_t i = 0; i < count && i < LOSS_LINES; i++)
		put(out, "%s  on CPU %u between %.6f and %.6f s\n",
		    text_right(format_count(losses[i].count), 14).s, losses[i].cpu,
		    since_start(info, losses[i].start), since_start(info, losses[i].end));
	if (count > LOSS_LINES)
		put(out, "                and %zu more ranges\n", count - LOSS_LINES);
}

int info_text(const struct info *info, FILE *file)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));

	out_init(out, file);
	put_state_of_file(out, info);
	put_origin(out, info);
	put_records(out, info);
	put_states(out, info);
	put_losses(out, info);
	return out_flush(out);
}
