/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/requests/spans.h"
#include "base/text.h"
#include "cli/opt.h"
#include "cli/log.h"
#include "cli/span_warn.h"
#include "report/lost.h"

static nsec_t since(const struct model *model, nsec_t t)
{
	return t > model_begin(model) ? t - model_begin(model) : 0;
}

int load_merged(char **inputs, const char *format, struct model **ret, struct merge **ret_merge,
		struct err *err)
{
	struct merge *merge;
	const struct source *source;
	const struct record *record;
	int r = merge_open(inputs, format, &merge, err);

	if (r < 0)
		return r;
	*ret_merge = merge;
	*ret = model_new();
	if (merge_start(merge))
		model_set_begin(*ret, merge_start(merge));
	while ((r = merge_next(merge, &record, &source, err)) > 0)
		model_add(*ret, source, record);
	model_finish(*ret);
	for (size_t i = 0; merge_warning(merge, i); i++)
		log_message("%s", merge_warning(merge, i));
	span_warn_shifts(*ret);
	return r;
}

void load_warn_lost(const struct model *model)
{
	struct lost lost = model_lost(model, 0, UINT64_MAX);
	nsec_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < model_loss_count(model); i++) {
		from = model_loss(model, i)->start < from ? model_loss(model, i)->start : from;
		to = model_loss(model, i)->end > to ? model_loss(model, i)->end : to;
	}
	if (lost.losses)
		log_message(
			"%s between %s and %s: results can be incomplete; 'sonde info' lists the "
			"losses",
			format_lost(lost).s, format_time(since(model, from)).s,
			format_time(since(model, to)).s);
}

int load_model(char **inputs, const char *format, struct model **ret, struct err *err)
{
	_cleanup_(merge_freep) struct merge *merge = NULL;

	return load_merged(inputs, format, ret, &merge, err);
}

const char *load_host_name(const void *merge, uint16_t host)
{
	return merge_host_name(merge, host);
}

void load_requests(struct model *model, bool wanted, struct requests *ret)
{
	if (!wanted && model_span_count(model) > 1)
		return;
	requests_find(model, ret);
	request_spans_add(model, ret);
}

/* The last thread with this tid that began before t and of which more than its turns is known. */
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

int load_find_thread(const struct model *model, const char *tid, nsec_t from, nsec_t to,
		     struct life *ret, struct err *err)
{
	uint64_t number;

	if (parse_count(tid, UINT32_MAX, &number) < 0)
		return err_usage(err, "--thread wants a number, not '%s'", tid);

	nsec_t begin = model_begin(model), end = to ? begin + to : UINT64_MAX;
	thread_id id = find_recorded(model, number, end);
	const struct thread *thread = model_thread(model, id);

	if (!id.i)
		return err_set(
			err, -ENOENT,
			"nothing was recorded of a thread %s; 'SELECT tid, comm FROM threads "
			"WHERE NOT neighbour' in 'sonde query' lists those of which something was",
			tid);
	from = from && begin + from > thread->begin ? begin + from : thread->begin;
	end = end < thread->end ? end : thread->end;
	if (from >= end)
		return err_set(err, -ERANGE, "thread %s was recorded from %s to %s, and not then",
			       tid, format_time(since(model, thread->begin)).s,
			       format_time(since(model, thread->end)).s);
	*ret = (struct life){ id, from, end };
	return 0;
}

/* How well digits that a user typed name an id: not at all, as its begin, or as a whole. */
enum match { MATCH_NONE, MATCH_BEGIN, MATCH_ALL };

/* Leading zeros may be left out, all or some: tools do not agree on how many there are. */
static enum match match_id(const uint8_t *id, size_t size, const char *hex)
{
	char text[33] = "";
	size_t zeros, typed = strspn(hex, "0"), len = strlen(hex);

	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	if (!len)
		return MATCH_NONE;
	if (strncasecmp(text, hex, len) == 0)
		return len == 2 * size ? MATCH_ALL : MATCH_BEGIN;
	zeros = strspn(text, "0");
	if (typed == len || strncasecmp(text + zeros, hex + typed, len - typed) != 0)
		return MATCH_NONE;
	if (len - typed == 2 * size - zeros)
		return MATCH_ALL;
	return typed <= zeros ? MATCH_BEGIN : MATCH_NONE;
}

int load_find_span(const struct model *model, const char *hex, span_id *ret, struct err *err)
{
	enum match best = MATCH_NONE;
	size_t found = 0;

	for (uint32_t i = 1; i < model_span_count(model); i++) {
		enum match match = match_id(model_span(model, (span_id){ i })->id, 8, hex);

		if (match > best) {
			best = match;
			found = 0;
		}
		if (match && match == best && found++ == 0)
			*ret = (span_id){ i };
	}
	if (found > 1)
		log_message("%zu spans %s '%s'; this is the first", found,
			    best == MATCH_ALL ? "have the id" : "begin with", hex);
	return found ? 0 : err_set(err, -ENOENT, "there is no span '%s'", hex);
}

static bool is_longer(const struct span *span, const struct span *other)
{
	return !other || span->end - span->start > other->end - other->start;
}

int load_find_trace(const struct model *model, const char *hex, span_id *ret, struct err *err)
{
	const struct span *longest = NULL;
	enum match best = MATCH_NONE;
	bool several = false;

	for (uint32_t i = 1; i < model_span_count(model); i++) {
		const struct span *span = model_span(model, (span_id){ i });
		enum match match = span->parent.i ? MATCH_NONE : match_id(span->trace, 16, hex);

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
			*ret = (span_id){ i };
		}
	}
	if (several)
		log_message("several traces begin with '%s'; this is the longest", hex);
	else if (longest && model_root_count(model, *ret) > 1)
		log_message("trace '%s' has %zu roots; this is the longest", hex,
			    model_root_count(model, *ret));
	return longest ? 0 : err_set(err, -ENOENT, "there is no trace '%s'", hex);
}
