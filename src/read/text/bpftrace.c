/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpftrace - logs of bpftrace in the form that MiSeRTrace gave them.
 *
 *	"nginx"|"10"|"1002000"|"2"|"MT:tracepoint:tcp:tcp_rcv_space_adjust"|"sport=80 dport=4000"
 *
 * Name, thread, nanoseconds, CPU, probe, and what the script has to say of it.
 * MiSeRTrace's own script for sorting takes the quotes away where it can, so
 * they may be there or not.  Probes with MT: are of MiSeRTrace's script; we know
 * what they mean by the last part of their names.  Others are the user's own,
 * whose text is kept as it is.
 *
 * bpftrace writes the buffer of one CPU after the other, so a log is in order
 * for each CPU only; text_lines.h sorts it.  "Lost 5 events" comes from such a
 * buffer too, so it was lost on the CPU of the line that follows.
 *
 * A list of threads and their containers (bpftrace_meta.h) is taken into
 * account if it is beside the log.  Threads that are created later are where
 * their parents are.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "read/text/bpftrace_meta.h"
#include "read/raw/input.h"
#include "read/text/source.h"

enum { SEARCHED = 64 }; /* how far the end of a thread's name is looked for */

struct bpftrace {
	struct text_source text;
	struct bpftrace_meta meta;
	size_t told;         /* rows of the list */
	uint32_t newborn;    /* whose place is to be told next, or 0 */
	nsec_t newborn_time; /* and when it came */
	uint64_t lost;       /* by the CPU of the next line */
};

struct bpftrace_head {
	nsec_t time;
	uint32_t tid;
	uint16_t cpu;
	struct raw_text comm;
	struct view probe, details;
};

/* Over a bar and the quotes around it; NULL if there is none. */
static const char *take_bar(const char *p, const char *end)
{
	p += p < end && *p == '"';
	if (p == end || *p != '|')
		return NULL;
	p++;
	return p + (p < end && *p == '"');
}

static const char *take_cell(const char *p, const char *end, uint64_t max, uint64_t *ret)
{
	p = text_decimal(p, end, ret);
	return p && *ret <= max ? take_bar(p, end) : NULL;
}

/* What is behind the name, whose end is bar. */
static bool take_rest(const char *bar, const char *end, struct bpftrace_head *h)
{
	uint64_t tid, time, cpu;
	const char *p = take_bar(bar, end);

	p = p ? take_cell(p, end, INT32_MAX, &tid) : NULL;
	p = p ? take_cell(p, end, INT64_MAX, &time) : NULL;
	p = p ? take_cell(p, end, UINT16_MAX, &cpu) : NULL;
	if (!p)
		return false;
	h->tid = tid;
	h->time = time;
	h->cpu = cpu;

	const char *next = memchr(p, '|', end - p), *stop = next ?: end;

	h->probe = (struct view){ p, stop - p - (stop != p && stop[-1] == '"') };
	p = next ? take_bar(next, end) : end;
	h->details = (struct view){ p, end - p - (end != p && end[-1] == '"') };
	return h->probe.len > 0;
}

/* A name may have bars and quotes in it: it ends where all that must follow does. */
static bool read_head(struct view line, struct bpftrace_head *h)
{
	const char *s = line.s, *end = s + line.len;
	const char *last = line.len > SEARCHED ? s + SEARCHED : end;
	bool quoted = line.len && *s == '"';

	for (const char *p = s; (p = memchr(p, '|', last - p)); p++) {
		if ((quoted && (p < s + 2 || p[-1] != '"')) || !take_rest(p, end, h))
			continue;
		h->comm = (struct raw_text){ s + quoted, p - s - 2 * quoted };
		return true;
	}
	return false;
}

static bool begins(struct view line, const char *with)
{
	return line.len >= strlen(with) && memcmp(line.s, with, strlen(with)) == 0;
}

/* "Lost 123 events" */
static bool read_lost(struct view line, uint64_t *ret)
{
	const char *end = line.s + line.len;

	if (!begins(line, "Lost "))
		return false;

	const char *p = text_decimal(line.s + 5, end, ret);

	return p && begins((struct view){ p, end - p }, " events");
}

/* Words of bpftrace itself, and what its maps hold in the end. */
static bool is_comment(struct view line)
{
	return !line.len || line.s[0] == '@' || line.s[0] == '#' || begins(line, "Attach");
}

/* The name that an event has elsewhere: without MT:, and without tracepoint:. */
static struct text_type *add_type(struct text_types *types, struct view probe)
{
	static const char kernel[] = "tracepoint:";
	bool ours = begins(probe, "MT:");
	struct view name = { probe.s + 3 * ours, probe.len - 3 * ours };

	if (begins(name, kernel))
		name = (struct view){ name.s + strlen(kernel), name.len - strlen(kernel) };
	if (name.len > 128)
		name.len = 128;

	_cleanup_(freep) char *text = must_printf("%.*s", (int)name.len, name.s);

