/* SPDX-License-Identifier: Apache-2.0 OR (BSD-2-Clause OR GPL-2.0-only) */
/*
 * event - the records that all parts of sonde exchange.
 *
 * Shared by the kernel programs, the capture file and the readers of foreign traces,
 * so it has only fixed-size fields and includes no other header of sonde.  All of it is
 * written to disk: add at the end, never renumber.  A record may grow at its end.
 * Readers accept records of the first version's size (event/capture_format.h), read
 * a field that was added later through a function that checks the record's size, such
 * as loss_packets(), and skip unknown kinds.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds.  The time of a record is the time at which it
 * was complete: the end of an interval, the completion of block I/O.  Records in a capture
 * are in the order of that time.
 *
 * Records refer to strings, stacks and frames by the number in their STRING, STACK or FRAME;
 * 0 is none.
 */
#ifndef SONDE_EVENT_EVENT_H
#define SONDE_EVENT_EVENT_H

#include <linux/types.h>

enum record_kind {
	RECORD_RUN = 1,          /* time of a thread on a CPU */
	RECORD_WAIT = 2,         /* time off the CPU: blocked, then waiting for a CPU */
	RECORD_TASK = 3,         /* name and process of a thread, initially and when they change */
	RECORD_EXIT = 4,         /* a thread has left its last CPU */
	RECORD_MESSAGE = 5,      /* bytes sent to or received from a socket */
	RECORD_SOCKET = 6,       /* addresses of a socket */
	RECORD_FILE = 7,         /* name of a file */
	RECORD_SOCKET_STATE = 8, /* a TCP connection changed its state */
	RECORD_SYSCALL = 9,      /* a finished system call (--syscalls) */
	RECORD_BLOCK = 10,       /* completed block I/O (--block) */
	RECORD_PROBE_EVENT = 11, /* an event of a tracepoint that the user chose (-e) */
	RECORD_SAMPLE = 12,      /* stack of a running thread (--profile) */
	RECORD_STACK = 13,       /* frames of a stack */
	RECORD_FRAME = 14,       /* address in a program */
	RECORD_SYMBOL = 15,      /* function of a frame */
	RECORD_LOSS = 16,        /* records dropped on a CPU or by an agent */
	RECORD_CLOCK = 17,       /* offsets between clocks */
	RECORD_PROCESS = 18,     /* command line and control group of a process */
	RECORD_PROBE_TYPE = 19,  /* name and fields of a tracepoint */
	RECORD_DEVICE = 20,      /* name of a block device */
	RECORD_SPAN = 21,        /* a finished span */
	RECORD_CONTEXT = 22,     /* the span that a thread works for */
	RECORD_ATTRIBUTE = 23,   /* an attribute of a span */
	RECORD_COUNTER = 24,     /* number of records that passed a stage of the recorder */
	RECORD_TRANSMIT = 25,    /* bytes that a send left in the send buffer have left it */
	RECORD_EPOCH = 26,       /* everything that later records refer to is described again */
	RECORD_UNREAD = 27,      /* bytes that arrived at a socket and were not read yet */
	RECORD_KIND_COUNT,
};

struct record {
	__u64 time;
	__u32 tid; /* the thread it is about; 0 if none */
	__u16 cpu;
	__u8 kind;  /* enum record_kind */
	__u8 words; /* size of the whole record, in units of 8 bytes */
};

/* States of threads: the letters are also the numbers on disk. */
enum state {
	STATE_RUNNING = 'R',
	STATE_DISK = 'D',
	STATE_NETWORK = 'N',
	STATE_TIMER = 'T',
	STATE_LOCK = 'L',
	STATE_PROCESS = 'I',     /* another process */
	STATE_USER = 'U',        /* a person at a terminal */
	STATE_UNKNOWN = '?',     /* blocked, cause unknown */
	STATE_READY = 'C',       /* runnable, waiting for a CPU */
	STATE_THROTTLED = 'Q',   /* runnable, but the CPU quota of its cgroup is used up */
	STATE_INTERRUPTED = 'X', /* reserved: time in interrupts is record_run.irq */
};

