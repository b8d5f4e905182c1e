/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lttng_event - the events of an exported trace and their fields.
 *
 * One table describes them: the metadata is printed from it, and the values of an event
 * are laid out by it, so that both always agree.  Names and types are LTTng's, which other
 * tools expect; events that LTTng does not have start with sonde_.
 */
#ifndef SONDE_REPORT_EXPORT_LTTNG_EVENT_H
#define SONDE_REPORT_EXPORT_LTTNG_EVENT_H

#include "base/base.h"

enum lttng_type {
	LTTNG_END,
	LTTNG_I32,
	LTTNG_U32,
	LTTNG_I64,
	LTTNG_U64,
	LTTNG_X64, /* shown in hexadecimal */
	LTTNG_U8,
	LTTNG_LETTER, /* one character */
	LTTNG_COMM,   /* the name of a thread, 16 characters */
	LTTNG_STRING,
	LTTNG_ADDRESS, /* 16 bytes */
	LTTNG_ARGS,    /* three numbers of 64 bits */
};

struct lttng_field {
	enum lttng_type type;
	const char *name;
};

enum { LTTNG_FIELDS = 12 };

struct lttng_event {
	const char *name;
	struct lttng_field fields[LTTNG_FIELDS]; /* ends with LTTNG_END */
};

/* IDs above LTTNG_EVENTS are system calls: see lttng_syscall_id(). */
enum lttng_id {
	LTTNG_SWITCH,
	LTTNG_WAKING,
	LTTNG_FORK,
	LTTNG_EXEC,
	LTTNG_RENAME,
	LTTNG_EXIT,
	LTTNG_STATE,
	LTTNG_IRQ_ENTRY,
	LTTNG_IRQ_EXIT,
	LTTNG_SOFTIRQ_ENTRY,
	LTTNG_SOFTIRQ_EXIT,
	LTTNG_HRTIMER_ENTRY,
	LTTNG_HRTIMER_EXIT,
	LTTNG_BLOCK_ISSUE,
	LTTNG_BLOCK_COMPLETE,
	LTTNG_CALL_ENTRY, /* unknown system calls */
	LTTNG_CALL_EXIT,
	LTTNG_SPAN_BEGIN,
	LTTNG_SPAN_END,
	LTTNG_WAIT,
	LTTNG_MESSAGE,
	LTTNG_LAST,
	LTTNG_EVENTS,
};

enum { LTTNG_IDS = 32768 };

/* The event ID of the entry or exit of a system call. */
unsigned lttng_syscall_id(int nr, bool is_exit);

/* The fields of an event. */
const struct lttng_event *lttng_event_of(unsigned id);

/* The name of an event, written to name. */
void lttng_event_name(unsigned id, char name[64]);

#endif