	return text_types_add(types, 'b', probe.s, probe.len, text, ours, NULL);
}

static struct text_type *type_of(struct text_types *types, struct view probe)
{
	return text_types_find(types, 'b', probe.s, probe.len) ?: add_type(types, probe);
}

/* What the first look at the file finds. */
struct look {
	struct text_types *types; /* borrowed; NULL if nobody asks for kinds */
	uint32_t kinds;           /* of events: 1 << enum raw_kind */
};

static enum text_line_kind look_at(void *arg, struct view line, nsec_t *ret_time)
{
	struct look *look = arg;
	struct bpftrace_head head;
	uint64_t lost;

	if (read_head(line, &head)) {
		if (look->types)
			look->kinds |= 1u << type_of(look->types, head.probe)->kind;
		*ret_time = head.time;
		return TEXT_EVENT;
	}
	if (read_lost(line, &lost))
		return TEXT_MARK;
	return is_comment(line) ? TEXT_COMMENT : TEXT_STRANGE;
}

static bool is_bpftrace(const char *text, size_t size)
{
	const char *end = text + size;
	struct look look = { 0 };

	for (const char *newline; text < end; text = newline + 1) {
		nsec_t time;

		newline = memchr(text, '\n', end - text) ?: end;
		switch (look_at(&look, (struct view){ text, newline - text }, &time)) {
		case TEXT_EVENT:
			return true;
		case TEXT_STRANGE:
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
		text_take_pairs(type->layout, h->details, e);
}

static void give_process(struct bpftrace *b, uint32_t tid, nsec_t time, struct raw_event *ret)
{
	const char *group = bpftrace_meta_group(&b->meta, tid);

	*ret = b->text.empty[RAW_PROCESS];
	ret->time = time;
	ret->process.pid = tid;
	ret->process.cgroup = (struct raw_text){ group, strlen(group) };
}

/* Gives what is to be said before the next line is read: the list first of all. */
static bool give_first(struct bpftrace *b, struct raw_event *ret)
{
	if (b->told < b->meta.rows.count) {
		give_process(b, b->meta.rows.items[b->told++].tid, b->text.lines.first, ret);
		return true;
	}
	if (text_source_take_held(&b->text, ret))
		return true;
	if (!b->newborn)
		return false;
	give_process(b, b->newborn, b->newborn_time, ret);
	b->newborn = 0;
	return true;
}

/* Takes note of what an event says of others. */
static void note_event(struct bpftrace *b, const struct raw_event *e)
{
	if (b->lost)
		text_source_lost(&b->text, e->cpu, b->lost);
	b->lost = 0;
	if (e->kind != RAW_FORK || !bpftrace_meta_fork(&b->meta, e->fork.parent, e->fork.child))
		return;
	b->newborn = e->fork.child;
	b->newborn_time = e->time;
}

static int next_event(struct raw_source *source, struct raw_event *ret, struct err *err)
{
	struct bpftrace *b = (struct bpftrace *)source;
	struct bpftrace_head head;
	struct raw_event e;
	struct view line;

	if (give_first(b, ret))
		return 1;
	while (text_lines_next(&b->text.lines, &line)) {
		if (!read_head(line, &head)) {
			read_lost(line, &b->lost);
			continue;
		}
		read_event(&b->text, &head, &e);
		note_event(b, &e);
		text_source_give(&b->text, &e, ret);
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

/* Takes the lines and the list, whatever it returns. */
static int open_lines(const char *name, const struct text_lines *lines,
		      const struct bpftrace_meta *meta, struct input **ret, struct err *err)
{
	struct bpftrace *b = must_alloc(sizeof(*b));
	struct text_source *t = &b->text;
	struct look look = { .types = &t->types };

	text_source_init(t);
	t->lines = *lines;
	b->meta = *meta;
	t->source.next = next_event;
	t->source.fields = visit_fields;
	t->source.free = free_source;
	text_lines_look(&t->lines, look_at, &look);
	if (!t->lines.events) {
		free_source(&t->source);
		return err_set(err, -EBADMSG, "'%s' has no line as MiSeRTrace's script prints them",
			       name);
	}
	text_source_set_kinds(t, look.kinds);
	text_source_tell_strange(t, name);
	*ret = raw_input_new(&bpftrace_format, &t->source);
	return 0;
}

int bpftrace_open_memory(const char *name, const char *data, size_t size, struct view list,
			 struct input **ret, struct err *err)
{
	struct text_lines lines = { .text = { data, size } };
	struct bpftrace_meta meta = { 0 };

	bpftrace_meta_read(&meta, list);
	return open_lines(name, &lines, &meta, ret, err);
}

static int open_file(const char *path, struct input **ret, struct err *err)
{
	struct text_lines lines = { 0 };
	struct bpftrace_meta meta = { 0 };
	int r = text_lines_open(&lines, path, err);

	if (r < 0)
		return r;
	bpftrace_meta_find(&meta, path);
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
