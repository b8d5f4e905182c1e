/* SPDX-License-Identifier: Apache-2.0 */
/* Input: an export request in protobuf.  Our reader can read each request that the check accepts.
 */
#include <assert.h>

#include "otlp/check.h"
#include "otlp/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_reader(struct view request, uint64_t want)
{
	struct otlp_reader reader;
	struct otlp_resource resource;
	struct otlp_scope scope;
	struct otlp_span span;
	uint64_t spans = 0;
	int r;

	otlp_reader_init(&reader, request);
	for (; (r = otlp_next_span(&reader, &span)) > 0; spans++) {
		assert(otlp_read_resource(&reader, &resource) == 0);
		assert(otlp_read_scope(&reader, &scope) == 0);
	}
	assert(r == 0 && spans == want);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct view request = { (const char *)bytes, size };
	struct otlp_totals totals;
	struct err err;

	for (int signal = 0; signal < OTLP_SIGNAL_COUNT; signal++)
		if (otlp_check(signal, request, &totals, &err) == 0 && signal == OTLP_TRACES)
			check_reader(request, totals.items);
	return 0;
}
