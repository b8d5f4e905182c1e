/* SPDX-License-Identifier: Apache-2.0 */
/* stream - an input as a stream of records, so that report/ need not include read/. */
#ifndef SONDE_CLI_STREAM_H
#define SONDE_CLI_STREAM_H

#include "event/stream.h"
#include "read/input.h"

/*
 * One input, with its own times.  input_stream_open() is optional: reading the
 * first record opens the input.
 */
struct input_stream {
	const char *path, *format; /* borrowed; a NULL format is detected from the content */
	struct input *input;
	struct source source;
};

int input_stream_open(struct input_stream *s, struct err *err);
void input_stream_done(struct input_stream *s);
struct record_stream input_stream_records(struct input_stream *s);

#endif
