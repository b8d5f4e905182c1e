/* SPDX-License-Identifier: Apache-2.0 */
/* requests - rebuilt requests, as a summary, as trees or as JSON. */
#ifndef SONDE_REPORT_REQUESTS_H
#define SONDE_REPORT_REQUESTS_H

#include "analyse/requests/sum.h"
#include "base/json.h"

struct request_view { /* all borrowed */
	const struct model *model;
	const struct requests *requests;
	request_filter *filter; /* of the summary */
	const void *filter_arg;
	const uint32_t *roots; /* requests to list, in this order */
	size_t root_count;
	const char *const *counted; /* names of events and system calls to show */
	size_t counted_count;       /* 0 means all */

	const char *(*host_name)(const void *arg, uint16_t host); /* "" if unknown */
	void (*more)(const void *arg, struct json *j); /* adds members to the JSON object */
	const void *arg;
};

void requests_summary(struct out *out, const struct request_view *view);
void requests_tree(struct out *out, const struct request_view *view);
void requests_json(struct json *j, const struct request_view *view);

#endif
