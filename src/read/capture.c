/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonde's own captures as an input.
 *
 * A capture contains records in order of time, so this only supplies clock, host
 * and metadata.
 */
#include <inttypes.h>
#include <string.h>

#include "event/capture.h"
#include "event/capture_format.h"
#include "read/input_internal.h"

struct capture_input {
	struct input input;
	struct capture *capture;
	struct capture_cursor cursor;
};

static bool is_capture(const char *head, size_t size)
{
	size_t magic_size = sizeof(((struct file_header *)0)->magic);

	return size >= magic_size && memcmp(head, CAPTURE_MAGIC, magic_size) == 0;
}

static struct input_meta read_meta(const struct capture_meta *meta)
{
	return (struct input_meta){
		.kernel = meta->kernel,
		.machine = meta->machine,
		.command = meta->command,
		.tool = meta->tool,
		.cpu_count = meta->cpu_count,
		.version = meta->version,
	};
}

static int open_capture(const char *path, struct input **ret, struct err *err)
{
	struct capture *capture;
	int r = capture_open(path, &capture, err);

	if (r < 0)
		return r;

	const struct capture_meta *meta = capture_meta(capture);
	struct capture_input *in = must_alloc(sizeof(*in));
	uint64_t end;

	in->capture = capture;
	in->input.format = &sonde_format;
	in->input.realtime_offset = meta->realtime_offset;
	in->input.has_realtime = in->input.is_monotonic = true;
	in->input.start = meta->start;
	/* CLOCK_BOOTTIME does not stop during suspend; unsigned, as a bad file can overflow */
	uint64_t boot = (uint64_t)meta->realtime_offset - (uint64_t)meta->boottime_offset;

	in->input.host = (struct input_host){ meta->host, boot };
	in->input.meta = read_meta(meta);
	if (!capture_is_complete(capture, &end)) {
		in->input.meta.truncated = true;
		in->input.meta.truncated_at = end;
		in->input.warning = must_printf(
			"'%s' is truncated: reading it up to offset %" PRIu64, path, end);
	}
	capture_cursor_init(&in->cursor, capture, 0, UINT64_MAX);
	*ret = &in->input;
	return 0;
}

static int next_record(struct input *input, const struct record **ret, struct err *err)
{
	struct capture_cursor *cursor = &((struct capture_input *)input)->cursor;
	uint64_t unknown = cursor->unknown;
	int r = capture_next(cursor, ret, err);

	input->events += (r > 0) + (cursor->unknown - unknown);
	return r;
}

static const char *get_string(const struct input *input, uint32_t id)
{
	return capture_get_string(((const struct capture_input *)input)->capture, id);
}

static const char *get_note(const struct input *input, size_t i)
{
	return capture_note(((const struct capture_input *)input)->capture, i);
}

static void free_input(struct input *input)
{
	struct capture_input *in = (struct capture_input *)input;

	capture_free(in->capture);
	free(in);
}

const struct input_format sonde_format = {
	.name = "sonde",
	.matches_file = is_capture,
	.open = open_capture,
	.next = next_record,
	.string = get_string,
	.note = get_note,
	.free = free_input,
};
