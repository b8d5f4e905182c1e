/* SPDX-License-Identifier: Apache-2.0 */
#include "load/subject.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static nsec_t since_begin(const struct model *model, nsec_t t)
{
	return t > model_begin(model) ? t - model_begin(model) : 0;
}

/* The last thread with this tid that began before t and is not out of scope. */
static thread_id find_recorded(const struct model *model, uint32_t tid, nsec_t t)
{
	thread_id id = model_find_thread(model, tid, t);

	while (model_thread(model, id)->out_of_scope) {
		thread_id earlier =
			model_find_thread(model, tid, model_thread(model, id)->begin - 1);

		if (earlier.i == id.i)
			return (thread_id){ 0 };
		id = earlier;
	}
	return id;
}

int subject_find_thread(const struct model *model, uint32_t tid, nsec_t from, nsec_t to,
			struct subject *ret, struct err *err)
{
	nsec_t begin = model_begin(model), end = to ? begin + to : UINT64_MAX;
	thread_id id = find_recorded(model, tid, end);
	const struct thread *thread = model_thread(model, id);

	if (!id.i)
		return err_set(err, -ENOENT,
			       "thread %u was not recorded; 'SELECT tid, comm FROM threads' in "
			       "'sonde query' lists the recorded threads",
			       tid);
	from = from && begin + from > thread->begin ? begin + from : thread->begin;
	end = end < thread->end ? end : thread->end;
	if (from >= end)
		return err_set(err, -ERANGE,
			       "thread %u was recorded from %s to %s, outside the requested time",
			       tid, format_time(since_begin(model, thread->begin)).s,
			       format_time(since_begin(model, thread->end)).s);
	*ret = (struct subject){ .thread = id, .from = from, .to = end };
	return 0;
}

/* How well the digits that a user typed match an id. */
enum id_match { MATCH_NONE, MATCH_PREFIX, MATCH_WHOLE };

/* Tools disagree on how many leading zeros to show, so the user can omit all or some. */
static enum id_match match_id(const uint8_t *id, size_t size, const char *hex)
{
	char text[33] = "";
	size_t zeros, typed_zeros = strspn(hex, "0"), length = strlen(hex);

	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	if (!length)
		return MATCH_NONE;
	if (strncasecmp(text, hex, length) == 0)
		return length == 2 * size ? MATCH_WHOLE : MATCH_PREFIX;
	zeros = strspn(text, "0");
	if (typed_zeros == length ||
	    strncasecmp(text + zeros, hex + typed_zeros, length - typed_zeros) != 0)
		return MATCH_NONE;
	if (length - typed_zeros == 2 * size - zeros)
		return MATCH_WHOLE;
	return typed_zeros <= zeros ? MATCH_PREFIX : MATCH_NONE;
}

struct subject subject_of_span(const struct span_set *spans, span_id id)
{
	const struct span *span = span_set_at(spans, id);

	return (struct subject){ .span = id, .from = span_arrival(span), .to = span->end };
}

int subject_find_span(struct loaded *loaded, const char *hex, struct subject *ret, struct err *err)
{
	const struct span_set *spans = &loaded->spans;
	enum id_match best = MATCH_NONE;
	size_t found = 0;

	for (uint32_t i = 1; i < span_set_count(spans); i++) {
		enum id_match match = match_id(span_set_at(spans, (span_id){ i })->id, 8, hex);

		if (match > best) {
			best = match;
			found = 0;
		}
		if (match && match == best && found++ == 0)
			*ret = subject_of_span(spans, (span_id){ i });
	}
	if (found > 1)
		warnings_add(&loaded->warnings, "%zu spans %s '%s'; this is the first", found,
			     best == MATCH_WHOLE ? "have the id" : "begin with", hex);
	return found ? 0 : err_set(err, -ENOENT, "there is no span '%s'", hex);
}

static bool is_longer(const struct span *span, const struct span *other)
{
	return !other || span->end - span->start > other->end - other->start;
}

/* The top of a trace can have a parent of another trace: a rebuilt request of a caller. */
static bool is_top(const struct span_set *spans, const struct span *span)
{
	return !span->parent.i || memcmp(span_set_at(spans, span->parent)->trace, span->trace,
					 sizeof(span->trace)) != 0;
}

int subject_find_trace(struct loaded *loaded, const char *hex, struct subject *ret, struct err *err)
{
	const struct span_set *spans = &loaded->spans;
	const struct span *longest = NULL;
	enum id_match best = MATCH_NONE;
	bool several = false;

	for (uint32_t i = 1; i < span_set_count(spans); i++) {
		const struct span *span = span_set_at(spans, (span_id){ i });
		enum id_match match =
			is_top(spans, span) ? match_id(span->trace, 16, hex) : MATCH_NONE;

		if (!match || match < best)
			continue;
		if (match > best) {
			best = match;
			several = false;
			longest = NULL;
		}
		several |= longest && memcmp(span->trace, longest->trace, 16) != 0;
		if (is_longer(span, longest)) {
			longest = span;
			*ret = subject_of_span(spans, (span_id){ i });
		}
	}
	if (!longest)
		return err_set(err, -ENOENT, "there is no trace '%s'", hex);

	size_t roots = span_set_root_count(spans, ret->span);

	if (several)
		warnings_add(&loaded->warnings,
			     "several traces begin with '%s'; this is the longest", hex);
	else if (roots > 1)
		warnings_add(&loaded->warnings, "trace '%s' has %zu roots; this is the longest",
			     hex, roots);
	return 0;
}

void subject_path(const struct loaded *loaded, const struct subject *subject, struct path *ret)
{
	if (subject->span.i)
		path_of_span(&loaded->spans, subject->span, ret);
	else
		path_of_thread(loaded->model, subject->thread, subject->from, subject->to, ret);
}

void subject_account(const struct loaded *loaded, const struct subject *subject,
		     struct account *ret)
{
	if (subject->span.i)
		account_of_span(&loaded->spans, subject->span, ret);
	else
		account_of_thread(loaded->model, subject->thread, subject->from, subject->to, ret);
}
