/* SPDX-License-Identifier: Apache-2.0 */
/* internal - declarations shared by the ctf files only. */
#ifndef SONDE_REPORT_EXPORT_INTERNAL_H
#define SONDE_REPORT_EXPORT_INTERNAL_H

#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "report/export/ctf.h"

/*
 * The kinds of events, in the order of events with the same time: threads are known before
 * they act, they act before they leave their CPU, and a thread leaves its CPU before the
 * next one gets it.  Events of one kind keep the order of their records: with a coarse
 * clock, a system call can take no time.
 */
enum export_item_kind {
	ITEM_LOSS_END, /* before the next loss starts */
	ITEM_LOSS_BEGIN,
	ITEM_TASK,
	ITEM_SPAN_BEGIN,
	ITEM_SYSCALL,
	ITEM_BLOCK_IO,
	ITEM_MESSAGE,
	ITEM_WAKE,
	ITEM_WAIT,
	ITEM_EXIT,
	ITEM_OUT,
	ITEM_IN,
	ITEM_SPAN_END,
	ITEM_END,
	ITEM_NONE, /* written together with another item */
};

struct export_item {
	uint64_t time;
	uint32_t tid;
	uint32_t other; /* WAKE: the waker */
	uint32_t ref;   /* index in saved; WAKE: the interrupt vector */
	uint16_t cpu;   /* of the record */
	uint8_t kind;   /* enum export_item_kind */
	uint8_t state;  /* OUT: prev_state; WAKE: enum wake_context; */
			/* SYSCALL, BLOCK_IO: 0 start, 1 end */
};

/* The data of items. Strings are IDs of ctf_export.strings. */
struct saved_wait {
	uint64_t object;
	int16_t syscall;
	uint8_t object_kind, flags, state, ready;
	uint8_t pad[2];
};

struct saved_message {
	struct record_message message;
	struct socket_address address; /* family 0 if unknown */
};

struct ctf_export {
	struct strtab *strings;
	VEC(struct export_item) items;
	VEC(uint64_t) saved;    /* data of items, by export_item.ref */
	struct map first_tasks; /* tid: index + 1 of its first TASK, until it has an interval */
	struct map ins;         /* tid: time when it last got a CPU */
	struct map outs;        /* tid: index + 1 of its last OUT */
	struct map sockets;     /* object: index in addresses + 1 */
	VEC(struct socket_address) addresses;
	struct map comms; /* tid: str_id + 1 of its first name */
	uint64_t omitted; /* records */
	nsec_t end;       /* end of unfinished intervals, if has_end */
	bool has_end;
};

static inline const void *export_item_data(const struct ctf_export *x,
					   const struct export_item *item)
{
	return x->saved.items + item->ref;
}

/* Sort by time, then by kind; a stable sort. */
void export_item_sort(struct export_item *items, size_t count);

/* Write all items, which are sorted, to the trace. */
void ctf_export_write_items(struct ctf_export *x, struct lttng_trace *trace);

#endif
