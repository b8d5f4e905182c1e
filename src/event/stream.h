/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream - records from somewhere, one after the other, each with its source.
 *
 * report/ tells of records and may not know where they come from: a capture, a
 * foreign trace, several of them merged.  Whoever does hands them over as this.
 */
#ifndef SONDE_EVENT_STREAM_H
#define SONDE_EVENT_STREAM_H

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"

struct record_stream {
	/*
	 * The next record: 1, 0 at the end, or a negative errno.  The record holds
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

/* The string that a record of the source names; "" if there is none. */
static inline const char *source_string(const struct source *source, uint32_t id)
{
	return source->get_string(source->arg, id);
}

#endif
