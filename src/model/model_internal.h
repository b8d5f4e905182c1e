/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of model/ share: the structure of a model, and the functions that fill it. */
#ifndef SONDE_MODEL_MODEL_INTERNAL_H
#define SONDE_MODEL_MODEL_INTERNAL_H

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/flow.h"
#include "model/futex.h"
#include "model/model.h"

struct named_file {
	str_id name;
	uint32_t device;
	struct described described;
};

/* A block device, a type of probe events: what has only a name. */
struct named {
	str_id name;
	struct described described;
};

/* EPOCH records of an input (event/event.h). */
struct input_epochs {
	uint32_t number;    /* of the last one; 0 before the first */
	VEC(nsec_t) starts; /* of the last ones */
	uint32_t oldest;    /* the oldest one that the window needs, by model_forget_epochs() */
	bool has_ended;
	nsec_t end; /* has_ended: time of its last record */
};

/*
 * Threads that had the same tid one after the other are a list with shortcuts, from the last to
 * the first, so that finding the thread at a time takes logarithmic time.
 */
struct earlier {
	thread_id previous, jump;
	uint32_t depth; /* length of the list up to this thread */
};

/* A send that left bytes in the send buffer. */
struct held_send {
	nsec_t time;
	thread_id thread;
	uint32_t position;
	uint64_t next; /* index + 1 of the previous one of its socket; 0 at the end */
};

/* A thread that model_forget() has dropped. */
struct dropped_thread {
	thread_id thread;
	uint32_t sweep; /* number of sweeps before */
};

struct host {
	VEC(struct timeline) cpus; /* of struct slice */
};

/* Until contexts are finished: from here on, another context may be valid. */
#define CONTEXT_DOUBT 4

/* The contexts of a thread that are recorded, and how far they are resolved. */
struct context_log {
	struct timeline recorded; /* of struct context: those that are not settled */
	bool has_new;             /* since the last update */
	/* after the settled contexts: */
	bool has_last, doubts;
	struct context last; /* has_last: of the thread's timeline */
	nsec_t since;        /* doubts: their start */
	nsec_t counted;      /* residencies include the contexts that start before this */
};

/* A change of a residency that the next update undoes. */
struct residency_change {
	uint32_t residency, ref;
	bool is_new;
	struct residency before;
};

/* Numbers of a span and its descendants in its tree, in depth-first order. */
struct span_range {
	span_id root;
	uint32_t first, last;
};

/* What links a span with spans that come later. */
struct span_link {
	span_id up; /* an ancestor, often the root; none for a root */
	span_id last_child;
	span_id next_orphan; /* the next one with the same unrecorded parent */
};

/* Start or end of a loss, sorted by time, with the sums up to it. */
struct loss_edge {
	nsec_t time;
	uint64_t records, losses;
};

typedef VEC(struct loss_edge) loss_edges;

struct loss_group {
	loss_edges starts, ends;
};

/* Numbers of a capture -> numbers of the model, which are reused once they are dropped. */
struct numbers {
	struct map own;               /* input and number -> number of the model */
	VEC(struct described) stamps; /* by number of the model; the first is none */
	VEC(uint32_t) unused;         /* numbers of the model */
};

struct model {
	struct strtab *strings;
	nsec_t begin, end;
	nsec_t window_begin;          /* of the last model_forget() */
	bool has_begin, begin_is_set; /* set by model_set_begin() */
	uint64_t records;

	VEC(struct thread) threads;         /* the first is none */
	struct map tids;                    /* host and tid -> the thread that has it now */
	VEC(struct earlier) earlier;        /* by thread: earlier threads with its tid */
	VEC(struct dropped_thread) dropped; /* in the order in which they were dropped */
	VEC(thread_id) unused;              /* numbers for new threads */

	VEC(struct input_epochs) epochs; /* by input */
	uint32_t sweeps;                 /* number of them */
	nsec_t swept;                    /* begin of the window at the last one */

	VEC(struct host) hosts;
	VEC(struct timeline) queues; /* of struct block_io, by device */
	struct map queue_index;      /* host and device -> queue + 1 */
	struct flows flows;          /* messages without their other side so far */
	struct timeline unread;      /* of struct unread */
	VEC(struct held_send) held;
	struct map held_index;  /* host and socket -> its last held send + 1 */
	struct map established; /* connection -> time at which it was established */

	VEC(struct process) processes;
	VEC(struct socket) sockets;
	VEC(struct named_file) files;
	struct map pid_index, socket_index, file_index; /* -> index + 1 */
	VEC(struct named) devices;
	struct map device_index; /* host and device -> index + 1 */
	struct map listeners;    /* port that accepts connections -> time of the last record */

	VEC(struct futex) futexes;
	struct map futex_index; /* hash of process and address -> index + 1 */
	struct map futex_users; /* hash of futex and thread -> whether it waited, and woke */
	struct map go_signs;    /* host and pid -> signs of the Go runtime */