/* The end of the recording cut off the interval. */
#define INTERVAL_OPEN 1
/* RUN: the thread is out of scope; only its slices are recorded. */
#define INTERVAL_OUT_OF_SCOPE 2
/* WAIT: the thread was in I/O wait; slept uninterruptibly; was preempted and did not block. */
#define INTERVAL_IOWAIT 4
#define INTERVAL_UNINTERRUPTIBLE 8
#define INTERVAL_PREEMPTED 16
/* WAIT: its end was hidden from tracing; the time is estimated from the scheduler's counters. */
#define INTERVAL_END_HIDDEN 32
/* WAIT: on a futex for a signal (condition variable, semaphore), not for a lock. */
#define INTERVAL_CONDVAR 64
/* WAIT: a signal, a debugger or the freezer of control groups had stopped the thread. */
#define INTERVAL_STOPPED 128

struct record_run { /* on head.cpu from start to head.time */
	struct record head;
	__u64 start;
	__u32 irq; /* ns of it in interrupts */
	__u8 flags;
	__u8 pad[3];
};

/* What ended a wait. */
enum wake_context {
	WAKE_NONE = 0,    /* nothing: the thread did not block, or still does */
	WAKE_TASK = 1,    /* the thread `waker` */
	WAKE_IRQ = 2,     /* a device interrupt; `vector` is its number */
	WAKE_SOFTIRQ = 3, /* a softirq; `vector` is an enum softirq_vector */
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
	VECTOR_UNKNOWN = 0xffff, /* unknown; also the number of an unknown device interrupt */
};

