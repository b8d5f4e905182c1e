/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a log in the format of MiSeRTrace and, behind the first NUL, a list of containers.
 * For any input, the readers return events in order of time and valid records, or a message.
 */
#include "fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static void read_list(struct view list)
{
	_cleanup_(input_freep) struct input *input = NULL;
	struct err err = { "" };

	fuzz_sink += bpftrace_meta_format.matches_file(list.s, list.len);
	if (bpftrace_meta_open_memory("fuzz", list.s, list.len, &input, &err) < 0)
		assert(!input && err.text[0]);
	else
		fuzz_records(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct bytes given = { (uint8_t *)bytes, size };
	_cleanup_(bytes_done) struct bytes copy = bytes_copy(&given, size);
	const char *text = (char *)copy.data, *nul = size ? memchr(text, '\0', size) : NULL;
	struct view list = { text, 0 };
	_cleanup_(input_freep) struct input *events = NULL, *records = NULL;
	struct err err = { "" };

	if (nul) {
		list = (struct view){ nul + 1, size - (nul + 1 - text) };
		size = nul - text;
	}
	read_list(list);
	fuzz_sink += bpftrace_format.matches_file(text, size);
	if (bpftrace_open_memory("fuzz", text, size, list, &events, &err) < 0) {
		assert(!events && strncmp(err.text, "'fuzz' is not a log", 19) == 0);
		return 0;
	}
	fuzz_events(events);
	assert(bpftrace_open_memory("fuzz", text, size, list, &records, &err) == 0);
	fuzz_records(records);
	return 0;
}
