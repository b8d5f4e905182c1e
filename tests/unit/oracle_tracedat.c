/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle_tracedat FILE - compares our reader of trace.dat with libtracecmd.
 *
 * Both read the file in parallel.  They must return the same events in the same order,
 * with the same time, CPU, thread, name, preceding losses and fields.  Each event is
 * converted to text, by our visitor and from the fields of libtraceevent.  Exits with
 * 0 if all events are equal; otherwise prints the first differences and exits with 1.
 */
#include <stdio.h>
#include <string.h>
#include <trace-cmd.h>

#include "base/file.h"
#include "read/tracedat/tracedat.h"

enum { SHOWN = 10, ROOM = 1 << 16 };

struct text {
	char s[ROOM];
	size_t len;
};

struct walk {
	struct raw_source *source;
	uint64_t events, losses, fields, differences;
	struct text ours, theirs;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	int len = vsnprintf(text->s + text->len, ROOM - text->len, fmt, args);
	va_end(args);
	text->len += text->len + len < ROOM ? (size_t)len : 0;
}

static void add_name(struct text *text, const char *name)
{
	add(text, name ? " %s=" : ",", name);
}

static void add_signed(void *arg, const char *name, int64_t n)
{
	add_name(arg, name);
	add(arg, "%lld", (long long)n);
}

static void add_unsigned(void *arg, const char *name, uint64_t n, int base)
{
	add_name(arg, name);
	add(arg, "%llu", (unsigned long long)n);
}

static void add_text(void *arg, const char *name, const char *s, size_t len)
{
	add_name(arg, name);
	add(arg, "'%.*s'", (int)len, s);
}

static void add_begin(void *arg, const char *name, bool is_array)
{
	add_name(arg, name);
	add(arg, "[");
}

static void add_end(void *arg)
{
	add(arg, "]");
}

static const struct raw_visitor visitor = {
	.number = add_signed,
	.unsigned_number = add_unsigned,
	.text = add_text,
	.begin = add_begin,
	.end = add_end,
};

static void add_number(struct text *text, const char *name, struct tep_format_field *field,
		       uint64_t n, size_t size)
{
	if (!(field->flags & TEP_FIELD_IS_SIGNED))
		add_unsigned(text, name, n, 10);
	else
		add_signed(text, name, (int64_t)(n << (64 - 8 * size)) >> (64 - 8 * size));
}

/* libtraceevent treats all arrays of bytes as text, sonde only those of char. */
static bool is_text(const struct tep_format_field *field)
{
	const char *type = field->type;

	for (size_t i = 0; i < 2; i++) {
		type += strncmp(type, "__data_loc ", 11) == 0 ? 11 : 0;
		type += strncmp(type, "__rel_loc ", 10) == 0 ? 10 : 0;
		type += strncmp(type, "const ", 6) == 0 ? 6 : 0;
	}
	return strncmp(type, "char", 4) == 0 && !strchr(type, '*');
}

static void add_field(struct text *text, struct tep_format_field *field, struct tep_record *record)
{
	struct tep_handle *tep = field->event->tep;
	const char *at = (const char *)record->data + field->offset;
	size_t len = field->size;
	unsigned long long n;

	if (!(field->flags & TEP_FIELD_IS_ARRAY) && len <= 8) {
		tep_read_number_field(field, record->data, &n);
		add_number(text, field->name, field, n, len);
		return;
	}
	if (field->flags & TEP_FIELD_IS_DYNAMIC) {
		n = tep_read_number(tep, at, 4);
		at = (const char *)record->data + (n & 0xffff) +
		     (field->flags & TEP_FIELD_IS_RELATIVE ? field->offset + 4 : 0);
		len = n >> 16;
	}
	if (is_text(field)) {
		add_text(text, field->name, at, strnlen(at, len));
		return;
	}
	size_t size = field->elementsize && field->elementsize <= 8 ? field->elementsize : 1;

	add_begin(text, field->name, true);
	for (size_t i = 0; i + size <= len; i += size)
		add_number(text, NULL, field, tep_read_number(tep, at + i, size), size);
	add_end(text);
}

