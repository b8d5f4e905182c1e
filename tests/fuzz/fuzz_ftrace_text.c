/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a text trace.  For any input, the reader returns events in order of time with valid
 * names, and valid records; or a message.
 */
#include "fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct bytes given = { (uint8_t *)bytes, size };
	_cleanup_(bytes_done) struct bytes copy = bytes_copy(&given, size);
	const char *text = (char *)copy.data;
	_cleanup_(input_freep) struct input *events = NULL, *records = NULL;
	struct err err = { "" };

	fuzz_sink += ftrace_format.matches_file(text, size);
	if (ftrace_open_memory("fuzz", text, size, &events, &err) < 0) {
		assert(!events && strstr(err.text, "'fuzz'"));
		return 0;
	}
	fuzz_events(events);
	assert(ftrace_open_memory("fuzz", text, size, &records, &err) == 0);
	fuzz_records(records);
	return 0;
}
