/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracedat_option - reads the options of a trace.dat: each has an id, a size and data.
 *
 * Clocks: "mono" is CLOCK_MONOTONIC.  The others ("local", "global", "perf", "boot",
 * "tai", "mono_raw") count nanoseconds from an unknown origin, so such a trace cannot
 * be aligned with other traces unless the file contains a date.  "x86-tsc" counts
 * cycles, and newer files contain the conversion to ns; "counter" counts events.
 */
#include <errno.h>
#include <string.h>

#include "read/tracedat/tracedat.h"

enum tracedat_option {
	OPTION_END = 0,
	OPTION_DATE = 1,
	OPTION_BUFFER = 3,
	OPTION_CLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_OFFSET = 7,
	OPTION_TSC = 14,
	OPTION_FIRST_SECTION = 16,
	OPTION_LAST_SECTION = 21,
	OPTION_TEXT = 22,
};

int tracedat_fail_text(const struct tracedat *t, struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "'%s' contains the text of a latency tracer instead of events; pass the "
		       "output of 'trace-cmd report'",
		       t->path);
}

/* Parses a number in the syntax of C; the data need not be terminated. */
static int64_t number_in(struct view data)
{
	char text[32];
	size_t len = data.len < sizeof(text) - 1 ? data.len : sizeof(text) - 1;

	memcpy(text, data.s, len);
	text[len] = '\0';
	return strtoll(text, NULL, 0);
}

static void read_date(struct tracedat *t, struct view data)
{
	/* in microseconds */
	t->source.has_realtime =
		!__builtin_mul_overflow(number_in(data), (int64_t)1000, &t->source.realtime_offset);
}

/* Parses "Linux host 6.1.0 ... x86_64". */
static void read_uname(struct tracedat *t, struct view data)
{
	_cleanup_(freep) char *all = must_alloc(data.len + 1);
	char *rest = all;

	memcpy(all, data.s, data.len);

	const char *system = strsep(&rest, " "), *host = strsep(&rest, " ");
	const char *machine = rest ? strrchr(rest, ' ') : NULL;

	if (!system || !host || t->host)
		return;
	t->host = must_strdup(host);
	t->release = must_strdup(rest ?: "");
	t->abi.foreign_syscalls = machine && strcmp(machine + 1, "x86_64") != 0;
}

/* The clock is the word in brackets in "local global [mono]". */
static void read_clock(struct tracedat *t, struct view data)
{
	const char *begin = memchr(data.s, '[', data.len), *all_end = data.s + data.len;
	const char *end = begin ? memchr(begin, ']', all_end - begin) : NULL;

	if (end && !t->clock.s)
		t->clock = (struct view){ begin + 1, end - begin - 1 };
}

static void read_tsc(struct tracedat *t, struct view data)
{
	struct byte_cursor c = { data.s, data.s + data.len, t->abi.swap };
	uint64_t mult, shift;

	if (!byte_cursor_number(&c, 4, &mult) || !byte_cursor_number(&c, 4, &shift) || shift >= 64)
		return;
	t->mult = mult;
	t->shift = shift;
}

/* Version 7: reads a buffer and the positions of its pages; false if it is invalid. */
static bool read_buffer(struct tracedat *t, struct view data)
{
	struct byte_cursor c = { data.s, data.s + data.len, t->abi.swap }, section;
	uint64_t section_at = 0, page_size, cpus, cpu, offset, size, id, flags;
	const char *name, *clock;

	if (!byte_cursor_number(&c, 8, &section_at) || !byte_cursor_string(&c, &name) ||
	    !byte_cursor_string(&c, &clock) || !byte_cursor_number(&c, 4, &page_size) ||
	    !byte_cursor_number(&c, 4, &cpus) || page_size < TRACEDAT_MIN_PAGE ||
	    page_size > TRACEDAT_MAX_PAGE || section_at > t->file.len)
		return false;
	section = (struct byte_cursor){ t->file.s + section_at, t->file.s + t->file.len,
					t->abi.swap };
	if (!byte_cursor_number(&section, 2, &id) || !byte_cursor_number(&section, 2, &flags))
		return false;
	if (t->rings.count && !view_is(t->clock, clock)) {
		t->has_two_clocks = true;
		return true;
	}
	t->clock = (struct view){ clock, strlen(clock) };
	while (cpus--) {
		if (!byte_cursor_number(&c, 4, &cpu) || !byte_cursor_number(&c, 8, &offset) ||
		    !byte_cursor_number(&c, 8, &size))
			return false;
		tracedat_add_ring(t, cpu, page_size, offset, size, flags & 1);
	}
	return true;
}

static int read_option(struct tracedat *t, enum tracedat_option option, struct view data,
		       struct tracedat_offsets *offsets, struct err *err)
{
	struct byte_cursor c = { data.s, data.s + data.len, t->abi.swap };
	uint64_t offset = 0;

	byte_cursor_number(&c, 8, &offset);
	switch (option) {
	case OPTION_END:
		offsets->next = offset;
		break;
	case OPTION_DATE:
		read_date(t, data);
		break;
	case OPTION_BUFFER:
		if (t->version == 6)
			*vec_push(&offsets->instances) = offset;
		else if (!read_buffer(t, data))
			return tracedat_fail_damaged(t, data.s, "buffer", err);
		break;
	case OPTION_CLOCK:
		read_clock(t, data);
		break;
	case OPTION_UNAME:
		read_uname(t, data);
		break;
	case OPTION_OFFSET:
		t->offset = number_in(data);
		break;
	case OPTION_TSC:
		read_tsc(t, data);
		break;
	case OPTION_TEXT:
		return tracedat_fail_text(t, err);
	default:
		if (option >= OPTION_FIRST_SECTION && option <= OPTION_LAST_SECTION)
			offsets->sections[option] = offset;
	}
	return 0;
}

int tracedat_read_options(struct tracedat *t, struct byte_cursor *c,
			  struct tracedat_offsets *offsets, struct err *err)
{
	uint64_t option;
	struct view data;
	int r;

	for (;;) {
		if (!byte_cursor_number(c, 2, &option))
			return tracedat_fail_damaged(t, c->at, "option", err);
		if (option == OPTION_END && t->version == 6)
			return 0;
		if (!byte_cursor_block(c, 4, &data))
			return tracedat_fail_damaged(t, c->at, "whole option", err);
		r = read_option(t, option, data, offsets, err);
		if (r < 0 || option == OPTION_END)
			return r;
	}
}