static void add_fields(struct walk *walk, struct tep_format_field *field, struct tep_record *record)
{
	for (; field; field = field->next, walk->fields++)
		add_field(&walk->theirs, field, record);
}

static void describe_theirs(struct walk *walk, struct tep_handle *tep, struct tep_record *record)
{
	struct tep_event *event = tep_find_event_by_record(tep, record);
	int tid = tep_data_pid(tep, record);
	const char *comm = tep_data_comm_from_pid(tep, tid);

	/* libtraceevent's name of unnamed threads */
	if (!tid || strcmp(comm, "<...>") == 0)
		comm = "";
	add(&walk->theirs, "%llu cpu %d tid %d '%s' %s:%s", record->ts, record->cpu, tid, comm,
	    event ? event->system : "", event ? event->name : "unknown");
	if (event) {
		add_fields(walk, event->format.common_fields, record);
		add_fields(walk, event->format.fields, record);
	}
}

static void describe_ours(struct walk *walk, const struct raw_event *e)
{
	/* with a date, libtracecmd converts all times to CLOCK_REALTIME */
	uint64_t time = e->time + (walk->source->has_realtime ? walk->source->realtime_offset : 0);

	add(&walk->ours, "%llu cpu %d tid %d '%.*s' %s", (unsigned long long)time, e->cpu, e->tid,
	    (int)e->comm.len, e->comm.s ?: "", walk->source->name(walk->source));
	walk->source->fields(walk->source, &visitor, &walk->ours);
}

static void differ(struct walk *walk)
{
	if (walk->differences++ < SHOWN)
		printf("event %llu:\n  ours   %s\n  theirs %s\n", (unsigned long long)walk->events,
		       walk->ours.s, walk->theirs.s);
}

static int compare(struct tracecmd_input *handle, struct tep_record *record, int cpu, void *arg)
{
	struct walk *walk = arg;
	struct raw_event e = { 0 };
	struct err err;
	int r;

	walk->ours.len = walk->theirs.len = 0;
	walk->ours.s[0] = walk->theirs.s[0] = '\0';
	while ((r = walk->source->next(walk->source, &e, &err)) > 0 && e.kind == RAW_LOST) {
		walk->losses++;
		add(&walk->ours, "lost %lld ", e.lost.count ? (long long)e.lost.count : -1);
	}
	if (r > 0)
		describe_ours(walk, &e);
	if (record->missed_events)
		add(&walk->theirs, "lost %lld ", record->missed_events);
	describe_theirs(walk, tracecmd_get_tep(handle), record);
	if (strcmp(walk->ours.s, walk->theirs.s) != 0)
		differ(walk);
	walk->events++;
	return 0;
}

static int walk_both(const char *path, struct walk *walk)
{
	struct tracecmd_input *handles[64] = { tracecmd_open(path, 0) };
	int count = handles[0] ? 1 + tracecmd_buffer_instances(handles[0]) : 0;

	if (!count || count > (int)ARRAY_LEN(handles)) {
		printf("libtracecmd cannot read '%s'\n", path);
		return 1;
	}
	for (int i = 1; i < count; i++)
		handles[i] = tracecmd_buffer_instance_handle(handles[0], i - 1);
	tracecmd_iterate_events_multi(handles, count, compare, walk);
	while (count--)
		tracecmd_close(handles[count]);
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_(freep) struct walk *walk = must_alloc(sizeof(*walk));
	struct raw_event e;
	struct view file;
	struct err err;

	if (argc != 2 || file_map(argv[1], &file, &err) < 0 ||
	    tracedat_open_memory(argv[1], file, &walk->source, &err) < 0) {
		printf("%s\n", argc == 2 ? err.text : "usage: oracle_tracedat FILE");
		return 1;
	}
	int r = walk_both(argv[1], walk);

	while (walk->source->next(walk->source, &e, &err) > 0)
		walk->differences += e.kind != RAW_LOST;
	printf("%llu events, %llu fields, %llu losses, %llu differences\n",
	       (unsigned long long)walk->events, (unsigned long long)walk->fields,
	       (unsigned long long)walk->losses, (unsigned long long)walk->differences);
	walk->source->free(walk->source);
	return r || walk->differences || !walk->events;
}
