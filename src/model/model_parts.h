/* SPDX-License-Identifier: Apache-2.0 */
/* model_parts - what the files of model/ share with each other and nobody else. */
#ifndef SONDE_MODEL_MODEL_PARTS_H
#define SONDE_MODEL_MODEL_PARTS_H

#include "base/map.h"
#include "base/vec.h"
#include "model/flow.h"
#include "model/model.h"

struct file {
	str_id name;
	uint32_t device;
};

struct model {
	struct strtab *strings;
	nsec_t begin, end;
	bool has_begin, begin_told; /* by model_set_begin() */
	uint64_t records;

	VEC(struct thread) threads; /* the first is nobody */
	struct map tids;            /* host and tid -> the thread that has it now */
	VEC(thread_id) earlier;     /* by thread: who had its tid before */

	VEC(struct line) cpus;   /* of turns */
	VEC(struct line) queues; /* of requests, by device */
	struct map queue_index;  /* device -> queue + 1 */
	struct flows flows;      /* messages whose other side is to come */

	VEC(struct process) processes;
	VEC(struct socket) sockets;
	VEC(struct file) files;
	struct map pid_index, socket_index, file_index; /* -> index + 1 */
	struct map devices, hit_types;                  /* -> string */

	VEC(uint32_t) stack_frames; /* of all stacks: count, kernel_count, frames... */
	struct map stacks;          /* number -> place in stack_frames + 1 */
	VEC(struct frame) frames;   /* by number */

	VEC(struct span) spans; /* the first is none */
	struct map span_index;  /* hash of trace and span id -> span */

	VEC(struct loss) losses;
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

/* The thread's line of one sort, made if it has none yet. */
struct line *thread_line(struct thread *thread, enum thread_line which, size_t item_size);

/* The thread of that host that had this tid at time t, or else the first that did. */
thread_id find_thread(const struct model *model, uint16_t host, uint32_t tid, nsec_t t);

/* Something is known of t: all begins there, unless something was known before. */
void begin_at(struct model *model, nsec_t t);

void span_add(struct model *model, const struct source *source, const struct record_span *r);

#endif
