/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/export.h"
#include "cli/log.h"
#include "cli/warn.h"
#include "load/load.h"
#include "otlp/http.h"
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
			    "its length; --to=http://HOST:4318 sends them to a collector",
			    spans->done.requests);
}

/* Where the spans go, and how many are there. */
struct span_sending {
	struct otlp_target target;
	bool shows_progress;
};

static int send_request(void *arg, struct view request, size_t spans, struct err *err)
{
	struct span_sending *sending = arg;
	int r = otlp_http_post(&sending->target, request, err);

	if (r == 0 && sending->shows_progress)
		fprintf(stderr, "\rsonde: sent %zu spans", spans);
	return r;
}

static int send_spans(struct span_export *spans, const char *url, struct err *err)
{
	struct span_sending sending = { .shows_progress = isatty(STDERR_FILENO) };
	int r = otlp_target_parse(url, &sending.target, err);

	if (r < 0)
		return r;
	spans->export.send = send_request;
	spans->export.send_arg = &sending;
	r = export_otlp(&spans->export, NULL, &spans->done, err);
	if (sending.shows_progress && spans->done.requests)
		fputs("\r", stderr);
	if (r == 0 && spans->done.spans)
		log_message("sent %zu spans in %zu request%s to '%s'", spans->done.spans,
			    spans->done.requests, spans->done.requests == 1 ? "" : "s", url);
	return r;
}

static int write_or_send(struct span_export *spans, const struct span_output *to, struct err *err)
{
	int r;

	if (to->url)
		return send_spans(spans, to->url, err);
	r = export_to_file(to->path, write_spans, spans, err);
	if (r == 0)
		report_result(spans, to->json);
	return r;
}

int export_spans(char **paths, const char *format, bool requests, const struct span_output *to,
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
						 .json = to->json } };
	struct err failure;
	int r = write_or_send(&spans, to, &failure);

	if (r < 0) {
		*err = failure;
		return r;
	}
	warn_lost(loaded.model);
	return damaged;
}
