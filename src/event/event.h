/* SPDX-License-Identifier: Apache-2.0 OR (BSD-2-Clause OR GPL-2.0-only) */
/*
 * event - the records that every part of sonde speaks.
 *
 * Shared by the kernel programs, the capture file and the readers of foreign
 * traces, so it holds only fixed-size fields and includes nothing of ours.
 * Everything here is written to disk: add at the end, never renumber.  A
 * record may grow; readers take a shorter one as having zeros at its end, and
 * skip kinds that they do not know.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds.  A record's time is the moment it
 * became known: the end of an interval, the completion of a request.  Records
 * stand in a capture in the order of that time.
 *
 * Strings, stacks and frames are named by the number that a STRING, STACK or
 * FRAME gave them; 0 is none.
 */
#ifndef SONDE_EVENT_EVENT_H
#define SONDE_EVENT_EVENT_H

#include <linux/types.h>

enum record_kind {
	RECORD_RUN = 1,          /* a thread had a CPU */
	RECORD_WAIT = 2,         /* a thread did not: blocked, then waiting for a CPU */
	RECORD_TASK = 3,         /* who a thread is: on first sight, and when that changes */
	RECORD_EXIT = 4,         /* a thread has left its last CPU */
	RECORD_MESSAGE = 5,      /* bytes given to or taken from a socket */
	RECORD_SOCKET = 6,       /* what a socket is connected to */
	RECORD_FILE = 7,         /* what a file is called */
	RECORD_SOCKET_STATE = 8, /* a TCP connection changed its state */
	RECORD_SYSCALL = 9,      /* a finished system call (--syscalls) */
	RECORD_BLOCK = 10,       /* a finished request to a block device (--block) */
	RECORD_PROBE_EVENT = 11, /* a tracepoint that the user asked for (-e) */
	RECORD_SAMPLE = 12,      /* where a thread was executing (--profile) */
	RECORD_STACK = 13,       /* a list of frames */
	RECORD_FRAME = 14,       /* an address in a program */
	RECORD_SYMBOL = 15,      /* the function of a frame */
	RECORD_LOSS = 16,        /* records dropped, on a CPU or by an agent */
	RECORD_CLOCK = 17,       /* this clock against others */
	RECORD_PROCESS = 18,     /* a process: command line and control group */
	RECORD_PROBE_TYPE = 19,  /* the name and fields of a tracepoint */
	RECORD_DEVICE = 20,      /* the name of a block device */
	RECORD_SPAN = 21,        /* a finished span */
	RECORD_CONTEXT = 22,     /* which span a thread works for */
	RECORD_ATTRIBUTE = 23,   /* an attribute of a span */
	RECORD_COUNTER = 24,     /* how many records passed a stage of the recording */
	RECORD_KIND_COUNT,
};

struct record {
	__u64 time;
	__u32 tid; /* the thread it is about; 0 where there is none */
	__u16 cpu;
	__u8 kind;  /* enum record_kind */
	__u8 words; /* the whole record's size in units of 8 bytes */
};

/* The states of DESIGN: their letters are also their numbers on disk. */
enum state {
	STATE_RUNNING = 'R',
	STATE_DISK = 'D',
	STATE_NETWORK = 'N',
	STATE_TIMER = 'T',
	STATE_LOCK = 'L',
	STATE_PROCESS = 'I',     /* another process */
	STATE_USER = 'U',        /* a person at a terminal */
	STATE_BLOCKED = '?',     /* blocked, and no witness says by what */
	STATE_READY = 'C',       /* runnable, waiting for a CPU */
	STATE_THROTTLED = 'Q',   /* runnable, but its group has no quota left */
	STATE_INTERRUPTED = 'X', /* only as a part of running time: see record_run.irq */
};

