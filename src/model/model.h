/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model - what happened, rebuilt from records: threads and their states, wakeups,
 * messages, and the spans that threads worked for.
 *
 * One pass over the records in time order fills a model; after model_finish() it is
 * only read.  It keeps no pointer into its inputs.
 *
 * A model of a live system is a sliding window.  Each time after some records, model_update()
 * links what is new and model_forget() drops what is older than the window:
 *
 *	model_add(model, source, record); ...
 *	model_update(model);
 *	(read the model)
 *	model_forget(model, model_end(model) - window);
 *
 * What model_forget() leaves is unchanged, but some of it moves.  Numbers of spans, refs,
 * residencies and strings, and pointers into the model, are valid until the next model_forget().
 * A thread_id is valid for longer: the thread is first marked as forgotten, and its number is
 * reused only after one more window.  A result that outlives the window holds values.
 *
 * All times are on one clock: CLOCK_MONOTONIC of the first capture, or
 * CLOCK_REALTIME if there is no capture.
 */
#ifndef SONDE_MODEL_MODEL_H
#define SONDE_MODEL_MODEL_H

#include "base/base.h"
#include "base/strtab.h"
#include "event/event.h"
#include "event/source.h"
#include "model/timeline.h"

typedef struct {
	uint32_t i; /* 0 is none */
} thread_id;

typedef struct {
	uint32_t i; /* 0 is none */
} span_id;

/* State of an interval without records, as they were lost; no record has it. */
#define STATE_GAP ' '

/* One thread in one state; ends where the next interval begins. */
struct interval {
	nsec_t start;
	uint32_t irq; /* running: ns of it in interrupts */
	uint16_t cpu; /* running: its CPU; ready: the CPU that the thread got next */
	uint8_t state;
	uint8_t flags; /* INTERVAL_... */
};

/* Whether a thread in this state waits for something other than a CPU. */
static inline bool state_is_blocked(uint8_t state)
{
	return state != STATE_RUNNING && state != STATE_READY && state != STATE_THROTTLED &&
	       state != STATE_GAP;
}

/* Why a thread was blocked, in the interval with the same start. */
struct cause {
	nsec_t start;
	uint64_t object;
	thread_id waker; /* with an interrupt, the thread that was interrupted */
	uint32_t stack, waker_stack;
	int16_t syscall;
	uint16_t vector;
	uint16_t host; /* on which the object has its number */
	uint8_t object_kind;
	uint8_t context; /* enum wake_context */
	uint8_t flags;
	uint8_t futex_op, futex_value; /* as in struct record_wait */
	uint8_t memory;                /* enum memory_shortage */
};

/* One side of a message. */
struct message {
	nsec_t time;
	nsec_t other_time; /* time of the other side; 0 if unknown */
	/* received: when its first byte arrived; sent: when its last left the send buffer; or 0 */
	nsec_t wire_time;
	uint64_t object; /* the socket on this side */
	thread_id other; /* sender of a received message, receiver of a sent one */
	uint32_t bytes;
	uint32_t position; /* stream offset after its last byte; the model counts unix sockets */
	uint8_t direction; /* enum direction */
	uint8_t flags;     /* MESSAGE_BEFORE_ACCEPT, MESSAGE_HELD */
	uint8_t held;      /* sent, MESSAGE_HELD: enum held_reason */
	uint8_t object_kind;
};

/* Time of a thread on a CPU, without a break. */
struct slice {
	nsec_t start;
	thread_id thread;
	uint32_t length; /* ns; a longer one is split into several */
};

struct syscall {
	nsec_t end, start;
	int64_t result;
	int16_t nr;
};

struct block_io {
	nsec_t end, start;
	uint64_t sector;
	uint32_t bytes, device;
	thread_id issuer;
	int32_t error;
	char op;
};

struct probe_event {
	nsec_t time;
	uint32_t type;
};

struct sample {
	nsec_t time;
	uint32_t stack;
};

struct connect { /* a thread opens a connection */
	nsec_t time;
	uint64_t object; /* the socket */
};

/* Bytes that had arrived at a socket and were not read at a time; reported once a second. */
struct unread {
	nsec_t time;     /* of the report */
	nsec_t arrived;  /* arrival of the first unread byte */
	uint64_t object; /* the socket; made up if its connection was not accepted */
	struct socket_address address;
	uint32_t netns;
	uint32_t bytes; /* not TCP: number of messages */
	uint16_t host;
};

