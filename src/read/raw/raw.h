/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw - kernel events of other tracers, before their conversion to records.
 *
 * ftrace, perf, LTTng and bpftrace write the same tracepoints in different
 * encodings.  The decoder of a format turns each event into a struct raw_event;
 * replay.h turns raw events into records.  One table (raw.c) lists the names of
 * events and fields in all formats, and the members of struct raw_event that they
 * set.  A decoder looks up fields by name once per event type, not once per event.
 *
 * Tracepoints without meaning for sonde are RAW_OTHER: sonde counts and shows them.
 */
#ifndef SONDE_READ_RAW_RAW_H
#define SONDE_READ_RAW_RAW_H

#include <string.h>

#include "base/base.h"
#include "base/err.h"
#include "event/event.h"
#include "read/raw/state.h"

enum raw_kind {
	RAW_OTHER,
	RAW_SWITCH,
	RAW_WAKING, /* a wakeup begins, on the waker's CPU */
	RAW_WAKEUP, /* a wakeup is done, possibly on another CPU; used only without RAW_WAKING */
	RAW_WAKEUP_NEW, /* the first wakeup of a new thread */
	RAW_FORK,
	RAW_EXEC,
	RAW_EXIT,
	RAW_RENAME,
	RAW_IRQ_ENTRY,
	RAW_IRQ_EXIT,
	RAW_SOFTIRQ_ENTRY,
	RAW_SOFTIRQ_EXIT,
	RAW_HRTIMER_ENTRY,
	RAW_HRTIMER_EXIT,
	RAW_SYSCALL_ENTER,
	RAW_SYSCALL_EXIT,
	RAW_BLOCK_ISSUE,
	RAW_BLOCK_COMPLETE,
	RAW_PACKET_SEND,    /* a TCP segment is passed to a device */
	RAW_PACKET_RECEIVE, /* a TCP segment is received from a device */
	RAW_SOCKET_SEND,    /* a program wrote bytes to a socket */
	RAW_SOCKET_RECEIVE, /* a program read bytes from a socket */
	RAW_TCP_RECEIVE,    /* a program read an unknown number of bytes */
	RAW_SOCKET_STATE,
	RAW_TASK, /* an existing thread, from the state dump at the start of a trace */
	RAW_LOST, /* this CPU lost events between lost.start and time */
	RAW_SPAN_BEGIN,
	RAW_SPAN_END,
	RAW_PROCESS, /* the cgroup of a process, from a file beside the trace */
	RAW_WAIT,    /* a thread begins to wait; only in traces exported by sonde */
	RAW_MESSAGE, /* a message; only in traces exported by sonde */
	RAW_KIND_COUNT,
};

/* Whether it is an event of the trace, as opposed to one created by the decoder. */
static inline bool raw_is_event(enum raw_kind kind)
{
	return kind != RAW_LOST && kind != RAW_PROCESS;
}

#define RAW_UNKNOWN UINT32_MAX

/* Not terminated; valid until the next event is read. */
struct raw_text {
	const char *s; /* NULL if unknown */
	uint32_t len;
};

/*
 * The numbering of Linux 4.14 and later.  Text decoders map state letters to these
 * values; raw_source.states translates the numbers of binary traces.
 */
enum raw_task_state {
	RAW_STATE_SLEEP = 1,
	RAW_STATE_DISK = 2, /* uninterruptible sleep */
	RAW_STATE_STOPPED = 4,
	RAW_STATE_TRACED = 8,
	RAW_STATE_DEAD = 16,
	RAW_STATE_ZOMBIE = 32,
	RAW_STATE_PARKED = 64,
	RAW_STATE_IDLE = 128,
	RAW_STATE_ALL = 255,
};

enum raw_context { RAW_CONTEXT_UNKNOWN, RAW_IN_TASK, RAW_IN_SOFTIRQ, RAW_IN_IRQ };

struct raw_event {
	nsec_t time;
	uint32_t tid; /* thread on the CPU, or RAW_UNKNOWN */
	uint32_t pid; /* its process, or RAW_UNKNOWN */
	struct raw_text comm;
	uint16_t cpu;
	uint8_t kind;    /* enum raw_kind */
	uint8_t context; /* enum raw_context */
	uint32_t type;   /* RAW_OTHER: event type, for raw_source.type_name() */