	struct numbers stack_numbers, frame_numbers, probe_numbers;
	VEC(uint32_t) stack_frames; /* of all stacks: count, kernel_count, frames... */
	VEC(size_t) stacks;         /* by number: offset in stack_frames + 1; 0 if unknown */
	VEC(struct frame) frames;   /* by number */
	VEC(str_id) probe_names;    /* by number */

	VEC(struct span) spans;        /* the first is none */
	VEC(struct span_link) links;   /* by span */
	struct map span_index;         /* hash of trace and span id -> span */
	struct map orphans;            /* hash of an unrecorded span -> its first and last child */
	VEC(struct span_range) ranges; /* by span, if there are contexts */
	uint32_t updated_spans;        /* number of spans at the last model_update() */
	VEC(struct span_ref) refs;     /* the first is none */
	struct map ref_index;          /* hash of trace and span id -> ref */
	VEC(struct residency) residencies; /* the first is none */
	struct map residency_index;        /* ref and thread -> residency */
	VEC(struct residency_change) residency_changes;
	VEC(thread_id) context_threads; /* that have a context_log */
	VEC(struct attribute) attributes;
	size_t grouped_attributes;           /* number of those that are grouped by span */
	size_t swept_refs, swept_attributes; /* number of them after the last sweep */

	VEC(struct clock_shift) clock_shifts;

	VEC(struct loss) losses;
	bool has_new_losses; /* since model_update_losses() */
	VEC(struct loss_group) loss_groups;
	struct map loss_index; /* location -> index + 1 */
};

static inline struct thread *thread_at(struct model *model, thread_id id)
{
	return &model->threads.items[id.i];
}

/* Key of `tids`. */
static inline uint64_t tid_key(uint16_t host, uint32_t tid)
{
	return (uint64_t)host << 32 | tid;
}

/* Key of a file, a socket, a device or a process of a host. */
static inline uint64_t host_key(uint16_t host, uint64_t number)
{
	return hash_pair(number, host);
}

static inline uint64_t listener_key(uint16_t host, uint32_t netns, uint16_t port)
{
	return host_key(host, (uint64_t)netns << 16 | port);
}

/* A thread is mentioned by a record of time t, so it stays while t is in the window. */
static inline void thread_used(struct thread *thread, nsec_t t)
{
	if (t > thread->used)
		thread->used = t;
}

/* The item of a list for a key; added, all zero, if there is none. */
#define indexed(list, index, key) \
	({ \
		uint64_t *at_ = map_insert(index, key); \
		if (!*at_) { \
			memset(vec_push(list), 0, sizeof((list)->items[0])); \
			*at_ = (list)->count; \
		} \
		&(list)->items[*at_ - 1]; \
	})

/* The item of a list for a key, or NULL. */
#define find_indexed(list, index, key) \
	({ \
		const uint64_t *at_ = map_find(index, key); \
		at_ ? &(list)->items[*at_ - 1] : NULL; \
	})

/* For map_sweep(): the value is an index + 1 into new indexes + 1, where 0 drops it. */
static inline bool model_move_index(void *arg, uint64_t key, uint64_t *value)
{
	const uint32_t *indexes = arg;

	*value = indexes[*value - 1];
	return *value;
}

/* Drops the items of a list that do not satisfy a condition on `item`, also from the index. */
#define sweep_indexed(list, index, item, condition) \
	do { \
		uint32_t *indexes_ = must_alloc(((list)->count + 1) * sizeof(*indexes_)); \
		size_t kept_ = 0; \
\
		for (size_t i_ = 0; i_ < (list)->count; i_++) { \
			typeof((list)->items) item = &(list)->items[i_]; \
\
			if (!(condition)) \
				continue; \
			(list)->items[kept_++] = *item; \
			indexes_[i_] = kept_; \
		} \
		if (kept_ < (list)->count) { \
			(list)->count = kept_; \
			vec_shrink(list); \
			map_sweep(index, model_move_index, indexes_); \
		} \
		free(indexes_); \
	} while (0)

/* What was learned about old futexes, processes and ports stays until it is more than this. */
enum { MODEL_FACTS_MAX = 4096 };

/* Copies a string of the source into the model. */
str_id model_add_string(struct model *model, const struct source *source, uint32_t id);

/* The model's number for a stack, frame or probe type of the source. */
uint32_t model_own_number(struct model *model, struct numbers *numbers, const struct source *source,
			  uint32_t number);

/* Derives the names of processes from their command lines. */
void model_name_processes(struct model *model);

/* The stamp of a description that comes now. */
struct described model_described(const struct model *model, const struct source *source);
void model_add_epoch(struct model *model, const struct source *source);

/* Finds the epochs that a window from t on needs; then, whether it needs a description. */
void model_forget_epochs(struct model *model, nsec_t t);
bool model_is_needed(const struct model *model, struct described described);

/* Whether a thread has ended: by its exit, or because its input does not describe it any more. */
bool model_is_thread_over(const struct model *model, const struct thread *thread, nsec_t t);

