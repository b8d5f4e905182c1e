/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a file `metadata`, as text or in packets.  It compiles to programs, or fails
 * with an error message.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "read/ctf/lexer.h"
#include "read/ctf/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static volatile size_t sum;

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	_cleanup_(freep) uint8_t *copy = must_alloc(size ? size : 1);
	_cleanup_(ctf_trace_freep) struct ctf_trace *trace = NULL;
	struct err err = { "" };

	memcpy(copy, input, size);
	sum += ctf_is_metadata(copy, size);

	int code = ctf_trace_new("fuzz", copy, size, 0, &trace, &err);

	if (code < 0) {
		assert(code == -EBADMSG || code == -ENOTSUP || code == -EPROTONOSUPPORT);
		assert(strstr(err.text, "'fuzz'"));
		return 0;
	}
	assert(trace->streams.count > 0);
	for (size_t i = 0; i < trace->events.count; i++)
		sum += strlen(trace->events.items[i]->name);
	return 0;
}
