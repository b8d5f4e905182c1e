/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model - what happened, rebuilt from records: threads, the states they passed
 * through, who woke whom, what they sent each other, and the spans they worked
 * for.
 *
 * Filled by one pass over records in time order, then only read.  It keeps no
 * pointer to where the records came from.  Of a live system it holds a sliding
 * window: model_forget() gives up old time, and the rest stays as it is.
 *
 * All times are on one line: CLOCK_MONOTONIC of the first capture, or
 * CLOCK_REALTIME if there is none.
 */
#ifndef SONDE_MODEL_MODEL_H
#define SONDE_MODEL_MODEL_H

#include "base/base.h"
#include "base/strtab.h"
#include "event/event.h"
#include "event/source.h"
#include "model/timeline.h"

typedef struct {
	uint32_t i; /* 0 is nobody */
} thread_id;

typedef struct {
	uint32_t i; /* 0 is none */
} span_id;

/* A state that is in no record: of this stretch nothing is known, as its records were lost. */
#define STATE_GAP ' '

/* A stretch of one thread in one state; it ends where the next begins. */
struct interval {
	nsec_t start;
	uint32_t irq; /* running: of it, ns in interrupts */
	uint16_t cpu; /* running: where; ready: where it ran then */
	uint8_t state;
	uint8_t flags; /* INTERVAL_... */
};

/* Why a blocked interval, the one with the same start, was one. */
struct cause {
	nsec_t start;
	uint64_t object;
	thread_id waker; /* with an interrupt, the thread that was interrupted */
	uint32_t stack, waker_stack;
	int16_t syscall;
	uint16_t vector;
	uint16_t host; /* whose number the object is */
	uint8_t object_kind;
	uint8_t context; /* enum wake_context */
	uint8_t flags;
};

/* One side of a message. */
struct message {
	nsec_t time;
	nsec_t other_time; /* when the other side did its part; 0 if unknown */
	uint64_t object;   /* the socket on this side */
	thread_id other;   /* who sent what is received here, or received what is sent */
	uint32_t bytes;
	uint32_t position; /* just behind these bytes; counted by us for a unix socket */
	uint8_t direction; /* enum direction */
	uint8_t object_kind;
};

/* A turn of a thread on a CPU. */
struct slice {
	nsec_t start;
	thread_id thread;
	uint32_t length; /* ns; a longer turn is several */
};

struct syscall { /* a system call */
	nsec_t end, start;
	int64_t result;
	int16_t nr;
};

