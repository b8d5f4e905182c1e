/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the bytes of a perf.data file.  What comes out of it, however bent, are
 * events in the order of time, whose texts and data can be read and whose types
 * have names; or a sentence.
 */
#include <assert.h>
#include <string.h>

#include "read/input_internal.h"
#include "read/raw/raw.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static volatile size_t sink; /* so that reading is not optimised away */

static void see_signed(void *arg, const char *name, int64_t n)
{
	sink += n + (name ? strlen(name) : 0);
}

static void see_unsigned(void *arg, const char *name, uint64_t n, int base)
{
	assert(base == 10 || base == 16);
	see_signed(arg, name, n);
}

static void see_text(void *arg, const char *name, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sink += s[i];
	see_signed(arg, name, len);
}

static void see_begin(void *arg, const char *name, bool is_array)
{
	see_signed(arg, name, is_array);
}

static void see_end(void *arg)
{
}

static const struct raw_visitor visitor = {
	.number = see_signed,
	.unsigned_number = see_unsigned,
	.text = see_text,
	.begin = see_begin,
	.end = see_end,
};

static void see_raw_text(struct raw_text text)
{
	if (text.s)
		see_text(NULL, NULL, text.s, text.len);
}

static void see_event(struct raw_source *raw, const struct raw_event *e)
{
	size_t size;
	const char *data = raw->data(raw, &size);

	assert(e->kind < RAW_KIND_COUNT);
	assert(e->kind != RAW_LOST || e->lost.start <= e->time);
	if (e->kind == RAW_SWITCH) {
		see_raw_text(e->sched_switch.prev_comm);
		see_raw_text(e->sched_switch.next_comm);
	} else if (e->kind == RAW_TASK) {
		see_raw_text(e->task.comm);
	} else if (e->kind == RAW_OTHER) {
		assert(*raw->type_name(raw, e->type));
		sink += raw->type_format(raw, e->type) != NULL;
	}
	assert(*raw->name(raw));
	raw->fields(raw, &visitor, NULL);
	if (data)
		see_text(NULL, NULL, data, size);
}

/* Events as they stand, and in a second pass what is made of them. */
static void read_all(struct input *input, bool as_records)
{
	struct raw_source *raw = input_raw(input);
	const struct record *record;
	struct raw_event event;
	struct err err = { "" };
	nsec_t last = 0;

	while (as_records && input_next(input, &record, &err) > 0)
		sink += record->kind;
	while (!as_records && raw->next(raw, &event, &err) > 0) {
		assert(event.time >= last);
		last = event.time;
		see_event(raw, &event);
	}
	assert(!input_warning(input) || input_warning(input)[0] == '\'');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct bytes given = { (uint8_t *)bytes, size };
	_cleanup_(bytes_done) struct bytes copy = bytes_copy(&given, size);

	sink += perf_format.matches_file((char *)copy.data, size);
	for (unsigned pass = 0; pass < 2; pass++) {
		_cleanup_(input_freep) struct input *input = NULL;
		struct err err = { "" };

		if (perf_open_memory("fuzz", (char *)copy.data, size, &input, &err) == 0)
			read_all(input, pass);
		else
			assert(!input && strncmp(err.text, "'fuzz' ", 7) == 0);
	}
	return 0;
}
