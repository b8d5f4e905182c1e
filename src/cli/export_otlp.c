/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "cli/export.h"
#include "cli/log.h"
#include "cli/warn.h"
#include "load/load.h"
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
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	int damaged = loaded_open(&loaded, paths, format, err);

	warn_all(&loaded.warnings);
	if (!loaded.model)
		return damaged;
	loaded_rebuild_requests(&loaded, requests);

	struct spans spans = { .export = { .spans = &loaded.spans,
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
	tell(&spans, json);
	warn_lost(loaded.model);
	return damaged;
}