/* The span that a thread works for, until its next context.  Unknown before the first. */
struct context {
	nsec_t start;
	uint32_t ref;  /* number for model_span_ref(); 0 is none */
	uint8_t flags; /* CONTEXT_UNKNOWN, CONTEXT_OBSERVED */
};

/* Timelines that only some threads have. */
enum thread_timeline {
	TIMELINE_MESSAGES,
	TIMELINE_SYSCALLS,
	TIMELINE_BLOCK_IO,
	TIMELINE_PROBE_EVENTS,
	TIMELINE_SAMPLES,
	TIMELINE_CONNECTS,
	TIMELINE_CONTEXTS,
	TIMELINE_COUNT
};

struct context_log;
struct thread_past;

struct thread {
	uint32_t tid, pid;
	uint32_t generation; /* changes when the number is reused for another thread */
	uint16_t host;
	uint16_t input; /* the first that contains it */
	bool kernel;
	bool out_of_scope; /* only its slices are recorded */
	bool exited;
	bool forgotten; /* dropped by model_forget(): its number will be reused, its timelines are
			   empty */
	uint8_t policy; /* as in struct record_task, newest */
	int8_t priority;
	bool replaced;    /* its tid belongs to a later thread */
	str_id comm;      /* last name */
	thread_id parent; /* the thread that created it, if recorded */
	nsec_t begin, end;
	nsec_t used;    /* time of the last record that refers to it */
	uint32_t epoch; /* of its input, in which it was described last */
	struct timeline intervals;
	struct timeline causes;
	struct timeline *timelines[TIMELINE_COUNT]; /* NULL if empty */
	struct context_log *log;                    /* for model_update(); NULL without contexts */
	struct thread_past *past;                   /* for model_span_past(), or NULL */
};

/* When an object was last described. */
struct described {
	uint32_t epoch;
	uint16_t input;
};

struct process {
	str_id cmdline, cgroup;
	str_id container;  /* name; none if the trace does not contain it */
	str_id name;       /* for people (model/process_name.h); set by model_update() */
	str_id comm;       /* of its main thread, when the name was derived */
	bool is_inherited; /* from the process that forked it */
	struct described described;
};

struct socket {
	struct socket_address address;
	uint64_t peer_object;
	uint32_t peer_pid, netns;
	/* accepted TCP connection: until its first use, it was in the accept queue or forgotten */
	nsec_t established; /* end of the handshake; 0 if unknown */
	nsec_t first_use;   /* first message or wait of a thread; 0 if unknown */
	struct described described;
};

struct span {
	uint8_t trace[16], id[8], parent_id[8];
	nsec_t start, end;
	/* of a request that the span serves; 0 if unknown */
	nsec_t arrival;      /* when it arrived at the socket; an inferred span starts then */
	nsec_t read;         /* when a thread read it; before that, it was queued */
	nsec_t sent;         /* when the reply was passed to the socket; then, in the send buffer */
	uint64_t socket;     /* the server's side of its connection; 0 if unknown */
	span_id parent;      /* found by parent_id */
	span_id first_child; /* in the order of the input */
	span_id next;        /* sibling */
	thread_id thread;    /* that created it, if known */
	uint32_t tid, pid;   /* as recorded with the span; 0 if unknown */
	str_id service, operation;
	uint32_t ref;     /* number for model_span_ref(); 0 without contexts and attributes */
	int64_t shift;    /* ns added to its times to correct the clock of its service */
	str_id host_name; /* attribute of the span; none if it does not name a host */
	uint16_t host;
	bool has_host_clock;     /* whether its times are on the clock of the host's kernel trace */
	uint8_t flags;           /* SPAN_... */
	uint8_t held;            /* enum held_reason: why the reply was in the send buffer */
	uint8_t source;          /* enum span_source */
	uint8_t kind;            /* enum span_kind */
	bool tasks_move;         /* its process moves tasks between threads: their waits differ */
	bool is_client_recorded; /* inferred: a recorded thread sent the request */
	float join_confidence;   /* recorded: that it serves the request of `socket`; or 0 */
};

/* When the latency of a span begins: at the arrival of its request, if it is known. */
static inline nsec_t span_arrival(const struct span *span)
{
	return span->arrival && span->arrival < span->start ? span->arrival : span->start;
}

