/* SPDX-License-Identifier: Apache-2.0 */
/* replay_parts - what the files of replay share with each other and nobody else. */
#ifndef SONDE_READ_REPLAY_INTERNAL_H
#define SONDE_READ_REPLAY_INTERNAL_H

#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "event/thread_state.h"
#include "read/replay/replay.h"

/* What the file descriptors of a process stand for, as far as its calls have shown. */
struct descriptors {
	struct map map; /* descriptor -> object << 8 | enum object_kind */
	uint32_t users; /* threads */
};

/* What a trace of ours says of a wait that begins. */
struct told_wait {
	nsec_t start;
	struct wait_site site;
	uint8_t state, ready; /* 0 if nothing was told */
};

struct replay_thread {
	uint32_t tid, pid;
	struct thread_state state;
	struct told_wait told;
	struct wait_site site; /* where it blocked */
	nsec_t call_start;     /* 0 if that was not seen */
	uint64_t args[3];
	str_id path;  /* that the call names, if the trace says */
	int16_t call; /* that it is in, SYSCALL_NONE or SYSCALL_UNKNOWN */
	uint16_t cpu; /* the last */
	bool kernel, exiting;
	bool newborn; /* has not had a CPU yet, since its creation was seen */
	bool named;   /* by an event that knows; else by what a tracer remembered */
	char comm[16];
	struct descriptors *descriptors; /* shared by the threads of a process; may be NULL */
};

/* The segment that a CPU takes from the network just now. */
struct segment {
	uint64_t object; /* the receiver's socket; 0 if there is none */
	uint32_t position, bytes;
	struct socket_address address; /* of this segment alone, if it has no other: see below */
	bool is_local;                 /* it has */
	nsec_t time;
	uint32_t tid; /* the thread that takes it, if that is no interrupt; otherwise 0 */
};

struct replay_cpu {
	struct replay_thread *thread; /* that has it; NULL if that is not known, or idle */
	uint32_t tid;                 /* likewise, but RAW_UNKNOWN, or 0 if idle */
	uint32_t gone;                /* who ended by the switch to it, or 0 */
	nsec_t switched;              /* since when */
	nsec_t irq_begin;             /* of the outermost interrupt; 0 if there is none */
	uint32_t irq;                 /* ns that interrupts have taken since then */
	uint32_t hardirq, softirq;    /* that is being handled: its number + 1 */
	uint32_t softirq_tid;
	bool hrtimer;
	bool disk; /* this interrupt completed a request to a disk */
	struct segment segment;
};

/* A socket, as far as its events have shown. */
struct replay_socket {
	uint64_t object; /* that records know it by: what the kernel calls it may be used again */
	struct socket_address address;
	uint64_t sent, received; /* bytes, */
	bool counted;            /* since the connection began */
	bool told;
	uint32_t sender; /* the last thread that sent */
};

struct open_span {
	nsec_t start;
	uint8_t parent[8];
	uint32_t tid, pid;
};

struct open_request {
	nsec_t start;
	uint32_t tid, bytes;
	uint8_t op;
};

struct replay {
	struct raw_source *source; /* borrowed */
	struct strtab *strings;
	nsec_t begin, now;
	uint32_t seen; /* 1 << enum raw_kind */
	uint64_t lost;
	uint64_t switches, unseen; /* and switches that must have been between these */
	bool has_begun;
	bool has_context; /* events say whether they happened in an interrupt */
	bool has_pids;    /* and in which process */
	bool has_headers; /* segments have addresses */

	struct map tids;                    /* -> struct replay_thread */
	struct replay_thread *last;         /* that was looked up; may be NULL */
	VEC(struct replay_thread *) unused; /* of threads that have exited */
	VEC(struct replay_cpu) cpus;
	struct map sockets; /* object -> place + 1 */
	VEC(struct replay_socket) socket_list;
	uint64_t socket_count; /* that there ever were */
	struct map requests;   /* device and sector -> place + 1 */
	VEC(struct open_request) request_list;
	VEC(uint32_t) unused_requests; /* places */
	struct map spans;              /* hash of ids -> struct open_span */
	struct map files;              /* hash of a path: told */
	struct map probe_types;        /* told */

	uint64_t *made; /* records, one behind the other */
	size_t made_words, made_room, taken_words;
};

#define REPLAY_BIT(kind) (1u << (kind))

/* Whether the trace has any of these kinds, as far as is known. */
bool replay_has(const struct replay *r, uint32_t kinds);

/* A new record, zeroed but for its head, which holds until the next one is made. */
void *replay_make(struct replay *r, enum record_kind kind, size_t size, uint32_t tid, uint16_t cpu,
		  nsec_t time);

/* replay_thread.c */

/* The thread with this tid, brought into view if it is not; NULL for 0 and RAW_UNKNOWN. */
struct replay_thread *replay_thread(struct replay *r, uint32_t tid, const struct raw_event *e);
/* The same, for a thread that the event names. */
struct replay_thread *replay_named(struct replay *r, uint32_t tid, struct raw_text comm,
				   const struct raw_event *e);
/* Who has the CPU where an event happened; NULL if it is nobody, or not known. */
struct replay_thread *replay_current(struct replay *r, const struct raw_event *e);
/* Take what an event says of that one. */
void replay_meet(struct replay *r, const struct raw_event *e);
void replay_fork(struct replay *r, const struct raw_event *e);
void replay_exec(struct replay *r, const struct raw_event *e);
void replay_describe(struct replay *r, const struct raw_event *e);
void replay_announce(struct replay *r, const struct raw_event *e); /* that it will exit */
void replay_exit(struct replay *r, struct replay_thread *t, const struct raw_event *e);

/* replay_sched.c */
void replay_switch(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e);
void replay_wake(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e);
void replay_interrupt(struct replay_cpu *cpu, const struct raw_event *e);
void replay_told_wait(struct replay *r, const struct raw_event *e);
void replay_run(struct replay *r, const struct replay_thread *t, nsec_t end, uint32_t irq,
		uint8_t flags);
void replay_finish(struct replay *r, struct replay_thread *t); /* the trace has ended */

/* replay_call.c */
void replay_call_enter(struct replay *r, struct replay_thread *t, const struct raw_event *e);
void replay_call_exit(struct replay *r, struct replay_thread *t, const struct raw_event *e);
void replay_call_end(struct replay *r, struct replay_thread *t); /* the trace ended in it */
void replay_call_site(const struct replay_thread *t, struct wait_site *site);
void descriptors_share(struct replay_thread *t, struct replay_thread *with);
void descriptors_copy(struct replay_thread *t, const struct replay_thread *from);
void descriptors_drop(struct replay_thread *t);

/* replay_net.c */
void replay_packet(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e);
void replay_packet_wakes(struct replay *r, struct replay_cpu *cpu, uint32_t tid,
			 const struct raw_event *e);
void replay_message(struct replay *r, const struct raw_event *e);
void replay_socket_state(struct replay *r, const struct raw_event *e);

void replay_told_message(struct replay *r, const struct raw_event *e);

/* replay_other.c */
void replay_block_issue(struct replay *r, const struct raw_event *e);
void replay_block_complete(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e);
void replay_span_begin(struct replay *r, const struct raw_event *e);
void replay_span_end(struct replay *r, const struct raw_event *e);
void replay_spans_done(struct replay *r);
void replay_probe_event(struct replay *r, const struct raw_event *e);
void replay_lost(struct replay *r, const struct raw_event *e);
void replay_process(struct replay *r, const struct raw_event *e);

#endif
