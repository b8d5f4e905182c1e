/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_wire - the shared memory between the agent in a process and the recorder.
 *
 * The agent creates one memory file, the arena, when a process first needs it.  Forked
 * children share it, so that a child that lives for a millisecond leaves its spans where
 * the recorder already reads; a program started with execve() creates its own.  The
 * kernel frees the arena with its last process.
 *
 * The recorder finds an arena in two ways.  If the recorder is already running, the agent
 * connects to its socket (event/span_socket.h), sends the file descriptor and
 * disconnects; it trusts only sockets of root and of its own user.  A recorder that
 * starts later finds a mapping named "/memfd:" SPAN_ARENA_NAME.  The recorder locks the
 * file (flock on its own file description), so that two recorders do not take events from
 * each other, sets `recording`, and renews `heartbeat`.
 *
 * Threads write events only while `recording` is not 0.  It is also set while a
 * registration is pending, because a program may end before the recorder attaches.  A
 * recorder that died, or that ignored a registration, leaves `recording` set: a thread
 * that finds its ring full, or acquires a ring, clears it if `heartbeat` is too old.
 *
 * Each thread that writes events acquires a ring: a queue with one writer, the thread,
 * and one reader, the recorder.  The thread writes an event, then advances `head`; the
 * recorder reads the event, then advances `tail`.  Neither wakes or waits for the other:
 * if a ring is full, the thread drops the new event and counts it.  Events are never
 * split: behind the ring there is space for one more event, so that an event that begins
 * near the end simply continues there.  All events of a ring are numbered, including
 * dropped ones and across all its owners: a number that is neither read nor counted as
 * dropped belongs to an event that disappeared, and the recorder reports it.
 *
 * A thread acquires a ring by changing `state` from FREE to CLAIMED; it sets the ring's
 * bit in `taken`, fills in pid and tid, and changes `state` to TAKEN.  The recorder and
 * searching threads read the bits first, so that they touch no pages of unused rings.  To
 * free a ring, change `state` to CLAIMED, clear the bit, and then change `state` to FREE.
 * The recorder and any thread can find that an owner has exited, and try to free its ring
 * at the same time.  So `state` also contains a generation, which changes with each
 * owner: a compare-and-swap fails if the ring has a new owner.  The counters of a ring
 * continue when its owner changes.
 *
 * The recorder is privileged and the process may be hostile: the recorder trusts
 * nothing in the arena except what it wrote itself.  The size of the file is sealed.
 */
#ifndef SONDE_EVENT_SPAN_WIRE_H
#define SONDE_EVENT_SPAN_WIRE_H

#include <linux/types.h>

#define SPAN_ARENA_NAME "sonde-agent" /* of the memory file */
/* Followed by a digit; SOCK_SEQPACKET.  An agent sends one byte and one descriptor. */
#define SPAN_SOCKET_NAME "sonde-recorder-"
#define SPAN_ARENA_MAGIC "sonde\0a" /* eight bytes */

enum {
	SPAN_ARENA_VERSION = 2,
	SPAN_SOCKETS = 4,
	SPAN_RINGS = 1024, /* threads at a time, in all processes of an arena */
	SPAN_RING_SIZE = 128 * 1024,
	SPAN_EVENT_MAX = 4096,
	SPAN_NAMES = 1024,
	SPAN_NAME_MAX = 112, /* bytes, with the final NUL, of a name that can be switched off */
	SPAN_RULES = 32,
	SPAN_SERVICE_MAX = 64,
};

/* Values of span_arena.recording; 0 requests no events. */
enum {
	SPAN_RECORDING = 1,  /* a recorder is attached */
	SPAN_REGISTERED = 2, /* a recorder is about to attach */
};

/* Time without heartbeat, in ns, after which a recorder is considered dead. */
#define SPAN_HEARTBEAT_MAX (2 * 1000000000ull)

enum span_event_kind {
	SPAN_EVENT_BEGIN = 1,
	SPAN_EVENT_END = 2,
	SPAN_EVENT_CONTEXT = 3,
};

struct span_event {
	__u64 time;   /* ns on CLOCK_MONOTONIC */
	__u16 size;   /* of the whole event, a multiple of 8 */
	__u8 kind;    /* enum span_event_kind */
	__u8 flags;   /* SPAN_ERROR; CONTEXT_UNKNOWN */
	__u32 number; /* span_ring.event_count including this event; 0: not numbered */
};

