/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw - kernel events as other people's tracers write them, before they are records.
 *
 * ftrace, perf, LTTng and bpftrace write the same tracepoints in different
 * ways.  A decoder of a format takes each event apart into a struct raw_event;
 * replay.h turns those into records.  What an event and its fields are called
 * in the formats, and where they go in the struct, stands in one table (raw.c),
 * so that a decoder only has to find a field by its name, once for each type of
 * event and not for each event.
 *
 * An event that says nothing of threads, calls and messages is RAW_OTHER: one
 * that the user asked for, to be counted and shown.
 */
#ifndef SONDE_READ_RAW_RAW_H
#define SONDE_READ_RAW_RAW_H

#include "base/base.h"
#include "base/err.h"
#include "event/event.h"
#include "read/raw/state.h"

enum raw_kind {
	RAW_OTHER,
	RAW_SWITCH,
	RAW_WAKING, /* a wakeup begins, on the waker's CPU */
	RAW_WAKEUP, /* a wakeup is done, maybe on another CPU: only if nothing better is there */
	RAW_WAKEUP_NEW, /* the first one of a new thread */
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
	RAW_PACKET_SEND,    /* a TCP segment is given to a device */
	RAW_PACKET_RECEIVE, /* or taken from it */
	RAW_SOCKET_SEND,    /* a program gave bytes to a socket */
	RAW_SOCKET_RECEIVE, /* or took them from it */
	RAW_TCP_RECEIVE,    /* likewise, but how many is not said */
	RAW_SOCKET_STATE,
	RAW_TASK, /* who a thread is, from a list that the tracer made at its start */
	RAW_LOST, /* events of this CPU were lost between lost.start and time */
	RAW_SPAN_BEGIN,
	RAW_SPAN_END,
	RAW_PROCESS, /* where a process belongs, from a list beside the trace */
	RAW_WAIT,    /* what a thread waits on from now on: in traces that sonde exported */
	RAW_MESSAGE, /* likewise a message, as records have it */
	RAW_KIND_COUNT,
};

/* Whether it stands in the trace as an event; else only the decoder says so. */
static inline bool raw_is_event(enum raw_kind kind)
{
	return kind != RAW_LOST && kind != RAW_PROCESS;
}

#define RAW_UNKNOWN UINT32_MAX /* the trace does not say */

/* Not terminated; holds until the next event is asked for. */
struct raw_text {
	const char *s; /* NULL if the trace does not say */
	uint32_t len;
};

/*
 * As the kernel numbers them since 4.14.  Decoders of text put letters into these;
 * the numbers of other decoders are translated by raw_source.states.
 */
enum raw_task_state {
	RAW_STATE_SLEEP = 1,
	RAW_STATE_DISK = 2, /* a sleep that signals do not end */
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
	uint32_t tid; /* who had the CPU, or RAW_UNKNOWN */
	uint32_t pid; /* its process, likewise */
	struct raw_text comm;
	uint16_t cpu;
	uint8_t kind;    /* enum raw_kind */
	uint8_t context; /* enum raw_context: what was interrupted by what, if the event says */
	uint32_t type;   /* RAW_OTHER: what event, as raw_source.type_name() knows it */

	union {
		struct {
			uint32_t prev, next;
			uint64_t state; /* for raw_state_read(); 0 was preempted */
			struct raw_text prev_comm, next_comm;
		} sched_switch;
		struct {
			uint32_t tid;
			struct raw_text comm;
		} wake; /* also RAW_EXIT, RAW_RENAME (comm is the new one) */
		struct {
			uint32_t parent, child;
			uint32_t child_pid; /* its process, or RAW_UNKNOWN */
			uint32_t flags;     /* as for clone(), or RAW_UNKNOWN */
			struct raw_text comm;
		} fork;
		struct {
			uint32_t tid, old_tid; /* differ if not the first thread did it */
			struct raw_text path;
		} exec;
		struct {
			uint32_t number; /* of the interrupt, or of the softirq */
		} irq;
		struct {
			int32_t nr; /* x86-64, or SYSCALL_UNKNOWN */
			uint64_t args[3];
			int64_t result;
			struct raw_text path; /* of a file, if it is an argument and told */
		} syscall;
		struct {
			uint64_t sector;
			uint32_t device, bytes, sectors;
			int32_t error;
			struct raw_text op; /* "WFS" and the like, or */
			uint32_t op_bits;   /* bits: 1 write, 2 discard, 4 read, 256 flush */
		} block;
		struct {
			struct socket_address address; /* local is the sender's */
			uint32_t seq;                  /* of its first byte */
			uint32_t bytes;                /* with IP's header, if of IPv4, and TCP's */
			uint32_t ip_words, tcp_words;  /* size of these, in 4 bytes; IPv6: 0 */
			uint32_t flags;  /* of TCP: 1 FIN, 2 SYN, 4 RST, 8 PSH, 16 ACK */
			uint64_t object; /* the kernel's address of the socket, of segments */
			uint32_t ack;    /* without an address; what these acknowledge */
		} packet;
		struct {
			struct socket_address address; /* ports 0 if the event has none */
			uint8_t local6[16], peer6[16]; /* instead of those in address, if of IPv6 */
			uint64_t object;   /* the kernel's address of it; 0 if not said */
			int64_t bytes;     /* negative if it failed */
			uint32_t from, to; /* RAW_SOCKET_STATE: TCP_ESTABLISHED, ... */
			uint32_t flags;    /* RAW_SOCKET_RECEIVE: MSG_PEEK, ... */
		} socket;
		struct {
			uint32_t tid, pid, parent;
			uint32_t kernel; /* 1 a kernel thread, 0 none, or RAW_UNKNOWN */
			struct raw_text comm;
		} task;
		struct {
			nsec_t start;
			uint64_t count;   /* 0 if unknown */
			uint64_t packets; /* that are missing, with all that was in them */
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
			struct raw_text service, operation;  /* these come with the end */
		} span;
	};
};

