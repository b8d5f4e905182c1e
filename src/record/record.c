/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"

#include <string.h>
#include <unistd.h>

#include "record/file_sink.h"
#include "record/recorder.h"
#include "record/stream_sink.h"

static int record_to(const struct record_options *options, struct sink *sink,
		     struct recorder_stats *ret, struct err *err)
{
	_cleanup_(recorder_freep) struct recorder *rec = NULL;
	int r = recorder_open(options, sink, &rec, err);

	if (r < 0)
		return r;
	while ((r = recorder_poll(rec, err)) > 0)
		;
	return r < 0 ? r : recorder_close(rec, ret, err);
}

static int record_stream(const struct record_options *options, struct recorder_stats *ret,
			 struct err *err)
{
	_cleanup_(closep) int fd = stream_output_open(STDOUT_FILENO, err);
	_cleanup_(stream_sink_done) struct stream_sink sink;

	stream_sink_init(&sink, fd);
	/* from now on, only the stream goes to stdout, not the output of a command */
	if (fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_errno(err, "cannot redirect the output of the command");
	return fd < 0 ? fd : record_to(options, &sink.sink, ret, err);
}

int record(const struct record_options *options, struct recorder_stats *ret, struct err *err)
{
	if (strcmp(options->output, "-") == 0)
		return record_stream(options, ret, err);

	_cleanup_(file_sink_done) struct file_sink sink;

	file_sink_init(&sink, options->output, options->warning, options->arg);
	return record_to(options, &sink.sink, ret, err);
}
