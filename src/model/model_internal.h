/* SPDX-License-Identifier: Apache-2.0 */
/* model_parts - what the files of model/ share with each other and nobody else. */
#ifndef SONDE_MODEL_MODEL_INTERNAL_H
#define SONDE_MODEL_MODEL_INTERNAL_H

#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "event/flow.h"
#include "model/model.h"

struct file {
	str_id name;
	uint32_t device;
};

/*
 * The thread that had a tid before another one, and one that had it long before: those that had
 * one tid are a list with shortcuts, so that the one at a time is found in logarithmic time.
 */
struct earlier {
	thread_id previous, jump;
	uint32_t depth; /* how many had it up to this one */
};

struct host {
	VEC(struct timeline) cpus; /* of turns */
};

/* Of a context that is not settled yet: another may hold from then on. */
#define CONTEXT_DOUBT 4

/* Where a span is when trees are walked from the top: it, and all below it, from first to last. */
struct place {
	uint32_t first, last;
};

/* Where losses begin or end, in order of time, each with the sums up to it. */
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
	bool has_begin, begin_told; /* by model_set_begin() */
	uint64_t records;

	VEC(struct thread) threads;  /* the first is nobody */
	struct map tids;             /* host and tid -> the thread that has it now */
	VEC(struct earlier) earlier; /* by thread: those that had its tid before */

	VEC(struct host) hosts;
	VEC(struct timeline) queues; /* of requests, by device */
	struct map queue_index;      /* host and device -> queue + 1 */
	struct flows flows;          /* messages whose other side is to come */

	VEC(struct process) processes;
	VEC(struct socket) sockets;
	VEC(struct file) files;
	struct map pid_index, socket_index, file_index; /* -> index + 1 */
	struct map devices, probe_types;                /* -> string */
	struct map listeners;                           /* of ports that take connections */

	struct map stack_numbers, frame_numbers, probe_numbers; /* of a capture -> our own */
	VEC(uint32_t) stack_frames; /* of all stacks: count, kernel_count, frames... */
	struct map stacks;          /* number -> place in stack_frames + 1 */
	VEC(struct frame) frames;   /* by number */

	VEC(struct span) spans;            /* the first is none */
	struct map span_index;             /* hash of trace and span id -> span */
	VEC(struct place) places;          /* by span, if there are contexts */
	VEC(struct span_ref) refs;         /* the first is none */
	struct map ref_index;              /* hash of trace and span id -> ref */
	VEC(struct residency) residencies; /* the first is none */
	VEC(struct attribute) attributes;

	VEC(struct clock_shift) clock_shifts;

	VEC(struct loss) losses;
	VEC(struct loss_group) loss_groups;
	struct map loss_index; /* where they happened -> index + 1 */
};

static inline struct thread *thread_at(struct model *model, thread_id id)
{
	return &model->threads.items[id.i];
}

/* Where `tids` has the thread that has this tid now. */
static inline uint64_t tid_key(uint16_t host, uint32_t tid)
{
	return (uint64_t)host << 32 | tid;
}

/* Where an index has what a host knows by a number: a file, a socket, a device, a process. */
static inline uint64_t host_key(uint16_t host, uint64_t number)
{
	return number ^ host * 0x9e3779b97f4a7c15;
}

static inline uint64_t listener_key(uint16_t host, uint32_t netns, uint16_t port)
{
	return host_key(host, (uint64_t)netns << 16 | port);
}

/* The item of a list that a key stands for, made if there is none yet. */
#define indexed(list, index, key) \
	({ \
		uint64_t *at_ = map_insert(index, key); \
		if (!*at_) { \
			memset(vec_push(list), 0, sizeof((list)->items[0])); \
			*at_ = (list)->count; \
		} \
		&(list)->items[*at_ - 1]; \
	})

/* Likewise, or NULL. */
#define find_indexed(list, index, key) \
	({ \
		const uint64_t *at_ = map_find(index, key); \
		at_ ? &(list)->items[*at_ - 1] : NULL; \
	})

/* A string of the source as one of the model. */
str_id take_string(struct model *model, const struct source *source, uint32_t id);

/* The model's number for what the source calls so. */
uint32_t own_number(struct map *numbers, const struct source *source, uint32_t number);

/* A record that tells what a number stands for. */
void name_add(struct model *model, const struct source *source, const struct record *r);

/* The thread's line of one sort, made if it has none yet. */
struct timeline *thread_timeline(struct thread *thread, enum thread_timeline which,
				 size_t item_size);

/* The thread of that host that had this tid at time t, or else the first that did. */
thread_id find_thread(const struct model *model, uint16_t host, uint32_t tid, nsec_t t);

/* Something is known of t: all begins there, unless something was known before. */
void begin_at(struct model *model, nsec_t t);

/* The thread with this tid; one nobody has told of is a neighbour. */
thread_id thread_of(struct model *model, const struct source *source, uint32_t tid, nsec_t now);

void socket_add(struct model *model, const struct source *source, const struct record_socket *r);
void socket_state_add(struct model *model, const struct source *source,
		      const struct record_socket_state *r);
void message_add(struct model *model, const struct source *source, const struct record_message *r);

void span_add(struct model *model, const struct source *source, const struct record_span *r);

/*
 * Join spans, of which the first is none, into trees: each has its parent already, and gets its
 * children and siblings.
 */
void spans_link(struct span *spans, size_t count);

/* When spans are in their places: correct the clocks of services. */
void span_clocks_correct(struct model *model);

/* What an index of spans has for one. */
uint64_t span_hash(const uint8_t trace[16], const uint8_t id[8]);

void context_add(struct model *model, const struct source *source, const struct record_context *r);
void attribute_add(struct model *model, const struct source *source,
		   const struct record_attribute *r);

/* When spans are in their places: find what names them. */
void contexts_finish(struct model *model);

/* Groups the losses, for model_lost() and its like; and drops the groups. */
void losses_finish(struct model *model);
void losses_done(struct model *model);

#endif