/* How a field is to be put into a struct raw_event. */
enum raw_type {
	RAW_NUMBER,  /* of the size that is said, sign and all */
	RAW_TEXT,    /* a struct raw_text */
	RAW_ADDRESS, /* 4 or 16 bytes in the order of the network; text: as people write it */
	RAW_NUMBERS, /* an array: as many 64-bit numbers as there is room for */
};

struct raw_field {
	/*
	 * What traces call it, separated by blanks; the first that is there counts.
	 * `a.b` is the field b of the structure a, where the choice of a variant is
	 * no level of its own.
	 */
	const char *names;
	uint16_t offset; /* offset in struct raw_event */
	uint8_t size;
	uint8_t type; /* enum raw_type */
};

enum { RAW_FIELDS = 12 };

/* Who gave events and fields their names. */
enum raw_dialect { RAW_KERNEL = 1, RAW_LTTNG = 2 };

struct raw_layout {
	unsigned dialects;
	const char *names; /* of the event, separated by blanks, without category */
	enum raw_kind kind;
	struct raw_field fields[RAW_FIELDS]; /* up to the first without names */
};

/*
 * What an event's name means, which may have its category before it and a colon
 * between; NULL if it is of no kind that we use.  Of a system call by its name,
 * as sys_enter_read or syscall_exit_read, *ret_nr is its number; then the first
 * three numbers among the fields that the call itself has, in their order, are
 * args.  Else *ret_nr is SYSCALL_NONE, and a field of the layout has the number.
 */
const struct raw_layout *raw_layout_find(enum raw_dialect dialect, const char *name, size_t len,
					 int *ret_nr);

/*
 * An event of which nothing is known but its kind: what a decoder begins with.
 * A field that the trace does not have stays as it is here.
 */
struct raw_event raw_event_empty(enum raw_kind kind);

/* Whether s is one of the words in list, which are separated by blanks. */
bool raw_is_one_of(const char *list, const char *s, size_t len);

/*
 * All that an event has, for a person or a test: in the order and with the
 * names of the trace.  Names are NULL in an array.
 */
struct raw_visitor {
	void (*number)(void *arg, const char *name, int64_t n);
	void (*unsigned_number)(void *arg, const char *name, uint64_t n, int base); /* 10 or 16 */
	void (*real)(void *arg, const char *name, double n);
	void (*text)(void *arg, const char *name, const char *s, size_t len);
	/* A number that stands for a word; "" if no word stands for it. */
	void (*label)(void *arg, const char *name, int64_t n, bool is_signed, const char *word);
	void (*begin)(void *arg, const char *name, bool is_array);
	void (*end)(void *arg);
};

/*
 * A decoder.  Each format has a struct of its own that begins with this, and
 * fills in what it knows of the trace when it opens it.
 */
struct raw_source {
	/* The next event in the order of time: 1, 0 at the end, or a negative errno. */
	int (*next)(struct raw_source *source, struct raw_event *ret, struct err *err);
	/* The name of the last event, and its fields. */
	const char *(*name)(struct raw_source *source);
	void (*fields)(struct raw_source *source, const struct raw_visitor *visitor, void *arg);
	/* "category:name" or "name" of a raw_event.type. */
	const char *(*type_name)(struct raw_source *source, uint32_t type);
	/*
	 * The kernel's format file of a type, and the data of the last event laid out
	 * as that says; NULL where the trace has none (both may be left out).
	 */
	const char *(*type_format)(struct raw_source *source, uint32_t type);
	const void *(*data)(struct raw_source *source, size_t *ret_size);
	void (*free)(struct raw_source *source);

	const char *host;         /* borrowed; NULL if the trace does not say */
	int64_t realtime_offset;  /* what to add to its times to get CLOCK_REALTIME, */
	bool has_realtime;        /* if the trace says */
	bool is_monotonic;        /* its clock is CLOCK_MONOTONIC of its host */
	bool has_kinds;           /* all kinds that were recorded are in kinds; */
	uint32_t kinds;           /* 1 << enum raw_kind; else it is left 0 */
	struct raw_states states; /* how it numbers task states */
	bool missing_cpus;        /* events do not say on which CPU they were: all are on CPU 0 */
	bool is_partial;          /* threads only, and the notice says so */
	char *warning;            /* what could not be used; freed by free */
};

#endif
