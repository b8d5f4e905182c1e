/* SPDX-License-Identifier: Apache-2.0 */
#include "report/time_shift.h"

#include <string.h>

#include "event/times.h"

const struct record *time_shift(const struct source *source, const struct record *record,
				struct shifted_record *room)
{
	if (!source->shift && !source->drift)
		return record;

	struct record *copy = memcpy(room->words, record, record->words * 8);
	struct record_times times = record_times(copy);

	copy->time = source_time(source, copy->time);
	if (times.start)
		*times.start = source_time(source, *times.start);
	if (times.other)
		*times.other = source_time(source, *times.other);
	return copy;
}
