/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/watch.h"

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

struct watch {
	struct watch_calls calls;
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

struct watch *watch_new(const struct watch_calls *calls)
{
	struct watch *watch = must_alloc(sizeof(*watch));

	watch->calls = *calls;
	return watch;
}

void watch_free(struct watch *watch)
{
	uint64_t pid, process;

	if (!watch)
		return;
	for (size_t pos = 0; map_next(&watch->processes, &pos, &pid, &process);)
		free((struct process *)(uintptr_t)process);
	for (size_t i = 0; i < ARRAY_LEN(watch->looks); i++)
		vec_done(&watch->looks[i].items);
	vec_done(&watch->unseen.items);
	vec_done(&watch->leaving.items);
	map_done(&watch->processes);
	map_done(&watch->threads);
	map_done(&watch->inner);
	map_done(&watch->outer);
	free(watch);
}

struct process *watch_process(const struct watch *watch, uint32_t pid)
{
	return map_find_ptr(&watch->processes, pid);
}

struct process *watch_thread(const struct watch *watch, uint32_t tid)
{
	const uint64_t *pid = map_find(&watch->threads, tid);

	return pid ? watch_process(watch, (uint32_t)*pid) : NULL;
}

struct process *watch_parent(const struct watch *watch, const struct process *process)
{
	struct process *p = process->parent ? watch_process(watch, process->parent) : NULL;

	return p && p->image == process->parent_image ? p : NULL;
}

static uint64_t space_key(uint32_t space, uint32_t inner)
{
	return (uint64_t)space << 32 | inner;
}

uint32_t watch_translate(const struct watch *watch, uint32_t space, uint32_t inner)
{
	const uint64_t *tid = map_find(&watch->outer, space_key(space, inner));

	return tid ? *tid : 0;
}

static void look_later(struct watch *watch, struct process *p, size_t pause, nsec_t now)
{
	p->looks = pause;
	line_add(&watch->looks[pause], now + pauses[pause], p->pid, p->image);
}

static void begin_image(struct watch *watch, struct process *p)
{
	*p = (struct process){ .pid = p->pid,
			       .threads = p->threads,
			       .remembered = p->remembered,
			       .image = ++watch->images };
}

/* A new one in place of one that had the number, if there was any. */
static struct process *process_new(struct watch *watch, uint32_t pid, nsec_t time)
{
	struct process *p = watch_process(watch, pid);

	if (p) {
		watch->calls.ended(watch->calls.arg, p, time);
	} else {
		p = must_alloc(sizeof(*p));
		p->pid = pid;
		map_insert_ptr(&watch->processes, pid, p);
	}
	p->threads = 0;
	begin_image(watch, p);
	return p;
}

/* The process of a thread that is there now; a new one is to be looked at. */
static struct process *process_of(struct watch *watch, const struct record_task *task, nsec_t now)
{
	struct process *p = watch_process(watch, task->pid);
	bool is_first = task->event == TASK_NEW && task->head.tid == task->pid;

	if (p && !is_first)
		return p;

	const struct process *parent = is_first ? watch_thread(watch, task->parent) : NULL;
	struct process copy = parent ? *parent : (struct process){ 0 };

