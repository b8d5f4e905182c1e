/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/tracker.h"

#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/wire.h"
#include "record/clock.h"

/* How long a round may spend on looking. */
#define LOOK_BUDGET (2 * NSEC_PER_MSEC)
/* How long one that is gone is remembered. */
#define MEMORY (1 * NSEC_PER_SEC)

/* From what makes a look worth while to the look, and from each one to the next. */
static const nsec_t pauses[] = {
	15 * NSEC_PER_MSEC, 100 * NSEC_PER_MSEC, 1 * NSEC_PER_SEC,
	5 * NSEC_PER_SEC,   30 * NSEC_PER_SEC,
};
enum { FORKED = 2 }; /* the pause before a child is first looked at */

struct item {
	nsec_t due;
	uint32_t id;    /* a process to look at, or a thread to forget */
	uint32_t image; /* the program that was meant */
};

/* In the order in which they are due, as each has waited for the same time. */
struct line {
	VEC(struct item) items;
	size_t first;
};

struct tracker {
	struct tracker_callbacks calls;
	struct map processes; /* pid -> struct process */
	struct map threads;   /* tid -> pid, and EXITED */
	struct map inner;     /* tid -> what it is called in a pid namespace of its own */
	struct map outer;     /* and back */
	struct line unseen;   /* processes that existed when they came into scope */
	struct line looks[ARRAY_LEN(pauses)];
	struct line leaving;
	uint32_t images;
};

#define EXITED (1ull << 32)

static void line_add(struct line *line, nsec_t due, uint32_t id, uint32_t image)
{
	if (line->first > 64 && line->first > line->items.count / 2) {
		line->items.count -= line->first;
		memmove(line->items.items, line->items.items + line->first,
			line->items.count * sizeof(line->items.items[0]));
		line->first = 0;
	}
	*vec_push(&line->items) = (struct item){ due, id, image };
}

/* The first one, if its time has come. */
static bool line_take(struct line *line, nsec_t now, struct item *ret)
{
	if (line->first == line->items.count || line->items.items[line->first].due > now)
		return false;
	*ret = line->items.items[line->first++];
	return true;
}

struct tracker *tracker_new(const struct tracker_callbacks *calls)
{
	struct tracker *tracker = must_alloc(sizeof(*tracker));

	tracker->calls = *calls;
	return tracker;
}

void tracker_free(struct tracker *tracker)
{
	uint64_t pid, process;

	if (!tracker)
		return;
	for (size_t pos = 0; map_next(&tracker->processes, &pos, &pid, &process);)
		free((struct process *)(uintptr_t)process);
	for (size_t i = 0; i < ARRAY_LEN(tracker->looks); i++)
		vec_done(&tracker->looks[i].items);
	vec_done(&tracker->unseen.items);
	vec_done(&tracker->leaving.items);
	map_done(&tracker->processes);
	map_done(&tracker->threads);
	map_done(&tracker->inner);
	map_done(&tracker->outer);
	free(tracker);
}

struct process *tracker_find(const struct tracker *tracker, uint32_t pid)
{
	return map_find_ptr(&tracker->processes, pid);
}

struct process *tracker_find_by_thread(const struct tracker *tracker, uint32_t tid)
{
	const uint64_t *pid = map_find(&tracker->threads, tid);

	return pid ? tracker_find(tracker, (uint32_t)*pid) : NULL;
}

struct process *tracker_find_parent(const struct tracker *tracker, const struct process *process)
{
	struct process *p = process->parent ? tracker_find(tracker, process->parent) : NULL;

	return p && p->image == process->parent_image ? p : NULL;
}

static uint64_t space_key(uint32_t space, uint32_t inner)
{
	return (uint64_t)space << 32 | inner;
}

uint32_t tracker_translate(const struct tracker *tracker, uint32_t space, uint32_t inner)
{
	const uint64_t *tid = map_find(&tracker->outer, space_key(space, inner));

	return tid ? *tid : 0;
}

static void look_later(struct tracker *tracker, struct process *p, size_t pause, nsec_t now)
{
	p->looks = pause;
	line_add(&tracker->looks[pause], now + pauses[pause], p->pid, p->image);
}

static void begin_image(struct tracker *tracker, struct process *p)
{
	*p = (struct process){ .pid = p->pid,
			       .threads = p->threads,
			       .remembered = p->remembered,
			       .image = ++tracker->images };
}

/* A new one in place of one that had the number, if there was any. */
static struct process *process_new(struct tracker *tracker, uint32_t pid, nsec_t time)
{
	struct process *p = tracker_find(tracker, pid);

	if (p) {
		tracker->calls.ended(tracker->calls.arg, p, time);
	} else {
		p = must_alloc(sizeof(*p));
		p->pid = pid;
		map_insert_ptr(&tracker->processes, pid, p);
	}
	p->threads = 0;
	begin_image(tracker, p);
	return p;
}

/* The process of a thread that is there now; a new one is to be looked at. */
static struct process *process_of(struct tracker *tracker, const struct record_task *task,
				  nsec_t now)
{
	struct process *p = tracker_find(tracker, task->pid);
	bool is_first = task->event == TASK_NEW && task->head.tid == task->pid;

	if (p && !is_first)
		return p;

	const struct process *parent =
		is_first ? tracker_find_by_thread(tracker, task->parent) : NULL;
	struct process copy = parent ? *parent : (struct process){ 0 };

	p = process_new(tracker, task->pid, task->head.time);
	if (parent) {
		p->parent = copy.pid;
		p->parent_image = copy.image;
		tracker->calls.forked(tracker->calls.arg, p, &copy, task->head.time);
	}
	if (task->event == TASK_EXISTING)
		line_add(&tracker->unseen, now, p->pid, p->image);
	else
		look_later(tracker, p, is_first ? FORKED : 0, now);
	return p;
}

