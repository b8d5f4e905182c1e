/* SPDX-License-Identifier: Apache-2.0 OR (BSD-2-Clause OR GPL-2.0-only) */
/* The interface between ring.bpf.c and ring.c. */
#ifndef SONDE_BENCH_RING_H
#define SONDE_BENCH_RING_H

#include <linux/types.h>

#define RING_CPU_MAX 64
#define RING_SLACK 256 /* bytes after a mapped ring, so that no record is split */

/*
 * One CPU's ring in a mapped array.  The producer's counters and the reader's
 * have a cache line each.  Positions count bytes and never wrap.
 */
struct mapped_ring {
	__u64 head;  /* reserved up to here */
	__u64 done;  /* bytes written, in any order */
	__u64 ready; /* complete up to here */
	__u64 pad0[5];
	__u64 tail; /* read up to here */
	__u64 pad1[7];
	unsigned char data[];
};

struct ring_loss {
	__u64 count;
	__u64 pad[7];
};

/* As in event/event.h, the second word contains the size, so it is never 0. */
struct ring_record {
	__u64 time;
	__u64 commit;
	__u64 body[];
};

#endif
