/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events - print the events of another tracer's kernel trace unchanged.
 *
 * One line of text or JSON per event, in order of time, with the names, fields
 * and clock of the trace.
 */
#ifndef SONDE_CLI_EVENTS_H
#define SONDE_CLI_EVENTS_H

#include <stdio.h>

#include "read/raw/raw.h"
#include "report/dump.h"

/* The filter applies by thread and time; its other fields are ignored. */
int events_write(struct raw_source *source, const struct dump_filter *filter, bool json, FILE *file,
		 struct err *err);

#endif