static void forget_space(struct tracker *tracker, uint32_t tid)
{
	const uint64_t *key = map_find(&tracker->inner, tid);
	const uint64_t *outer = key ? map_find(&tracker->outer, *key) : NULL;

	if (outer && *outer == tid)
		map_remove(&tracker->outer, *key);
	map_remove(&tracker->inner, tid);
}

static void remember_space(struct tracker *tracker, uint32_t tid, const struct wire_task *wire)
{
	if (!wire->pid_ns)
		return;
	*map_insert(&tracker->inner, tid) = space_key(wire->pid_ns, wire->ns_tid);
	*map_insert(&tracker->outer, space_key(wire->pid_ns, wire->ns_tid)) = tid;
}

static void forget(struct tracker *tracker, uint32_t tid)
{
	const uint64_t *thread = map_find(&tracker->threads, tid);
	uint32_t pid = thread ? (uint32_t)*thread : 0;
	struct process *p = tracker_find(tracker, pid);

	map_remove(&tracker->threads, tid);
	forget_space(tracker, tid);
	if (p && --p->remembered == 0) {
		map_remove(&tracker->processes, pid);
		free(p);
	}
}

/* A thread is there. It may be of another process than before: not all that happens is told. */
static void remember(struct tracker *tracker, uint32_t tid, struct process *p)
{
	const uint64_t *known = map_find(&tracker->threads, tid);

	if (known && (uint32_t)*known != p->pid) {
		forget(tracker, tid);
		known = NULL;
	}
	p->remembered += !known;
	p->threads += !known || (*known & EXITED) != 0;
	*map_insert(&tracker->threads, tid) = p->pid;
}

static void see_task(struct tracker *tracker, const struct wire_task *wire, nsec_t now)
{
	const struct record_task *task = &wire->task;

	if (task->event == TASK_OUT_OF_SCOPE || task->flags & TASK_KERNEL)
		return;

	struct process *p = process_of(tracker, task, now);

	remember(tracker, task->head.tid, p);
	remember_space(tracker, task->head.tid, wire);
	if (task->event == TASK_EXEC) {
		tracker->calls.ended(tracker->calls.arg, p, task->head.time);
		begin_image(tracker, p);
		look_later(tracker, p, 0, now);
	}
	if (task->head.tid == task->pid)
		memcpy(p->comm, wire->comm, sizeof(p->comm));
}

static void see_exit(struct tracker *tracker, const struct record_exit *exit, nsec_t now)
{
	uint64_t *thread = map_find(&tracker->threads, exit->head.tid);
	struct process *p = thread ? tracker_find(tracker, (uint32_t)*thread) : NULL;

	if (!p || *thread & EXITED)
		return;
	*thread |= EXITED;
	line_add(&tracker->leaving, now + MEMORY, exit->head.tid, p->image);
	if (p->threads > 0 && --p->threads == 0)
		tracker->calls.ended(tracker->calls.arg, p, exit->head.time);
}

void tracker_add_record(struct tracker *tracker, const struct record *record, nsec_t now)
{
	if (record->kind == RECORD_TASK)
		see_task(tracker, (const void *)record, now);
	else if (record->kind == RECORD_EXIT)
		see_exit(tracker, (const void *)record, now);
}

void tracker_mark_gone(struct tracker *tracker, struct process *p, nsec_t now)
{
	p->threads = 0;
	p->remembered = 1;
	*map_insert(&tracker->threads, p->pid) = p->pid | EXITED;
	line_add(&tracker->leaving, now + MEMORY, p->pid, p->image);
	tracker->calls.ended(tracker->calls.arg, p, now);
}

static void look(struct tracker *tracker, const struct item *item)
{
	struct process *p = tracker_find(tracker, item->id);

	if (!p || p->image != item->image || p->threads == 0)
		return;

	int found = tracker->calls.scan(tracker->calls.arg, p);
	size_t next = p->looks + 1u < ARRAY_LEN(pauses) ? p->looks + 1u : p->looks;

	if (found < 0)
		tracker_mark_gone(tracker, p, clock_now());
	else if (found == 0)
		look_later(tracker, p, next, clock_now());
}

/* Looks into the processes of a line that are due; false if no time is left for others. */
static bool look_due(struct tracker *tracker, struct line *line, nsec_t now, nsec_t end)
{
	struct item item;

	while (line_take(line, now, &item)) {
		look(tracker, &item);
		if (clock_now() >= end)
			return false;
	}
	return true;
}

bool tracker_has_unscanned(const struct tracker *tracker)
{
	return tracker->unseen.first < tracker->unseen.items.count;
}

void tracker_run(struct tracker *tracker, nsec_t now)
{
	nsec_t end = clock_now() + LOOK_BUDGET;
	struct item item;

	while (line_take(&tracker->leaving, now, &item)) {
		const uint64_t *thread = map_find(&tracker->threads, item.id);

		if (thread && *thread & EXITED) /* and not there again */
			forget(tracker, item.id);
	}
	if (!look_due(tracker, &tracker->unseen, now, end))
		return;
	for (size_t i = 0; i < ARRAY_LEN(tracker->looks); i++)
		if (!look_due(tracker, &tracker->looks[i], now, end))
			return;
}
