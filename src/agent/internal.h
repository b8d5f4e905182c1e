/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal - shared by the files of the agent.
 *
 * There are three kinds of state:
 *
 *	thread	in thread-local storage of the static block, so that access needs no
 *		function call and no allocation
 *	process	on a page that the kernel clears in every forked child, so that a child
 *		starts as a process that has not initialised its agent
 *	family	the arena, shared by all processes that were forked from one another
 *
 * An epoch identifies a process and its service name.  A thread's ring and random state
 * are valid only in the epoch in which they were created: in a forked child, the copy of
 * the thread-local state still refers to the ring of the parent's thread.
 *
 * Two threads never share thread state.  But a signal handler can interrupt the agent on
 * the same thread; `busy` detects that, and the handler's event is dropped and counted.
 */
#ifndef SONDE_AGENT_INTERNAL_H
#define SONDE_AGENT_INTERNAL_H

#include <stdatomic.h>
#include <time.h>

#include "agent/agent.h"
#include "event/event.h"
#include "event/span_wire.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* The thread context record of OTEP 4947. */
struct context_record {
	uint8_t trace[16];
	uint8_t span[8];
	uint8_t valid;
	uint8_t trace_flags;
	uint16_t attributes_size;
	uint8_t pad[4]; /* not part of the record: aligns the next one */
};

struct agent_thread {
	const struct context_record *
		*context; /* address of otel_thread_ctx_v1; NULL until initialised */
	struct context_record records[2];           /* one published, one to write */
	const struct context_record *saved_context; /* restored after a signal handler */
	struct span_ring *ring;
	uint32_t ring_state; /* span_ring.state while the thread owns it */
	uint64_t ring_epoch; /* in which the ring was acquired */
	uint64_t tail;       /* of the ring, when last read */
	uint64_t random[2];
	uint32_t random_generation; /* in which it was seeded */
	uint32_t tid;               /* valid with the ring */
	uint8_t busy;
};

#ifdef __x86_64__
#define AGENT_PAGE 4096
#else
#define AGENT_PAGE 65536 /* the largest page size of any architecture */
#endif

/* Cleared by the kernel in a forked child, so nothing else may share its pages. */
struct agent_process {
	uint64_t epoch; /* generation << 16 | changes of the service name; 0: not initialised */
	uint64_t next_ring_search; /* time; no ring was free, and a search before is useless */
	uint32_t starting;
	uint32_t publishing;
	void *process_context; /* the mapping of OTEP 4719 */
	uint32_t pid;
	uint32_t pid_ns;
	uint32_t rings; /* accessible rings of the arena, from the first */
	uint8_t rest[AGENT_PAGE - 44];
};
_Static_assert(sizeof(struct agent_process) == AGENT_PAGE, "fork must clear nothing else");

extern __thread struct agent_thread agent_thread __attribute__((tls_model("initial-exec")));
extern struct agent_process agent_process;
extern struct span_arena *agent_arena; /* NULL before first use, or if it cannot be created */
extern char agent_service[SPAN_SERVICE_MAX];

/* process.c: initialise the agent of a process, and the state of a thread. */
void agent_start(void);
void agent_thread_init(struct agent_thread *t);
/* Release the thread's ring when the thread exits. */
void thread_release_ring_at_exit(struct agent_thread *t);

/* arena.c */
void arena_create(void);
/* Make more rings accessible; false if that is impossible. */
bool arena_grow(void);

/* process_context.c: publish the service name for readers of our memory. */
void process_context_publish(void);

/* ring.c: acquire a ring for the thread, if one is free; and release it. */
bool ring_acquire(struct agent_thread *t, uint64_t now);
void ring_release(struct agent_thread *t);
void ring_drop(struct agent_thread *t, uint64_t now);
/* Space for an event at time `now` (0: unknown); NULL, and a drop is counted, if there is none. */
void *ring_reserve(struct agent_thread *t, size_t size, uint64_t now);
void ring_commit(struct agent_thread *t, size_t size);
/* Count an event that a signal handler could not write because it interrupted the agent. */
void ring_drop_nested(struct agent_thread *t);

/* event.c */
void event_begin(struct agent_thread *t, uint64_t now, const struct sonde_agent_span *span);
/* Reads the clock last, and returns the end time. */
uint64_t event_end(struct agent_thread *t, const struct sonde_agent_span *span);
/* Report the published context of the thread. */
void event_context(struct agent_thread *t, uint64_t now);

/* context.c: publish a context without writing an event. */
void context_set(struct agent_thread *t, const uint8_t trace[16], const uint8_t span[8],
		 uint8_t flags);
/* Published if the span of a thread is unknown. */
extern const struct context_record context_unknown;
/* Published while a signal handler runs that could not set its own context. */
extern const struct context_record context_interrupted;

/* random.c */
uint64_t random_next(struct agent_thread *t);

static inline uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline bool arena_is_recording(void)
{
	return agent_arena && __atomic_load_n(&agent_arena->recording, __ATOMIC_RELAXED);
}

static inline uint32_t epoch_generation(uint64_t epoch)
{
	return (uint32_t)(epoch >> 16);
}

/* Begin to use the thread's state; false in a signal handler that interrupted such use. */
static inline bool agent_enter(struct agent_thread *t)
{
	if (unlikely(t->busy))
		return false;
	t->busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(!agent_process.epoch))
		agent_start();
	if (unlikely(!t->context))
		agent_thread_init(t);
	return true;
}

/* Whether the next event of this thread can be slow because of initialisation. */
static inline bool agent_is_first(const struct agent_thread *t)
{
	return unlikely(!agent_process.epoch) ||
	       (arena_is_recording() && (!t->ring || t->ring_epoch != agent_process.epoch));
}

static inline void agent_exit(struct agent_thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = 0;
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(*t->context == &context_interrupted))
		*(const struct context_record *volatile *)t->context = t->saved_context;
}

#endif
