/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reclock - rewrite a capture as if it came from another host with a wrong clock.
 *
 *	reclock IN OUT HOST SHIFT DRIFT
 *
 * Adds SHIFT ns to all times, and DRIFT ppm of the time since the start of the
 * recording.  The offset to CLOCK_REALTIME is unchanged, so that clock is wrong by
 * the same amount.
 */
#include <stdio.h>
#include <stdlib.h>

#include "event/capture.h"
#include "report/time_shift.h"

static void must(int r, const struct err *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "reclock: %s\n", err->text);
	exit(1);
}

/* Records refer to strings by ids, which count up in the order of writing. */
static void copy_strings(const struct capture *from, struct capture_writer *to)
{
	for (uint32_t id = 1; capture_get_string(from, id)[0]; id++)
		if (capture_add_string(to, capture_get_string(from, id)) != id)
			abort();
}

int main(int argc, char **argv)
{
	_cleanup_(capture_writer_freep) struct capture_writer *to = NULL;
	_cleanup_(capture_freep) struct capture *from = NULL;
	struct capture_cursor cursor;
	const struct record *record;
	struct shifted_record room;
	struct err err;
	int r;

	if (argc != 6)
		return 2;
	must(capture_open(argv[1], &from, &err), &err);

	struct capture_meta meta = *capture_meta(from);
	struct source source = {
		.shift = strtoll(argv[4], NULL, 10),
		.drift = (int64_t)(strtod(argv[5], NULL) * 1e-6 *
				   (double)((int64_t)1 << SOURCE_DRIFT_BITS)),
		.origin = (int64_t)meta.start,
	};

	meta.host = argv[3];
	meta.start = source_time(&source, meta.start);
	must(capture_create(argv[2], &meta, &to, &err), &err);
	copy_strings(from, to);
	capture_cursor_init(&cursor, from, 0, UINT64_MAX);
	while ((r = capture_next(&cursor, &record, &err)) > 0)
		must(capture_write(to, time_shift(&source, record, &room), &err), &err);
	must(r, &err);
	must(capture_close(to, &err), &err);
	return 0;
}
