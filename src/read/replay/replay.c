/* SPDX-License-Identifier: Apache-2.0 */
#include "read/replay/replay.h"

#include <stdio.h>
#include <string.h>

#include "read/replay/internal.h"

struct replay *replay_new(struct raw_source *source)
{
	struct replay *r = must_alloc(sizeof(*r));

	r->source = source;
	r->strings = strtab_new();
	return r;
}

static void free_threads(struct replay *r)
{
	uint64_t key, value;

	for (size_t pos = 0; map_next(&r->tids, &pos, &key, &value);) {
		struct replay_thread *t = (void *)(uintptr_t)value;

		replay_descriptors_drop(t);
		free(t);
	}
	for (size_t i = 0; i < r->unused.count; i++)
		free(r->unused.items[i]);
	map_done(&r->tids);
	vec_done(&r->unused);
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	free_threads(r);
	replay_spans_done(r);
	vec_done(&r->cpus);
	map_done(&r->sockets);
	vec_done(&r->socket_list);
	map_done(&r->block_ios);
	vec_done(&r->block_io_list);
	vec_done(&r->unused_block_ios);
	map_done(&r->files);
	map_done(&r->probe_types);
	strtab_free(r->strings);
	free(r->made);
	free(r);
}

void *replay_make(struct replay *r, enum record_kind kind, size_t size, uint32_t tid, uint16_t cpu,
		  nsec_t time)
{
	size_t words = (size + 7) / 8;

	if (r->made_words + words > r->made_room) {
		r->made_room = 2 * (r->made_words + words);
		r->made = must_realloc(r->made, r->made_room * sizeof(*r->made));
	}

	struct record *record = (void *)(r->made + r->made_words);

	memset(record, 0, 8 * words);
	*record = (struct record){ time, tid, cpu, kind, words };
	r->made_words += words;
	return record;
}

const struct record *replay_take(struct replay *r)
{
	if (r->taken_words == r->made_words) {
		r->taken_words = r->made_words = 0;
		return NULL;
	}

	const struct record *record = (void *)(r->made + r->taken_words);

	r->taken_words += record->words;
	return record;
}

const char *replay_string(const struct replay *r, uint32_t id)
{
	return strtab_get(r->strings, (str_id){ id });
}

bool replay_has(const struct replay *r, uint32_t kinds)
{
	return (r->seen | r->source->kinds) & kinds;
}

/* Linux has no more; a damaged number must not allocate memory for all CPUs below it. */
enum { MAX_CPUS = 8192 };

static struct replay_cpu *cpu_at(struct replay *r, uint16_t cpu)
{
	while (r->cpus.count <= cpu)
		*vec_push(&r->cpus) =
			(struct replay_cpu){ .tid = RAW_UNKNOWN, .switched = r->begin };
	return &r->cpus.items[cpu];
}

static void replay_syscall(struct replay *r, const struct raw_event *e)
{
	struct replay_thread *t = replay_current_thread(r, e);

	if (t && e->kind == RAW_SYSCALL_ENTER)
		replay_call_enter(r, t, e);
	else if (t)
		replay_call_exit(r, t, e);
}

static void replay_thread_event(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	switch (e->kind) {
	case RAW_SWITCH:
		replay_switch(r, cpu, e);
		break;
	case RAW_WAKING:
	case RAW_WAKEUP:
		replay_wake(r, cpu, e);
		break;
	case RAW_FORK:
		replay_fork(r, e);
		break;
	case RAW_EXEC:
		replay_exec(r, e);
		break;
	case RAW_EXIT:
		replay_exiting(r, e);
		break;
	case RAW_WAKEUP_NEW:
	case RAW_RENAME:
		replay_named_thread(r, e->wake.tid, e->wake.comm, e);
		break;
	}
}

/* Events that only traces exported by sonde have; any others are probe events. */
static void replay_exported_event(struct replay *r, const struct raw_event *e)
{
	if (e->kind == RAW_WAIT)
		replay_exported_wait(r, e);
	else if (e->kind == RAW_MESSAGE)
		replay_exported_message(r, e);
	else if (e->kind == RAW_PROCESS)
		replay_process(r, e);
	else
		replay_probe_event(r, e);
}

static void replay_other_event(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	switch (e->kind) {
	case RAW_BLOCK_ISSUE:
		replay_block_issue(r, e);
		break;
	case RAW_BLOCK_COMPLETE:
		replay_block_complete(r, cpu, e);
		break;
	case RAW_PACKET_SEND:
	case RAW_PACKET_RECEIVE:
		replay_packet(r, cpu, e);
		break;
	case RAW_SOCKET_SEND:
	case RAW_SOCKET_RECEIVE:
	case RAW_TCP_RECEIVE:
		replay_message(r, e);
		break;
	case RAW_SOCKET_STATE:
		replay_socket_state(r, e);
		break;
	case RAW_SPAN_BEGIN:
		replay_span_begin(r, e);
		break;
	case RAW_SPAN_END:
		replay_span_end(r, e);
		break;
	case RAW_LOST:
		replay_lost(r, e);
		break;
	default:
		replay_exported_event(r, e);
		break;
	}
}