struct block_io { /* to a block device */
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

struct connect { /* a thread asks for a connection */
	nsec_t time;
	uint64_t object; /* the socket */
};

/* Which span a thread works for, until its next context; before the first, nothing is known. */
struct context {
	nsec_t start;
	uint32_t ref;  /* the span, as model_span_ref() knows it; 0 is none */
	uint8_t flags; /* CONTEXT_...: UNKNOWN, nothing is known; SEEN, it was not told */
};

/* What only some threads have. */
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

struct thread {
	uint32_t tid, pid;
	uint16_t host;
	uint16_t input; /* that told of it first */
	bool kernel;
	bool out_of_scope; /* only its turns on CPUs are known */
	bool exited;
	bool forgotten;   /* what it did, as all of it is too old */
	str_id comm;      /* the last it had */
	thread_id parent; /* who created it, if that was seen */
	nsec_t begin, end;
	struct timeline intervals;
	struct timeline causes;
	struct timeline *timelines[TIMELINE_COUNT]; /* NULL where there is nothing */
};

struct process {
	str_id cmdline, cgroup;
	str_id container; /* its name, if the trace tells */
};

struct socket {
	struct socket_address address;
	uint64_t peer_object;
	uint32_t peer_pid, netns;
};

struct span {
	uint8_t trace[16], id[8], parent_id[8];
	nsec_t start, end;
	span_id parent;      /* found by parent_id */
	span_id first_child; /* in the order in which they came */
	span_id next;        /* sibling */
	thread_id thread;    /* that worked for it, if known */
	uint32_t tid, pid;   /* likewise */
	str_id service, operation;
	uint32_t ref;     /* how contexts and attributes name it; 0 if none does */
	int64_t shift;    /* ns that were added to its times to correct the clock of its service */
	str_id host_name; /* as the span has it; none if it does not name a host */
	uint16_t host;
	bool has_host_clock; /* its clock is known to be that of the host */
	uint8_t flags;       /* SPAN_... */
	uint8_t source;      /* enum span_source */
	uint8_t kind;        /* enum span_kind */
};

/* A service whose clock was wrong: some of its spans began before their parents. */
struct clock_shift {
	str_id service;
	int64_t least, most; /* ns that were added to times of its spans */
	uint64_t spans;      /* how many were shifted */
};

/* A span that contexts or attributes name. */
struct span_ref {
	uint8_t trace[16], id[8];
	span_id span;                         /* none if it was not told of */
	uint32_t first_residency;             /* of model_residency(); 0 is none */
	uint32_t attributes, attribute_count; /* in the model's list */
};

/* That a thread worked for a span, at times, from the first to the last. */
struct residency {
	nsec_t first, last;
	thread_id thread;
	uint32_t next; /* of the same span */
};

struct attribute {
	uint64_t value; /* by type; a string's is the number of a str_id */
	uint32_t ref;   /* its span */
	str_id key;
	uint8_t type; /* enum attribute_type */
};

struct loss {
	nsec_t start, end;
	uint64_t count; /* 0 if unknown */
	uint32_t tid;   /* the thread whose agent dropped events; 0 for records of a CPU */
	uint32_t pid;   /* the process of that thread */
	uint16_t host, cpu;
};

/* What was lost in a stretch of time: `losses` is 0 if nothing was. */
struct lost {
	uint64_t records; /* of which the number is known */
	uint64_t losses;
};

struct frame {
	uint64_t address;
	str_id module, symbol, source;
	uint32_t line;
};

struct model;

struct model *model_new(void);
void model_free(struct model *model);
DEFINE_FREEP(model)

void model_add(struct model *model, const struct source *source, const struct record *record);

/* Times are shown from here on; otherwise from the first thing known. Before the first record. */
void model_set_begin(struct model *model, nsec_t begin);

/* After the last record: put spans in their places, and all that names them. */
void model_finish(struct model *model);

/* Give up what was over before t. */
void model_forget(struct model *model, nsec_t t);

nsec_t model_begin(const struct model *model);
nsec_t model_end(const struct model *model);

size_t model_thread_count(const struct model *model); /* ids are below */
const struct thread *model_thread(const struct model *model, thread_id id);

/* The thread of the first host that had this tid at time t, or the first; nobody if none did. */
thread_id model_find_thread(const struct model *model, uint32_t tid, nsec_t t);

/* What the process of a thread is called: as its first thread, if that was recorded. */
str_id model_process_comm(const struct model *model, thread_id id);

/* What is in a thread at time t; false before its begin and after its end. */
struct stretch {
	struct interval interval;
	nsec_t end;
	timeline_pos pos;
};
bool model_stretch_at(const struct model *model, thread_id id, nsec_t t, struct stretch *ret);
/* Likewise, but of two intervals that meet at t, the earlier. */
bool model_stretch_before(const struct model *model, thread_id id, nsec_t t, struct stretch *ret);
bool model_stretch_next(const struct model *model, thread_id id, struct stretch *s);

/* Why a blocked interval was one; NULL if nothing is known. */
const struct cause *model_cause(const struct model *model, thread_id id,
				const struct interval *interval);

/* Turns on a CPU, of struct turn; NULL if it has none. */
const struct timeline *model_slices(const struct model *model, uint16_t host, uint16_t cpu);

/* Requests to a block device, of struct block_io; NULL if it has none. */
const struct timeline *model_block_io(const struct model *model, uint16_t host, uint32_t device);

/* What is known of what a host calls by a number; NULL if nothing is. */
const struct process *model_process(const struct model *model, uint16_t host, uint32_t pid);
const struct socket *model_socket(const struct model *model, uint16_t host, uint64_t object);
bool model_is_listening(const struct model *model, uint16_t host, uint32_t netns, uint16_t port);
const char *model_file(const struct model *model, uint16_t host, uint64_t object);
uint32_t model_file_device(const struct model *model, uint16_t host, uint64_t object); /* or 0 */
const char *model_device(const struct model *model, uint16_t host, uint32_t device);
const char *model_probe_name(const struct model *model, uint32_t type);
size_t model_probe_type_count(const struct model *model); /* numbers are below; 0 is none */

/* Frames of a stack, innermost first; the first kernel_count are the kernel's. */
struct stack {
	const uint32_t *frames;
	size_t count, kernel_count;
};
struct stack model_stack(const struct model *model, uint32_t stack);
size_t model_stack_count(const struct model *model); /* numbers are below; 0 is none */
struct frame model_frame(const struct model *model, uint32_t frame);
/* The innermost function of a stack outside the kernel and the C library; NULL if unknown. */
const char *model_stack_function(const struct model *model, uint32_t stack);

size_t model_span_count(const struct model *model); /* ids are below */
const struct span *model_span(const struct model *model, span_id id);

/* Whether a span is in the tree of another; each is in its own. */
bool model_span_is_within(const struct model *model, span_id id, span_id top);

/* What names spans: 0 is none. */
const struct span_ref *model_span_ref(const struct model *model, uint32_t ref);
const struct residency *model_residency(const struct model *model, uint32_t residency);

/* Attributes of a span, in the order in which they were told. */
struct attributes {
	const struct attribute *items;
	size_t count;
};
struct attributes model_span_attributes(const struct model *model, span_id id);
struct attributes model_attributes(const struct model *model); /* of all spans */

/* The context of a thread at time t, or else its first after that, and until when it holds. */
struct context_stretch {
	struct context context;
	nsec_t end; /* UINT64_MAX for its last */
	timeline_pos pos;
};
bool model_context_from(const struct model *model, thread_id id, nsec_t t,
			struct context_stretch *ret);
bool model_context_next(const struct model *model, thread_id id, struct context_stretch *s);

/* What model_finish() corrected; spans have their own part of it. */
size_t model_clock_shift_count(const struct model *model);
const struct clock_shift *model_clock_shift(const struct model *model, size_t i);

size_t model_loss_count(const struct model *model);
const struct loss *model_loss(const struct model *model, size_t i);

/*
 * The losses that overlap [from, to]: all of them; kernel records of a host, or of one of its CPUs;
 * span events that agents in a process dropped.  Known after model_finish().
 */
struct lost model_lost(const struct model *model, nsec_t from, nsec_t to);
struct lost model_lost_on_host(const struct model *model, uint16_t host, nsec_t from, nsec_t to);
struct lost model_lost_on_cpu(const struct model *model, uint16_t host, uint16_t cpu, nsec_t from,
			      nsec_t to);
struct lost model_lost_in_process(const struct model *model, uint16_t host, uint32_t pid,
				  nsec_t from, nsec_t to);

const char *model_string(const struct model *model, str_id id);
uint64_t model_record_count(const struct model *model);
size_t model_memory(const struct model *model); /* bytes, but for strings */

#endif
