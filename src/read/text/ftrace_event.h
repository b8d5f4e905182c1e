/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ftrace_text_event - the event of a line of an ftrace text, behind its head.
 *
 *	sched_waking: comm=bash pid=4065 prio=120 target_cpu=002
 *	sched_wakeup: bash:4065 [120] CPU:002
 *	sys_read(fd: 3, buf: 7ffe3ce41670, count: 10)
 *	sys_read -> 0x10
 *	do_idle <-cpu_startup_entry
 *
 * How the kernel and trace-cmd print the events that we use is a table of
 * patterns.  What it does not have, another version of the kernel say, is taken
 * as pairs of key and value.
 */
#ifndef SONDE_READ_TEXT_FTRACE_EVENT_H
#define SONDE_READ_TEXT_FTRACE_EVENT_H

#include "base/view.h"
#include "read/text/types.h"

/* The type of the event that stands at *p, which becomes where its fields begin. */
struct text_type *ftrace_event_type(struct text_types *types, const char **p, const char *end);

/* Takes the fields into the event, which must be an empty one of the type's kind. */
void ftrace_event_take(const struct text_type *type, struct view text, struct raw_event *e);

/* All of them, as they are written. */
void ftrace_event_visit(const struct text_type *type, struct view text,
			const struct raw_visitor *visitor, void *arg);

#endif
