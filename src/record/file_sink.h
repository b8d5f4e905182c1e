/* SPDX-License-Identifier: Apache-2.0 */
/* file_sink - a sink (sink.h) that writes a capture file. */
#ifndef SONDE_RECORD_FILE_SINK_H
#define SONDE_RECORD_FILE_SINK_H

#include "record/sink.h"

struct file_sink {
	struct sink sink;
	const char *path; /* borrowed */
	struct capture_writer *writer;
	void (*warning)(void *arg, const char *text);
	void *arg;
};

/* sink_begin() creates the file. */
void file_sink_init(struct file_sink *f, const char *path,
		    void (*warning)(void *arg, const char *text), void *arg);
void file_sink_done(struct file_sink *f);

#endif
