/* SPDX-License-Identifier: Apache-2.0 */
/* requests - rebuilt requests, as a summary, as trees or as JSON. */
#ifndef SONDE_REPORT_REQUESTS_H
#define SONDE_REPORT_REQUESTS_H

#include "analyse/requests/sum.h"
#include "base/json.h"
#include "report/wrap.h"

struct request_view { /* all borrowed */
	const struct model *model;
	const struct span_set *spans; /* has all requests as spans */
	const struct requests *requests;
	const uint32_t *summed; /* requests to add up */
	size_t summed_count;
	const uint32_t *roots; /* requests to list, in this order */
	size_t root_count;
	size_t lost, all;           /* requests left out because of lost records; of how many */
	const char *const *counted; /* names of events and system calls to show */
	size_t counted_count;       /* 0 means all */

	const char *(*host_name)(const void *arg, uint16_t host); /* "" if unknown */
	void (*more)(const void *arg, struct json *j); /* adds members to the JSON object */
	const void *arg;
};

void requests_summary(struct out *out, const struct style *style, const struct request_view *view);
void requests_tree(struct out *out, const struct request_view *view);
void requests_json(struct json *j, const struct request_view *view);

#endif
