/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_latency - where the latency of a request went, as attributes of its span.
 *
 * The same account as `sonde explain`: the time of the critical path in each state, and the cause
 * that took most of it, as a sentence.
 */
#ifndef SONDE_REPORT_EXPORT_OTLP_LATENCY_H
#define SONDE_REPORT_EXPORT_OTLP_LATENCY_H

#include "model/span_set.h"
#include "report/export/otlp_put.h"
#include "report/phrase.h"

struct otlp_latency {
	nsec_t states[128]; /* ns by letter */
	double share;       /* of the cause, from 0 to 1 */
	struct phrase cause;
};

/* False if nothing is recorded of the span's threads. */
bool otlp_latency_find(const struct span_set *spans, span_id span, struct otlp_latency *ret);

/* The attributes sonde.latency.STATE, sonde.cause and sonde.cause_share. */
void otlp_latency_put(const struct otlp_latency *latency, struct otlp_put *put);

#endif
