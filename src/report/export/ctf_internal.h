/* SPDX-License-Identifier: Apache-2.0 */
/* export_ctf_parts - what the files of export_ctf share with each other and nobody else. */
#ifndef SONDE_REPORT_EXPORT_CTF_INTERNAL_H
#define SONDE_REPORT_EXPORT_CTF_INTERNAL_H

#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "report/export/ctf.h"

/*
 * What is to be played, in the order in which it comes at one and the same time:
 * threads are known before they do something, they do it before they leave
 * their CPU, and one leaves it before the next gets it.  What is of one kind comes
 * in the order of the records: where clocks are coarse, a call may take no time.
 */
enum item_kind {
	ITEM_LOSS_END, /* before another begins */
	ITEM_LOSS_BEGIN,
	ITEM_TASK,
	ITEM_SPAN_BEGIN,
	ITEM_CALL,
	ITEM_BLOCK,
	ITEM_MESSAGE,
	ITEM_WAKE,
	ITEM_WAIT,
	ITEM_EXIT,
	ITEM_OUT,
	ITEM_IN,
	ITEM_SPAN_END,
	ITEM_END,
	ITEM_NONE, /* was played with another */
};

struct item {
	uint64_t time;
	uint32_t tid;
	uint32_t other; /* WAKE: the waker */
	uint32_t ref;   /* of what is kept of the record; WAKE: the vector */
	uint16_t cpu;   /* where it was, as far as the record says */
	uint8_t kind;   /* enum item_kind */
	uint8_t state;  /* OUT: as the kernel has it; WAKE: enum wake_context; */
			/* CALL, BLOCK: 0 its begin, 1 its end */
};

/* What is kept for an item. Strings in it are named by ids of ours. */
struct kept_wait {
	uint64_t object;
	int16_t syscall;
	uint8_t object_kind, flags, state, ready;
	uint8_t pad[2];
};

struct kept_message {
	struct record_message message;
	struct socket_address address; /* family 0 if it is not known */
};

struct ctf_export {
	struct strtab *strings;
	VEC(struct item) items;
	VEC(uint64_t) kept; /* at the places that refs say */
	struct map seen; /* tid: place + 1 of the TASK that told of it first, if nothing else did */
	struct map ins;  /* tid: when it last got a CPU */
	struct map outs; /* tid: place of its last OUT + 1 */
	struct map sockets; /* object: place in addresses + 1 */
	VEC(struct socket_address) addresses;
	struct map comms; /* tid: the str_id of the first name that is told of it, + 1 */
	uint64_t left_out;
	nsec_t end; /* of what the end of the recording cut off; 0 if it cut nothing off */
	bool has_end;
};

static inline const void *kept(const struct ctf_export *x, const struct item *item)
{
	return x->kept.items + item->ref;
}

/* Sorts by time, and at the same time by kind; what is equal stays as it came. */
void item_sort(struct item *items, size_t count);

/* Plays all items, which are sorted, into the trace. */
void ctf_export_play(struct ctf_export *x, struct lttng_trace *trace);

#endif
