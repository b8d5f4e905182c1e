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

struct host {
	VEC(struct timeline) cpus; /* of struct slice */
};

/* Until contexts are finished: from here on, another context may be valid. */
#define CONTEXT_DOUBT 4

/* Numbers of a span and its descendants in depth-first order. */
struct span_range {
	uint32_t first, last;
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

struct model {
	struct strtab *strings;
	nsec_t begin, end;
	bool has_begin, begin_is_set; /* set by model_set_begin() */
	uint64_t records;

	VEC(struct thread) threads;  /* the first is none */
	struct map tids;             /* host and tid -> the thread that has it now */
	VEC(struct earlier) earlier; /* by thread: earlier threads with its tid */

	VEC(struct host) hosts;
	VEC(struct timeline) queues; /* of struct block_io, by device */
	struct map queue_index;      /* host and device -> queue + 1 */
	struct flows flows;          /* messages without their other side so far */
	VEC(struct held_send) held;
	struct map held_index;  /* host and socket -> its last held send + 1 */
	struct map established; /* connection -> time at which it was established */

	VEC(struct process) processes;
	VEC(struct socket) sockets;
	VEC(struct named_file) files;
	struct map pid_index, socket_index, file_index; /* -> index + 1 */
	struct map devices, probe_types;                /* -> string */
	struct map listeners;                           /* set of ports that accept connections */

	VEC(struct futex) futexes;
	struct map futex_index; /* hash of process and address -> index + 1 */
	struct map futex_users; /* hash of futex and thread -> whether it waited, and woke */
	struct map go_signs;    /* host and pid -> signs of the Go runtime */

	struct map stack_numbers, frame_numbers, probe_numbers; /* of a capture -> of the model */
	VEC(uint32_t) stack_frames; /* of all stacks: count, kernel_count, frames... */
	struct map stacks;          /* number -> offset in stack_frames + 1 */
	VEC(struct frame) frames;   /* by number */

	VEC(struct span) spans;            /* the first is none */
	struct map span_index;             /* hash of trace and span id -> span */
	VEC(struct span_range) ranges;     /* by span, if there are contexts */
	VEC(struct span_ref) refs;         /* the first is none */
	struct map ref_index;              /* hash of trace and span id -> ref */
	VEC(struct residency) residencies; /* the first is none */
	VEC(struct attribute) attributes;

	VEC(struct clock_shift) clock_shifts;

	VEC(struct loss) losses;
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

/* Copies a string of the source into the model. */
str_id model_add_string(struct model *model, const struct source *source, uint32_t id);

/* The model's number for a stack, frame or probe type of the source. */
uint32_t model_own_number(struct map *numbers, const struct source *source, uint32_t number);

/* Derives the names of processes from their command lines. */
void model_name_processes(struct model *model);

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

void model_add_message(struct model *model, const struct source *source,
		       const struct record_message *r);

void model_add_span(struct model *model, const struct source *source, const struct record_span *r);

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

/* Resolves contexts and attributes, once spans are linked. */
void model_finish_contexts(struct model *model);

/* Groups the losses for model_lost() and its variants. */
void model_finish_losses(struct model *model);
void model_drop_loss_groups(struct model *model);

#endif