	p = process_new(watch, task->pid, task->head.time);
	if (parent) {
		p->parent = copy.pid;
		p->parent_image = copy.image;
		watch->calls.forked(watch->calls.arg, p, &copy, task->head.time);
	}
	if (task->event == TASK_EXISTING)
		line_add(&watch->unseen, now, p->pid, p->image);
	else
		look_later(watch, p, is_first ? FORKED : 0, now);
	return p;
}

static void forget_space(struct watch *watch, uint32_t tid)
{
	const uint64_t *key = map_find(&watch->inner, tid);
	const uint64_t *outer = key ? map_find(&watch->outer, *key) : NULL;

	if (outer && *outer == tid)
		map_remove(&watch->outer, *key);
	map_remove(&watch->inner, tid);
}

static void remember_space(struct watch *watch, uint32_t tid, const struct wire_task *wire)
{
	if (!wire->space)
		return;
	*map_insert(&watch->inner, tid) = space_key(wire->space, wire->inner);
	*map_insert(&watch->outer, space_key(wire->space, wire->inner)) = tid;
}

static void forget(struct watch *watch, uint32_t tid)
{
	const uint64_t *thread = map_find(&watch->threads, tid);
	uint32_t pid = thread ? (uint32_t)*thread : 0;
	struct process *p = watch_process(watch, pid);

	map_remove(&watch->threads, tid);
	forget_space(watch, tid);
	if (p && --p->remembered == 0) {
		map_remove(&watch->processes, pid);
		free(p);
	}
}

/* A thread is there. It may be of another process than before: not all that happens is told. */
static void remember(struct watch *watch, uint32_t tid, struct process *p)
{
	const uint64_t *known = map_find(&watch->threads, tid);

	if (known && (uint32_t)*known != p->pid) {
		forget(watch, tid);
		known = NULL;
	}
	p->remembered += !known;
	p->threads += !known || (*known & EXITED) != 0;
	*map_insert(&watch->threads, tid) = p->pid;
}

static void see_task(struct watch *watch, const struct wire_task *wire, nsec_t now)
{
	const struct record_task *task = &wire->task;

	if (task->event == TASK_OUT_OF_SCOPE || task->flags & TASK_KERNEL)
		return;

	struct process *p = process_of(watch, task, now);

	remember(watch, task->head.tid, p);
	remember_space(watch, task->head.tid, wire);
	if (task->event == TASK_EXEC) {
		watch->calls.ended(watch->calls.arg, p, task->head.time);
		begin_image(watch, p);
		look_later(watch, p, 0, now);
	}
	if (task->head.tid == task->pid)
		memcpy(p->comm, wire->comm, sizeof(p->comm));
}

static void see_exit(struct watch *watch, const struct record_exit *exit, nsec_t now)
{
	uint64_t *thread = map_find(&watch->threads, exit->head.tid);
	struct process *p = thread ? watch_process(watch, (uint32_t)*thread) : NULL;

	if (!p || *thread & EXITED)
		return;
	*thread |= EXITED;
	line_add(&watch->leaving, now + MEMORY, exit->head.tid, p->image);
	if (p->threads > 0 && --p->threads == 0)
		watch->calls.ended(watch->calls.arg, p, exit->head.time);
}

void watch_see(struct watch *watch, const struct record *record, nsec_t now)
{
	if (record->kind == RECORD_TASK)
		see_task(watch, (const void *)record, now);
	else if (record->kind == RECORD_EXIT)
		see_exit(watch, (const void *)record, now);
}

void watch_gone(struct watch *watch, struct process *p, nsec_t now)
{
	p->threads = 0;
	p->remembered = 1;
	*map_insert(&watch->threads, p->pid) = p->pid | EXITED;
	line_add(&watch->leaving, now + MEMORY, p->pid, p->image);
	watch->calls.ended(watch->calls.arg, p, now);
}

static void look(struct watch *watch, const struct item *item)
{
	struct process *p = watch_process(watch, item->id);

	if (!p || p->image != item->image || p->threads == 0)
		return;

	int found = watch->calls.look(watch->calls.arg, p);
	size_t next = p->looks + 1u < ARRAY_LEN(pauses) ? p->looks + 1u : p->looks;

	if (found < 0)
		watch_gone(watch, p, clock_now());
	else if (found == 0)
		look_later(watch, p, next, clock_now());
}

/* Looks into the processes of a line that are due; false if no time is left for others. */
static bool look_due(struct watch *watch, struct line *line, nsec_t now, nsec_t end)
{
	struct item item;

	while (line_take(line, now, &item)) {
		look(watch, &item);
		if (clock_now() >= end)
			return false;
	}
	return true;
}

bool watch_has_unseen(const struct watch *watch)
{
	return watch->unseen.first < watch->unseen.items.count;
}

void watch_round(struct watch *watch, nsec_t now)
{
	nsec_t end = clock_now() + LOOK_BUDGET;
	struct item item;

	while (line_take(&watch->leaving, now, &item)) {
		const uint64_t *thread = map_find(&watch->threads, item.id);

		if (thread && *thread & EXITED) /* and not there again */
			forget(watch, item.id);
	}
	if (!look_due(watch, &watch->unseen, now, end))
		return;
	for (size_t i = 0; i < ARRAY_LEN(watch->looks); i++)
		if (!look_due(watch, &watch->looks[i], now, end))
			return;
}
