/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a format text, a NUL, and the data of a probe event.  Every value must lie within
 * the data; an exact-size copy lets the sanitizer check that.
 */
#include <assert.h>
#include <string.h>

#include "report/probe_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	size_t text_len = strnlen((const char *)input, size);
	size_t data_len = text_len < size ? size - text_len - 1 : 0;
	_cleanup_(freep) char *text = must_alloc(text_len + 1);
	_cleanup_(freep) char *data = must_alloc(data_len ? data_len : 1);

	memcpy(text, input, text_len);
	memcpy(data, input + size - data_len, data_len);
	_cleanup_(probe_format_freep) struct probe_format *format = probe_format_new(text);

	for (size_t i = 0; i < probe_format_count(format); i++) {
		struct probe_value v = { 0 };
		if (!probe_format_value(format, i, data, data_len, &v))
			continue;
		assert(strlen(v.name) > 0);
		if (v.type == PROBE_STRING || v.type == PROBE_BYTES)
			assert(v.bytes >= data && v.bytes + v.len <= data + data_len);
	}
	return 0;
}