/* A service with a corrected clock, because spans began before their parents. */
struct clock_shift {
	str_id service;
	int64_t least, most; /* ns added to times of its spans */
	uint64_t spans;      /* number of shifted spans */
};

/* A span to which contexts or attributes refer. */
struct span_ref {
	uint8_t trace[16], id[8];
	span_id span;             /* none if the span itself is not recorded */
	uint32_t first_residency; /* in any order: number for model_residency(); 0 is none */
	uint32_t attributes, attribute_count; /* first and number in model_attributes() */
};

/* A thread that worked for a span, possibly with breaks. */
struct residency {
	nsec_t first, last; /* start of its first and end of its last work */
	thread_id thread;
	uint32_t next; /* residency of the same span; 0 is none */
};

struct attribute {
	uint64_t value; /* by type; of a string, the number of its str_id */
	uint32_t ref;   /* number for model_span_ref() */
	str_id key;
	uint8_t type; /* enum attribute_type */
};

struct loss {
	nsec_t start, end;
	uint64_t count; /* 0 if unknown */
	uint32_t tid;   /* thread in which an agent dropped events; 0 for records of a CPU */
	uint32_t pid;   /* process of that thread */
	uint16_t host, cpu;
};

/* Sum of the losses in some time; `losses` is 0 if there are none. */
struct lost {
	uint64_t records; /* as far as their number is known */
	uint64_t losses;
};

struct frame {
	uint64_t address;
	uint64_t offset; /* in the module's file; 0 if unknown */
	str_id module, symbol, source;
	uint32_t line;
};

struct model;

struct model *model_new(void);
void model_free(struct model *model);
DEFINE_FREEP(model)

void model_add(struct model *model, const struct source *source, const struct record *record);

/* Call before the first record.  Reports show times relative to this; default: the first event. */
void model_set_begin(struct model *model, nsec_t begin);

/*
 * The stream of an input has ended, and no record of it will follow.  What it described is dropped
 * once the window has passed; another stream needs another input number.
 */
void model_end_input(struct model *model, uint16_t input);

/* Links spans, contexts, attributes and losses that came since the last call. */
void model_update(struct model *model);

/*
 * Call after the last record, and again after more: model_update(), and a correction of the clocks
 * of services, which needs all spans.
 */
void model_finish(struct model *model);

/*
 * Drops what ended before t: timelines, spans, losses, ended threads, and all descriptions that no
 * record from t on can refer to.  Without EPOCH records, descriptions of objects stay, because any
 * later record can refer to them.
 */
void model_forget(struct model *model, nsec_t t);

nsec_t model_begin(const struct model *model);
nsec_t model_end(const struct model *model);
nsec_t model_window_begin(const struct model *model); /* of the last model_forget(), or 0 */

size_t model_thread_count(const struct model *model); /* ids are 1 to count - 1 */
const struct thread *model_thread(const struct model *model, thread_id id);

/* The thread of the first host with this tid at time t, or else the first with it; may be none. */
thread_id model_find_thread(const struct model *model, uint32_t tid, nsec_t t);

/* Whether paths follow a thread: it is recorded, in scope, and not a kernel thread. */
bool model_thread_is_followed(const struct model *model, thread_id id);

/* The comm of a thread's process: that of its main thread, if recorded. */
str_id model_process_comm(const struct model *model, thread_id id);
/* What people call a thread's process, such as "app.py"; otherwise its comm. */
str_id model_process_name(const struct model *model, thread_id id);

/* The interval of a thread at time t; false before its begin and after its end. */
struct stretch {
	struct interval interval;
	nsec_t end;
	timeline_pos pos;
};
bool model_stretch_at(const struct model *model, thread_id id, nsec_t t, struct stretch *ret);
/* The same, but the earlier one of two intervals that meet at t. */
bool model_stretch_before(const struct model *model, thread_id id, nsec_t t, struct stretch *ret);
bool model_stretch_next(const struct model *model, thread_id id, struct stretch *s);

/* The cause of a blocked interval; NULL if unknown. */
const struct cause *model_cause(const struct model *model, thread_id id,
				const struct interval *interval);

/* The send that contains the last byte of a received message; NULL if it was not recorded. */
const struct message *model_sent_message(const struct model *model, const struct message *m);

/* Slices on a CPU, of struct slice; NULL if there are none. */
const struct timeline *model_slices(const struct model *model, uint16_t host, uint16_t cpu);

