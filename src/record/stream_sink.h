/* SPDX-License-Identifier: Apache-2.0 */
/* stream_sink - a sink (sink.h) that writes a stream (event/stream_write.h) to a descriptor. */
#ifndef SONDE_RECORD_STREAM_SINK_H
#define SONDE_RECORD_STREAM_SINK_H

#include "base/vec.h"
#include "event/stream_write.h"
#include "record/sink.h"

struct stream_sink {
	struct sink sink;
	int fd; /* borrowed, non-blocking */
	struct stream_writer *writer;
	VEC(char *) early; /* notes before the stream begins */
};

/* The caller ignores SIGPIPE. */
void stream_sink_init(struct stream_sink *s, int fd);
void stream_sink_done(struct stream_sink *s);

#endif
