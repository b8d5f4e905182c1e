/* SPDX-License-Identifier: Apache-2.0 */
/* requests - requests that were rebuilt, as a summary, as trees, or as JSON. */
#ifndef SONDE_REPORT_REQUESTS_H
#define SONDE_REPORT_REQUESTS_H

#include "analyse/request_sum.h"
#include "base/json.h"

struct request_view {
	const struct model *model;
	const struct requests *requests;
	request_filter *filter;
	const void *filter_arg;
	const char *const *count_events; /* names of events to show, */
	size_t count_event_count;        /* or none for all */
};

void requests_summary(struct out *out, const struct request_view *view);
void requests_tree(struct out *out, const struct request_view *view);
void requests_json(struct json *j, const struct request_view *view);

#endif
