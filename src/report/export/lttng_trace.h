/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lttng_trace - write a trace in the format of LTTng's kernel tracer: CTF 1.8, a directory
 * with the metadata and a file of packets for each CPU.
 *
 * Write events in time order.  A packet ends at a certain size, and at a loss, because only
 * packets count lost events.  The metadata is written last, with the events that were used:
 * a directory without it is not a trace, so an unfinished export is not mistaken for one.
 */
#ifndef SONDE_REPORT_EXPORT_LTTNG_TRACE_H
#define SONDE_REPORT_EXPORT_LTTNG_TRACE_H

#include "base/err.h"
#include "report/export/lttng_event.h"

/* The origin of the trace. Strings are borrowed; NULL or 0 if unknown. */
struct lttng_origin {
	const char *host, *kernel;
	int64_t realtime_offset; /* ns from event times to CLOCK_REALTIME */
	uint64_t seed;           /* of the UUID of the trace */
};

struct lttng_trace;

/* The directory must exist and be empty. */
struct lttng_trace *lttng_trace_new(const char *directory, const struct lttng_origin *about);
void lttng_trace_free(struct lttng_trace *trace);
DEFINE_FREEP(lttng_trace)

struct lttng_value {
	uint64_t n;    /* numbers, sign-extended if signed */
	const void *s; /* other types */
};

/* Write an event. tid is the thread that runs on the CPU; values are in the order of the fields. */
void lttng_trace_event(struct lttng_trace *trace, unsigned id, nsec_t time, uint16_t cpu,
		       uint32_t tid, const struct lttng_value *values);

/* Events of a CPU are lost from here on, and up to here. */
void lttng_trace_loss_begins(struct lttng_trace *trace, uint16_t cpu, nsec_t time);
void lttng_trace_loss_ends(struct lttng_trace *trace, uint16_t cpu, nsec_t time, uint64_t count);

/* Write pending packets and the metadata. Returns the first error of any write. */
int lttng_trace_finish(struct lttng_trace *trace, struct err *err);

#endif
