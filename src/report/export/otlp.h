/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_otlp - the spans of a model as OpenTelemetry's export requests.
 *
 * Those of SDKs and those that were rebuilt alike.  To each span whose thread
 * was recorded, what that thread did is added as attributes named sonde.*: the
 * time in each state, system calls and events; to a rebuilt one also of which
 * kind it is and how sure its parent is.  What a span says itself stays as it
 * is: nothing is added by a name that it uses.  One resource is one process.
 *
 * In protobuf, a file has one request, which can be posted to a collector as it
 * is; above a size that collectors take, it has several, each behind its length
 * in four bytes, the highest first, as the collector's file exporter has it.  In
 * JSON, each line is a request.
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
	const struct requests *requests; /* what spans were rebuilt from; may be empty */
	const char *(*host_name)(const void *arg, uint16_t host); /* "" if it has none */
	const void *arg;
	int64_t realtime; /* what to add to times to get CLOCK_REALTIME */
	bool json;
	size_t limit; /* bytes of a request in protobuf, about; 0 for what collectors take */
};

struct otlp_exported {
	size_t spans, requests;
};

int export_otlp(const struct otlp_export *e, FILE *file, struct otlp_exported *ret,
		struct err *err);

/* A request as OTLP's JSON has it. */
void otlp_json(struct json *j, struct view request);

#endif
