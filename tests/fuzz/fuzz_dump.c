/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a capture.  Checksums are recomputed, so that damaged records are read.  Dump
 * them as text and JSON, with and without a filter, and summarise them.  Every line must
 * be well formed.
 */
#include <assert.h>
#include <string.h>

#include "unit/bytes.h"
#include "unit/capture_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

/* No control characters but newlines; in JSON, each line is an object. */
static void check_lines(const char *text, size_t size, bool json)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c = text[i];
		bool begins = i == 0 || text[i - 1] == '\n';

		assert(c == '\n' || (c >= 0x20 && c != 0x7f));
		assert(!json || !begins || c == '{');
		assert(!json || c != '\n' || text[i - 1] == '}');
	}
	assert(size == 0 || text[size - 1] == '\n');
}

static void dump(const struct capture *cap, const struct dump_filter *filter, bool json)
{
	_cleanup_(freep) char *text = NULL;
	size_t size;
	struct err err;
	FILE *file = open_memstream(&text, &size);

	capture_stream_dump(cap, filter, json, file, &err);
	fclose(file);
	check_lines(text, size, json);
}

static void summarise(const struct capture *cap)
{
	_cleanup_(freep) char *text = NULL;
	_cleanup_(info_done) struct info info = { 0 };
	size_t size;
	struct err err;
	FILE *file = open_memstream(&text, &size);

	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct json j;

	capture_stream_info(cap, &info, &err);
	out_init(out, file);
	json_init(&j, out);
	info_text(&info, out);
	info_json(&info, &j);
	json_newline(&j);
	assert(out_flush(out) == 0);
	fclose(file);
	check_lines(text, size, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct bytes given = { (uint8_t *)input, size };
	_cleanup_(bytes_done) struct bytes bytes = bytes_copy(&given, size);
	_cleanup_(capture_freep) struct capture *cap = NULL;
	const struct dump_filter all = { .to = UINT64_MAX };
	const uint64_t one = 17;
	const struct dump_filter some = {
		.processes = &one, .process_count = 1, .from = 100, .to = 1000000000
	};
	struct err err;

	bytes_seal(&bytes);
	if (capture_open_memory("fuzz", bytes.data, size, &cap, &err) < 0)
		return 0;
	dump(cap, &all, false);
	dump(cap, &all, true);
	dump(cap, &some, true);
	summarise(cap);
	return 0;
}
