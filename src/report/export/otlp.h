/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp - export the spans of a model as OpenTelemetry export requests.
 *
 * Spans of SDKs and rebuilt spans are exported alike.  If the thread of a span was
 * recorded, attributes named sonde.* are added: the time in each state, system calls and
 * probe events, the time in queues; for a rebuilt span also its kind and the confidence in its
 * parent.  The root of a trace has its cause (otlp_latency.h).  They never replace attributes of
 * the span itself.  Each process is one resource.
 *
 * A protobuf file contains one request, which can be posted to a collector unchanged.
 * Above the size that collectors accept, it contains several, each preceded by its length
 * in four bytes, big-endian, as the collector's file exporter writes them.  In JSON, each
 * line is a request.  Instead of a file, a function can get each request, to send it.
 */
#ifndef SONDE_REPORT_EXPORT_OTLP_H
#define SONDE_REPORT_EXPORT_OTLP_H

#include <stdio.h>

#include "analyse/requests/requests.h"
#include "base/err.h"
#include "base/json.h"
#include "base/view.h"
#include "model/span_set.h"

struct otlp_export {
	const struct span_set *spans;
	const struct requests *requests; /* of the rebuilt spans; can be empty */
	const char *(*host_name)(const void *arg, uint16_t host); /* "" if unknown */
	const void *arg;
	int64_t realtime; /* ns to add to times to get CLOCK_REALTIME */
	bool json;
	const span_id *only; /* the spans to export; NULL: all */
	size_t only_count;
	size_t limit; /* approximate bytes per protobuf request; 0 for the default */
	/* gets each protobuf request instead of the file; NULL for a file */
	int (*send)(void *arg, struct view request, size_t spans, struct err *err);
	void *send_arg;
};

struct otlp_exported {
	size_t spans, requests;
};

/* `file` can be NULL if there is a function `send`. */
int export_otlp(const struct otlp_export *e, FILE *file, struct otlp_exported *ret,
		struct err *err);

/* Write a request in the JSON encoding of OTLP. */
void otlp_json(struct json *j, struct view request);

#endif