/* What a thread waits on or sends to, and the meaning of `object` for it. */
enum object_kind {
	OBJECT_NONE = 0,
	OBJECT_FILE = 1,         /* object of a FILE record */
	OBJECT_DIRECTORY = 2,    /* object of a FILE record */
	OBJECT_BLOCK_DEVICE = 3, /* device number */
	OBJECT_INET = 4,         /* TCP, UDP, raw: object of a SOCKET record, its inode number */
	OBJECT_UNIX = 5,         /* object of a SOCKET record */
	OBJECT_SOCKET = 6,       /* other family: object of a SOCKET record */
	OBJECT_PIPE = 7,         /* inode number */
	OBJECT_EVENTFD = 8,      /* from here on, 0 unless noted */
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
#define SYSCALL_UNKNOWN (-2) /* missing from the trace */

/* Whether a thread waits because memory is short. */
enum memory_shortage {
	MEMORY_ENOUGH = 0, /* or unknown */
	MEMORY_SHORT = 1,  /* it reclaims memory, or waits for a page that was evicted recently */
	MEMORY_AT_LIMIT =
		2, /* the same, or it waits for a page; its control group is at its limit */
};

struct record_wait {        /* blocked from start to woken, runnable from there to head.time */
	struct record head; /* cpu: the one that it gets next */
	__u64 start;
	__u64 woken;  /* start if the thread did not block, head.time if it still does */
	__u64 object; /* by object_kind */
	__u32 waker;  /* tid of the waker; with an interrupt, of the interrupted thread */
	__s16 syscall;
	__u8 state;   /* enum state of the blocked part */
	__u8 ready;   /* enum state of the runnable part: READY or THROTTLED */
	__u8 context; /* enum wake_context */
	__u8 object_kind;
	__u16 vector;
	__u32 stack;       /* of the blocked thread */
	__u32 waker_stack; /* of the waker */
	__u8 flags;
	/* of futex(); both 0 if unknown */
	__u8 futex_op;    /* FUTEX_WAIT, ..., possibly with FUTEX_PRIVATE_FLAG */
	__u8 futex_value; /* value of the futex during the wait; 255 if larger */
	__u8 memory;      /* enum memory_shortage */
};

enum task_event {
	TASK_EXISTING = 0, /* existed before it came into scope */
	TASK_NEW = 1,      /* created now, by thread `parent` */
	TASK_EXEC = 2,     /* has called exec */
	TASK_RENAMED = 3,
	TASK_OUT_OF_SCOPE = 4, /* out of scope; has a name for its slices */
	TASK_AGAIN = 5,        /* described again after an EPOCH: in scope, and still alive */
	TASK_PRIORITY = 6,     /* its scheduling policy or priority has changed */
};

#define TASK_KERNEL 1 /* a kernel thread */

struct record_task {
	struct record head;
	__u32 pid;    /* the process */
	__u32 parent; /* TASK_NEW: the creating thread; otherwise the parent process */
	__u64 cgroup; /* id in the unified hierarchy */
	__u32 comm;   /* string */
	__u8 event;   /* enum task_event */
	__u8 flags;
	__u8 policy;   /* SCHED_OTHER, ... plus 1; 0 if unknown, as in older captures */
	__s8 priority; /* by policy: real-time priority, or nice value */
};

struct record_exit {
	struct record head;
	__u32 pid;
	__u32 code; /* status as returned by wait() */
};

enum direction { MESSAGE_SEND = 0, MESSAGE_RECEIVE = 1 };

/* MESSAGE, received: its first byte arrived before the connection was accepted. */
#define MESSAGE_BEFORE_ACCEPT 1
/* MESSAGE, sent: bytes of it were still in the send buffer when the send returned. */
#define MESSAGE_HELD 2

struct record_message {
	struct record head;
	__u64 object; /* the socket */
	__u32 bytes;
	__u32 position; /* TCP: sequence number after the last byte */
	__u8 direction;
	__u8 object_kind;
	/*
	 * Time before head.time, ns; 0 if unknown.  TCP, sent: the message can have left then.
	 * Received: its first byte arrived at the socket then.
	 */
	__u8 lag_high; /* bits 32 to 39 */
	__u8 flags;
	__u32 lag; /* bits 0 to 31 */
};

static inline __u64 message_lag(const struct record_message *r)
{
	return (__u64)r->lag_high << 32 | r->lag;
}

/* Why TCP held bytes in the send buffer. */
enum held_reason {
	HELD_UNKNOWN = 0,
	HELD_NAGLE = 1,      /* a small segment waits until earlier ones are acknowledged */
	HELD_WINDOW = 2,     /* the receiver's window is full: it does not read */
	HELD_CONGESTION = 3, /* the congestion window is full */
	HELD_CORK = 4,       /* the sender announced more bytes: TCP_CORK, MSG_MORE */
};

/* Follows only a message with MESSAGE_HELD, once all bytes have left. */
struct record_transmit {
	struct record head; /* time at which it was found out; no thread */
	__u64 object;       /* the socket */
	__u64 left;         /* time at which the last of the bytes left */
	__u32 position;     /* TCP: sequence number after the last byte */
	__u8 object_kind;
	__u8 reason; /* enum held_reason */
	__u8 pad[2];
};

struct socket_address {
	__u16 family;     /* AF_INET, AF_INET6, AF_UNIX, ... */
	__u16 protocol;   /* IPPROTO_TCP, ... */
	__u16 local_port; /* host byte order */
	__u16 peer_port;
	__u8 local[16]; /* IPv4: the first four bytes */
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
	__u64 object; /* 0 until the connection is accepted */
	struct socket_address address;
	__u32 netns;
	__u8 from, to; /* TCP_ESTABLISHED, ... */
	__u16 pad;
};

struct record_file {
	struct record head;
	__u64 object;
	__u64 inode;
	__u32 device; /* major << 20 | minor, as in the kernel */
	__u32 name;   /* string: last components of its path */
};

#define SYSCALL_OPEN 1 /* had not returned when recording ended */

struct record_syscall { /* from start to head.time */
	struct record head;
	__u64 start;
	__u64 args[3];
	__s64 result;
	__s16 nr;
	__u8 flags;
	__u8 pad[5];
};

struct record_block {       /* issued at start, completed at head.time */
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
	__u16 type; /* number of a PROBE_TYPE */
	__u16 size; /* of data, bytes */
	__u32 pad;
	__u8 data[]; /* laid out as in the format file; text if there is none */
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
	__u16 kernel_count; /* frames in the kernel */
	__u16 user_count;   /* frames in user space */
	__u32 frames[];     /* of the kernel, then of user space; each innermost first */
};

struct record_frame {
	struct record head;
	__u32 frame;
	__u32 module;  /* string: path of the program or library, or [kernel] */
	__u64 address; /* in the process */
	__u64 offset;  /* in the module's file; 0 if unknown */
};

struct record_symbol {
	struct record head;
	__u32 frame;
	__u32 depth;  /* 0 for the innermost function, 1 for the one it is inlined into, ... */
	__u32 name;   /* string */
	__u32 source; /* string: file */
	__u32 line;
	__u32 offset; /* from the start of the function */
};

struct record_loss {        /* happened from start to end, reported at head.time */
	struct record head; /* tid: of the agent that dropped them; 0 if dropped on that CPU */
	__u64 start;
	__u64 end;
	__u64 count;
	__u64 packets; /* packets of a foreign trace, of unknown content; read by loss_packets() */
};

/* Older captures have records without this field. */
static inline __u64 loss_packets(const struct record_loss *r)
{
	return r->head.words * 8u >= sizeof(*r) ? r->packets : 0;
}

struct record_clock {
	struct record head;
	__s64 realtime; /* ns to add to a time to get CLOCK_REALTIME */
	__s64 boottime; /* the same for CLOCK_BOOTTIME */
};

struct record_process {
	struct record head;
	__u32 pid;
	__u32 cmdline; /* string: arguments separated by spaces */
	__u32 cgroup;  /* string: path */
	__u32 pad;
};

enum span_source {
	SPAN_SDK = 0,      /* an SDK such as OpenTelemetry's */
	SPAN_INFERRED = 1, /* kernel events */
	SPAN_PROBE = 2,    /* a probed function */
};

#define SPAN_FOLLOWS 1 /* the parent does not wait for it */
#define SPAN_ERROR 2
#define SPAN_OPEN 4         /* without an end; SPAN_INFERRED: or with an unknown parent */
#define SPAN_ACCEPT_QUEUE 8 /* SPAN_INFERRED: it arrived before its connection was accepted */

/* Numbered as in OTLP. */
enum span_kind {
	SPAN_UNSPECIFIED = 0,
	SPAN_INTERNAL = 1,
	SPAN_SERVER = 2,
	SPAN_CLIENT = 3,
	SPAN_PRODUCER = 4,
	SPAN_CONSUMER = 5,
};

struct record_span {        /* from start to head.time */
	struct record head; /* tid: the thread that created it; 0 if unknown */
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

/* CONTEXT: the process published something that is not trustworthy; the span is unknown. */
#define CONTEXT_UNKNOWN 1
/*
 * CONTEXT: observed when the thread left the CPU, not reported by an agent.  It began at an
 * unknown time after `since`, when the thread had another context.
 */
#define CONTEXT_OBSERVED 2

struct record_context {     /* from head.time on, the thread works for a span */
	struct record head; /* tid: the thread */
	__u64 since;        /* OBSERVED: when the thread got the CPU; otherwise head.time */
	__u8 trace[16];
	__u8 span[8]; /* all zero: for no span */
	__u8 flags;
	__u8 pad[7];
};

enum attribute_type {
	ATTRIBUTE_STRING = 1, /* value: number of a string */
	ATTRIBUTE_BOOL = 2,
	ATTRIBUTE_INT = 3,    /* value: as __s64 */
	ATTRIBUTE_DOUBLE = 4, /* value: the bits of a double */
};

struct record_attribute { /* comes before its span */
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

/*
 * Only in streams.  A record refers only to strings, stacks, frames, probe types, threads,
 * processes, sockets, files and devices that its own epoch or the one before it describes, so
 * everything older can be dropped.  An EPOCH is alone in its block.  A thread in scope that
 * neither its epoch nor the next one describes has ended.
 */
struct record_epoch {
	struct record head;
	__u32 number; /* from 1; what precedes the first EPOCH is epoch 0 */
	__u32 pad;
};

/* Only in streams, once a second for each socket in scope whose bytes wait for longer than 100 ms.
 */
struct record_unread {
	struct record head; /* no thread */
	__u64 object;       /* the socket; 0 until the connection is accepted */
	__u64 arrived;      /* arrival of the first unread byte */
	struct socket_address address;
	__u32 netns;
	__u32 bytes; /* unread; not TCP: number of unread messages */
};

struct record_counter { /* at the end of a capture */
	struct record head;
	__u64 count;
	__u32 counter; /* enum counter in counter.h */
	__u32 pad;
};

#endif
