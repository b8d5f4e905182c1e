/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside - what the files of the agent share.
 *
 * State is of three kinds.  Of a *thread*: thread-local, in the static block, so
 * that a look at it neither calls nor allocates.  Of a *process*: on a page that
 * the kernel clears in a forked child, however it was forked, so that a child
 * finds itself a process that has not yet introduced itself.  Of a *family*, all
 * that were forked from one another: the arena, mapped by all of them.
 *
 * An epoch names a process, and what it calls itself.  A thread's ring and random
 * numbers are its own only if they are of the current epoch: in a forked child
 * the thread-local copy still names the ring of the parent's thread.
 *
 * Nothing here is on two threads at once.  It may be on one thread twice, when a
 * signal handler interrupts it; `busy` tells, and then the handler's part is
 * dropped, and counted.
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

/* As OTEP 4947 has it. */
struct context_record {
	uint8_t trace[16];
	uint8_t span[8];
	uint8_t valid;
	uint8_t trace_flags;
	uint16_t attributes_size;
	uint8_t pad[4]; /* not part of it, but keeps the next one aligned */
};

struct agent_thread {
	const struct context_record **context; /* this thread's otel_thread_ctx_v1; NULL at first */
	struct context_record records[2];      /* one to be read, one to be written */
	const struct context_record *kept;     /* what a handler's calls took the place of */
	struct span_ring *ring;
	uint64_t ring_epoch; /* in which it was taken */
	uint64_t tail;       /* of the ring, when we last looked */
	uint64_t random[2];
	uint32_t random_generation; /* in which it was seeded */
	uint32_t tid;               /* with the ring */
	uint8_t busy;
};

#ifdef __x86_64__
#define AGENT_PAGE 4096
#else
#define AGENT_PAGE 65536 /* as large as any machine's */
#endif

/* Zero in a process that has just been forked. It has its pages for itself. */
struct agent_process {
	uint64_t epoch;   /* generation << 16 | how often its service was set; 0: not introduced */
	uint64_t no_ring; /* there was none, and it is no use to look before that time */
	uint32_t starting;
	uint32_t publishing;
	void *published; /* the mapping of OTEP 4719 */
	uint32_t pid;
	uint32_t pid_ns;
	uint32_t rings; /* of the arena, that it may touch: the first ones */
	uint8_t rest[AGENT_PAGE - 44];
};
_Static_assert(sizeof(struct agent_process) == AGENT_PAGE, "nothing else is to be wiped");

extern __thread struct agent_thread agent_thread __attribute__((tls_model("initial-exec")));
extern struct agent_process agent_process;
extern struct span_arena *agent_arena; /* NULL until it is needed, or if it cannot be had */
extern char agent_service[SPAN_SERVICE_MAX];

/* process.c: a process introduces itself; a thread looks where its context is. */
void agent_start(void);
void agent_thread_init(struct agent_thread *t);
/* It has taken a ring, which is to be given back when it ends. */
void thread_note_ring(struct agent_thread *t);

/* arena.c */
void arena_make(void);
/* May more rings be touched? Then they may from now on. */
bool arena_grow(void);

/* published.c: give service and pid to whoever looks. */
void process_publish(void);

/* ring.c: a ring for the thread, if there is one; and give it back. */
bool ring_take(struct agent_thread *t, uint64_t now);
void ring_leave(struct agent_thread *t);
void ring_drop(struct agent_thread *t, uint64_t now);
/* For an event of this size that happens now (0: ask the clock if need be); NULL if it has no room.
 */
void *ring_reserve(struct agent_thread *t, size_t size, uint64_t now);
void ring_commit(struct agent_thread *t, size_t size);
/* A signal handler wanted to write while its thread did. */
void ring_drop_nested(struct agent_thread *t);

/* event.c */
void event_begin(struct agent_thread *t, uint64_t now, const struct sonde_agent_span *span);
/* When it ends is asked last; returns that. */
uint64_t event_end(struct agent_thread *t, const struct sonde_agent_span *span);
/* What the thread's context says now. */
void event_context(struct agent_thread *t, uint64_t now);

/* context.c: publish only; no event. NULL for none; and a record that says that it is not known. */
void context_set(struct agent_thread *t, const uint8_t trace[16], const uint8_t span[8],
		 uint8_t flags);
extern const struct context_record context_lost;
/* The same, for as long as a handler runs that could not say what it works for. */
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

/* Begin to change what the thread says; false in a handler that interrupts that. */
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

/* Whether this thread's next event may take long, as there is more to do before. */
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
		*(const struct context_record *volatile *)t->context = t->kept;
}

#endif
