/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ftrace_text - the kernel's trace as text: the file `trace` of tracefs, what
 * trace-cmd report makes of its own files, and perf script of tracepoints.
 *
 * A line is a head (ftrace_text_head.h) and an event (ftrace_text_event.h).
 * Lines without a head are comments, words of trace-cmd about the file, or
 * frames of a stack; what else there is gets counted, and the notice says so.
 * So it does of events that the kernel overwrote before anybody read them, of
 * which only the number is left.
 *
 * Which clock the times are of, nothing says.  A few clocks (counter, uptime,
 * x86-tsc) are no time at all but a count; its numbers are taken as nanoseconds,
 * which keeps the order, and the notice says that too.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "read/text/ftrace_html.h"
#include "read/text/ftrace_event.h"
#include "read/text/ftrace_head.h"
#include "read/raw/input.h"
#include "read/text/source.h"

/* What the first look at the file finds. */
struct look {
	struct text_types *types;  /* borrowed; NULL if nobody asks for kinds */
	uint32_t kinds;            /* of events: 1 << enum raw_kind */
	uint64_t entries, written; /* as its comment says; 0 if there is none */
	bool counted;
	bool is_trace; /* it says that it is one, in a comment */
};

static bool begins(struct view line, const char *with)
{
	return line.len >= strlen(with) && memcmp(line.s, with, strlen(with)) == 0;
}

/* "CPU:3 [LOST 5 EVENTS]", "CPU:3 [5 EVENTS DROPPED]", both also without the number. */
static bool read_lost(struct view line, uint16_t *ret_cpu, uint64_t *ret_count)
{
	const char *p = line.s + strlen("CPU:"), *end = line.s + line.len;
	uint64_t cpu, count = 1;

	if (!begins(line, "CPU:") || !(p = text_decimal(p, end, &cpu)) || cpu > UINT16_MAX ||
	    end - p < 3 || p[0] != ' ' || p[1] != '[')
		return false;
	p += 2;
	if (begins((struct view){ p, end - p }, "LOST "))
		p += strlen("LOST ");
	if (text_is_digit(*p))
		p = text_decimal(p, end, &count) ? text_blanks(text_decimal(p, end, &count), end)
						 : end;
	if (!begins((struct view){ p, end - p }, "EVENTS"))
		return false;
	*ret_cpu = cpu;
	*ret_count = count;
	return true;
}

/* "# entries-in-buffer/entries-written: 89484/912978   #P:2" */
static void read_comment(struct look *look, struct view line)
{
	static const char entries[] = "# entries-in-buffer/entries-written: ";
	const char *p = line.s + strlen(entries), *end = line.s + line.len;
	uint64_t kept, written;

	look->is_trace |= begins(line, "# tracer: ");
	if (!begins(line, entries) || !(p = text_decimal(p, end, &kept)) || p == end || *p != '/' ||
	    !text_decimal(p + 1, end, &written))
		return;
	look->entries = kept;
	look->written = written;
}

/* Lines that belong there but are no events. */
static bool is_comment(struct view line)
{
	static const char *const beginnings[] = {
		"#",  "cpus=", "version = ", "CPU ",       " => ",       "=> ",
		"\t", "ts:",   "-----",      "trace-cmd:", "  opening ", "Trace dump"
	};

	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
		if (begins(line, beginnings[i]))
			return true;
	return text_blanks(line.s, line.s + line.len) == line.s + line.len;
}

static uint32_t kind_of(struct text_types *types, struct view line, const char *event)
{
	return 1u << ftrace_event_type(types, &event, line.s + line.len)->kind;
}

static enum text_line_kind look_at(void *arg, struct view line, nsec_t *ret_time)
{
	struct look *look = arg;
	struct ftrace_head head;
	uint16_t cpu;
	uint64_t count;

	if (line.len && line.s[0] != '#' && ftrace_head_read(line, &head)) {
		look->counted |= head.counted;
		if (look->types)
			look->kinds |= kind_of(look->types, line, head.rest);
		*ret_time = head.time;
		return TEXT_EVENT;
	}
	if (read_lost(line, &cpu, &count))
		return TEXT_MARK;
	if (!is_comment(line))
		return TEXT_STRANGE;
	read_comment(look, line);
	return TEXT_COMMENT;
}

static bool is_ftrace_text(const char *text, size_t size)
{
	struct look look = { 0 };
	const char *end = text + size;

	for (const char *newline; text < end; text = newline + 1) {
		nsec_t time;

		newline = memchr(text, '\n', end - text) ?: end;
		if (look_at(&look, (struct view){ text, newline - text }, &time) == TEXT_EVENT ||
		    look.is_trace)
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
	ftrace_event_take(type, t->text, e);
}

static int next_event(struct raw_source *source, struct raw_event *ret, struct err *err)
{
	struct text_source *t = (struct text_source *)source;
	struct ftrace_head head;
	struct raw_event e;
	struct view line;
	uint16_t cpu;
	uint64_t count;

	if (text_source_take_held(t, ret))
		return 1;
	while (text_lines_next(&t->lines, &line)) {
		if (line.len && line.s[0] != '#' && ftrace_head_read(line, &head)) {
			read_event(t, &head, line.s + line.len, &e);
			text_source_give(t, &e, ret);
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

static void tell(struct text_source *t, const char *name, const struct look *look)
{
	if (look->written > look->entries)
		text_source_warning(t,
				    "'%s': the kernel overwrote the oldest %" PRIu64 " of %" PRIu64
				    " events before it was read",
				    name, look->written - look->entries, look->written);
	if (look->counted)
		text_source_warning(t,
				    "'%s': its clock is a counter (counter, uptime or x86-tsc); "
				    "counts are taken as nanoseconds",
				    name);
	text_source_tell_strange(t, name);
}

/* Takes the lines, whatever it returns. */
static int open_lines(const char *name, struct text_lines *lines, struct input **ret,
		      struct err *err)
{
	struct text_source *t = must_alloc(sizeof(*t));
	struct look look = { .types = &t->types };

	text_source_init(t);
	t->lines = *lines;
	t->source.next = next_event;
	t->source.fields = visit_fields;
	if (ftrace_html_matches(t->lines.text.s, t->lines.text.len)) {
		int r = ftrace_html_reduce(&t->lines, name, is_ftrace_text, err);

		if (r < 0) {
			text_source_free(&t->source);
			return r;
		}
	}
	text_lines_look(&t->lines, look_at, &look);
	if (!t->lines.events && (t->lines.strange || !look.is_trace)) {
		text_source_free(&t->source);
		return err_set(err, -EBADMSG, "'%s' has no line that is an event of ftrace%s", name,
			       look.is_trace ? ": of tracefs' options, raw, hex, bin and verbose "
					       "must be off, and context-info on"
					     : "");
	}
	text_source_set_kinds(t, look.kinds);
	tell(t, name, &look);
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
