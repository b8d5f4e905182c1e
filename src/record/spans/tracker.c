/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/tracker.h"

#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/wire.h"
#include "record/clock.h"

/* Time for scans in one round. */
#define SCAN_BUDGET (2 * NSEC_PER_MSEC)
/* How long to remember a process or thread after its exit. */
#define EXIT_MEMORY (1 * NSEC_PER_SEC)

/* Before the first scan of a program, and from each scan to the next. */
static const nsec_t pauses[] = {
	15 * NSEC_PER_MSEC, 100 * NSEC_PER_MSEC, 1 * NSEC_PER_SEC,
	5 * NSEC_PER_SEC,   30 * NSEC_PER_SEC,
};
enum { FORK_PAUSE = 2 }; /* index of the pause before the first scan of a forked child */

struct due_entry {
	nsec_t due;
	uint32_t id;    /* pid of a process to scan, or tid of a thread to forget */
	uint32_t image; /* the program for which it was queued */
};

/* A FIFO.  All entries of one queue wait equally long, so they are in order of their due time. */
struct due_queue {
	VEC(struct due_entry) entries;
	size_t first;
};

struct tracker {
	struct tracker_callbacks callbacks;
	struct map processes;       /* pid -> struct tracked_process */
	struct map threads;         /* tid -> pid, plus EXITED */
	struct map ns_keys;         /* tid -> ns_key(), for threads in other pid namespaces */
	struct map ns_threads;      /* ns_key() -> tid */
	struct due_queue unscanned; /* processes that existed when they came into scope */
	struct due_queue scans[ARRAY_LEN(pauses)];
	struct due_queue exited; /* threads to forget */
	uint32_t images;         /* handed out so far */
};

#define EXITED (1ull << 32)

static void due_queue_add(struct due_queue *queue, nsec_t due, uint32_t id, uint32_t image)
{
	if (queue->first > 64 && queue->first > queue->entries.count / 2) {
		queue->entries.count -= queue->first;
		memmove(queue->entries.items, queue->entries.items + queue->first,
			queue->entries.count * sizeof(queue->entries.items[0]));
		queue->first = 0;
	}
	*vec_push(&queue->entries) = (struct due_entry){ due, id, image };
}

/* Remove the first entry if it is due. */
static bool due_queue_take(struct due_queue *queue, nsec_t now, struct due_entry *ret)
{
	if (queue->first == queue->entries.count || queue->entries.items[queue->first].due > now)
		return false;
	*ret = queue->entries.items[queue->first++];
	return true;
}

struct tracker *tracker_new(const struct tracker_callbacks *callbacks)
{
	struct tracker *tracker = must_alloc(sizeof(*tracker));

	tracker->callbacks = *callbacks;
	return tracker;
}

void tracker_free(struct tracker *tracker)
{
	uint64_t pid, process;

	if (!tracker)
		return;
	for (size_t pos = 0; map_next(&tracker->processes, &pos, &pid, &process);)
		free((struct tracked_process *)(uintptr_t)process);
	for (size_t i = 0; i < ARRAY_LEN(tracker->scans); i++)
		vec_done(&tracker->scans[i].entries);
	vec_done(&tracker->unscanned.entries);
	vec_done(&tracker->exited.entries);
	map_done(&tracker->processes);
	map_done(&tracker->threads);
	map_done(&tracker->ns_keys);
	map_done(&tracker->ns_threads);
	free(tracker);
}

struct tracked_process *tracker_find(const struct tracker *tracker, uint32_t pid)
{
	return map_find_ptr(&tracker->processes, pid);
}

struct tracked_process *tracker_find_by_thread(const struct tracker *tracker, uint32_t tid)
{
	const uint64_t *pid = map_find(&tracker->threads, tid);

	return pid ? tracker_find(tracker, (uint32_t)*pid) : NULL;
}

struct tracked_process *tracker_find_parent(const struct tracker *tracker,
					    const struct tracked_process *process)
{
	struct tracked_process *p = process->parent ? tracker_find(tracker, process->parent) : NULL;

	return p && p->image == process->parent_image ? p : NULL;
}

