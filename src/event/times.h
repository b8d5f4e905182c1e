/* SPDX-License-Identifier: Apache-2.0 */
/*
 * times - the fields of a record that are timestamps, besides record.time.
 *
 * Used to shift all times of a record, and to get the start of its interval.
 * Kinds that are not listed here are instants.
 */
#ifndef SONDE_EVENT_TIMES_H
#define SONDE_EVENT_TIMES_H

#include "base/base.h"
#include "event/event.h"

/* NULL for times that the kind does not have. */
struct record_times {
	__u64 *start;
	__u64 *other;
};

static inline struct record_times record_times(struct record *record)
{
	void *r = record;

	switch (record->kind) {
	case RECORD_RUN:
		return (struct record_times){ &((struct record_run *)r)->start, NULL };
	case RECORD_WAIT:
		return (struct record_times){ &((struct record_wait *)r)->start,
					      &((struct record_wait *)r)->woken };
	case RECORD_SYSCALL:
		return (struct record_times){ &((struct record_syscall *)r)->start, NULL };
	case RECORD_BLOCK:
		return (struct record_times){ &((struct record_block *)r)->start, NULL };
	case RECORD_LOSS:
		return (struct record_times){ &((struct record_loss *)r)->start,
					      &((struct record_loss *)r)->end };
	case RECORD_SPAN:
		return (struct record_times){ &((struct record_span *)r)->start, NULL };
	case RECORD_CONTEXT:
		return (struct record_times){ &((struct record_context *)r)->since, NULL };
	case RECORD_TRANSMIT:
		return (struct record_times){ NULL, &((struct record_transmit *)r)->left };
	case RECORD_UNREAD:
		return (struct record_times){ NULL, &((struct record_unread *)r)->arrived };
	default:
		return (struct record_times){ NULL, NULL };
	}
}

/* The start of a record's interval; its time if it is an instant. */
static inline nsec_t record_start(const struct record *record)
{
	const __u64 *start = record_times((struct record *)record).start;

	return start ? *start : record->time;
}

#endif
