/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a perf.data file, possibly damaged.  The reader returns events sorted by time
 * with readable texts, data and type names, or an error message.
 */
#include <assert.h>
#include <string.h>

#include "read/input_internal.h"
#include "read/raw/raw.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static volatile size_t sink; /* prevents the compiler from removing reads */

static void read_signed(void *arg, const char *name, int64_t n)
{
	sink += n + (name ? strlen(name) : 0);
}

static void read_unsigned(void *arg, const char *name, uint64_t n, int base)
{
	assert(base == 10 || base == 16);
	read_signed(arg, name, n);
}

static void read_text(void *arg, const char *name, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sink += s[i];
	read_signed(arg, name, len);
}

static void read_begin(void *arg, const char *name, bool is_array)
{
	read_signed(arg, name, is_array);
}

static void read_end(void *arg)
{
}

static const struct raw_visitor visitor = {
	.number = read_signed,
	.unsigned_number = read_unsigned,
	.text = read_text,
	.begin = read_begin,
	.end = read_end,
};

static void read_raw_text(struct raw_text text)
{
	if (text.s)
		read_text(NULL, NULL, text.s, text.len);
}

static void read_event(struct raw_source *raw, const struct raw_event *e)
{
	size_t size;
	const char *data = raw->data(raw, &size);

	assert(e->kind < RAW_KIND_COUNT);
	assert(e->kind != RAW_LOST || e->lost.start <= e->time);
	if (e->kind == RAW_SWITCH) {
		read_raw_text(e->sched_switch.prev_comm);
		read_raw_text(e->sched_switch.next_comm);
	} else if (e->kind == RAW_TASK) {
		read_raw_text(e->task.comm);
	} else if (e->kind == RAW_OTHER) {
		assert(*raw->type_name(raw, e->type));
		sink += raw->type_format(raw, e->type) != NULL;
	}
	assert(*raw->name(raw));
	raw->fields(raw, &visitor, NULL);
	if (data)
		read_text(NULL, NULL, data, size);
}

/* Reads all raw events, or all records. */
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
		read_event(raw, &event);
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
			assert(!input && strstr(err.text, "'fuzz'"));
	}
	return 0;
}
