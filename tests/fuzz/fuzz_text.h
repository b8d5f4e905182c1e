/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_text - invariants of the raw events of any text trace. */
#ifndef SONDE_TESTS_FUZZ_TEXT_H
#define SONDE_TESTS_FUZZ_TEXT_H

#include <assert.h>
#include <string.h>

#include "base/view.h"
#include "read/input_internal.h"
#include "read/raw/raw.h"
#include "unit/bytes.h"

static volatile size_t fuzz_sink; /* prevents the compiler from removing reads */

static void fuzz_text_field(void *arg, const char *name, const char *s, size_t len)
{
	fuzz_sink += strlen(name);
	for (size_t i = 0; i < len; i++)
		fuzz_sink += s[i];
}

static void fuzz_touch(const struct raw_text *text)
{
	for (uint32_t i = 0; text->s && i < text->len; i++)
		fuzz_sink += text->s[i];
}

static void fuzz_check_event(struct raw_source *source, const struct raw_event *e, nsec_t last)
{
	static const struct raw_visitor visitor = { .text = fuzz_text_field };

	assert(e->time >= last && e->time <= INT64_MAX);
	assert(e->kind < RAW_KIND_COUNT);
	fuzz_touch(&e->comm);
	if (e->kind == RAW_SWITCH) {
		fuzz_touch(&e->sched_switch.prev_comm);
		fuzz_touch(&e->sched_switch.next_comm);
		assert(e->sched_switch.state <= RAW_STATE_ALL);
	} else if (e->kind == RAW_WAKING || e->kind == RAW_RENAME) {
		fuzz_touch(&e->wake.comm);
	} else if (e->kind == RAW_EXEC) {
		fuzz_touch(&e->exec.path);
	} else if (e->kind == RAW_SYSCALL_ENTER) {
		fuzz_touch(&e->syscall.path);
	} else if (e->kind == RAW_PROCESS) {
		fuzz_touch(&e->process.cgroup);
	} else if (e->kind == RAW_LOST) {
		assert(e->lost.start <= e->time && e->lost.count > 0);
	}
	if (!raw_is_event(e->kind))
		return;
	fuzz_sink += strlen(source->name(source));
	fuzz_sink += strlen(source->type_name(source, e->type));
	source->fields(source, &visitor, NULL);
}

/* Reads the original events of an input; the input cannot be read as records afterwards. */
static void fuzz_events(struct input *input)
{
	struct raw_source *source = input_raw(input);
	struct raw_event event;
	struct err err;
	nsec_t last = 0;
	int r;

	while ((r = source->next(source, &event, &err)) > 0) {
		fuzz_check_event(source, &event, last);
		last = event.time;
	}
	assert(r == 0);
}

/* Reads the records of an input. */
static void fuzz_records(struct input *input)
{
	const struct record *record;
	struct err err;
	int r;

	while ((r = input_next(input, &record, &err)) > 0)
		assert(record->words >= 2 && record->kind < RECORD_KIND_COUNT);
	assert(r == 0);
}

#endif
