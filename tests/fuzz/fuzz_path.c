/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the bytes of a capture.  The fuzzer corrects the checksums, so that damaged records
 * reach the model.  For any records, the leaves of each path cover the whole period without
 * gap or overlap, and model_forget() leaves a valid model.
 */
#include <assert.h>

#include "analyse/contrast_traits.h"
#include "analyse/path.h"
#include "event/capture.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static const char *get_string(const void *arg, uint32_t id)
{
	return capture_get_string(arg, id);
}

static struct model *read_model(const struct capture *cap, nsec_t forget)
{
	struct source source = { .get_string = get_string, .arg = cap };
	struct model *model = model_new();
	const struct record *r;
	struct capture_cursor cur;
	struct err err;

	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &r, &err) > 0) {
		model_add(model, &source, r);
		if (forget)
			model_forget(model, forget);
	}
	model_finish(model);
	return model;
}

static void check_tiles(const struct path *path, nsec_t from, nsec_t to)
{
	nsec_t at = from;

	for (size_t i = 0; i < path->steps.count; i++) {
		const struct step *s = &path->steps.items[i];
		const struct step *above = s->parent ? &path->steps.items[s->parent - 1] : NULL;

		assert(s->parent <= i && s->start < s->end);
		assert(!above || (s->start >= above->start && s->end <= above->end));
		if (!s->is_leaf)
			continue;
		assert(s->start == at);
		at = s->end;
	}
	assert(at == to || from >= to);
}

static void walk_all(const struct model *model)
{
	for (uint32_t i = 0; i < model_thread_count(model) && i < 100; i++) {
		_cleanup_(path_done) struct path path = { 0 };

		path_of_thread(model, (thread_id){ i }, model_begin(model), model_end(model),
			       &path);
		check_tiles(&path, model_begin(model), model_end(model));
	}
	for (uint32_t i = 0; i < model_span_count(model) && i < 100; i++) {
		_cleanup_(path_done) struct path path = { 0 };
		const struct span *span = model_span(model, (span_id){ i });

		path_of_span(&(struct span_set){ .model = model }, (span_id){ i }, &path);
		check_tiles(&path, span->start, span->end);
	}
}

/* Whatever the spans are, the time of their causes is their latency. */
static void check_contrast(const struct model *model)
{
	struct span_set spans = { .model = model };
	struct contrast_traits traits;
	struct contrast contrast;
	span_id ids[100];
	size_t count = 0;
	nsec_t slow = 0, usual = 0;

	for (uint32_t i = 1; i < model_span_count(model) && count < ARRAY_LEN(ids); i++)
		ids[count++] = (span_id){ i };
	contrast_find(&spans, ids, count / 3, ids + count / 3, count - count / 3, &contrast);
	for (size_t i = 0; i < contrast.causes.count; i++) {
		slow += contrast.causes.items[i].slow;
		usual += contrast.causes.items[i].usual;
	}
	assert(slow == contrast.slow.time && usual == contrast.usual.time);
	contrast_traits_find(&spans, &contrast, &traits);
	contrast_traits_done(&traits);
	contrast_done(&contrast);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct bytes given = { (uint8_t *)input, size };
	_cleanup_(bytes_done) struct bytes bytes = bytes_copy(&given, size);
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct err err;

	bytes_seal(&bytes);
	if (capture_open_memory("fuzz", bytes.data, size, &cap, &err) < 0)
		return 0;
	_cleanup_(model_freep) struct model *model = read_model(cap, 0);
	_cleanup_(model_freep) struct model *window = read_model(cap, 1010);

	walk_all(model);
	walk_all(window);
	check_contrast(model);
	check_contrast(window);
	return 0;
}
