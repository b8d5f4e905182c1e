/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of replay share.
 *
 * A replay keeps what the kernel's recorder would read from the kernel: for each
 * thread its scheduling state, system call and descriptors; for each CPU the
 * current thread and interrupt; for each socket its address and byte counts.
 */
#ifndef SONDE_READ_REPLAY_INTERNAL_H
#define SONDE_READ_REPLAY_INTERNAL_H

#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "event/thread_state.h"
#include "read/replay/replay.h"

/* The open files of a process, as far as its system calls show them. */
struct descriptors {
	struct map map; /* descriptor -> object << 8 | enum object_kind */
	uint32_t users; /* number of threads that share the table */
};

/* A wait as a trace that sonde exported describes it. */
struct exported_wait {
	nsec_t start;
	struct wait_site site;
	uint8_t state, ready; /* enum state; 0 if the trace has no description */
};

struct replay_thread {
	uint32_t tid, pid;
	struct thread_state state;
	struct exported_wait exported;
	struct wait_site site; /* where it blocked */
	nsec_t call_start;     /* start of the system call; 0 if unknown or outside one */
	uint64_t args[3];
	str_id path;  /* path argument of the system call, if the trace has it */
	int16_t call; /* number of the system call, SYSCALL_NONE or SYSCALL_UNKNOWN */
	uint16_t cpu; /* last CPU */
	bool kernel, exiting;
	bool newborn; /* created in the trace, and not on a CPU yet */
	bool named;   /* by an event about its name, not by the tracer's cached name */
	char comm[16];
	struct descriptors *descriptors; /* shared by the threads of a process; may be NULL */
};

/* The TCP segment that a CPU is receiving. */
struct segment {
	uint64_t object; /* the receiver's socket; 0 if there is no segment */
	uint32_t position, bytes;
	bool is_local;                 /* from inet_sock_local_in, without an address */
	struct socket_address address; /* is_local: made from the segment's header; see net.c */
	nsec_t time;
	uint32_t tid; /* the thread that processes the segment; 0 in an interrupt */
};

struct replay_cpu {
	struct replay_thread *thread; /* current thread; NULL if idle or unknown */
	uint32_t tid;                 /* its tid; 0 if idle, RAW_UNKNOWN if unknown */
	uint32_t exited_tid;          /* thread that exited in the last switch, or 0 */
	nsec_t switched;              /* time of the last switch */
	nsec_t irq_begin;             /* start of the outermost interrupt; 0 outside */
	uint32_t irq;                 /* ns in interrupts since `switched` */
	uint32_t hardirq, softirq;    /* number + 1 of the interrupt being handled, or 0 */
	uint32_t softirq_tid;         /* thread on which the softirq is handled */
	bool hrtimer;                 /* whether a timer function runs */
	bool disk;                    /* whether this interrupt completed block I/O */
	struct segment segment;
};

struct replay_socket {
	uint64_t object; /* number in records; the kernel reuses addresses of sockets */
	struct socket_address address;
	uint64_t sent, received; /* bytes */
	bool counted;            /* whether these are complete since the connection began */
	bool described;          /* by a SOCKET record */
	uint32_t sender;         /* the last thread that sent */
};

/* A span that has not ended. */
struct replay_span {
	nsec_t start;
	uint8_t parent[8];
	uint32_t tid, pid;
};

/* Block I/O that has not completed. */
struct replay_block_io {
	nsec_t start;
	uint32_t tid, bytes;
	uint8_t op;
};

struct replay {
	struct raw_source *source; /* borrowed */
	struct strtab *strings;
	nsec_t begin, now;
	uint32_t seen;                      /* kinds of events so far, as bits 1 << enum raw_kind */
	uint64_t lost;                      /* events and packets */
	uint64_t switches, hidden_switches; /* in the trace, and missing between these */
	bool has_begun;
	bool has_context; /* whether events contain their interrupt context */
	bool has_pids;    /* whether events contain the process */
	bool has_headers; /* whether segments have addresses */

