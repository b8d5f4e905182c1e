/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a JSON file of Jaeger. */
#include "fuzz_spans.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	return check_spans(&jaeger_format, jaeger_open_memory, bytes, size);
}
