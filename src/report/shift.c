/* SPDX-License-Identifier: Apache-2.0 */
#include "report/shift.h"

#include <string.h>

/* All times of a record but its own; those that it does not have are NULL. */
struct times {
	__u64 *first, *second;
};

static struct times times_of(struct record *record)
{
	void *r = record;

	switch (record->kind) {
	case RECORD_RUN:
		return (struct times){ &((struct record_run *)r)->start, NULL };
	case RECORD_WAIT:
		return (struct times){ &((struct record_wait *)r)->start,
				       &((struct record_wait *)r)->woken };
	case RECORD_SYSCALL:
		return (struct times){ &((struct record_syscall *)r)->start, NULL };
	case RECORD_BLOCK:
		return (struct times){ &((struct record_block *)r)->start, NULL };
	case RECORD_LOSS:
		return (struct times){ &((struct record_loss *)r)->start,
				       &((struct record_loss *)r)->end };
	case RECORD_SPAN:
		return (struct times){ &((struct record_span *)r)->start, NULL };
	default:
		return (struct times){ NULL, NULL };
	}
}

const struct record *shift_record(const struct source *source, const struct record *record,
				  struct shifted *room)
{
	if (!source->shift && !source->drift)
		return record;

	struct record *copy = memcpy(room->words, record, record->words * 8);
	struct times times = times_of(copy);

	copy->time = source_time(source, copy->time);
	if (times.first)
		*times.first = source_time(source, *times.first);
	if (times.second)
		*times.second = source_time(source, *times.second);
	return copy;
}

nsec_t shift_start(const struct record *record)
{
	const __u64 *start = times_of((struct record *)record).first;

	return start ? *start : record->time;
}