void replay_event(struct replay *r, const struct raw_event *e)
{
	if (e->cpu >= MAX_CPUS)
		return;
	if (!r->has_begun)
		r->begin = e->time;
	r->has_begun = true;
	r->now = e->time;
	r->seen |= REPLAY_BIT(e->kind);
	r->has_context |= e->context != RAW_CONTEXT_UNKNOWN;
	r->has_pids |= e->pid != RAW_UNKNOWN;

	struct replay_cpu *cpu = cpu_at(r, e->cpu);

	replay_event_thread(r, e);
	if (e->kind >= RAW_SWITCH && e->kind <= RAW_RENAME)
		replay_thread_event(r, cpu, e);
	else if (e->kind >= RAW_IRQ_ENTRY && e->kind <= RAW_HRTIMER_EXIT)
		replay_interrupt(cpu, e);
	else if (e->kind == RAW_SYSCALL_ENTER || e->kind == RAW_SYSCALL_EXIT)
		replay_syscall(r, e);
	else if (e->kind == RAW_TASK)
		replay_task(r, e);
	else
		replay_other_event(r, cpu, e);
}

static int by_tid(const void *a, const void *b)
{
	const struct replay_thread *x = *(struct replay_thread *const *)a;
	const struct replay_thread *y = *(struct replay_thread *const *)b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

void replay_end(struct replay *r)
{
	VEC(struct replay_thread *) threads = { 0 };
	uint64_t key, value;

	for (size_t pos = 0; map_next(&r->tids, &pos, &key, &value);)
		*vec_push(&threads) = (void *)(uintptr_t)value;
	if (threads.count)
		qsort(threads.items, threads.count, sizeof(threads.items[0]), by_tid);
	for (size_t i = 0; i < threads.count; i++)
		replay_thread_finish(r, threads.items[i]);
	vec_done(&threads);
}

/* Appends to the list of what is missing; frees the old list. */
static char *also(char *list, const char *missing)
{
	_cleanup_(freep) char *before = list;

	return before ? must_printf("%s; %s", before, missing) : must_printf("has %s", missing);
}

/*
 * Whether the trace contains the switches of some threads only.  A few switches are
 * missing from any trace.  A trace that sonde exported can contain some threads
 * only, but it contains their waits.
 */
static bool has_some_threads(const struct replay *r)
{
	enum { MANY = 20 }; /* one of so many switches */

	return r->hidden_switches > r->switches / MANY && !r->lost && !r->source->is_partial &&
	       !replay_has(r, REPLAY_BIT(RAW_WAIT));
}

char *replay_missing(const struct replay *r)
{
	static const uint32_t waking = REPLAY_BIT(RAW_WAKING) | REPLAY_BIT(RAW_WAKEUP);
	static const uint32_t interrupts = REPLAY_BIT(RAW_IRQ_ENTRY) |
					   REPLAY_BIT(RAW_SOFTIRQ_ENTRY) |
					   REPLAY_BIT(RAW_HRTIMER_ENTRY);
	static const uint32_t calls = REPLAY_BIT(RAW_SYSCALL_ENTER) | REPLAY_BIT(RAW_SYSCALL_EXIT);
	char *list = NULL;

	if (!r->has_begun)
		return also(NULL, "no events");
	if ((r->seen & ~(REPLAY_BIT(RAW_SPAN_BEGIN) | REPLAY_BIT(RAW_SPAN_END))) == 0)
		return NULL;
	if (!replay_has(r, REPLAY_BIT(RAW_SWITCH)))
		return also(NULL, "no sched_switch events, so what threads waited for is unknown");
	if (r->source->missing_cpus)
		list = also(list,
			    "no CPU numbers, so on-CPU and off-CPU times are wrong: record with "
			    "CPU numbers");
	if (r->source->states.doubtful)
		list = also(list, "no kernel release, so task states are read as in Linux 4.14 and "
				  "later");
	if (has_some_threads(r))
		list = also(list,
			    "only some of the context switches, as if limited to some threads, "
			    "so other threads are mostly unknown");
	if (!replay_has(r, waking))
		list = also(list, "no sched_waking events, so what ended each wait is unknown");
	else if (!replay_has(r, interrupts) && !r->has_context)
		list = also(list, "no interrupt events, so a thread shown as waker may only have "
				  "been interrupted");
	if (!replay_has(r, calls))
		list = also(list, "no system calls, so the cause of some waits is unknown");
	if (!r->has_pids && !replay_has(r, REPLAY_BIT(RAW_TASK)))
		list = also(list,
			    "no process ids, so threads of one process may appear as separate "
			    "processes");
	return list;
}
