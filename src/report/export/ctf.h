/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_ctf - records of one host as a trace of LTTng's, for the tools that read those.
 *
 * A record tells of a stretch of time when it is over; a trace has events in the
 * order of their time.  So each record is taken apart into the events that it
 * came from, as far as it tells: a turn on a CPU into the switches at its begin and
 * end, a wait into what the thread was doing when it blocked and into its wakeup, in
 * a context that the wakeup came from.  All are kept, sorted, and then played into
 * the streams of the CPUs where they happened.
 *
 * Nothing is made up but this: where it is not known who had a CPU before or
 * after a thread, it is the idle thread; interrupts are only there around the
 * wakeups that they did, and take no time.  So who reads the trace through the
 * machine of event/thread_state.h gets the same intervals at the same times.
 *
 * Memory is about twice that of the records: 24 bytes for each event, the same
 * again while they are sorted, and what some have of their own.  Time is linear
 * in their number.
 */
#ifndef SONDE_REPORT_EXPORT_CTF_H
#define SONDE_REPORT_EXPORT_CTF_H

#include "event/stream.h"
#include "report/export/lttng_trace.h"

struct ctf_export;

struct ctf_export *ctf_export_new(void);
void ctf_export_free(struct ctf_export *x);
DEFINE_FREEP(ctf_export)

void ctf_export_add(struct ctf_export *x, const struct source *source, const struct record *record);

/* Records that have no place in such a trace: hits, samples, stacks, contexts, attributes. */
uint64_t ctf_export_left_out(const struct ctf_export *x);

/* Writes the trace into a directory that is there and empty. Nothing can be added any more. */
int ctf_export_write(struct ctf_export *x, const struct lttng_about *about, const char *directory,
		     struct err *err);

#endif
