/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/requests/window_spans.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/requests/spans.h"
#include "base/hash.h"
#include "base/sort.h"

enum { ENTRIES_MAX = 1 << 14 }; /* beyond, they are learned anew */

void returned_spans_done(struct returned_spans *returned)
{
	map_done(&returned->now);
	map_done(&returned->before);
	map_done(&returned->entries);
}

void returned_spans_rotate(struct returned_spans *returned, nsec_t now, nsec_t length)
{
	if (now - returned->since < 2 * length)
		return;
	map_done(&returned->before);
	returned->before = returned->now;
	returned->now = (struct map){ 0 };
	returned->since = now;
	if (returned->entries.count > ENTRIES_MAX)
		map_done(&returned->entries);
}

static uint64_t span_key(const struct span *span)
{
	uint8_t both[24];

	memcpy(both, span->trace, 16);
	memcpy(both + 16, span->id, 8);
	return hash_bytes(both, sizeof(both));
}

/* Notes that a span is returned; false if it was before. */
static bool note_returned(struct returned_spans *returned, const struct span *span)
{
	uint64_t key = span_key(span);

	if (map_find(&returned->now, key) || map_find(&returned->before, key))
		return false;
	*map_insert(&returned->now, key) = 1;
	return true;
}

static bool names_parent(const struct span *span)
{
	static const uint8_t none[8];

	return memcmp(span->parent_id, none, sizeof(none)) != 0;
}

/* Spans of the same service and operation, over batches in which string ids differ. */
static uint64_t entry_key(const struct span_set *set, const struct span *span)
{
	const char *service = span_set_string(set, span->service);
	const char *operation = span_set_string(set, span->operation);

	return hash_pair(hash_bytes(service, strlen(service)),
			 hash_bytes(operation, strlen(operation)));
}

static bool recorded_is_settled(struct returned_spans *returned, const struct span_set *set,
				const struct span *span, nsec_t until)
{
	if (span->end > until || until - span->end < REQUEST_QUIET)
		return false;
	if (!names_parent(span) || until == UINT64_MAX)
		return true;

	uint64_t key = entry_key(set, span);

	if (until - span->end >= REQUEST_REACH)
		*map_insert(&returned->entries, key) = 1;
	return map_find(&returned->entries, key);
}

/* Recorded roots; those that serve a rebuilt root are settled with it. */
static void add_recorded(struct returned_spans *returned, nsec_t until, const bool *is_request,
			 struct request_batch *batch)
{
	const struct span_set *set = &batch->spans;

	for (uint32_t i = 1; i < model_span_count(set->model); i++) {
		const struct span *span = span_set_at(set, (span_id){ i });

		if (!span->parent.i && !is_request[i] && !(span->flags & SPAN_OPEN) &&
		    recorded_is_settled(returned, set, span, until) &&
		    note_returned(returned, span))
			*vec_push(&batch->ended) = (span_id){ i };
	}
}

/* The spans of rebuilt roots, if these are roots in the set as well. */
static void add_rebuilt(struct returned_spans *returned, const struct root_choice *choice,
			const span_id *ids, struct request_batch *batch)
{
	const struct span_set *set = &batch->spans;
	size_t recorded = model_span_count(set->model);

	for (size_t i = 0; i < choice->settled.count; i++) {
		span_id id = ids[choice->settled.items[i]];
		const struct span *span = span_set_at(set, id);

		if (!span->parent.i && (id.i >= recorded || note_returned(returned, span)))
			*vec_push(&batch->ended) = id;
	}
	for (size_t i = 0; i < choice->in_flight.count; i++) {
		span_id id = ids[choice->in_flight.items[i]];

		if (!span_set_at(set, id)->parent.i)
			*vec_push(&batch->in_flight) = id;
	}
}

/* Recorded spans that stand for a rebuilt root. */
static bool *find_requests(const struct request_batch *batch, const span_id *ids)
{
	size_t recorded = model_span_count(batch->spans.model);
	bool *is_request = must_alloc(recorded * sizeof(*is_request));

	for (size_t i = 0; i < batch->requests.roots.count; i++) {
		span_id id = ids[batch->requests.roots.items[i]];

		if (id.i < recorded)
			is_request[id.i] = true;
	}
	return is_request;
}

static bool ends_before(const struct span_set *spans, span_id a, span_id b)
{
	nsec_t x = span_set_at(spans, a)->end, y = span_set_at(spans, b)->end;

	return x != y ? x < y : a.i < b.i;
}

void window_spans_add(struct returned_spans *returned, nsec_t until,
		      const struct root_choice *choice, struct request_batch *batch)
{
	_cleanup_(freep) span_id *ids =
		must_alloc((batch->requests.spans.count + 1) * sizeof(*ids));
	bool stand_alone = false;

	if (model_span_count(batch->spans.model) > 1)
		stand_alone = !request_spans_join(&batch->requests, &batch->spans, choice->since,
						  ids, &returned->has_joined);
	else
		request_spans_add_ids(&batch->requests, NULL, &batch->spans, ids);

	_cleanup_(freep) bool *is_request = find_requests(batch, ids);

	if (!stand_alone)
		add_rebuilt(returned, choice, ids, batch);
	add_recorded(returned, until, is_request, batch);
#define IS_BEFORE(a, b) ends_before(&batch->spans, *(a), *(b))
	sort_items(batch->ended.items, batch->ended.count, IS_BEFORE);
#undef IS_BEFORE
}
