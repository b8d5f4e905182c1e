/* SPDX-License-Identifier: Apache-2.0 OR (BSD-2-Clause OR GPL-2.0-only) */
/*
 * wire - what the kernel programs and the recorder share.
 *
 * Each CPU has a ring in one memory-mapped array.  A program reserves room by
 * an atomic addition (it may be interrupted by another program on the same
 * CPU), fills the record in place, and commits it by writing its second word
 * last.  The recorder comes by every few milliseconds, takes what is
 * committed, zeroes it, and moves the tail.  Nobody is ever woken, nobody ever
 * waits: a full ring drops the new record and counts it.
 *
 * A record is never split: behind the ring proper lies room for one more, so
 * that a record that begins near the end simply runs over it.
 */
#ifndef SONDE_BPF_WIRE_H
#define SONDE_BPF_WIRE_H

#include "event/event.h"

enum {
	WIRE_RECORD_MAX = 2048, /* more than the largest record: 255 words */
	WIRE_RING_MIN = 64 * 1024,
	WIRE_NAMED = 1 << 14,
	WIRE_PORTS = 16,
	WIRE_KERNEL_FRAMES = 48,
	WIRE_USER_FRAMES = 80,
	WIRE_PROBE_DATA = 256,
	WIRE_PROBES = 64,
};

/* What runs on a CPU beside its threads, and since when. */
struct wire_cpu {
	__u64 switched;    /* when the present thread got the CPU */
	__u64 irq_begin;   /* of the outermost interrupt, 0 outside */
	__u32 irq;         /* ns in interrupts since `switched` */
	__u16 hardirq;     /* number + 1 of the device interrupt being handled, or 0 */
	__u8 softirq;      /* vector + 1 of the softirq being handled, or 0 */
	__u8 hrtimer;      /* whether a high-resolution timer's function runs */
	__u32 softirq_tid; /* the thread on which the softirq is handled */
	__u32 tid;         /* the thread that has the CPU, as the last switch had it */
	__u8 in_scope;     /* whether that one is, so that interrupts are timed */
	__u8 pad[3];
};

struct wire_ring {
	/* written by the kernel */
	__u64 head;       /* bytes reserved, ever */
	__u64 lost;       /* dropped since the last LOSS record */
	__u64 lost_first; /* between these times */
	__u64 lost_last;
	struct wire_cpu cpu;
	__u64 sampled; /* how often the clock of --profile interrupted a thread */
	__u8 pad[128 - 5 * 8 - sizeof(struct wire_cpu)];
	/* written by the recorder, on a cache line of its own */
	__u64 tail; /* bytes taken, ever */
	__u8 pad2[4096 - 128 - 8];
	__u8 data[]; /* ring_size + WIRE_RECORD_MAX */
};

/* Records that carry text or addresses until the recorder has put them into its tables. */

struct wire_task {
	struct record_task task;
	char comm[16];
	__u32 pid_ns; /* number of its pid namespace, 0 for the first one; */
	__u32 ns_tid; /* its tid there */
};

struct wire_file {
	struct record_file file;
	char name[64];
	char directory[32];
};

struct wire_stack {
	struct record head;
	__u32 stack; /* a number of its own; SAMPLE and WAIT refer to it */
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

/* How to get at the thread-local variable of a process that points to a thread's context. */
enum tls_location_kind {
	TLS_LOCATION_NONE = 0,   /* there is none */
	TLS_LOCATION_STATIC = 1, /* at `offset` from the thread's FS base */
	TLS_LOCATION_GLIBC =
		2, /* at `offset` in the block of `module`, which the thread's DTV has, */
	TLS_LOCATION_MUSL = 3, /* if it is there yet: each library has its own form of DTV */
};

struct wire_tls_location {
	/*
	 * Which program this is true of: where its stack begins plus where its code
	 * ends, both at random in each run.  So nothing is read where another program
	 * has taken the place of this one, or its number.
	 */
	__u64 image;
	__s64 offset;
	__u64 module;
	__u64 generation; /* GLIBC: what the DTV must have seen for this to hold; 0 for anything */
	__u32 kind;       /* enum tls_location_kind */
	__u32 pad;
};

#endif
