/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a JSON document of Zipkin.  It is valid if and only if all parts are valid, and the
 * parts contain the same number of spans.
 */
#include <assert.h>
#include <string.h>

#include "read/input_internal.h"
#include "read/span/json_split.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

/* The number of spans, including skipped ones; -1 if the document is invalid. */
static int64_t count_spans(struct view text)
{
	_cleanup_(input_freep) struct input *input = NULL;
	struct err err;

	if (zipkin_open_memory("fuzz", text.s, text.len, &input, &err) < 0)
		return -1;
	return input_events(input);
}

static void check_offsets(const struct json_split *split, struct view part)
{
	for (size_t i = 0; i < part.len; i++)
		assert(part.s[i] == split->text.s[json_split_offset(split, i)]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct json_shape lists;
	struct bytes given = { (uint8_t *)bytes, size };
	_cleanup_(bytes_done) struct bytes copy = bytes_copy(&given, size);
	struct view text = { (const char *)copy.data, size }, part;
	struct json_split split;
	int64_t sum = 0;

	/* each line would be a document */
	if (memchr(bytes, '\n', size) || !json_split_begin(&split, text, &lists))
		return 0;
	while (json_split_next(&split, 1, &part)) {
		int64_t n = count_spans(part);

		check_offsets(&split, part);
		sum = n < 0 || sum < 0 ? -1 : sum + n;
	}
	json_split_done(&split);
	assert(sum == count_spans(text));
	return 0;
}
