/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "cli/export.h"
#include "cli/log.h"
#include "cli/warn.h"
#include "load/load.h"
#include "report/export/otlp.h"

struct span_export {
	struct otlp_export export;
	struct otlp_exported done;
};

static int write_spans(void *arg, FILE *file, struct err *err)
{
	struct span_export *spans = arg;

	return export_otlp(&spans->export, file, &spans->done, err);
}

static void report_result(const struct span_export *spans, bool json)
{
	if (!spans->done.spans)
		log_message("the inputs contain no spans and no requests");
	else if (spans->done.requests > 1 && !json)
		log_message("the spans do not fit into one export request: wrote %zu, each after "
			    "its length",
			    spans->done.requests);
}

int export_spans(char **paths, const char *format, bool requests, bool json, const char *output,
		 struct err *err)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	int damaged = loaded_open(&loaded, paths, format, err);

	warn_all(&loaded.warnings);
	if (!loaded.model)
		return damaged;
	loaded_rebuild_requests(&loaded, requests);

	struct span_export spans = { .export = { .spans = &loaded.spans,
						 .requests = &loaded.requests,
						 .host_name = load_host_name,
						 .arg = loaded.merge,
						 .realtime = merge_realtime_offset(loaded.merge),
						 .json = json } };
	struct err failure;
	int r = export_to_file(output, write_spans, &spans, &failure);

	if (r < 0) {
		*err = failure;
		return r;
	}
	report_result(&spans, json);
	warn_lost(loaded.model);
	return damaged;
}