/* Set on an interval that the end of the recording cut off. */
#define INTERVAL_OPEN 1
/* RUN: the thread is not in scope; only its turns on a CPU are recorded. */
#define INTERVAL_OUT_OF_SCOPE 2
/* WAIT: the thread was in iowait; in an uninterruptible sleep; did not block, was preempted. */
#define INTERVAL_IOWAIT 4
#define INTERVAL_UNINTERRUPTIBLE 8
#define INTERVAL_PREEMPTED 16
/* WAIT: its end was hidden from tracing; when that was is taken from the scheduler's counts. */
#define INTERVAL_END_HIDDEN 32
/* WAIT: on a futex, to be signalled (condition variable, semaphore); not for a plain lock. */
#define INTERVAL_SIGNAL 64

struct record_run { /* from start to time on cpu */
	struct record head;
	__u64 start;
	__u32 irq; /* of that, ns in which interrupts had the CPU */
	__u8 flags;
	__u8 pad[3];
};

/* Who ended a wait. */
enum wake_context {
	WAKE_NONE = 0,    /* nobody: it never blocked, or still does */
	WAKE_TASK = 1,    /* the thread `waker` */
	WAKE_IRQ = 2,     /* a device interrupt; `vector` is its number */
	WAKE_SOFTIRQ = 3, /* a softirq; `vector` as in enum softirq_vector */
	WAKE_HRTIMER = 4, /* a high-resolution timer */
};

enum softirq_vector {
	VECTOR_HI = 0,
	VECTOR_TIMER = 1,
	VECTOR_NET_TX = 2,
	VECTOR_NET_RX = 3,
	VECTOR_BLOCK = 4,
	VECTOR_IRQ_POLL = 5,
	VECTOR_TASKLET = 6,
	VECTOR_SCHED = 7,
	VECTOR_HRTIMER = 8,
	VECTOR_RCU = 9,
	VECTOR_UNKNOWN = 0xffff, /* the trace does not say; also of a device interrupt */
};

/* What a thread waits on, or sends to. `object` names it, as said here. */
enum object_kind {
	OBJECT_NONE = 0,
	OBJECT_FILE = 1,         /* a FILE record's object */
	OBJECT_DIRECTORY = 2,    /* likewise */
	OBJECT_BLOCK_DEVICE = 3, /* device number */
	OBJECT_INET = 4,         /* TCP, UDP, raw: a SOCKET record's object, its inode number */
	OBJECT_UNIX = 5,         /* likewise */
	OBJECT_SOCKET = 6,       /* another family; likewise */
	OBJECT_PIPE = 7,         /* inode number */
	OBJECT_EVENTFD = 8,      /* none from here on, unless said */
	OBJECT_TIMERFD = 9,
	OBJECT_SIGNALFD = 10,
	OBJECT_EPOLL = 11,
	OBJECT_INOTIFY = 12,
	OBJECT_TTY = 13,         /* device number */
	OBJECT_INPUT = 14,       /* device number */
	OBJECT_CHAR_DEVICE = 15, /* device number */
	OBJECT_FUTEX = 16,       /* address in the process */
	OBJECT_IO_URING = 17,
	OBJECT_OTHER = 18,
};

#define SYSCALL_NONE (-1)    /* not in a system call: a page fault, a kernel thread */
#define SYSCALL_UNKNOWN (-2) /* the trace does not say */

struct record_wait {        /* blocked from start to woken, runnable from there to time */
	struct record head; /* cpu: where it runs next */
	__u64 start;
	__u64 woken;  /* start, if it did not block; time, if it still does */
	__u64 object; /* by object_kind */
	__u32 waker;  /* the thread that woke it; with an interrupt, the one interrupted */
	__s16 syscall;
	__u8 state;   /* enum state of the blocked part */
	__u8 ready;   /* enum state of the runnable part: READY or THROTTLED */
	__u8 context; /* enum wake_context */
	__u8 object_kind;
	__u16 vector;
	__u32 stack;       /* where it blocked */
	__u32 waker_stack; /* where the waker was */
	__u8 flags;
	__u8 pad[3];
};

