/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lttng_trace - a trace on disk, as LTTng's kernel tracer would leave it: CTF 1.8,
 * a directory with a file of packets for each CPU, and the metadata.
 *
 * Events are to come in the order of their time.  Packets are cut when they have
 * a certain size, and where events were lost, as only a packet can say how many
 * were.  The metadata comes last, with those events that were used: without it,
 * a directory is no trace, so what is not finished is none.
 */
#ifndef SONDE_REPORT_EXPORT_LTTNG_TRACE_H
#define SONDE_REPORT_EXPORT_LTTNG_TRACE_H

#include "base/err.h"
#include "report/export/lttng_event.h"

/* What the metadata says; strings are borrowed. NULL or 0 where it is not known. */
struct lttng_about {
	const char *host, *kernel;
	int64_t realtime_offset; /* CLOCK_REALTIME minus the times of events */
	uint64_t seed;           /* a number by which to tell this trace from others */
};

struct lttng_trace;

/* In a directory that is there and empty. */
struct lttng_trace *lttng_trace_new(const char *directory, const struct lttng_about *about);
void lttng_trace_free(struct lttng_trace *trace);
DEFINE_FREEP(lttng_trace)

struct lttng_value {
	uint64_t n;    /* of a number, sign-extended if it has a sign */
	const void *s; /* of the others */
};

/* An event at a time on a CPU, while a thread had it; values in the order of its fields. */
void lttng_trace_event(struct lttng_trace *trace, unsigned id, nsec_t time, uint16_t cpu,
		       uint32_t tid, const struct lttng_value *values);

/* From now on, and up to now, events of a CPU are lost. */
void lttng_trace_loss_begins(struct lttng_trace *trace, uint16_t cpu, nsec_t time);
void lttng_trace_loss_ends(struct lttng_trace *trace, uint16_t cpu, nsec_t time, uint64_t count);

/* Write what is held back, and the metadata. What failed before, fails here. */
int lttng_trace_finish(struct lttng_trace *trace, struct err *err);

#endif