	union {
		struct {
			uint32_t prev, next;
			uint64_t state; /* for raw_state_read(); 0 if preempted */
			struct raw_text prev_comm, next_comm;
		} sched_switch;
		struct {
			uint32_t tid;
			struct raw_text comm;
		} wake; /* also RAW_EXIT and RAW_RENAME, with the new comm */
		struct {
			uint32_t parent, child;
			uint32_t child_pid; /* its process, or RAW_UNKNOWN */
			uint32_t flags;     /* flags of clone(), or RAW_UNKNOWN */
			struct raw_text comm;
		} fork;
		struct {
			uint32_t tid, old_tid; /* differ if the caller was not the main thread */
			struct raw_text path;
		} exec;
		struct {
			uint32_t number; /* interrupt or softirq number */
		} irq;
		struct {
			int32_t nr; /* x86-64, or SYSCALL_UNKNOWN */
			uint64_t args[3];
			int64_t result;
			struct raw_text path; /* path argument, if recorded */
		} syscall;
		struct {
			uint64_t sector;
			uint32_t device, bytes, sectors;
			int32_t error;
			struct raw_text op; /* such as "WFS"; or op_bits */
			uint32_t op_bits;   /* 1 write, 2 discard, 4 read, 256 flush */
		} block;
		struct {
			struct socket_address address; /* local is the sender's */
			uint32_t seq;                  /* sequence number of the first byte */
			uint32_t bytes; /* with the TCP header, and the IP header if IPv4 */
			uint32_t ip_words,
				tcp_words; /* header sizes, in units of 4 bytes; IPv6: 0 */
			uint32_t flags;    /* TCP: 1 FIN, 2 SYN, 4 RST, 8 PSH, 16 ACK */
			uint64_t object;   /* kernel address of the socket, */
			uint32_t ack; /* and acknowledged sequence number, of segments without an
					 address */
		} packet;
		struct {
			struct socket_address address; /* ports 0 if unknown */
			uint8_t local6[16], peer6[16]; /* IPv6: replace those in address */
			uint64_t object;   /* kernel address of the socket; 0 if unknown */
			int64_t bytes;     /* negative on failure */
			uint32_t from, to; /* RAW_SOCKET_STATE: TCP_ESTABLISHED, ... */
			uint32_t flags;    /* RAW_SOCKET_RECEIVE: MSG_PEEK, ... */
		} socket;
		struct {
			uint32_t tid, pid, parent;
			uint32_t kernel; /* 1 kernel thread, 0 user thread, or RAW_UNKNOWN */
			struct raw_text comm;
		} task;
		struct {
			nsec_t start;
			uint64_t count;   /* 0 if unknown */
			uint64_t packets; /* missing packets of the trace */
		} lost;
		struct {
			uint32_t pid;
			struct raw_text cgroup;
		} process;
		struct { /* as in struct record_wait */
			uint32_t tid;
			int32_t syscall;
			uint64_t object;
			uint8_t object_kind, flags;
			struct raw_text state, ready;
		} wait;
		struct { /* as in struct record_message */
			struct socket_address address;
			uint64_t object;
			uint32_t bytes, position;
			uint8_t direction, object_kind;
		} message;
		struct {
			struct raw_text trace, span, parent; /* hex digits */
			struct raw_text service, operation;  /* RAW_SPAN_END only */
		} span;
	};
};

/* How to convert a field to a member of struct raw_event. */
enum raw_type {
	RAW_NUMBER,  /* integer of `size` bytes */
	RAW_TEXT,    /* a struct raw_text */
	RAW_ADDRESS, /* 4 or 16 bytes in network byte order; in text, the usual notation */
	RAW_NUMBERS, /* array of 64-bit integers, as many as fit */
};

struct raw_field {
	/*
	 * Names of the field in traces, separated by blanks; the first match counts.
	 * `a.b` is the field b of the structure a; the options of a variant are not a
	 * level of the path.
	 */
	const char *names;
	uint16_t offset; /* offset in struct raw_event */
	uint8_t size;
	uint8_t type; /* enum raw_type */
};

