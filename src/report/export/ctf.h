/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf - export the records of one host as an LTTng kernel trace (CTF 1.8).
 *
 * A record describes an interval and is written at its end; a trace contains events in
 * time order.  So each record is split into the events it was made from, as far as it
 * contains them: an on-CPU slice into the switches at its start and end, a wait into what
 * the thread was doing when it blocked, and its wakeup with the context of the wakeup.
 * All events are collected, sorted, and written to the streams of their CPUs.
 *
 * Two things are invented.  If the thread that ran before or after another one is unknown,
 * it is the idle thread.  Interrupts appear only around the wakeups that they caused, and
 * take no time.  Reading the trace through the state machine of event/thread_state.h gives
 * the same intervals at the same times.
 *
 * Memory is about twice that of the records: 24 bytes per event, the same again while
 * sorting, and the data of some events.  Time is linear in the number of events.
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

/* The number of records that CTF has no event for: probe events, samples, stacks, contexts,
 * attributes. */
uint64_t ctf_export_omitted(const struct ctf_export *x);

/* Write the trace to an existing, empty directory. Call once, after the last record. */
int ctf_export_write(struct ctf_export *x, const struct lttng_origin *about, const char *directory,
		     struct err *err);

#endif
