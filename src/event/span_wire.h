/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_wire - what the agent in a process and the recorder share.
 *
 * The agent makes one memory file, the arena, when a process first needs it.
 * All that are forked from that process share it, so that a child that lives
 * for a millisecond leaves its spans where the recorder already looks; a
 * program that is executed makes its own.  Nothing remains when the last of
 * them is gone.
 *
 * The recorder learns of an arena in two ways.  If it is there already, the
 * agent connects to its socket (event/span_socket.h), sends the file and closes;
 * a listener's user is known, and only root and the process's own user get it.  If the recorder
 * comes later, it finds a mapping called "/memfd:" SPAN_ARENA_NAME.  It then locks the file (flock
 * on a description of its own), so that two recorders do not take from each other, sets
 * `recording`, and keeps `beat` up to date.  While `recording` is 0, nobody writes an event.  It is
 * also set while an offer is open, as a program may be over before the recorder comes by.  A
 * recorder that died, or that did not want what it was offered, leaves it set: a thread that finds
 * its ring full, or takes one, and `beat` to be old, clears it.
 *
 * Each thread that has something to say takes a ring: it alone writes there,
 * the recorder alone reads.  An event is written, then `head` moves behind it;
 * the recorder takes it and moves `tail`.  Nobody is woken and nobody waits: a
 * full ring drops the new event and counts it.  An event is never split: behind
 * the ring proper lies room for one more, so that one that begins near the end
 * simply runs over it.  Events are numbered, also those that are dropped, over all
 * threads that have a ring one after the other: a number that the recorder neither reads nor
 * finds among the drops has disappeared on the way, and is reported.
 *
 * A thread takes a ring by changing `state` from FREE to CLAIMED, sets its bit
 * in `taken`, fills in who it is, and makes it TAKEN.  The recorder looks at the
 * bits to know which rings there are, so that it touches no page of the others,
 * and so does a thread that looks for a free one.  A ring is freed by clearing the
 * bit and then making it FREE.  What counts bytes and losses goes on over all who
 * have a ring one after the other.
 *
 * The recorder has privileges and the process may be hostile: it believes
 * nothing here but its own numbers.  The file's size is sealed.
 */
#ifndef SONDE_EVENT_SPAN_WIRE_H
#define SONDE_EVENT_SPAN_WIRE_H

#include <linux/types.h>

#define SPAN_ARENA_NAME "sonde-agent"      /* of the memory file */
#define SPAN_SOCKET_NAME "sonde-recorder-" /* and a digit; SOCK_SEQPACKET: a byte and an arena */
#define SPAN_ARENA_MAGIC "sonde\0a"        /* eight bytes */

enum {
	SPAN_ARENA_VERSION = 1,
	SPAN_SOCKETS = 4,
	SPAN_RINGS = 1024, /* threads that can have one at a time, in all processes of an arena */
	SPAN_RING_SIZE = 128 * 1024,
	SPAN_EVENT_MAX = 4096,
	SPAN_NAMES = 1024,
	SPAN_NAME_MAX = 112, /* with its final 0; of a name that can be switched off */
	SPAN_RULES = 32,
	SPAN_SERVICE_MAX = 64,
};

enum { SPAN_RECORDING = 1, SPAN_REGISTERED = 2 };

/* ns after which a recorder that did not come by is taken for dead. */
#define SPAN_HEARTBEAT_MAX (2 * 1000000000ull)

enum span_event_kind {
	SPAN_EVENT_BEGIN = 1,
	SPAN_EVENT_END = 2,
	SPAN_EVENT_CONTEXT = 3,
};

struct span_event {
	__u64 time;   /* CLOCK_MONOTONIC */
	__u16 size;   /* of the whole event, a multiple of 8 */
	__u8 kind;    /* enum span_event_kind */
	__u8 flags;   /* SPAN_ERROR; CONTEXT_UNKNOWN */
	__u32 number; /* of span_ring.event_count, with this one; 0 of an agent that does not count
		       */
};

