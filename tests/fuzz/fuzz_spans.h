/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For any input, a reader of spans returns spans in order of their ends, which do not end
 * before they start and contain valid strings; or a message.
 */
#ifndef SONDE_TESTS_FUZZ_SPANS_H
#define SONDE_TESTS_FUZZ_SPANS_H

#include <assert.h>
#include <string.h>

#include "read/input_internal.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static volatile size_t sink; /* prevents the compiler from removing reads */

static inline bool is_zero(const uint8_t *id, size_t size)
{
	static const uint8_t zero[16];

	return memcmp(id, zero, size) == 0;
}

static inline void check_span(const struct input *input, const struct record_span *span,
			      nsec_t last)
{
	assert(span->head.kind == RECORD_SPAN && span->head.words == sizeof(*span) / 8);
	assert(span->head.time >= last && span->head.time <= INT64_MAX);
	assert(span->start <= span->head.time);
	assert(!is_zero(span->span, 8) && !is_zero(span->trace, 16));
	assert(!(span->flags & ~(SPAN_FOLLOWS | SPAN_ERROR | SPAN_OPEN)));
	assert(span->kind <= SPAN_CONSUMER);
	sink += strlen(input_string(input, span->service));
	sink += strlen(input_string(input, span->operation));
	sink += strlen(input_record_host(input));
}

/* The attributes of a span precede it. */
static inline void check_attribute(const struct input *input, const struct record_attribute *a,
				   nsec_t last)
{
	assert(a->head.words == sizeof(*a) / 8 && a->head.time >= last);
	assert(!is_zero(a->span, 8) && !is_zero(a->trace, 16));
	assert(a->type >= ATTRIBUTE_STRING && a->type <= ATTRIBUTE_DOUBLE);
	assert(*input_string(input, a->key));
	if (a->type == ATTRIBUTE_STRING)
		sink += strlen(input_string(input, a->value));
}

static inline int check_spans(const struct input_format *format, open_memory_fn *read,
			      const uint8_t *bytes, size_t size)
{
	struct bytes given = { (uint8_t *)bytes, size };
	_cleanup_(bytes_done) struct bytes copy = bytes_copy(&given, size);
	_cleanup_(input_freep) struct input *input = NULL;
	const struct record *record;
	struct err err = { "" };
	uint64_t count = 0;
	nsec_t last = 0;

	sink += format->matches_file((char *)copy.data, size < 4096 ? size : 4096);
	if (read("fuzz", (char *)copy.data, size, &input, &err) < 0) {
		assert(!input && strstr(err.text, "'fuzz'"));
		return 0;
	}
	while (input_next(input, &record, &err) > 0) {
		if (record->kind == RECORD_ATTRIBUTE) {
			check_attribute(input, (const struct record_attribute *)record, last);
			continue;
		}
		check_span(input, (const struct record_span *)record, last);
		last = record->time;
		count++;
	}
	assert(count <= input_events(input));
	assert((count < input_events(input)) ==
	       (input_warning(input) &&
		strncmp(input_warning(input), "'fuzz': skipped ", 16) == 0));
	return 0;
}

#endif
