/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the bytes of a JSON file.  What comes out of it, however bent, are
 * spans in the order of their ends that do not end before they begin, with
 * strings that are there; or a sentence.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "read/input_parts.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static volatile size_t sink; /* so that reading is not optimised away */

static bool is_zero(const uint8_t *id, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (id[i])
			return false;
	return true;
}

static void check_span(const struct input *input, const struct record_span *span, nsec_t last)
{
	assert(span->head.kind == RECORD_SPAN && span->head.words == sizeof(*span) / 8);
	assert(span->head.time >= last && span->head.time <= INT64_MAX);
	assert(span->start <= span->head.time);
	assert(!is_zero(span->span, 8) && !is_zero(span->trace, 16));
	assert(!(span->flags & ~(SPAN_FOLLOWS | SPAN_ERROR)));
	assert(!(span->flags & SPAN_FOLLOWS) || !is_zero(span->parent, 8));
	sink += strlen(input_string(input, span->service));
	sink += strlen(input_string(input, span->operation));
	sink += strlen(input_record_host(input));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct bytes given = { (uint8_t *)bytes, size };
	_cleanup_(bytes_done) struct bytes copy = bytes_copy(&given, size);
	_cleanup_(input_freep) struct input *input = NULL;
	const struct record *record;
	struct err err = { "" };
	nsec_t last = 0;

	sink += jaeger_format.is_one((char *)copy.data, size);
	if (jaeger_open_memory("fuzz", (char *)copy.data, size, &input, &err) < 0) {
		assert(!input && strncmp(err.text, "'fuzz' is n", 11) == 0);
		return 0;
	}
	while (input_next(input, &record, &err) > 0) {
		check_span(input, (const struct record_span *)record, last);
		last = record->time;
	}
	assert(!input_notice(input) || strncmp(input_notice(input), "'fuzz': left out ", 17) == 0);
	return 0;
}
