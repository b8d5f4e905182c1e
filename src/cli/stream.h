/* SPDX-License-Identifier: Apache-2.0 */
/* stream - inputs as a stream of records, which report/ reads without knowing read/. */
#ifndef SONDE_CLI_STREAM_H
#define SONDE_CLI_STREAM_H

#include "event/stream.h"
#include "read/input.h"

/* One input, with times as it has them.  Opened when the first record is asked for, or before. */
struct input_stream {
	const char *path, *format; /* borrowed; format is NULL for what its content shows */
	struct input *input;
	struct source source;
};

int input_stream_open(struct input_stream *s, struct err *err);
void input_stream_done(struct input_stream *s);
struct record_stream input_stream_records(struct input_stream *s);

#endif
