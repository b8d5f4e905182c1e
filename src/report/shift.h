/* SPDX-License-Identifier: Apache-2.0 */
/* shift - a record with its times on the line that all inputs share. */
#ifndef SONDE_REPORT_SHIFT_H
#define SONDE_REPORT_SHIFT_H

#include "base/base.h"
#include "event/event.h"
#include "event/source.h"

struct shifted {
	uint64_t words[256]; /* no record has more */
};

/* The record itself if its clock is that of the line, else a copy of it in room. */
const struct record *shift_record(const struct source *source, const struct record *record,
				  struct shifted *room);

#endif
