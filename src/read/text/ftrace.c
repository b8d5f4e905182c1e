/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ftrace - the kernel's trace as text: the file `trace` of tracefs, the output of trace-cmd
 * report, and that of perf script for tracepoints.
 *
 * A line consists of a head (ftrace_head.h) and an event (ftrace_event.h).  Lines without a
 * head are comments, messages of trace-cmd about the file, or frames of a stack; others are
 * counted, and the warning contains their number.  The warning also contains the number of
 * events that the kernel overwrote.
 *
 * The text does not contain the name of the clock.  A few clocks (counter, uptime, x86-tsc)
 * are not times but counts; these are treated as nanoseconds, which keeps the order, and
 * the warning mentions it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "read/text/ftrace_html.h"
#include "read/text/ftrace_event.h"
#include "read/text/ftrace_head.h"
#include "read/raw/input.h"
#include "read/text/source.h"

/* The result of the first pass over the lines. */
struct ftrace_scan {
	struct text_types *types; /* borrowed; NULL if kinds is not needed */
	uint32_t kinds;           /* of events: 1 << enum raw_kind */
	uint64_t entries,
		written; /* number of events in the buffer, and written to it; 0 if unknown */
	bool is_counter; /* times are counts */
	bool is_trace;   /* a comment identifies the file as a trace */
};

/* "CPU:3 [LOST 5 EVENTS]" or "CPU:3 [5 EVENTS DROPPED]", also without the number. */
static bool read_lost(struct view line, uint16_t *ret_cpu, uint64_t *ret_count)
{
	const char *p = line.s + strlen("CPU:"), *end = line.s + line.len;
	uint64_t cpu, count = 1;

	if (!text_starts_with(line, "CPU:") || !(p = text_decimal(p, end, &cpu)) ||
	    cpu > UINT16_MAX || end - p < 3 || p[0] != ' ' || p[1] != '[')
		return false;
	p += 2;
	if (text_starts_with((struct view){ p, end - p }, "LOST "))
		p += strlen("LOST ");
	if (p < end && text_is_digit(*p)) {
		p = text_decimal(p, end, &count);
		p = p ? text_skip_blanks(p, end) : end;
	}
	if (!text_starts_with((struct view){ p, end - p }, "EVENTS"))
		return false;
	*ret_cpu = cpu;
	*ret_count = count;
	return true;
}

/* "# entries-in-buffer/entries-written: 89484/912978   #P:2" */
static void read_comment(struct ftrace_scan *scan, struct view line)
{
	static const char entries[] = "# entries-in-buffer/entries-written: ";
	const char *p = line.s + strlen(entries), *end = line.s + line.len;
	uint64_t present, written;

	scan->is_trace |= text_starts_with(line, "# tracer: ");
	if (!text_starts_with(line, entries) || !(p = text_decimal(p, end, &present)) || p == end ||
	    *p != '/' || !text_decimal(p + 1, end, &written))
		return;
	scan->entries = present;
	scan->written = written;
}