struct span_event_begin {
	struct span_event head;
	__u8 trace[16];
	__u8 span[8];
	__u8 parent[8]; /* all zero for a root */
	__u16 name_size;
	__u8 kind; /* enum span_kind */
	__u8 pad[5];
	char name[]; /* name_size bytes, without a final NUL */
};

/* Repeats the data of BEGIN, for a recorder that attached after it. */
struct span_event_end {
	struct span_event head;
	__u8 trace[16];
	__u8 span[8];
	__u8 parent[8];
	__u64 start; /* ns; 0 if only BEGIN has it */
	__u32 tid;   /* of the thread that began the span; 0 if only BEGIN has it */
	__u16 name_size;
	__u16 attributes_size;
	__u8 kind; /* enum span_kind */
	__u8 pad[7];
	char text[]; /* the name, then packed struct span_attribute */
};

struct span_attribute { /* packed, without gaps */
	__u8 type;      /* enum attribute_type */
	__u8 key_size;
	__u16 value_size; /* length of a STRING, otherwise 8 */
	char text[];      /* key, then value */
} __attribute__((packed));

struct span_event_context {
	struct span_event head;
	__u8 trace[16];
	__u8 span[8]; /* all zero: no span */
};

enum span_ring_state {
	SPAN_RING_FREE = 0,
	SPAN_RING_TAKEN = 1,          /* by the thread `tid` */
	SPAN_RING_ABANDONED = 2,      /* its thread has exited; the recorder frees the empty ring */
	SPAN_RING_CLAIMED = 3,        /* exclusively, to change its owner or to free it */
	SPAN_RING_STATE = 0xff,       /* mask of the above in span_ring.state */
	SPAN_RING_GENERATION = 0x100, /* one generation in span_ring.state */
};

/* The same generation in another state. */
static inline __u32 span_ring_with(__u32 state, enum span_ring_state to)
{
	return (state & ~(__u32)SPAN_RING_STATE) | to;
}

struct span_ring {
	/* written by the thread */
	__u64 head;       /* bytes written so far */
	__u64 lost;       /* events dropped so far */
	__u64 lost_first; /* times of the first and last drop since the recorder's last read */
	__u64 lost_last;
	__u32 state; /* generation and enum span_ring_state; changed with compare-and-swap */
	__u32 pid;   /* pid and tid in the pid namespace of the process */
	__u32 tid;
	__u32 pid_ns;                   /* inode of that namespace; 0 if unknown */
	char service[SPAN_SERVICE_MAX]; /* with the final NUL; empty if unknown */
	__u64 event_count;              /* events written or dropped so far */
	__u8 pad2[192 - 56 - SPAN_SERVICE_MAX];
	/* written by the recorder, on a separate cache line */
	__u64 tail;          /* bytes read so far */
	__u64 lost_reported; /* part of `lost` that is in the capture */
	__u8 pad3[64 - 16];
	__u8 data[SPAN_RING_SIZE + SPAN_EVENT_MAX];
};

/* A name of a sonde.h span, which can be switched off. */
struct span_name {
	__u64 count; /* approximate number of spans begun while the name was on */
	__u32 used;  /* enum span_slot */
	__u32 off;
	char name[SPAN_NAME_MAX];
};

/* Applies to future names as well; the last matching rule decides. */
struct span_rule {
	__u32 used; /* enum span_slot */
	__u32 off;
	char pattern[SPAN_NAME_MAX]; /* for fnmatch() */
};

enum span_slot { SPAN_SLOT_FREE = 0, SPAN_SLOT_FILLING = 1, SPAN_SLOT_USED = 2 };

struct span_arena {
	char magic[8];
	__u32 version;
	__u32 pad;
	__u64 heartbeat; /* of the recorder, in ns on CLOCK_MONOTONIC */
	__u32 recording; /* SPAN_RECORDING, SPAN_REGISTERED, or 0 if events are not requested */
	__u32 pad4;
	__u64 lost_without_ring;      /* events dropped because no ring was free */
	__u64 taken[SPAN_RINGS / 64]; /* one bit per ring; changed with atomic or, atomic and */
	__u8 pad2[4096 - 40 - SPAN_RINGS / 8];
	struct span_name names[SPAN_NAMES];
	struct span_rule rules[SPAN_RULES];
	__u8 pad3[4096 - SPAN_RULES * sizeof(struct span_rule) % 4096];
	struct span_ring rings[SPAN_RINGS];
};

#endif