struct span_event_begin {
	struct span_event head;
	__u8 trace[16];
	__u8 span[8];
	__u8 parent[8]; /* all zero for a root */
	__u16 name_size;
	__u8 kind; /* enum span_kind */
	__u8 pad[5];
	char name[]; /* name_size bytes, without a final 0 */
};

/* Says all, so that a recorder that came after the begin has the span as well. */
struct span_event_end {
	struct span_event head;
	__u8 trace[16];
	__u8 span[8];
	__u8 parent[8];
	__u64 start; /* 0 if only BEGIN knows */
	__u32 tid;   /* of the thread that began it; 0 if only BEGIN knows */
	__u16 name_size;
	__u16 attributes_size;
	__u8 kind; /* enum span_kind */
	__u8 pad[7];
	char text[]; /* the name, then the attributes, each a span_attribute */
};

struct span_attribute { /* packed one behind the other */
	__u8 type;      /* enum attribute_type */
	__u8 key_size;
	__u16 value_size; /* STRING: its bytes; else 8 */
	char text[];      /* key, then value */
} __attribute__((packed));

struct span_event_context {
	struct span_event head;
	__u8 trace[16];
	__u8 span[8]; /* all zero: no span */
};

enum span_ring_state {
	SPAN_RING_FREE = 0,
	SPAN_RING_TAKEN = 1,     /* by the thread `tid` */
	SPAN_RING_ABANDONED = 2, /* its thread has gone; the recorder frees it when it is empty */
	SPAN_RING_CLAIMED = 3,   /* about to be TAKEN; then pid, tid and all are right */
};

struct span_ring {
	/* written by the thread */
	__u64 head;       /* bytes written, ever */
	__u64 lost;       /* events dropped, ever */
	__u64 lost_first; /* of those since the recorder last looked: between these times */
	__u64 lost_last;
	__u32 state; /* enum span_ring_state: by compare and swap, as it is shared */
	__u32 pid;   /* as the process itself sees them: it may be in a namespace */
	__u32 tid;
	__u32 pid_ns;                   /* number of that namespace; 0 if not known */
	char service[SPAN_SERVICE_MAX]; /* with its final 0; empty if not known */
	__u64 event_count;              /* events written or dropped, ever */
	__u8 pad2[192 - 56 - SPAN_SERVICE_MAX];
	/* written by the recorder, on a cache line of its own */
	__u64 tail;          /* bytes taken, ever */
	__u64 lost_reported; /* of `lost`, those that are in a capture */
	__u8 pad3[64 - 16];
	__u8 data[SPAN_RING_SIZE + SPAN_EVENT_MAX];
};

/* A name of sonde.h that can be switched off. */
struct span_name {
	__u64 count; /* spans that were begun, about; not those while it was off */
	__u32 used;  /* 0 free, 1 being filled, 2 there */
	__u32 off;
	char name[SPAN_NAME_MAX];
};

/* For names that are not there yet, too: the last rule that matches decides. */
struct span_rule {
	__u32 used; /* as above */
	__u32 off;
	char pattern[SPAN_NAME_MAX]; /* as fnmatch() takes it */
};

struct span_arena {
	char magic[8];
	__u32 version;
	__u32 pad;
	__u64 heartbeat; /* by the recorder: CLOCK_MONOTONIC when it last came by */
	__u32 recording; /* whether events are wanted, SPAN_RECORDING or SPAN_REGISTERED, or not: 0
			  */
	__u32 pad4;
	__u64 lost_without_ring;      /* events dropped, as there was no free ring */
	__u64 taken[SPAN_RINGS / 64]; /* a bit for each ring: changed by atomic or, atomic and */
	__u8 pad2[4096 - 40 - SPAN_RINGS / 8];
	struct span_name names[SPAN_NAMES];
	struct span_rule rules[SPAN_RULES];
	__u8 pad3[4096 - SPAN_RULES * sizeof(struct span_rule) % 4096];
	struct span_ring rings[SPAN_RINGS];
};

#endif
