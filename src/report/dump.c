/* SPDX-License-Identifier: Apache-2.0 */
#include "report/dump.h"

#include "report/describe.h"
#include "report/kind.h"

static bool contains(const uint32_t *list, size_t count, uint32_t n)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == n)
			return true;
	return false;
}

struct dump {
	const struct capture *cap; /* borrowed */
	struct dump_filter filter; /* with times as the records have them */
	struct names *names;
	struct stacks *stacks; /* NULL until there is a stack to show */
};

/* Whether a record is about the threads and processes that are asked for. */
static bool by_thread(const struct dump *dump, const struct names *names,
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
		contains(f->processes, f->process_count, names_pid(names, record)));
}

static bool by_time(const struct dump *dump, const struct record *record)
{
	return record->time >= dump->filter.from && record->time <= dump->filter.to;
}

/* Note the stacks that records which are asked for, of whatever kind, refer to. */
static void use_stacks(const struct dump *dump, struct stacks *stacks, const struct names *names,
		       const struct record *record)
{
	if (!by_time(dump, record) || !by_thread(dump, names, record))
		return;
	if (record->kind == RECORD_WAIT) {
		const struct record_wait *r = (const void *)record;
		stacks_use(stacks, r->stack);
		stacks_use(stacks, r->waker_stack);
	} else if (record->kind == RECORD_SAMPLE) {
		stacks_use(stacks, ((const struct record_sample *)record)->stack);
	}
}

/* Read ahead. Damage is not told here: the dump itself will come to it. */
static struct stacks *read_stacks(const struct dump *dump)
{
	_cleanup_(names_freep) struct names *names = names_new(dump->cap);
	struct stacks *stacks = stacks_new();
	const struct record *record;
	struct capture_cursor cursor;
	struct err ignored;

	capture_cursor_init(&cursor, dump->cap, 0, UINT64_MAX);
	while (capture_next(&cursor, &record, &ignored) > 0) {
		names_feed(names, record);
		stacks_feed(stacks, record);
		use_stacks(dump, stacks, names, record);
	}
	return stacks;
}

static bool wanted(struct dump *dump, const struct record *record)
{
	if (!(dump->filter.kinds & 1u << record->kind))
		return false;
	if (record->kind != RECORD_STACK)
		return by_time(dump, record) && by_thread(dump, dump->names, record);
	if (!dump->stacks)
		dump->stacks = read_stacks(dump);
	return stacks_used(dump->stacks, ((const struct record_stack *)record)->stack);
}

static int dump_records(struct dump *dump, struct fields *fields, struct err *err)
{
	struct describer d = { .fields = fields, .cap = dump->cap, .names = dump->names };
	struct capture_cursor cursor;
	const struct record *record;
	int r;

	/* from the begin of the file in any case, for the names */
	capture_cursor_init(&cursor, dump->cap, 0, dump->filter.to);
	while ((r = capture_next(&cursor, &record, err)) > 0) {
		names_feed(dump->names, record);
		if (!wanted(dump, record))
			continue;
		d.stacks = dump->stacks;
		describe(&d, record);
		if (fields->out->error)
			break;
	}
	return r < 0 ? r : 0;
}

static nsec_t absolute(nsec_t start, nsec_t since)
{
	return since > UINT64_MAX - start ? UINT64_MAX : start + since;
}

int dump_write(const struct capture *cap, const struct dump_filter *filter, bool json, FILE *file,
	       struct err *err)
{
	_cleanup_(names_freep) struct names *names = names_new(cap);
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	nsec_t start = capture_meta(cap)->start;
	struct dump dump = { .cap = cap, .filter = *filter, .names = names };
	struct json writer;
	struct fields fields = { .out = out, .json = json ? &writer : NULL, .origin = start };

	out_init(out, file);
	json_init(&writer, out);
	if (filter->from) /* else also what was known before the recording began */
		dump.filter.from = absolute(start, filter->from);
	dump.filter.to = absolute(start, filter->to);
	if (!filter->kinds)
		dump.filter.kinds = UINT32_MAX;

	int r = dump_records(&dump, &fields, err);
	int failed = out_flush(out);

	stacks_free(dump.stacks);
	if (failed < 0)
		return err_set(err, failed, "cannot write: %s", strerror(-failed));
	return r;
}
