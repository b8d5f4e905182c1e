/* SPDX-License-Identifier: Apache-2.0 */
#include "load/slowest.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/requests/idle.h"
#include "base/text.h"
#include "load/span_warnings.h"

enum { SLOW_MAX = 2000 }; /* requests of an entry that are added up */

void slowest_done(struct slowest *slowest)
{
	for (size_t i = 0; i < slowest->entries.count; i++)
		vec_done(&slowest->entries.items[i].list);
	vec_done(&slowest->entries);
	vec_done(&slowest->list);
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
	return err_set(
		err, -ENOENT,
		"no requests found; 'sonde explain --thread=%u' explains the thread that was "
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

/* Whether each span or one of its descendants has a recorded thread; the caller frees it. */
static bool *find_threads(const struct span_set *spans)
{
	size_t count = span_set_count(spans);
	bool *has_thread = must_alloc(count * sizeof(*has_thread));

	for (uint32_t i = 1; i < count; i++) {
		span_id at = { i };

		if (!model_thread_is_followed(spans->model, span_set_at(spans, at)->thread))
			continue;
		for (; at.i && !has_thread[at.i]; at = span_set_at(spans, at)->parent)
			has_thread[at.i] = true;
	}
	return has_thread;
}

/* Keep the requests that the recording covers, if there are any. */
static void keep_covered(struct loaded *loaded, size_t max, subjects *list, size_t *ret_left_out)
{
	struct recorded_time all = recorded_time(loaded->model);
	_cleanup_(freep) bool *has_thread = find_threads(&loaded->spans);
	size_t kept = 0, slower = 0;

	for (size_t i = 0; i < list->count; i++)
		if (has_thread[list->items[i].span.i] && is_covered(&list->items[i], all))
			list->items[kept++] = list->items[i];
		else if (kept < max)
			slower++;
	if (!kept)
		return;
	*ret_left_out = list->count - kept;
	list->count = kept;
	if (slower)
		warnings_add(&loaded->warnings,
			     "%zu slower request%s not or only partly recorded; use --trace to "
			     "explain %s from %s spans",
			     slower, slower == 1 ? " is" : "s are", slower == 1 ? "it" : "them",
			     slower == 1 ? "its" : "their");
}

static int longer_first(const void *a, const void *b)
{
	const struct subject *x = a, *y = b;
	nsec_t xt = x->to - x->from, yt = y->to - y->from;

	if (xt != yt)
		return xt > yt ? -1 : 1;
	return x->span.i < y->span.i ? -1 : x->span.i > y->span.i;
}

/* All selected requests, the slowest first. */
static void find_candidates(const struct loaded *loaded, const struct selected *selected,
			    subjects *ret)
{
	for (size_t i = 0; i < selected->spans.count; i++)
		*vec_push(ret) = subject_of_span(&loaded->spans, selected->spans.items[i]);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(ret->items[0]), longer_first);
}

static void add_to_entry(struct slowest *slowest, struct map *index, const struct span_set *spans,
			 struct subject *subject)
{
	const struct span *span = span_set_at(spans, subject->span);
	uint64_t *at = map_insert(index, selection_entry(span));

	if (!*at) {
		*vec_push(&slowest->entries) = (struct request_entry){ 0 };
		*at = slowest->entries.count;
	}

	struct request_entry *entry = &slowest->entries.items[*at - 1];

	subject->entry = *at;
	*vec_push(&entry->list) = *subject;
	entry->from_outside |= !span->is_client_recorded;
}

/* Marks the entries that other services call, too. */
static void find_inner(const struct span_set *spans, const struct map *index, struct slowest *ret)
{
	for (uint32_t i = 1; i < span_set_count(spans); i++) {
		const struct span *span = span_set_at(spans, (span_id){ i });
		const uint64_t *at = map_find(index, selection_entry(span));

		if (at && span->parent.i)
			ret->entries.items[*at - 1].from_inside |=
				span_set_at(spans, span->parent)->service.i != span->service.i;
	}
}

/* The percentiles, and which requests are slow: all of them, if the user has given a limit. */
static void measure(const struct span_set *spans, bool all_slow, struct request_entry *entry)
{
	latencies times = { 0 };
	size_t idle = 0;

	for (size_t i = 0; i < entry->list.count; i++) {
		const struct subject *s = &entry->list.items[i];

		*vec_push(&times) = s->to - s->from;
		idle += request_is_idle(spans, s->span);
	}
	entry->is_idle = idle * 10 > entry->list.count * 9;
	entry->latency = latency_of(&times);
	vec_done(&times);
	while (entry->slow < entry->list.count && entry->slow < SLOW_MAX) {
		const struct subject *s = &entry->list.items[entry->slow];

		if (!all_slow && s->to - s->from < entry->latency.p95)
			break;
		entry->slow++;
	}
}

int request_entry_rank(const struct request_entry *entry)
{
	return 4 * !entry->from_outside + 2 * entry->from_inside + entry->is_idle;
}

/* Keep the slowest requests of the entries that come first. */
static void choose(struct slowest *slowest, const subjects *all, size_t max)
{
	int best = INT_MAX;

	for (size_t i = 0; i < slowest->entries.count; i++)
		if (request_entry_rank(&slowest->entries.items[i]) < best)
			best = request_entry_rank(&slowest->entries.items[i]);
	for (size_t i = 0; i < all->count && slowest->list.count < max; i++)
		if (request_entry_rank(&slowest->entries.items[all->items[i].entry - 1]) == best)
			*vec_push(&slowest->list) = all->items[i];
}

static int fail(const struct loaded *loaded, const struct selection *selection, struct err *err)
{
	if (!selection_is_restricted(selection) || span_set_count(&loaded->spans) <= 1)
		return fail_without_requests(loaded->model, err);
	return err_set(err, -ENOENT,
		       "no request matches the options; 'sonde requests' lists the entries");
}

int slowest_find(struct loaded *loaded, const struct selection *selection, size_t max,
		 struct slowest *ret, struct err *err)
{
	struct selected selected;
	struct map index = { 0 };
	subjects all = { 0 };

	*ret = (struct slowest){ 0 };
	selection_find(loaded, selection, &selected);
	if (!selected.spans.count) {
		selected_done(&selected);
		return fail(loaded, selection, err);
	}
	ret->lost = selected.lost.count;
	ret->all = selected.all;
	find_candidates(loaded, &selected, &all);
	selected_done(&selected);
	keep_covered(loaded, max, &all, &ret->uncovered);
	for (size_t i = 0; i < all.count; i++)
		add_to_entry(ret, &index, &loaded->spans, &all.items[i]);
	find_inner(&loaded->spans, &index, ret);
	for (size_t i = 0; i < ret->entries.count; i++)
		measure(&loaded->spans, selection->above, &ret->entries.items[i]);
	choose(ret, &all, max);
	if (max && !selection->only_rebuilt)
		span_warnings_roots(&loaded->spans, &loaded->warnings);
	map_done(&index);
	vec_done(&all);
	return 0;
}

void slowest_causes(const struct loaded *loaded, const struct request_entry *entry,
		    struct cause_sum *ret)
{
	for (size_t i = 0; i < entry->slow; i++) {
		_cleanup_(account_done) struct account account = { 0 };

		account_of_span_brief(&loaded->spans, entry->list.items[i].span, &account);
		cause_sum_add(ret, &loaded->spans, &account);
	}
	cause_sum_finish(ret);
}