void model_add_stack(struct model *model, const struct source *source,
		     const struct record_stack *r);
void model_add_frame(struct model *model, const struct source *source,
		     const struct record_frame *r);
void model_add_symbol(struct model *model, const struct source *source,
		      const struct record_symbol *r);
void model_add_probe_type(struct model *model, const struct source *source,
			  const struct record_probe_type *r);
void model_sweep_stacks(struct model *model);
size_t model_numbers_memory(const struct numbers *numbers);
void model_numbers_done(struct numbers *numbers);

/* Adds a record that describes an object, such as a file or a stack. */
void model_add_description(struct model *model, const struct source *source,
			   const struct record *r);

/* One of the thread's timelines; added if it has none. */
struct timeline *model_thread_timeline(struct thread *thread, enum thread_timeline which,
				       size_t item_size);

/* The thread of a host with this tid at time t, or else the first with it; may be none. */
thread_id model_host_thread(const struct model *model, uint16_t host, uint32_t tid, nsec_t t);

/* Sets the begin of the model to t, unless it has one. */
void model_begin_at(struct model *model, nsec_t t);

/* The thread that has this tid now; without a TASK record, it is out of scope. */
thread_id model_thread_of(struct model *model, const struct source *source, uint32_t tid,
			  nsec_t now);

void model_add_socket(struct model *model, const struct source *source,
		      const struct record_socket *r);
void model_add_socket_state(struct model *model, const struct source *source,
			    const struct record_socket_state *r);
/* The message of a thread with these properties, or NULL. */
struct message *model_message_at(struct model *model, thread_id thread, nsec_t time,
				 uint32_t position, enum direction direction);

/* Keeps a sent message until the TRANSMIT record of its socket. */
void model_hold_message(struct model *model, uint16_t host, thread_id thread,
			const struct message *m);
void model_add_transmit(struct model *model, const struct source *source,
			const struct record_transmit *r);

void model_add_unread(struct model *model, const struct source *source,
		      const struct record_unread *r);
void model_add_message(struct model *model, const struct source *source,
		       const struct record_message *r);

void model_add_span(struct model *model, const struct source *source, const struct record_span *r);

/* Links a new span to its parent and its children; `key` is that of the span. */
void model_link_span(struct model *model, span_id id, uint64_t key);

/* Numbers the spans of trees with new spans, for model_span_is_within(). */
void model_number_spans(struct model *model);

/* Drops the first spans if they ended before t; returns their number. */
uint32_t model_sweep_spans(struct model *model, nsec_t t);

/* Links spans into trees: from the parent of each, sets children and siblings.  The first is none.
 */
void model_link_spans(struct span *spans, size_t count);

/* Corrects the clocks of services, once spans are linked. */
void model_correct_clocks(struct model *model);

/* Key of the indexes of spans and refs. */
uint64_t model_span_hash(const uint8_t trace[16], const uint8_t id[8]);

void model_add_context(struct model *model, const struct source *source,
		       const struct record_context *r);
void model_add_attribute(struct model *model, const struct source *source,
			 const struct record_attribute *r);

/* The number of a span that a record refers to; 0 if it refers to none. */
uint32_t model_ref_of(struct model *model, const uint8_t trace[16], const uint8_t id[8]);
/* Joins a new span with what refers to it. */
void model_find_ref(struct model *model, span_id span, uint64_t key);

/* Resolves contexts, and derives residencies from them. */
void model_update_contexts(struct model *model);
void model_context_log_free(struct context_log *log);
void model_update_residencies(struct model *model);
void model_group_attributes(struct model *model);

/* Drops refs, attributes and residencies, after the first spans were dropped. */
void model_sweep_contexts(struct model *model, uint32_t dropped_spans);
void model_sweep_attributes(struct model *model, const uint32_t *ref_numbers);
void model_sweep_residencies(struct model *model);

/* Before the window forgets what a thread did before t: totals for its open spans (past.c). */
void model_past_keep(struct model *model, thread_id id, nsec_t t);
void model_past_free(struct thread_past *past);
size_t model_past_memory(const struct thread_past *past); /* bytes; of NULL, 0 */

/* Groups the losses for model_lost() and its variants. */
void model_update_losses(struct model *model);
void model_sweep_losses(struct model *model, nsec_t t);
void model_drop_loss_groups(struct model *model);

/* Adds a thread with a tid, of which it is the last life. */
thread_id model_add_thread(struct model *model, const struct source *source, uint32_t tid,
			   nsec_t now);
void model_thread_done(struct thread *thread);

/* Drops old items, and threads that have ended; then, frees numbers of threads (thread.c). */
void model_forget_threads(struct model *model, nsec_t t);
void model_sweep_threads(struct model *model);

void model_sweep_held(struct model *model, nsec_t t);

/* Drops facts about futexes, runtimes and ports that were learned before t. */
void model_sweep_futexes(struct model *model, nsec_t t);

#endif
