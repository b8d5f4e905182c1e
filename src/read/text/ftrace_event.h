/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ftrace_event - the event of a line, after its head.
 *
 *	sched_waking: comm=bash pid=4065 prio=120 target_cpu=002
 *	sched_wakeup: bash:4065 [120] CPU:002
 *	sys_read(fd: 3, buf: 7ffe3ce41670, count: 10)
 *	sys_read -> 0x10
 *	do_idle <-cpu_startup_entry
 *
 * A table of patterns describes how the kernel and trace-cmd print the events that sonde
 * uses.  If no pattern matches, for example because the kernel is newer, the event is parsed
 * as pairs of key and value.
 */
#ifndef SONDE_READ_TEXT_FTRACE_EVENT_H
#define SONDE_READ_TEXT_FTRACE_EVENT_H

#include "base/view.h"
#include "read/text/types.h"

/* The type of the event at *p; moves *p to its fields. */
struct text_type *ftrace_event_type(struct text_types *types, const char **p, const char *end);

/* Parses the fields into an event, which must be an empty one of the type's kind. */
void ftrace_event_parse(const struct text_type *type, struct view text, struct raw_event *e);

/* Visits the texts of all fields. */
void ftrace_event_visit(const struct text_type *type, struct view text,
			const struct raw_visitor *visitor, void *arg);

#endif
