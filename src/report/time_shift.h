/* SPDX-License-Identifier: Apache-2.0 */
/* time_shift - records with their times on the common clock of all inputs. */
#ifndef SONDE_REPORT_TIME_SHIFT_H
#define SONDE_REPORT_TIME_SHIFT_H

#include "base/base.h"
#include "event/event.h"
#include "event/source.h"

struct shifted_record {
	uint64_t words[256]; /* the maximum size of a record */
};

/* Returns the record itself if its source is on the common clock, or else a shifted copy in room.
 */
const struct record *time_shift(const struct source *source, const struct record *record,
				struct shifted_record *room);

#endif