/* I/O of a block device, of struct block_io, by completion; NULL if there is none. */
const struct timeline *model_block_io(const struct model *model, uint16_t host, uint32_t device);

/* Reports of unread bytes, of struct unread; only of a running system. */
const struct timeline *model_unread(const struct model *model);

/* The description of an object of a host; NULL if there is none. */
const struct process *model_process(const struct model *model, uint16_t host, uint32_t pid);
const struct socket *model_socket(const struct model *model, uint16_t host, uint64_t object);
bool model_is_listening(const struct model *model, uint16_t host, uint32_t netns, uint16_t port);
const char *model_file(const struct model *model, uint16_t host, uint64_t object);
uint32_t model_file_device(const struct model *model, uint16_t host,
			   uint64_t object); /* 0 if unknown */
const char *model_device(const struct model *model, uint16_t host, uint32_t device);
const char *model_probe_name(const struct model *model, uint32_t type);
size_t model_probe_type_count(const struct model *model); /* numbers are 1 to count - 1 */

/* Frames of a stack, innermost first; the first kernel_count are in the kernel. */
struct stack {
	const uint32_t *frames;
	size_t count, kernel_count;
};
struct stack model_stack(const struct model *model, uint32_t stack);
size_t model_stack_count(const struct model *model); /* numbers are 1 to count - 1 */
struct frame model_frame(const struct model *model, uint32_t frame);
/*
 * Its frames as text, outermost or innermost first: functions, or else modules with the offset. The
 * caller frees it.
 */
char *model_stack_text(const struct model *model, uint32_t stack, const char *separator,
		       bool innermost_first);
/* The innermost function of a stack outside the kernel and the C library; NULL if unknown. */
const char *model_stack_function(const struct model *model, uint32_t stack);

size_t model_span_count(const struct model *model); /* ids are 1 to count - 1 */
const struct span *model_span(const struct model *model, span_id id);

/* Whether a span is `top` or a descendant of it. */
bool model_span_is_within(const struct model *model, span_id id, span_id top);

/* By number; 0 is none. */
const struct span_ref *model_span_ref(const struct model *model, uint32_t ref);
const struct residency *model_residency(const struct model *model, uint32_t residency);

/* Attributes of a span, in the order of the input. */
struct attributes {
	const struct attribute *items;
	size_t count;
};
struct attributes model_span_attributes(const struct model *model, span_id id);
struct attributes model_attributes(const struct model *model); /* of all spans */

/*
 * What a thread that worked for a span did before the window, if the span began earlier and the
 * thread had it as context; of several, the first one.  The window holds the rest, from `until` on.
 */
struct span_past {
	nsec_t from; /* start of the span, or later */
	nsec_t until;
	nsec_t states[128]; /* ns by letter */
};
bool model_span_past(const struct model *model, const struct span *span, struct span_past *ret);

/* The context of a thread at time t, or else its first after t; and until when it is valid. */
struct context_stretch {
	struct context context;
	nsec_t end; /* UINT64_MAX for its last */
	timeline_pos pos;
};
bool model_context_from(const struct model *model, thread_id id, nsec_t t,
			struct context_stretch *ret);
bool model_context_next(const struct model *model, thread_id id, struct context_stretch *s);

/* What model_finish() corrected; struct span has its own shift. */
size_t model_clock_shift_count(const struct model *model);
const struct clock_shift *model_clock_shift(const struct model *model, size_t i);

size_t model_loss_count(const struct model *model);
const struct loss *model_loss(const struct model *model, size_t i);

/*
 * The losses that overlap [from, to]: all of them; those of kernel records of a host or of one of
 * its CPUs; those of span events that agents in a process dropped.  Valid after model_finish().
 */
struct lost model_lost(const struct model *model, nsec_t from, nsec_t to);
struct lost model_lost_on_host(const struct model *model, uint16_t host, nsec_t from, nsec_t to);
struct lost model_lost_on_cpu(const struct model *model, uint16_t host, uint16_t cpu, nsec_t from,
			      nsec_t to);
struct lost model_lost_in_process(const struct model *model, uint16_t host, uint32_t pid,
				  nsec_t from, nsec_t to);

const char *model_string(const struct model *model, str_id id);
uint64_t model_record_count(const struct model *model);
size_t model_memory(const struct model *model); /* bytes, with strings */

#endif