static uint64_t ns_key(uint32_t pid_ns, uint32_t ns_tid)
{
	return (uint64_t)pid_ns << 32 | ns_tid;
}

uint32_t tracker_translate(const struct tracker *tracker, uint32_t pid_ns, uint32_t ns_tid)
{
	const uint64_t *tid = map_find(&tracker->ns_threads, ns_key(pid_ns, ns_tid));

	return tid ? *tid : 0;
}

static void scan_later(struct tracker *tracker, struct tracked_process *p, size_t pause, nsec_t now)
{
	p->pause = pause;
	due_queue_add(&tracker->scans[pause], now + pauses[pause], p->pid, p->image);
}

static void begin_image(struct tracker *tracker, struct tracked_process *p)
{
	*p = (struct tracked_process){ .pid = p->pid,
				       .threads = p->threads,
				       .remembered = p->remembered,
				       .image = ++tracker->images };
}

/* Replaces an earlier process with the same pid. */
static struct tracked_process *add_process(struct tracker *tracker, uint32_t pid, nsec_t time)
{
	struct tracked_process *p = tracker_find(tracker, pid);

	if (p) {
		tracker->callbacks.ended(tracker->callbacks.arg, p, time);
	} else {
		p = must_alloc(sizeof(*p));
		p->pid = pid;
		map_insert_ptr(&tracker->processes, pid, p);
	}
	p->threads = 0;
	begin_image(tracker, p);
	return p;
}

/* Find the process of a task that exists now, or add it and schedule its first scan. */
static struct tracked_process *process_of(struct tracker *tracker, const struct record_task *task,
					  nsec_t now)
{
	struct tracked_process *p = tracker_find(tracker, task->pid);
	bool is_fork = task->event == TASK_NEW && task->head.tid == task->pid;

	if (p && !is_fork)
		return p;

	const struct tracked_process *parent =
		is_fork ? tracker_find_by_thread(tracker, task->parent) : NULL;
	struct tracked_process copy = parent ? *parent : (struct tracked_process){ 0 };

	p = add_process(tracker, task->pid, task->head.time);
	if (parent) {
		p->parent = copy.pid;
		p->parent_image = copy.image;
		tracker->callbacks.forked(tracker->callbacks.arg, p, &copy, task->head.time);
	}
	if (task->event == TASK_EXISTING)
		due_queue_add(&tracker->unscanned, now, p->pid, p->image);
	else
		scan_later(tracker, p, is_fork ? FORK_PAUSE : 0, now);
	return p;
}

static void forget_ns_tid(struct tracker *tracker, uint32_t tid)
{
	const uint64_t *key = map_find(&tracker->ns_keys, tid);
	const uint64_t *current = key ? map_find(&tracker->ns_threads, *key) : NULL;

	if (current && *current == tid)
		map_remove(&tracker->ns_threads, *key);
	map_remove(&tracker->ns_keys, tid);
}

static void remember_ns_tid(struct tracker *tracker, uint32_t tid, const struct wire_task *wire)
{
	if (!wire->pid_ns)
		return;
	*map_insert(&tracker->ns_keys, tid) = ns_key(wire->pid_ns, wire->ns_tid);
	*map_insert(&tracker->ns_threads, ns_key(wire->pid_ns, wire->ns_tid)) = tid;
}

static void forget(struct tracker *tracker, uint32_t tid)
{
	const uint64_t *thread = map_find(&tracker->threads, tid);
	uint32_t pid = thread ? (uint32_t)*thread : 0;
	struct tracked_process *p = tracker_find(tracker, pid);

	map_remove(&tracker->threads, tid);
	forget_ns_tid(tracker, tid);
	if (p && --p->remembered == 0) {
		map_remove(&tracker->processes, pid);
		free(p);
	}
}

/* The tid may have belonged to another process before: exit records can be lost. */
static void remember(struct tracker *tracker, uint32_t tid, struct tracked_process *p)
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