/* Known lines that are not events. */
static bool is_comment(struct view line)
{
	static const char *const prefixes[] = { "#",     "cpus=",      "version = ", "CPU ",
						" => ",  "=> ",        "\t",         "ts:",
						"-----", "trace-cmd:", "  opening ", "Trace dump" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (text_starts_with(line, prefixes[i]))
			return true;
	return text_skip_blanks(line.s, line.s + line.len) == line.s + line.len;
}

static uint32_t kind_of(struct text_types *types, struct view line, const char *event)
{
	return 1u << ftrace_event_type(types, &event, line.s + line.len)->kind;
}

static enum text_line_kind classify_line(void *arg, struct view line, nsec_t *ret_time)
{
	struct ftrace_scan *scan = arg;
	struct ftrace_head head;
	uint16_t cpu;
	uint64_t count;

	if (line.len && line.s[0] != '#' && ftrace_head_read(line, &head)) {
		scan->is_counter |= head.is_counter;
		if (scan->types)
			scan->kinds |= kind_of(scan->types, line, head.rest);
		*ret_time = head.time;
		return TEXT_EVENT;
	}
	if (read_lost(line, &cpu, &count))
		return TEXT_MARK;
	if (!is_comment(line))
		return TEXT_UNKNOWN;
	read_comment(scan, line);
	return TEXT_COMMENT;
}

static bool is_ftrace_text(const char *text, size_t size)
{
	struct ftrace_scan scan = { 0 };
	const char *end = text + size;

	for (const char *newline; text < end; text = newline + 1) {
		nsec_t time;

		newline = memchr(text, '\n', end - text) ?: end;

		struct view line = { text, newline - text };

		if (classify_line(&scan, line, &time) == TEXT_EVENT || scan.is_trace)
			return true;
	}
	return false;
}

static bool is_ftrace(const char *head, size_t size)
{
	return ftrace_html_matches(head, size) || is_ftrace_text(head, size);
}

static void read_event(struct text_source *t, const struct ftrace_head *head, const char *end,
		       struct raw_event *e)
{
	const char *p = head->rest;
	const struct text_type *type = ftrace_event_type(&t->types, &p, end);

	*e = t->empty[type->kind];
	e->type = type->number;
	e->time = head->time;
	e->tid = head->tid;
	e->pid = head->pid;
	e->comm = head->comm;
	e->cpu = head->cpu;
	e->context = head->context;
	t->type = type;
	t->text = (struct view){ p, end - p };
	ftrace_event_parse(type, t->text, e);
}

static int next_event(struct raw_source *source, struct raw_event *ret, struct err *err)
{
	struct text_source *t = (struct text_source *)source;
	struct ftrace_head head;
	struct raw_event e;
	struct view line;
	uint16_t cpu;
	uint64_t count;

	if (text_source_next_held(t, ret))
		return 1;
	while (text_lines_next(&t->lines, &line)) {
		if (line.len && line.s[0] != '#' && ftrace_head_read(line, &head)) {
			read_event(t, &head, line.s + line.len, &e);
			text_source_emit(t, &e, ret);
			return 1;
		}
		if (read_lost(line, &cpu, &count))
			text_source_lost(t, cpu, count);
	}
	return 0;
}

static void visit_fields(struct raw_source *source, const struct raw_visitor *visitor, void *arg)
{
	struct text_source *t = (struct text_source *)source;

	if (t->type && !t->is_held)
		ftrace_event_visit(t->type, t->text, visitor, arg);
}

static void set_warning(struct text_source *t, const char *name, const struct ftrace_scan *scan)
{
	if (scan->written > scan->entries)
		text_source_warning(t,
				    "'%s': the kernel overwrote the oldest %" PRIu64 " of %" PRIu64
				    " events before they were saved",
				    name, scan->written - scan->entries, scan->written);
	if (scan->is_counter)
		text_source_warning(
			t,
			"'%s': the trace clock is a counter (counter, uptime or x86-tsc); "
			"treating counts as nanoseconds",
			name);
	text_source_warn_unknown(t, name);
}

/* Takes ownership of the lines, even if it fails. */
static int open_lines(const char *name, struct text_lines *lines, struct input **ret,
		      struct err *err)
{
	struct text_source *t = must_alloc(sizeof(*t));
	struct ftrace_scan scan = { .types = &t->types };

	text_source_init(t);
	t->lines = *lines;
	t->source.next = next_event;
	t->source.fields = visit_fields;
	if (ftrace_html_matches(t->lines.text.s, t->lines.text.len)) {
		int r = ftrace_html_extract(&t->lines, name, is_ftrace_text, err);

		if (r < 0) {
			text_source_free(&t->source);
			return r;
		}
	}
	text_lines_scan(&t->lines, classify_line, &scan);
	if (!t->lines.events && (t->lines.unknown || !scan.is_trace)) {
		text_source_free(&t->source);
		return err_set(err, -EBADMSG, "'%s' contains no event of ftrace%s", name,
			       scan.is_trace
				       ? ": in tracefs, turn off the options raw, hex, bin and "
					 "verbose, and turn on context-info"
				       : "");
	}
	text_source_set_kinds(t, scan.kinds);
	set_warning(t, name, &scan);
	*ret = raw_input_new(&ftrace_format, &t->source);
	return 0;
}

int ftrace_open_memory(const char *name, const char *data, size_t size, struct input **ret,
		       struct err *err)
{
	struct text_lines lines = { .text = { data, size } };

	return open_lines(name, &lines, ret, err);
}

static int open_file(const char *path, struct input **ret, struct err *err)
{
	struct text_lines lines = { 0 };
	int r = text_lines_open(&lines, path, err);

	return r < 0 ? r : open_lines(path, &lines, ret, err);
}

const struct input_format ftrace_format = {
	.name = "ftrace",
	.matches_file = is_ftrace,
	.open = open_file,
	.next = raw_input_next,
	.string = raw_input_string,
	.free = raw_input_free,
};