enum { RAW_FIELDS = 12 };

/* The naming scheme of events and fields. */
enum raw_dialect { RAW_KERNEL = 1, RAW_LTTNG = 2 };

struct raw_layout {
	unsigned dialects;
	const char *names; /* of the event, without category, separated by blanks */
	enum raw_kind kind;
	struct raw_field fields[RAW_FIELDS]; /* terminated by a field without names */
};

/*
 * Finds the layout of an event by its name, which can have a prefix "category:"; NULL
 * if sonde does not interpret the event.  If the name contains that of a system call,
 * such as sys_enter_read or syscall_exit_read, *ret_nr is its number, and args are the
 * first three integer fields of the call.  Otherwise *ret_nr is SYSCALL_NONE, and a
 * field of the layout contains the number.
 */
const struct raw_layout *raw_layout_find(enum raw_dialect dialect, const char *name, size_t len,
					 int *ret_nr);

/*
 * An event of a kind with all members unknown.  Decoders start from this value, so
 * fields that the trace does not contain stay unknown.
 */
struct raw_event raw_event_empty(enum raw_kind kind);

/* Stores an integer in a member of 1, 2, 4 or 8 bytes. */
static inline void raw_store_number(char *to, size_t size, uint64_t n)
{
	uint8_t n1 = n;
	uint16_t n2 = n;
	uint32_t n4 = n;

	switch (size) {
	case 1:
		memcpy(to, &n1, 1);
		break;
	case 2:
		memcpy(to, &n2, 2);
		break;
	case 4:
		memcpy(to, &n4, 4);
		break;
	default:
		memcpy(to, &n, 8);
	}
}

/* Whether s is a word of list; words are separated by blanks. */
bool raw_is_one_of(const char *list, const char *s, size_t len);

/*
 * Receives all fields of an event, in the order and with the names of the trace, for
 * display and tests.  Names are NULL in an array.
 */
struct raw_visitor {
	void (*number)(void *arg, const char *name, int64_t n);
	void (*unsigned_number)(void *arg, const char *name, uint64_t n, int base); /* 10 or 16 */
	void (*real)(void *arg, const char *name, double n);
	void (*text)(void *arg, const char *name, const char *s, size_t len);
	/* A value of an enumeration; label is "" if the value has none. */
	void (*label)(void *arg, const char *name, int64_t n, bool is_signed, const char *label);
	void (*begin)(void *arg, const char *name, bool is_array);
	void (*end)(void *arg);
};

/*
 * A decoder.  The struct of each format begins with this one; opening a trace fills
 * in the members that describe the trace.
 */
struct raw_source {
	/* The next event by time: returns 1, 0 at the end, or a negative errno. */
	int (*next)(struct raw_source *source, struct raw_event *ret, struct err *err);
	/* The name of the last event, and its fields. */
	const char *(*name)(struct raw_source *source);
	void (*fields)(struct raw_source *source, const struct raw_visitor *visitor, void *arg);
	/* "category:name" or "name" of a raw_event.type. */
	const char *(*type_name)(struct raw_source *source, uint32_t type);
	/*
	 * The kernel's format file of a type, and the binary data of the last event, or
	 * NULL if the trace contains neither.  Both methods are optional.
	 */
	const char *(*type_format)(struct raw_source *source, uint32_t type);
	const void *(*data)(struct raw_source *source, size_t *ret_size);
	void (*free)(struct raw_source *source);

	const char *host;         /* borrowed; NULL if unknown */
	int64_t realtime_offset;  /* CLOCK_REALTIME minus the trace's clock, in ns */
	bool has_realtime;        /* realtime_offset is known */
	bool is_monotonic;        /* the clock is CLOCK_MONOTONIC of the host */
	bool has_kinds;           /* kinds is known */
	uint32_t kinds;           /* recorded kinds, 1 << enum raw_kind; otherwise 0 */
	struct raw_states states; /* numbering of task states */
	bool missing_cpus;        /* events contain no CPU: all are on CPU 0 */
	bool is_partial;          /* contains some threads only; the warning mentions it */
	char *warning;            /* problems of the trace; freed by free() */
};

#endif