static void add_task(struct tracker *tracker, const struct wire_task *wire, nsec_t now)
{
	const struct record_task *task = &wire->task;

	if (task->event == TASK_OUT_OF_SCOPE || task->flags & TASK_KERNEL)
		return;

	struct tracked_process *p = process_of(tracker, task, now);

	remember(tracker, task->head.tid, p);
	remember_ns_tid(tracker, task->head.tid, wire);
	if (task->event == TASK_EXEC) {
		tracker->callbacks.ended(tracker->callbacks.arg, p, task->head.time);
		begin_image(tracker, p);
		scan_later(tracker, p, 0, now);
	}
	if (task->head.tid == task->pid)
		memcpy(p->comm, wire->comm, sizeof(p->comm));
}

static void add_exit(struct tracker *tracker, const struct record_exit *exit, nsec_t now)
{
	uint64_t *thread = map_find(&tracker->threads, exit->head.tid);
	struct tracked_process *p = thread ? tracker_find(tracker, (uint32_t)*thread) : NULL;

	if (!p || *thread & EXITED)
		return;
	*thread |= EXITED;
	due_queue_add(&tracker->exited, now + EXIT_MEMORY, exit->head.tid, p->image);
	if (p->threads > 0 && --p->threads == 0)
		tracker->callbacks.ended(tracker->callbacks.arg, p, exit->head.time);
}

void tracker_add_record(struct tracker *tracker, const struct record *record, nsec_t now)
{
	if (record->kind == RECORD_TASK)
		add_task(tracker, (const void *)record, now);
	else if (record->kind == RECORD_EXIT)
		add_exit(tracker, (const void *)record, now);
}

void tracker_mark_gone(struct tracker *tracker, struct tracked_process *p, nsec_t now)
{
	p->threads = 0;
	p->remembered = 1;
	*map_insert(&tracker->threads, p->pid) = p->pid | EXITED;
	due_queue_add(&tracker->exited, now + EXIT_MEMORY, p->pid, p->image);
	tracker->callbacks.ended(tracker->callbacks.arg, p, now);
}

void tracker_each(struct tracker *tracker, void (*fn)(void *arg, struct tracked_process *process),
		  void *arg)
{
	uint64_t pid, process;

	for (size_t at = 0; map_next(&tracker->processes, &at, &pid, &process);)
		fn(arg, (struct tracked_process *)(uintptr_t)process);
}

size_t tracker_count_alive(const struct tracker *tracker)
{
	uint64_t pid, process;
	size_t count = 0;

	for (size_t at = 0; map_next(&tracker->processes, &at, &pid, &process);)
		count += ((const struct tracked_process *)(uintptr_t)process)->threads > 0;
	return count;
}

static void scan(struct tracker *tracker, const struct due_entry *entry)
{
	struct tracked_process *p = tracker_find(tracker, entry->id);

	if (!p || p->image != entry->image || p->threads == 0)
		return;

	int result = tracker->callbacks.scan(tracker->callbacks.arg, p);
	size_t next = p->pause + 1u < ARRAY_LEN(pauses) ? p->pause + 1u : p->pause;

	if (result < 0)
		tracker_mark_gone(tracker, p, clock_now());
	else if (result == 0)
		scan_later(tracker, p, next, clock_now());
}

/* Scan the processes of a queue that are due; false if no time is left for other queues. */
static bool scan_due(struct tracker *tracker, struct due_queue *queue, nsec_t now, nsec_t end)
{
	struct due_entry entry;

	while (due_queue_take(queue, now, &entry)) {
		scan(tracker, &entry);
		if (clock_now() >= end)
			return false;
	}
	return true;
}

bool tracker_has_unscanned(const struct tracker *tracker)
{
	return tracker->unscanned.first < tracker->unscanned.entries.count;
}

void tracker_run(struct tracker *tracker, nsec_t now)
{
	nsec_t end = clock_now() + SCAN_BUDGET;
	struct due_entry entry;

	while (due_queue_take(&tracker->exited, now, &entry)) {
		const uint64_t *thread = map_find(&tracker->threads, entry.id);

		if (thread && *thread & EXITED) /* its tid has not been reused */
			forget(tracker, entry.id);
	}
	if (!scan_due(tracker, &tracker->unscanned, now, end))
		return;
	for (size_t i = 0; i < ARRAY_LEN(tracker->scans); i++)
		if (!scan_due(tracker, &tracker->scans[i], now, end))
			return;
}
