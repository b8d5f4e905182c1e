/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a file with one or several export requests in protobuf. */
#include "fuzz_spans.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	return check_spans(&otlp_format, otlp_open_memory, bytes, size);
}
