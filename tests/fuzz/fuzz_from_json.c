/* SPDX-License-Identifier: Apache-2.0 */
/* Input: an export request in JSON.  What it is converted to is a valid request. */
#include <assert.h>

#include "otlp/check.h"
#include "otlp/from_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct view json = { (const char *)bytes, size };
	struct otlp_totals totals;
	struct err err;

	for (int signal = 0; signal < OTLP_SIGNAL_COUNT; signal++) {
		_cleanup_(pb_buffer_done) struct pb_buffer out = { 0 };

		if (otlp_from_json(signal, json, &out, &err) < 0) {
			assert(out.size == 0 && err.text[0]);
			continue;
		}
		assert(out.size <= 4 * size);

		struct view request = { out.data ? (const char *)out.data : "", out.size };

		assert(otlp_check(signal, request, &totals, &err) == 0);
	}
	return 0;
}
