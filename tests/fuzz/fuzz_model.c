/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the bytes of a capture.  The fuzzer corrects the checksums, so that damaged records reach
 * the model.  The model is a window that is updated and forgets at times that the input decides;
 * whatever the records are, all that it holds can be read at any time.
 */
#include "event/capture.h"
#include "model/model.h"
#include "unit/bytes.h"
#include "unit/model_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static const char *get_string(const void *arg, uint32_t id)
{
	return capture_get_string(arg, id);
}

/* One step after a record, as a byte of the input says. */
static void step(struct model *model, uint8_t choice)
{
	nsec_t begin = model_begin(model), length = model_end(model) - begin;

	if (choice & 1)
		model_update(model);
	if (choice & 2)
		model_forget(model, begin + length / 8 * (choice >> 5));
	if (choice == 255)
		model_end_input(model, 0);
	if (choice & 4)
		free(model_text(model, 0, UINT64_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct bytes given = { (uint8_t *)input, size };
	_cleanup_(bytes_done) struct bytes bytes = bytes_copy(&given, size);
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct source source = { .get_string = get_string };
	const struct record *r;
	struct capture_cursor cur;
	struct err err;

	bytes_seal(&bytes);
	if (capture_open_memory("fuzz", bytes.data, size, &cap, &err) < 0)
		return 0;
	source.arg = cap;
	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	for (size_t i = 0; capture_next(&cur, &r, &err) > 0; i++) {
		model_add(model, &source, r);
		step(model, input[i * 7 % size]);
	}
	model_finish(model);
	free(model_text(model, 0, UINT64_MAX));
	model_forget(model, model_end(model) / 2);
	free(model_text(model, 0, UINT64_MAX));
	model_forget(model, UINT64_MAX);
	free(model_text(model, 0, UINT64_MAX));
	return 0;
}
