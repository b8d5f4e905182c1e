/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a file with export requests in JSON. */
#include "fuzz_spans.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	return check_spans(&otlp_json_format, otlp_json_open_memory, bytes, size);
}
