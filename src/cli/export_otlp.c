/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "cli/export.h"
#include "cli/load.h"
#include "cli/log.h"
#include "report/export/otlp.h"

struct spans {
	struct otlp_export export;
	struct otlp_exported done;
};

static int write_spans(void *arg, FILE *file, struct err *err)
{
	struct spans *spans = arg;

	return export_otlp(&spans->export, file, &spans->done, err);
}

static void tell(const struct spans *spans, bool json)
{
	if (!spans->done.spans)
		log_message("there are no spans in it, and no requests");
	else if (spans->done.requests > 1 && !json)
		log_message("%zu export requests, each behind its length in four bytes: too "
			    "large for one",
			    spans->done.requests);
}

int export_spans(char **paths, const char *format, bool requests, bool json, const char *output,
		 struct err *err)
{
	_cleanup_(model_freep) struct model *model = NULL;
	_cleanup_(merge_freep) struct merge *merge = NULL;
	_cleanup_(requests_done) struct requests rebuilt = { 0 };
	int damaged = load_merged(paths, format, &model, &merge, err);

	if (!model)
		return damaged;
	load_requests(model, requests, &rebuilt);

	struct spans spans = { .export = { .model = model,
					   .requests = &rebuilt,
					   .host_name = load_host_name,
					   .arg = merge,
					   .realtime = merge_realtime_offset(merge),
					   .json = json } };
	struct err failure;
	int r = export_to_file(output, write_spans, &spans, &failure);

	if (r < 0) {
		*err = failure;
		return r;
	}
	tell(&spans, json);
	load_warn_lost(model);
	return damaged;
}