enum task_event {
	TASK_EXISTING = 0, /* there already when recording began, or came into scope */
	TASK_NEW = 1,      /* created now, by thread `parent` */
	TASK_EXEC = 2,     /* runs another program now */
	TASK_RENAMED = 3,
	TASK_OUT_OF_SCOPE = 4, /* not in scope; named so that its turns can be */
};

#define TASK_KERNEL 1 /* a kernel thread */

struct record_task {
	struct record head;
	__u32 pid;    /* the process */
	__u32 parent; /* NEW: the creating thread; else the parent process */
	__u64 cgroup; /* id in the unified hierarchy */
	__u32 comm;   /* string */
	__u8 event;   /* enum task_event */
	__u8 flags;
	__u16 pad;
};

struct record_exit {
	struct record head;
	__u32 pid;
	__u32 code; /* as wait() gives it */
};

enum direction { MESSAGE_SEND = 0, MESSAGE_RECEIVE = 1 };

struct record_message {
	struct record head;
	__u64 object; /* the socket */
	__u32 bytes;
	__u32 position; /* TCP: sequence number just behind these bytes */
	__u8 direction;
	__u8 object_kind;
	__u8 pad[2];
	__u32 lag; /* TCP, sent: ns before time when its last byte may have left; 0 if unknown */
};

struct socket_address {
	__u16 family;     /* AF_INET, AF_INET6, AF_UNIX, ... */
	__u16 protocol;   /* IPPROTO_TCP, ... */
	__u16 local_port; /* host byte order */
	__u16 peer_port;
	__u8 local[16]; /* an IPv4 address has the first four */
	__u8 peer[16];
};

struct record_socket {
	struct record head;
	__u64 object;
	__u64 peer_object; /* AF_UNIX: the other end */
	struct socket_address address;
	__u32 peer_pid; /* AF_UNIX: process at the other end when it connected */
	__u32 netns;    /* inode number of the network namespace */
};

struct record_socket_state {
	struct record head;
	__u64 object; /* 0 while nobody has accepted the connection */
	struct socket_address address;
	__u32 netns;
	__u8 from, to; /* TCP_ESTABLISHED and its like */
	__u16 pad;
};

struct record_file {
	struct record head;
	__u64 object;
	__u64 inode;
	__u32 device; /* major << 20 | minor, as the kernel has it */
	__u32 name;   /* string: the last parts of its path */
};

#define SYSCALL_OPEN 1 /* had not returned when recording ended */

struct record_syscall { /* from start to time */
	struct record head;
	__u64 start;
	__u64 args[3];
	__s64 result;
	__s16 nr;
	__u8 flags;
	__u8 pad[5];
};

struct record_block {       /* issued at start, completed at time */
	struct record head; /* tid: the issuer */
	__u64 start;
	__u64 sector;
	__u32 bytes;
	__u32 device;
	__s32 error; /* 0 or a negative errno */
	__u8 op;     /* 'R', 'W', 'F' flush, 'D' discard, '?' other */
	__u8 pad[3];
};

struct record_probe_event {
	struct record head;
	__u16 type; /* a PROBE_TYPE's number */
	__u16 size; /* of data */
	__u32 pad;
	__u8 data[]; /* as the kernel's format file describes it; text if there is none */
};

struct record_probe_type {
	struct record head;
	__u32 type;
	__u32 name;   /* string: category:name */
	__u32 format; /* string: the kernel's format file */
	__u32 pad;
};

struct record_sample {
	struct record head;
	__u32 stack;
	__u32 pad;
};

struct record_stack {
	struct record head;
	__u32 stack;
	__u16 kernel_count; /* frames, innermost first: those in the kernel, */
	__u16 user_count;   /* then those of the program */
	__u32 frames[];
};

struct record_frame {
	struct record head;
	__u32 frame;
	__u32 module;  /* string: path of the program or library, or [kernel] */
	__u64 address; /* as it was executing */
	__u64 offset;  /* in the module's file; 0 if unknown */
};