	struct map tids;                    /* -> struct replay_thread */
	struct replay_thread *last;         /* result of the last lookup; may be NULL */
	VEC(struct replay_thread *) unused; /* structs of exited threads, for reuse */
	VEC(struct replay_cpu) cpus;
	struct map sockets; /* kernel's address of the socket -> index + 1 */
	VEC(struct replay_socket) socket_list;
	uint64_t socket_count; /* sockets ever */
	struct map block_ios;  /* hash of device and sector -> index + 1 */
	VEC(struct replay_block_io) block_io_list;
	VEC(uint32_t) unused_block_ios; /* index + 1 of free items in the list */
	struct map spans;               /* hash of ids -> struct replay_span */
	struct map files;               /* hash of the path -> 1 if described by a record */
	struct map probe_types;         /* type -> 1 if described by a record */

	uint64_t *made; /* records, back to back */
	size_t made_words, made_room, taken_words;
};

#define REPLAY_BIT(kind) (1u << (kind))

/* Whether the trace contains events of any of these kinds, so far or according to its header. */
bool replay_has(const struct replay *r, uint32_t kinds);

/* Returns a new record, zeroed except for its head, valid until the next call. */
void *replay_make(struct replay *r, enum record_kind kind, size_t size, uint32_t tid, uint16_t cpu,
		  nsec_t time);

/* thread.c */

/* Finds or adds the thread with this tid; NULL for 0 and RAW_UNKNOWN. */
struct replay_thread *replay_thread(struct replay *r, uint32_t tid, const struct raw_event *e);
/* The same for an event that contains the thread's name. */
struct replay_thread *replay_named_thread(struct replay *r, uint32_t tid, struct raw_text comm,
					  const struct raw_event *e);
/* The current thread on the CPU of an event; NULL if idle or unknown. */
struct replay_thread *replay_current_thread(struct replay *r, const struct raw_event *e);
/* Updates the current thread from the header of an event. */
void replay_event_thread(struct replay *r, const struct raw_event *e);
void replay_fork(struct replay *r, const struct raw_event *e);
void replay_exec(struct replay *r, const struct raw_event *e);
void replay_task(struct replay *r, const struct raw_event *e);
void replay_exiting(struct replay *r, const struct raw_event *e);
void replay_thread_exit(struct replay *r, struct replay_thread *t, const struct raw_event *e);

/* sched.c */
void replay_switch(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e);
void replay_wake(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e);
void replay_interrupt(struct replay_cpu *cpu, const struct raw_event *e);
void replay_exported_wait(struct replay *r, const struct raw_event *e);
void replay_run(struct replay *r, const struct replay_thread *t, nsec_t end, uint32_t irq,
		uint8_t flags);
void replay_thread_finish(struct replay *r, struct replay_thread *t); /* at the end of the trace */

/* call.c */
void replay_call_enter(struct replay *r, struct replay_thread *t, const struct raw_event *e);
void replay_call_exit(struct replay *r, struct replay_thread *t, const struct raw_event *e);
void replay_call_finish(struct replay *r, struct replay_thread *t); /* at the end of the trace */
void replay_call_site(const struct replay_thread *t, struct wait_site *site);
void replay_descriptors_share(struct replay_thread *t, struct replay_thread *with);
void replay_descriptors_copy(struct replay_thread *t, const struct replay_thread *from);
void replay_descriptors_drop(struct replay_thread *t);

/* net.c */
void replay_packet(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e);
/* A CPU wakes a thread, which may receive the segment that the CPU processes. */
void replay_packet_received(struct replay *r, struct replay_cpu *cpu, uint32_t tid,
			    const struct raw_event *e);
void replay_message(struct replay *r, const struct raw_event *e);
void replay_socket_state(struct replay *r, const struct raw_event *e);
void replay_exported_message(struct replay *r, const struct raw_event *e);

/* other.c */
void replay_block_issue(struct replay *r, const struct raw_event *e);
void replay_block_complete(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e);
void replay_span_begin(struct replay *r, const struct raw_event *e);
void replay_span_end(struct replay *r, const struct raw_event *e);
void replay_spans_done(struct replay *r);
void replay_probe_event(struct replay *r, const struct raw_event *e);
void replay_lost(struct replay *r, const struct raw_event *e);
void replay_process(struct replay *r, const struct raw_event *e);

#endif
