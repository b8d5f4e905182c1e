/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events - the events of a foreign kernel trace, as they stand in it.
 *
 * One line each, in the order of their time, which is on the trace's own clock:
 * for people, or as JSON.  Names and fields are the trace's.
 */
#ifndef SONDE_CLI_EVENTS_H
#define SONDE_CLI_EVENTS_H

#include <stdio.h>

#include "read/raw/raw.h"
#include "report/dump.h"

/* Of the filter, the threads and the times count. */
int events_write(struct raw_source *source, const struct dump_filter *filter, bool json, FILE *file,
		 struct err *err);

#endif
