/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpftrace - logs of bpftrace in the format of MiSeRTrace.
 *
 *	"nginx"|"10"|"1002000"|"2"|"MT:tracepoint:tcp:tcp_rcv_space_adjust"|"sport=80 dport=4000"
 *
 * Name of the thread, thread id, nanoseconds, CPU, probe, and details that depend on the
 * probe.  MiSeRTrace's own sort script removes quotes where it can, so they are optional.
 * Probes with MT: belong to MiSeRTrace's script; the last part of their names determines
 * their meaning.  Other probes are the user's own, and their text is kept.
 *
 * bpftrace writes the buffer of one CPU after the other, so a log is in order per CPU only;
 * text_lines.h sorts it.  "Lost 5 events" comes from such a buffer, too, so the events were
 * lost on the CPU of the next line.
 *
 * If a list of threads and their containers (bpftrace_meta.h) is beside the log, it is read,
 * too.  New threads belong to the containers of their parents.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "read/text/bpftrace_meta.h"
#include "read/raw/input.h"
#include "read/text/source.h"

enum { NAME_END_MAX = 64 }; /* offset up to which the end of a thread's name is searched */

struct bpftrace {
	struct text_source text;
	struct bpftrace_meta meta;
	size_t rows_returned; /* of meta */
	uint32_t new_thread;  /* to be returned as a process next, or 0 */
	nsec_t new_thread_time;
	uint64_t lost; /* number of events lost on the CPU of the next line */
};

struct bpftrace_head {
	nsec_t time;
	uint32_t tid;
	uint16_t cpu;
	struct raw_text comm;
	struct view probe, details;
};

/* Skips a bar and the quotes around it; NULL if there is none. */
static const char *skip_bar(const char *p, const char *end)
{
	p += p < end && *p == '"';
	if (p == end || *p != '|')
		return NULL;
	p++;
	return p + (p < end && *p == '"');
}

static const char *parse_number_cell(const char *p, const char *end, uint64_t max, uint64_t *ret)
{
	p = text_decimal(p, end, ret);
	return p && *ret <= max ? skip_bar(p, end) : NULL;
}

/* Parses the line from the bar after the name on. */
static bool parse_rest(const char *bar, const char *end, struct bpftrace_head *h)
{
	uint64_t tid, time, cpu;
	const char *p = skip_bar(bar, end);

	p = p ? parse_number_cell(p, end, INT32_MAX, &tid) : NULL;
	p = p ? parse_number_cell(p, end, INT64_MAX, &time) : NULL;
	p = p ? parse_number_cell(p, end, UINT16_MAX, &cpu) : NULL;
	if (!p)
		return false;
	h->tid = tid;
	h->time = time;
	h->cpu = cpu;

	const char *next = memchr(p, '|', end - p), *stop = next ?: end;

	h->probe = (struct view){ p, stop - p - (stop != p && stop[-1] == '"') };
	p = next ? skip_bar(next, end) : end;
	h->details = (struct view){ p, end - p - (end != p && end[-1] == '"') };
	return h->probe.len > 0;
}

/* A name can contain bars and quotes: it ends at the first bar after which the rest is valid. */
static bool read_head(struct view line, struct bpftrace_head *h)
{
	const char *s = line.s, *end = s + line.len;
	const char *last = line.len > NAME_END_MAX ? s + NAME_END_MAX : end;
	bool quoted = line.len && *s == '"';

	for (const char *p = s; (p = memchr(p, '|', last - p)); p++) {
		if ((quoted && (p < s + 2 || p[-1] != '"')) || !parse_rest(p, end, h))
			continue;
		h->comm = (struct raw_text){ s + quoted, p - s - 2 * quoted };
		return true;
	}
	return false;
}

/* "Lost 123 events" */
static bool read_lost(struct view line, uint64_t *ret)
{
	const char *end = line.s + line.len;

	if (!text_starts_with(line, "Lost "))
		return false;

	const char *p = text_decimal(line.s + 5, end, ret);

	return p && text_starts_with((struct view){ p, end - p }, " events");
}

/* Messages of bpftrace itself, and the maps that it prints at the end. */
static bool is_comment(struct view line)
{
	return !line.len || line.s[0] == '@' || line.s[0] == '#' ||
	       text_starts_with(line, "Attach");
}

/* The name of the event in the kernel is the probe without MT: and tracepoint:. */
static struct text_type *add_type(struct text_types *types, struct view probe)
{
	static const char kernel[] = "tracepoint:";
	bool is_misertrace = text_starts_with(probe, "MT:");
	size_t prefix = is_misertrace ? strlen("MT:") : 0;
	struct view name = { probe.s + prefix, probe.len - prefix };

	if (text_starts_with(name, kernel))
		name = (struct view){ name.s + strlen(kernel), name.len - strlen(kernel) };
	if (name.len > 128)
		name.len = 128;

	_cleanup_(freep) char *text = must_printf("%.*s", (int)name.len, name.s);

	return text_types_add(types, (struct text_type_name){ 'b', probe }, text, is_misertrace,
			      NULL);
}

static struct text_type *type_of(struct text_types *types, struct view probe)
{
	return text_types_find(types, (struct text_type_name){ 'b', probe })
		       ?: add_type(types, probe);
}

/* The result of the first pass over the lines. */
struct bpftrace_scan {
	struct text_types *types; /* borrowed; NULL if kinds is not needed */
	uint32_t kinds;           /* of events: 1 << enum raw_kind */
};

static enum text_line_kind classify_line(void *arg, struct view line, nsec_t *ret_time)
{
	struct bpftrace_scan *scan = arg;
	struct bpftrace_head head;
	uint64_t lost;

