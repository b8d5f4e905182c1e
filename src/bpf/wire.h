/* SPDX-License-Identifier: Apache-2.0 OR (BSD-2-Clause OR GPL-2.0-only) */
/*
 * wire - data structures shared by the BPF programs and the recorder.
 *
 * Each CPU has a ring in one memory-mapped array.  A program reserves space with
 * an atomic addition, as another program can interrupt it on the same CPU.  It
 * fills the record in place, and commits it by writing the second word last.  The
 * recorder polls every few milliseconds, reads the committed records, zeroes
 * them, and advances the tail.  There are no wakeups and no waiting: if a ring is
 * full, the new record is dropped and counted.
 *
 * A record is never split: the ring is followed by space for one more record, so
 * that a record can extend past the end.
 */
#ifndef SONDE_BPF_WIRE_H
#define SONDE_BPF_WIRE_H

#include "event/event.h"

enum {
	WIRE_RECORD_MAX = 2048, /* more than the largest record: 255 words */
	WIRE_RING_MIN = 64 * 1024,
	WIRE_DESCRIBED = 1 << 14,
	WIRE_PORTS = 16,
	WIRE_KERNEL_FRAMES = 48,
	WIRE_USER_FRAMES = 80,
	WIRE_PROBE_DATA = 256,
	WIRE_PROBES = 64,
	WIRE_SYSCALL_PIDS = 64,
};

/* Interrupts on a CPU, and the thread that runs there. */
struct wire_cpu {
	__u64 switched;    /* time of the last context switch, ns */
	__u64 irq_begin;   /* start of the outermost interrupt; 0 outside of interrupts */
	__u32 irq;         /* time in interrupts since `switched`, ns */
	__u16 hardirq;     /* number + 1 of the current device interrupt, or 0 */
	__u8 softirq;      /* vector + 1 of the current softirq, or 0 */
	__u8 hrtimer;      /* whether an hrtimer function runs */
	__u32 softirq_tid; /* thread on which the softirq runs */
	__u32 tid;         /* running thread, according to the last context switch */
	__u8 in_scope;     /* whether that thread is in scope, so that interrupts are timed */
	__u8 pad[3];
};

struct wire_ring {
	/* written by the kernel */
	__u64 head;       /* total bytes reserved */
	__u64 lost;       /* records dropped since the last LOSS record */
	__u64 lost_first; /* earliest time of a dropped record */
	__u64 lost_last;  /* latest time of a dropped record */
	struct wire_cpu cpu;
	__u64 sampled; /* number of samples taken by --profile */
	__u8 pad[128 - 5 * 8 - sizeof(struct wire_cpu)];
	/* written by the recorder, on a cache line of its own */
	__u64 tail; /* total bytes read */
	__u8 pad2[4096 - 128 - 8];
	__u8 data[]; /* ring_size + WIRE_RECORD_MAX */
};

/* Records with text or addresses, which the recorder replaces by ids. */

struct wire_task {
	struct record_task task;
	char comm[16];
	__u32 pid_ns; /* inode of its PID namespace; 0 for the initial one */
	__u32 ns_tid; /* its tid in that namespace */
};

struct wire_file {
	struct record_file file;
	char name[64];
	char directory[32];
};

struct wire_stack {
	struct record head;
	__u32 stack; /* unique number; SAMPLE and WAIT refer to it */
	__u16 kernel_count, user_count;
	__u32 pid;
	__u32 pad;
	__u64 kernel[WIRE_KERNEL_FRAMES];
	__u64 user[WIRE_USER_FRAMES];
};

struct wire_probe_event { /* a record_probe_event with room for the longest data */
	struct record head;
	__u16 type;
	__u16 size;
	__u32 pad;
	__u8 data[WIRE_PROBE_DATA];
};

/* How to find the thread-local variable that points to a thread's context. */
enum tls_location_kind {
	TLS_LOCATION_NONE = 0,   /* no such variable */
	TLS_LOCATION_STATIC = 1, /* at `offset` from the thread's FS base */
	TLS_LOCATION_GLIBC = 2,  /* at `offset` in the TLS block of `module`, from glibc's DTV */
	TLS_LOCATION_MUSL = 3,   /* same, from musl's DTV */
};

struct wire_tls_location {
	/*
	 * Identifies the program: the start of its stack plus the end of its code, both
	 * randomised in each run.  It no longer matches after an exec or if the pid is
	 * reused, so nothing is read then.
	 */
	__u64 image;
	__s64 offset;
	__u64 module;
	__u64 generation; /* GLIBC: least generation of a valid DTV; 0: any */
	__u32 kind;       /* enum tls_location_kind */
	__u32 pad;
};

#endif
