/* SPDX-License-Identifier: Apache-2.0 */
/* capture_stream - a capture as a stream of records. */
#ifndef SONDE_TESTS_CAPTURE_STREAM_H
#define SONDE_TESTS_CAPTURE_STREAM_H

#include "event/capture.h"
#include "event/stream.h"
#include "report/dump.h"
#include "report/info.h"

struct capture_stream {
	struct capture_cursor cursor;
	struct source source;
};

static inline const char *capture_stream_string(const void *arg, uint32_t id)
{
	return capture_get_string(arg, id);
}

static inline int capture_stream_next(void *arg, const struct record **ret,
				      const struct source **ret_source, struct err *err)
{
	struct capture_stream *stream = arg;

	*ret_source = &stream->source;
	return capture_next(&stream->cursor, ret, err);
}

static inline struct record_stream capture_stream_open(struct capture_stream *stream,
						       const struct capture *cap)
{
	capture_cursor_init(&stream->cursor, cap, 0, UINT64_MAX);
	stream->source = (struct source){ .get_string = capture_stream_string, .arg = cap };
	return (struct record_stream){ capture_stream_next, stream };
}

static inline int capture_stream_dump_from(const struct capture *cap, nsec_t start,
					   const struct dump_filter *filter, bool json, FILE *file,
					   struct err *err)
{
	struct capture_stream first, second;
	struct record_stream records = capture_stream_open(&first, cap),
			     ahead = capture_stream_open(&second, cap);
	struct dump_style style = { .json = json, .start = start };

	return dump_write(&records, &ahead, filter, &style, file, err);
}

static inline int capture_stream_dump(const struct capture *cap, const struct dump_filter *filter,
				      bool json, FILE *file, struct err *err)
{
	return capture_stream_dump_from(cap, capture_meta(cap)->start, filter, json, file, err);
}

static inline int capture_stream_info(const struct capture *cap, struct info *info, struct err *err)
{
	const struct capture_meta *meta = capture_meta(cap);
	struct capture_stream stream;
	struct record_stream records = capture_stream_open(&stream, cap);
	const struct record *record;
	const struct source *source;
	struct info_origin origin = {
		.file = "x", .format = "sonde", .is_capture = true, .start = meta->start
	};
	uint64_t events = 0;
	int r;

	origin.cut = !capture_is_complete(cap, &origin.cut_at);
	info_init(info, &origin);
	for (; (r = stream_next(&records, &record, &source, err)) > 0; events++)
		info_add(info, source, record);
	info_finish(info, events + stream.cursor.unknown, NULL, r < 0 ? err : NULL);
	return r;
}

#endif