	if (read_head(line, &head)) {
		if (scan->types)
			scan->kinds |= 1u << type_of(scan->types, head.probe)->kind;
		*ret_time = head.time;
		return TEXT_EVENT;
	}
	if (read_lost(line, &lost))
		return TEXT_MARK;
	return is_comment(line) ? TEXT_COMMENT : TEXT_UNKNOWN;
}

static bool is_bpftrace(const char *text, size_t size)
{
	const char *end = text + size;
	struct bpftrace_scan scan = { 0 };

	for (const char *newline; text < end; text = newline + 1) {
		nsec_t time;

		newline = memchr(text, '\n', end - text) ?: end;
		switch (classify_line(&scan, (struct view){ text, newline - text }, &time)) {
		case TEXT_EVENT:
			return true;
		case TEXT_UNKNOWN:
			return false;
		default:
			break;
		}
	}
	return false;
}

static void read_event(struct text_source *t, const struct bpftrace_head *h, struct raw_event *e)
{
	const struct text_type *type = type_of(&t->types, h->probe);

	*e = t->empty[type->kind];
	e->type = type->number;
	e->time = h->time;
	e->tid = h->tid;
	e->comm = h->comm;
	e->cpu = h->cpu;
	t->type = type;
	t->text = h->details;
	if (type->nr != SYSCALL_NONE)
		e->syscall.nr = type->nr;
	if (type->layout && h->details.len)
		text_parse_pairs(type->layout, h->details, e);
}

static void make_process(struct bpftrace *b, uint32_t tid, nsec_t time, struct raw_event *ret)
{
	const char *group = bpftrace_meta_group(&b->meta, tid);

	*ret = b->text.empty[RAW_PROCESS];
	ret->time = time;
	ret->process.pid = tid;
	ret->process.cgroup = (struct raw_text){ group, strlen(group) };
}

/* Returns an event that does not come from the next line: first those of the list. */
static bool next_pending(struct bpftrace *b, struct raw_event *ret)
{
	if (b->rows_returned < b->meta.rows.count) {
		make_process(b, b->meta.rows.items[b->rows_returned++].tid, b->text.lines.first,
			     ret);
		return true;
	}
	if (text_source_next_held(&b->text, ret))
		return true;
	if (!b->new_thread)
		return false;
	make_process(b, b->new_thread, b->new_thread_time, ret);
	b->new_thread = 0;
	return true;
}

/* Assigns a loss to the CPU of the event, and a new thread to its container. */
static void update_state(struct bpftrace *b, const struct raw_event *e)
{
	if (b->lost)
		text_source_lost(&b->text, e->cpu, b->lost);
	b->lost = 0;
	if (e->kind != RAW_FORK || !bpftrace_meta_fork(&b->meta, e->fork.parent, e->fork.child))
		return;
	b->new_thread = e->fork.child;
	b->new_thread_time = e->time;
}

static int next_event(struct raw_source *source, struct raw_event *ret, struct err *err)
{
	struct bpftrace *b = (struct bpftrace *)source;
	struct bpftrace_head head;
	struct raw_event e;
	struct view line;

	if (next_pending(b, ret))
		return 1;
	while (text_lines_next(&b->text.lines, &line)) {
		if (!read_head(line, &head)) {
			read_lost(line, &b->lost);
			continue;
		}
		read_event(&b->text, &head, &e);
		update_state(b, &e);
		text_source_emit(&b->text, &e, ret);
		return 1;
	}
	return 0;
}

static void visit_fields(struct raw_source *source, const struct raw_visitor *visitor, void *arg)
{
	struct text_source *t = (struct text_source *)source;

	if (t->type && !t->is_held)
		text_visit_pairs(t->text, visitor, arg);
}

static void free_source(struct raw_source *source)
{
	bpftrace_meta_done(&((struct bpftrace *)source)->meta);
	text_source_free(source);
}

/* Takes ownership of the lines and the list, even if it fails. */
static int open_lines(const char *name, const struct text_lines *lines,
		      const struct bpftrace_meta *meta, struct input **ret, struct err *err)
{
	struct bpftrace *b = must_alloc(sizeof(*b));
	struct text_source *t = &b->text;
	struct bpftrace_scan scan = { .types = &t->types };

	text_source_init(t);
	t->lines = *lines;
	b->meta = *meta;
	t->source.next = next_event;
	t->source.fields = visit_fields;
	t->source.free = free_source;
	text_lines_scan(&t->lines, classify_line, &scan);
	if (!t->lines.events) {
		free_source(&t->source);
		return err_set(err, -EBADMSG,
			       "'%s' is not a log of MiSeRTrace: no line is an event", name);
	}
	text_source_set_kinds(t, scan.kinds);
	text_source_warn_unknown(t, name);
	*ret = raw_input_new(&bpftrace_format, &t->source);
	return 0;
}

int bpftrace_open_memory(const char *name, const char *data, size_t size, struct view containers,
			 struct input **ret, struct err *err)
{
	struct text_lines lines = { .text = { data, size } };
	struct bpftrace_meta meta = { 0 };

	bpftrace_meta_read(&meta, containers);
	return open_lines(name, &lines, &meta, ret, err);
}

static int open_file(const char *path, struct input **ret, struct err *err)
{
	struct text_lines lines = { 0 };
	struct bpftrace_meta meta = { 0 };
	int r = text_lines_open(&lines, path, err);

	if (r < 0)
		return r;
	bpftrace_meta_open_for(&meta, path);
	return open_lines(path, &lines, &meta, ret, err);
}

const struct input_format bpftrace_format = {
	.name = "bpftrace",
	.matches_file = is_bpftrace,
	.open = open_file,
	.next = raw_input_next,
	.string = raw_input_string,
	.free = raw_input_free,
};
