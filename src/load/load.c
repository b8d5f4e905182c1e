/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load.h"

#include "analyse/requests/spans.h"
#include "load/span_warnings.h"

int loaded_open(struct loaded *loaded, char **inputs, const char *format, struct err *err)
{
	const struct source *source;
	const struct record *record;
	int r = merge_open(inputs, format, &loaded->merge, err);

	if (r < 0)
		return r;

	struct merge *merge = loaded->merge;
	struct model *model = model_new();

	loaded->model = model;
	loaded->spans.model = model;
	if (merge_start(merge))
		model_set_begin(model, merge_start(merge));
	while ((r = merge_next(merge, &record, &source, err)) > 0)
		model_add(model, source, record);
	model_finish(model);
	for (size_t i = 0; merge_warning(merge, i); i++)
		warnings_add(&loaded->warnings, "%s", merge_warning(merge, i));
	span_warnings_shifts(model, &loaded->warnings);
	return r;
}

void loaded_done(struct loaded *loaded)
{
	span_set_done(&loaded->spans);
	requests_done(&loaded->requests);
	model_free(loaded->model);
	merge_free(loaded->merge);
	warnings_done(&loaded->warnings);
	*loaded = (struct loaded){ 0 };
}

/* Kernels before 6.3 and other tools do not record arrivals. */
static void warn_of_arrivals(struct loaded *loaded)
{
	const struct requests *requests = &loaded->requests;
	size_t unknown = 0;

	for (size_t i = 0; i < requests->roots.count; i++)
		unknown += requests->spans.items[requests->roots.items[i]].arrival_unknown;
	if (unknown * 2 > requests->roots.count)
		warnings_add(&loaded->warnings,
			     "the arrival of %zu of %zu requests is unknown: their latency begins "
			     "at the read",
			     unknown, requests->roots.count);
}

void loaded_rebuild_requests(struct loaded *loaded, bool always)
{
	requests_find(loaded->model, &loaded->requests);
	warn_of_arrivals(loaded);
	if (!always && model_span_count(loaded->model) > 1)
		request_spans_join(&loaded->requests, &loaded->spans, 0, NULL, NULL);
	else
		request_spans_add(&loaded->requests, NULL, &loaded->spans);
}

const char *load_host_name(const void *merge, uint16_t host)
{
	return merge_host_name(merge, host);
}
