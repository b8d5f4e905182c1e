/* SPDX-License-Identifier: Apache-2.0 */
#include "base/search.h"
#include "analyse/use_sums.h"

enum { MARK_EVERY = 64 }; /* items of a timeline */

enum column_kind { COLUMN_STATE, COLUMN_CALL, COLUMN_PROBE_EVENT };

static uint64_t column_key(enum column_kind kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

static void mark_timeline(struct use_sums *sums, const struct timeline *timeline)
{
	size_t count = 0;

	TIMELINE_EACH_BETWEEN(nsec_t, time, timeline, 0, UINT64_MAX)
	{
		if (count++ % MARK_EVERY == 0)
			*vec_push(&sums->marks) = *time;
	}
}

static int by_time(const void *a, const void *b)
{
	nsec_t x = *(const nsec_t *)a, y = *(const nsec_t *)b;

	return x < y ? -1 : x > y;
}

typedef void add_fn(void *arg, uint64_t key, nsec_t time, uint64_t amount);

/* Calls add() for each interval, system call and probe event of a thread. */
static void each_item(const struct model *model, thread_id id, add_fn *add, void *arg)
{
	const struct thread *thread = model_thread(model, id);
	struct stretch s;

	for (bool more = model_stretch_at(model, id, thread->begin, &s); more;
	     more = model_stretch_next(model, id, &s))
		add(arg, column_key(COLUMN_STATE, s.interval.state & 127), s.interval.start,
		    s.end - s.interval.start);
	TIMELINE_EACH_BETWEEN(struct syscall, call, thread->timelines[TIMELINE_SYSCALLS], 0,
			      UINT64_MAX)
	add(arg, column_key(COLUMN_CALL, (uint16_t)call->nr), call->end, 1);
	TIMELINE_EACH_BETWEEN(struct probe_event, probe_event,
			      thread->timelines[TIMELINE_PROBE_EVENTS], 0, UINT64_MAX)
	add(arg, column_key(COLUMN_PROBE_EVENT, probe_event->type), probe_event->time, 1);
}

static void number_column(void *arg, uint64_t key, nsec_t time, uint64_t amount)
{
	struct use_sums *sums = arg;
	uint64_t *at = map_insert(&sums->columns, key);

	if (!*at) {
		*vec_push(&sums->keys) = key;
		*at = sums->keys.count;
	}
}

/* The first mark that is not before t. */
static size_t mark_from(const struct use_sums *sums, nsec_t t)
{
	return partition_point(sums->marks.count, i, sums->marks.items[i] < t);
}

/* Adds to the first mark after the time; splits an interval at marks. */
static void add_amount(void *arg, uint64_t key, nsec_t time, uint64_t amount)
{
	struct use_sums *sums = arg;
	uint64_t column = *map_find(&sums->columns, key) - 1, width = sums->keys.count;
	size_t mark = mark_from(sums, time + 1);

	if (key >> 32 != COLUMN_STATE) {
		if (mark < sums->marks.count)
			sums->sums[mark * width + column] += amount;
		return;
	}
	for (nsec_t end = time + amount; mark < sums->marks.count && time < end; mark++) {
		nsec_t to = sums->marks.items[mark] < end ? sums->marks.items[mark] : end;

		sums->sums[mark * width + column] += to - time;
		time = to;
	}
}

void use_sums_init(struct use_sums *sums, const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	size_t kept = 0;

	*sums = (struct use_sums){ .thread = id };
	mark_timeline(sums, &thread->intervals);
	mark_timeline(sums, thread->timelines[TIMELINE_SYSCALLS]);
	mark_timeline(sums, thread->timelines[TIMELINE_PROBE_EVENTS]);
	if (sums->marks.count)
		qsort(sums->marks.items, sums->marks.count, sizeof(nsec_t), by_time);
	for (size_t i = 0; i < sums->marks.count; i++)
		if (!kept || sums->marks.items[i] != sums->marks.items[kept - 1])
			sums->marks.items[kept++] = sums->marks.items[i];
	sums->marks.count = kept;
	each_item(model, id, number_column, sums);

	size_t width = sums->keys.count;

	sums->sums = must_alloc((kept * width + 1) * sizeof(*sums->sums));
	each_item(model, id, add_amount, sums);
	for (size_t i = width; i < kept * width; i++)
		sums->sums[i] += sums->sums[i - width];
}

void use_sums_done(struct use_sums *sums)
{
	vec_done(&sums->marks);
	vec_done(&sums->keys);
	map_done(&sums->columns);
	free(sums->sums);
}

static void add_difference(const struct use_sums *sums, size_t first, size_t last,
			   struct request_use *use)
{
	size_t width = sums->keys.count;

	for (size_t i = 0; i < width; i++) {
		uint64_t n = sums->sums[last * width + i] - sums->sums[first * width + i];
		uint64_t key = sums->keys.items[i];

		if (!n)
			continue;
		if (key >> 32 == COLUMN_STATE)
			use->states[key & 127] += n;
		else if (key >> 32 == COLUMN_CALL)
			request_use_call(use, (int16_t)key)->count += n;
		else
			request_use_probe_event(use, key)->count += n;
	}
}

void use_sums_add(const struct use_sums *sums, const struct model *model, nsec_t from, nsec_t to,
		  struct request_use *use)
{
	size_t first = mark_from(sums, from), last = mark_from(sums, to);
	struct request_work work = { .thread = sums->thread, .from = from, .to = to };

	if (last < first + 3) {
		request_use_work(model, &work, use);
		return;
	}
	last--;
	work.to = sums->marks.items[first];
	request_use_ended(model, &work, use);
	add_difference(sums, first, last, use);
	work.from = sums->marks.items[last];
	work.to = to;
	request_use_work(model, &work, use);
}
