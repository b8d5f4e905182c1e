/* SPDX-License-Identifier: Apache-2.0 */
#include "report/dump.h"

#include "base/vec.h"
#include "event/times.h"
#include "report/describe.h"
#include "event/kind.h"
#include "report/time_shift.h"

static bool contains(const uint64_t *list, size_t count, uint32_t n)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == n)
			return true;
	return false;
}

typedef VEC(struct name_table *) names_by_host;

struct held_attribute {
	const struct source *source;
	struct record_attribute record;
};

struct dump {
	const struct record_stream *ahead; /* borrowed */
	const struct dump_style *style;    /* borrowed */
	struct dump_filter filter;         /* with absolute times */
	names_by_host names;
	struct stack_table *stacks; /* NULL until needed */
	struct fields *fields;
	VEC(struct held_attribute) held; /* until the origin of times is known */
	bool started;
};

static struct name_table *names_of(names_by_host *all, const struct source *source)
{
	while (all->count <= source->host)
		*vec_push(all) = NULL;
	if (!all->items[source->host])
		all->items[source->host] = name_table_new();
	return all->items[source->host];
}

static void names_by_host_done(names_by_host *all)
{
	for (size_t i = 0; i < all->count; i++)
		name_table_free(all->items[i]);
	vec_done(all);
}

/* Whether a record passes the filter of threads and processes. */
static bool passes_thread(const struct dump *dump, const struct name_table *names,
			  const struct record *record)
{
	const struct dump_filter *f = &dump->filter;

	if (record->kind == RECORD_LOSS)
		return true;
	if (f->thread_count && (!kind_has_thread(record->kind, record->tid) ||
				!contains(f->threads, f->thread_count, record->tid)))
		return false;
	return !f->process_count ||
	       (kind_has_thread(record->kind, record->tid) &&
		contains(f->processes, f->process_count, name_table_pid(names, record)));
}

static bool passes_time(const struct dump *dump, const struct record *record)
{
	return record->time >= dump->filter.from && record->time <= dump->filter.to;
}

/* Mark the stacks of a record as used. */
static void use_stacks(struct stack_table *stacks, const struct source *source,
		       const struct record *record)
{
	if (record->kind == RECORD_WAIT) {
		const struct record_wait *r = (const void *)record;
		stack_table_use(stacks, source, r->stack);
		stack_table_use(stacks, source, r->waker_stack);
	} else if (record->kind == RECORD_SAMPLE) {
		stack_table_use(stacks, source, ((const struct record_sample *)record)->stack);
	}
}

/* Read ahead. The dump itself will report damage. */
static struct stack_table *read_stacks(const struct dump *dump)
{
	names_by_host all = { 0 };
	struct stack_table *stacks = stack_table_new();
	const struct record *record;
	const struct source *source;
	struct shifted_record shifted;
	struct err ignored;

	while (stream_next(dump->ahead, &record, &source, &ignored) > 0) {
		struct name_table *names = names_of(&all, source);

		record = time_shift(source, record, &shifted);
		name_table_add(names, source, record);
		stack_table_add(stacks, source, record);
		if (passes_time(dump, record) && passes_thread(dump, names, record))
			use_stacks(stacks, source, record);
	}
	names_by_host_done(&all);
	return stacks;
}

static bool is_shown(struct dump *dump, const struct name_table *names, const struct source *source,
		     const struct record *record)
{
	if (!(dump->filter.kinds & 1u << record->kind))
		return false;
	if (record->kind != RECORD_STACK)
		return passes_time(dump, record) && passes_thread(dump, names, record);
	if (!dump->stacks)
		dump->stacks = read_stacks(dump);
	return stack_table_is_used(dump->stacks, source,
				   ((const struct record_stack *)record)->stack);
}

static nsec_t absolute(nsec_t start, nsec_t since)
{
	return since > UINT64_MAX - start ? UINT64_MAX : start + since;
}

/* Set the origin of times: the start of the recording, or the first record. */
static void start(struct dump *dump, const struct record *first)
{
	nsec_t origin = dump->style->start ?: record_start(first);

	dump->started = true;
	dump->fields->origin = origin;
	if (dump->filter.from) /* 0 includes records from before the start */
		dump->filter.from = absolute(origin, dump->filter.from);
	dump->filter.to = absolute(origin, dump->filter.to);
}

static void show(struct dump *dump, const struct source *source, const struct record *record)
{
	struct name_table *names = names_of(&dump->names, source);
	struct describer d = { .fields = dump->fields, .source = source, .names = names };

	name_table_add(names, source, record);
	if (!is_shown(dump, names, source, record))
		return;
	d.stacks = dump->stacks;
	if (dump->style->host)
		d.host = dump->style->host(dump->style->arg, source->host);
	describe_record(&d, record);
}

static void show_held(struct dump *dump)
{
	for (size_t i = 0; i < dump->held.count; i++)
		show(dump, dump->held.items[i].source, &dump->held.items[i].record.head);
	dump->held.count = 0;
}

/* Attributes precede their span, which has the start time: hold them until it arrives. */
static bool hold_back(struct dump *dump, const struct source *source, const struct record *record)
{
	if (dump->started || record->kind != RECORD_ATTRIBUTE)
		return false;
	*vec_push(&dump->held) =
		(struct held_attribute){ source, *(const struct record_attribute *)record };
	return true;
}

static int dump_records(struct dump *dump, const struct record_stream *records, struct err *err)
{
	const struct record *record;
	const struct source *source;
	struct shifted_record shifted;
	int r;

	while ((r = stream_next(records, &record, &source, err)) > 0) {
		record = time_shift(source, record, &shifted);
		if (hold_back(dump, source, record))
			continue;
		if (!dump->started)
			start(dump, record);
		show_held(dump);
		show(dump, source, record);
		if (dump->fields->out->error)
			break;
	}
	if (dump->held.count) /* there is no other record */
		start(dump, &dump->held.items[0].record.head);
	show_held(dump);
	return r < 0 ? r : 0;
}

int dump_write(const struct record_stream *records, const struct record_stream *ahead,
	       const struct dump_filter *filter, const struct dump_style *style, FILE *file,
	       struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct json writer;
	struct fields fields = { .out = out, .json = style->json ? &writer : NULL };
	struct dump dump = { .ahead = ahead, .style = style, .filter = *filter, .fields = &fields };

	out_init(out, file);
	json_init(&writer, out);
	if (!filter->kinds)
		dump.filter.kinds = UINT32_MAX;

	int r = dump_records(&dump, records, err);
	int failed = out_finish(out, err);

	stack_table_free(dump.stacks);
	names_by_host_done(&dump.names);
	vec_done(&dump.held);
	return failed < 0 ? failed : r;
}
