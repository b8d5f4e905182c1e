/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the bytes of a capture, as for fuzz_requests.  Its records go through a window of one
 * second, which advances after a number of records that depends on the input.  Requests must be
 * trees, their paths must cover their time, and what the model forgets must not be used again.
 */
#include <assert.h>

#include "analyse/path.h"
#include "analyse/requests/window.h"
#include "event/capture.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static const nsec_t length = NSEC_PER_SEC;

static const char *get_string(const void *arg, uint32_t id)
{
	return capture_get_string(arg, id);
}

static void check_trees(const struct requests *requests)
{
	size_t most = requests->spans.count;

	for (size_t i = 1; i < most; i++) {
		const struct request_span *span = &requests->spans.items[i];
		size_t steps = 0;

		assert(span->parent < most && span->start <= span->end);
		for (uint32_t at = i; at; at = requests->spans.items[at].parent)
			assert(steps++ < most);
	}
}

static void check_path(const struct span_set *spans, span_id id)
{
	const struct span *span = span_set_at(spans, id);
	struct path path = { 0 };
	nsec_t at = span_arrival(span);

	assert(!span->parent.i);
	if (span->start > span->end)
		return; /* as recorded */
	path_of_span(spans, id, &path);
	for (size_t i = 0; i < path.steps.count; i++) {
		const struct step *step = &path.steps.items[i];

		if (!step->is_leaf)
			continue;
		assert(step->start == at && step->start < step->end);
		at = step->end;
	}
	assert(at == span->end);
	path_done(&path);
}

static void check_batch(struct request_batch *batch)
{
	check_trees(&batch->requests);
	for (size_t i = 0; i < batch->ended.count; i++)
		check_path(&batch->spans, batch->ended.items[i]);
	for (size_t i = 0; i < batch->in_flight.count; i++)
		check_path(&batch->spans, batch->in_flight.items[i]);
	request_batch_done(batch);
}

static void advance(struct request_window *w, struct model *model, nsec_t now)
{
	struct request_batch batch;
	nsec_t t = now > length ? now - length : 0;

	model_update(model);
	request_window_advance(w, model, now, &batch);
	check_batch(&batch);
	model_forget(model, t < request_window_needs(w) ? t : request_window_needs(w));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct bytes given = { (uint8_t *)input, size };
	_cleanup_(bytes_done) struct bytes bytes = bytes_copy(&given, size);
	_cleanup_(capture_freep) struct capture *cap = NULL;
	unsigned int steps = size ? input[size / 2] % 31 + 1 : 1, left = steps;
	struct capture_cursor cur;
	const struct record *r;
	struct err err;
	nsec_t now = 0;

	bytes_seal(&bytes);
	if (capture_open_memory("fuzz", bytes.data, size, &cap, &err) < 0)
		return 0;

	struct source source = { .get_string = get_string, .arg = cap };
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(request_window_freep) struct request_window *w = request_window_new(length);
	struct request_batch batch;

	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &r, &err) > 0) {
		model_add(model, &source, r);
		now = r->time > now ? r->time : now;
		if (--left)
			continue;
		left = steps;
		advance(w, model, now);
	}
	model_update(model);
	request_window_finish(w, model, &batch);
	check_batch(&batch);
	return 0;
}
