/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream - a sequence of records, each with its source.
 *
 * report/ prints records without depending on their origin: a capture, a trace
 * in another format, or several of them merged.
 */
#ifndef SONDE_EVENT_STREAM_H
#define SONDE_EVENT_STREAM_H

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"

struct record_stream {
	/*
	 * The next record: 1, 0 at the end, or a negative errno.  The record is valid
	 * until the next call, its source as long as the stream.
	 */
	int (*next)(void *arg, const struct record **ret, const struct source **ret_source,
		    struct err *err);
	void *arg; /* borrowed */
};

static inline int stream_next(const struct record_stream *stream, const struct record **ret,
			      const struct source **ret_source, struct err *err)
{
	return stream->next(stream->arg, ret, ret_source, err);
}

/* The string of an id in a record of the source; "" if unknown. */
static inline const char *source_string(const struct source *source, uint32_t id)
{
	return source->get_string(source->arg, id);
}

#endif