struct record_symbol {
	struct record head;
	__u32 frame;
	__u32 depth;  /* 0 is the function itself, 1 what it was inlined into, ... */
	__u32 name;   /* string */
	__u32 source; /* string: file */
	__u32 line;
	__u32 offset; /* from the function's begin */
};

struct record_loss {        /* known at time, but happened from start to end */
	struct record head; /* tid: the thread whose agent dropped them; else on that CPU */
	__u64 start;
	__u64 end;
	__u64 count;
	__u64 packets; /* of a foreign trace, with an unknown number of events: loss_packets() */
};

/* Captures from before it had packets have shorter ones. */
static inline __u64 loss_packets(const struct record_loss *r)
{
	return r->head.words * 8u >= sizeof(*r) ? r->packets : 0;
}

struct record_clock {
	struct record head;
	__s64 realtime; /* what to add to a time to get CLOCK_REALTIME */
	__s64 boottime;
};

struct record_process {
	struct record head;
	__u32 pid;
	__u32 cmdline; /* string: arguments separated by blanks */
	__u32 cgroup;  /* string: path */
	__u32 pad;
};

enum span_source {
	SPAN_SDK = 0,      /* an OpenTelemetry SDK or its like */
	SPAN_INFERRED = 1, /* from kernel events */
	SPAN_PROBE = 2,    /* a function that is probed */
};

#define SPAN_FOLLOWS 1 /* its parent does not wait for it */
#define SPAN_ERROR 2
#define SPAN_OPEN 4 /* its end was not seen; INFERRED: or it has a parent that is not known */

/* As OTLP numbers them. */
enum span_kind {
	SPAN_UNSPECIFIED = 0,
	SPAN_INTERNAL = 1,
	SPAN_SERVER = 2,
	SPAN_CLIENT = 3,
	SPAN_PRODUCER = 4,
	SPAN_CONSUMER = 5,
};

struct record_span {        /* from start to time */
	struct record head; /* tid: the thread that worked for it; 0 if unknown */
	__u64 start;
	__u8 trace[16];
	__u8 span[8];
	__u8 parent[8];  /* all zero for a root */
	__u32 service;   /* string */
	__u32 operation; /* string */
	__u32 pid;
	__u8 source; /* enum span_source */
	__u8 flags;
	__u8 kind; /* enum span_kind */
	__u8 pad;
};

/* CONTEXT: the process published it, but not in a way that can be trusted; no span is meant. */
#define CONTEXT_UNKNOWN 1
/*
 * CONTEXT: seen when the thread left the CPU, and not told.  Since when it held
 * is not known, only that at `since` another one did.
 */
#define CONTEXT_OBSERVED 2

struct record_context {     /* from time on, the thread works for a span */
	struct record head; /* tid: the thread */
	__u64 since;        /* SEEN: when the thread got the CPU; else equals time */
	__u8 trace[16];
	__u8 span[8]; /* all zero: for none */
	__u8 flags;
	__u8 pad[7];
};

enum attribute_type {
	ATTRIBUTE_STRING = 1, /* value: a string's number */
	ATTRIBUTE_BOOL = 2,
	ATTRIBUTE_INT = 3,    /* value: as __s64 */
	ATTRIBUTE_DOUBLE = 4, /* value: the bits of a double */
};

struct record_attribute { /* stands before its span */
	struct record head;
	__u64 value; /* by type */
	__u8 trace[16];
	__u8 span[8];
	__u32 key; /* string */
	__u8 type; /* enum attribute_type */
	__u8 pad[3];
};

struct record_device {
	struct record head;
	__u32 device;
	__u32 name; /* string */
};

struct record_counter { /* at the end of a capture */
	struct record head;
	__u64 count;
	__u32 counter; /* enum counter, of counter.h */
	__u32 pad;
};

#endif
