/* SPDX-License-Identifier: Apache-2.0 */
/* told - a capture as a stream of records, for tests of what is told of them. */
#ifndef SONDE_TESTS_TOLD_H
#define SONDE_TESTS_TOLD_H

#include "event/capture.h"
#include "event/stream.h"
#include "report/dump.h"
#include "report/info.h"

struct told {
	struct capture_cursor cursor;
	struct source source;
};

static inline const char *told_string(const void *arg, uint32_t id)
{
	return capture_get_string(arg, id);
}

static inline int told_next(void *arg, const struct record **ret, const struct source **ret_source,
			    struct err *err)
{
	struct told *told = arg;

	*ret_source = &told->source;
	return capture_next(&told->cursor, ret, err);
}

static inline struct record_stream told_stream(struct told *told, const struct capture *cap)
{
	capture_cursor_init(&told->cursor, cap, 0, UINT64_MAX);
	told->source = (struct source){ .get_string = told_string, .arg = cap };
	return (struct record_stream){ told_next, told };
}

static inline int told_dump_from(const struct capture *cap, nsec_t start,
				 const struct dump_filter *filter, bool json, FILE *file,
				 struct err *err)
{
	struct told first, second;
	struct record_stream records = told_stream(&first, cap), ahead = told_stream(&second, cap);
	struct dump_style style = { .json = json, .start = start };

	return dump_write(&records, &ahead, filter, &style, file, err);
}

static inline int told_dump(const struct capture *cap, const struct dump_filter *filter, bool json,
			    FILE *file, struct err *err)
{
	return told_dump_from(cap, capture_meta(cap)->start, filter, json, file, err);
}

static inline int told_info(const struct capture *cap, struct info *info, struct err *err)
{
	const struct capture_meta *meta = capture_meta(cap);
	struct told told;
	struct record_stream records = told_stream(&told, cap);
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
	info_finish(info, events + told.cursor.unknown, NULL, r < 0 ? err : NULL);
	return r;
}

#endif
