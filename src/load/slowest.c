/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slowest - choose the slowest requests.
 *
 * A request that the kernel recording does not cover can be explained from its spans only.  So if
 * the recording covers any request, the others are left out, and a warning counts the slower ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "load/span_warnings.h"
#include "load/subject.h"

static int longer_first(const void *a, const void *b)
{
	const struct subject *x = a, *y = b;
	nsec_t xt = x->to - x->from, yt = y->to - y->from;

	if (xt != yt)
		return xt > yt ? -1 : 1;
	return x->span.i < y->span.i ? -1 : x->span.i > y->span.i;
}

/* The roots of traces that are complete. */
static void find_roots(const struct span_set *spans, bool only_rebuilt, subjects *ret)
{
	for (uint32_t i = 1; i < span_set_count(spans); i++) {
		const struct span *span = span_set_at(spans, (span_id){ i });

		if (!span->parent.i && !(span->flags & SPAN_OPEN) &&
		    (!only_rebuilt || span->source == SPAN_INFERRED))
			*vec_push(ret) = (struct subject){ .span = { i },
							   .from = span->start,
							   .to = span->end };
	}
}

static bool has_run(const struct thread *t)
{
	timeline_pos pos;

	if (!timeline_first(&t->intervals, &pos))
		return false;
	do {
		const struct interval *i = timeline_at(&t->intervals, pos);

		if (i->state == STATE_RUNNING)
			return true;
	} while (timeline_next(&t->intervals, &pos));
	return false;
}

/* By the start of its name; other tracers record their own threads as well. */
static bool is_tracer(const struct model *model, const struct thread *t)
{
	static const char *const names[] = { "sonde",    "trace-cmd", "perf",   "lttng-",
					     "bpftrace", "atrace",    "traced", "systrace" };
	const char *comm = model_string(model, t->comm);

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(comm, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/*
 * The error if there are no requests.  It suggests the thread that was recorded longest: of a
 * recorded command, that is the command's main thread.
 */
static int fail_without_requests(const struct model *model, struct err *err)
{
	const struct thread *longest = NULL;

	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct thread *t = model_thread(model, (thread_id){ i });

		if (!t->out_of_scope && !t->kernel && !is_tracer(model, t) &&
		    (!longest || t->end - t->begin > longest->end - longest->begin) && has_run(t))
			longest = t;
	}
	if (!longest)
		return err_set(err, -ENOENT, "no requests found, and no thread in scope ran");
	return err_set(err, -ENOENT,
		       "no requests found; explain a thread with --thread, such as %u, which was "
		       "recorded longest (%s)",
		       longest->tid, format_time(longest->end - longest->begin).s);
}

struct recorded_time {
	nsec_t from, to;
};

static struct recorded_time recorded_time(const struct model *model)
{
	struct recorded_time all = { UINT64_MAX, 0 };

	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct thread *t = model_thread(model, (thread_id){ i });

		all.from = t->begin < all.from ? t->begin : all.from;
		all.to = t->end > all.to ? t->end : all.to;
	}
	return all;
}

/*
 * Whether nine tenths of a request were recorded: clocks of spans are coarse, and a program's first
 * span can begin before the kernel's first record of its threads.
 */
static bool is_covered(const struct subject *s, struct recorded_time all)
{
	nsec_t from = s->from > all.from ? s->from : all.from;
	nsec_t to = s->to < all.to ? s->to : all.to;

	return from <= to && to - from >= (s->to - s->from) / 10 * 9;
}

/* Keep the requests that the recording covers, if there are any. */
static void keep_covered(struct loaded *loaded, size_t max, subjects *list)
{
	struct recorded_time all = recorded_time(loaded->model);
	size_t kept = 0, slower = 0;

	for (size_t i = 0; i < list->count; i++)
		if (is_covered(&list->items[i], all))
			list->items[kept++] = list->items[i];
		else if (kept < max)
			slower++;
	if (!kept)
		return;
	list->count = kept;
	if (slower)
		warnings_add(&loaded->warnings,
			     "%zu slower request%s only partly recorded; use --trace to explain %s "
			     "from %s spans",
			     slower, slower == 1 ? " is" : "s are", slower == 1 ? "it" : "them",
			     slower == 1 ? "its" : "their");
}

int subject_find_slowest(struct loaded *loaded, size_t max, bool only_rebuilt, subjects *ret,
			 struct err *err)
{
	find_roots(&loaded->spans, only_rebuilt, ret);
	if (!ret->count)
		return fail_without_requests(loaded->model, err);
	qsort(ret->items, ret->count, sizeof(ret->items[0]), longer_first);
	keep_covered(loaded, max, ret);
	if (!only_rebuilt)
		span_warnings_roots(&loaded->spans, &loaded->warnings);
	ret->count = ret->count < max ? ret->count : max;
	return 0;
}
