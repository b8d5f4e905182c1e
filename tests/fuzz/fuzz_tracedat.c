/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a trace.dat, possibly damaged.  The reader returns events sorted by time with
 * readable texts and fields, or an error message.
 */
#include <assert.h>
#include <string.h>

#include "read/tracedat/tracedat.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static volatile size_t sink; /* prevents the compiler from removing reads */

static void touch(struct raw_text text)
{
	for (size_t i = 0; i < text.len; i++)
		sink += text.s[i];
}

static void number(void *arg, const char *name, int64_t n)
{
	sink += n + (name ? strlen(name) : 0);
}

static void unsigned_number(void *arg, const char *name, uint64_t n, int base)
{
	sink += n;
}

static void text(void *arg, const char *name, const char *s, size_t len)
{
	touch((struct raw_text){ s, len });
}

static void begin(void *arg, const char *name, bool is_array)
{
	sink += strlen(name);
}

static void end(void *arg)
{
}

static const struct raw_visitor visitor = {
	.number = number,
	.unsigned_number = unsigned_number,
	.text = text,
	.begin = begin,
	.end = end,
};

static void check_event(struct raw_source *source, const struct raw_event *e)
{
	size_t size = 0;
	const uint8_t *data = source->data(source, &size);

	assert(e->kind < RAW_KIND_COUNT);
	for (size_t i = 0; data && i < size; i++)
		sink += data[i];
	touch(e->comm);
	if (e->kind == RAW_SWITCH) {
		touch(e->sched_switch.prev_comm);
		touch(e->sched_switch.next_comm);
	} else if (e->kind == RAW_EXEC) {
		touch(e->exec.path);
	} else if (e->kind == RAW_LOST) {
		assert(e->lost.start <= e->time);
	}
	sink += strlen(source->name(source)) + strlen(source->type_name(source, e->type));
	source->fields(source, &visitor, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct bytes given = { (uint8_t *)bytes, size };
	_cleanup_(bytes_done) struct bytes copy = bytes_copy(&given, size);
	struct view file = { (const char *)copy.data, size };
	struct raw_source *source = NULL;
	struct err err = { "" };
	struct raw_event e;
	nsec_t last = 0;

	sink += tracedat_has_magic(file.s, size);
	if (tracedat_open_memory("fuzz", file, &source, &err) < 0) {
		assert(!source && strstr(err.text, "'fuzz'"));
		return 0;
	}
	while (source->next(source, &e, &err) > 0) {
		assert(e.time >= last && e.time <= INT64_MAX);
		last = e.time;
		check_event(source, &e);
	}
	source->free(source);
	return 0;
}
