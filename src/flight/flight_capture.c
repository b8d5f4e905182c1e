/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "flight/flight_internal.h"
#include "record/clock.h"

/* How long a snap waits for records of its moment; they are late if the system is busy. */
#define ASKED_MAX (2 * NSEC_PER_SEC)

/* Requests in a message, and ids in the command line of a capture. */
enum { LISTED_MAX = 10, IDS_MAX = 100 };

struct trace_text {
	char s[17]; /* half of the id: enough to be unique */
};

static struct trace_text trace_text(const struct slow_request *r)
{
	struct trace_text t;

	for (size_t i = 0; i < sizeof(t.s) / 2; i++)
		snprintf(t.s + 2 * i, 3, "%02x", r->trace[i]);
	return t;
}

void flight_message(const struct flight *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	_cleanup_(freep) char *text = must_vprintf(fmt, ap);
	va_end(ap);
	f->options->message(f->options->arg, text);
}

/* The command line that the capture shows: that of the recorder, and the requests it was made for.
 */
static char *command_with_ids(const struct flight *f)
{
	char *line = must_strdup(f->meta.command ?: "");

	for (size_t i = 0; i < f->written.count && i < IDS_MAX; i++) {
		_cleanup_(freep) char *before = line;

		line = must_printf("%s%s%s", before, i ? " " : " # slow requests: ",
				   trace_text(&f->written.items[i]).s);
	}
	return line;
}

static int start_writing(struct flight *f)
{
	struct capture_meta meta = f->meta;
	_cleanup_(freep) char *command = command_with_ids(f);
	struct err err = { "" };

	meta.command = command;
	int r = snapshot_writer_start(f->writer, block_ring_snapshot(f->ring, &meta), &f->name,
				      &err);
	if (r < 0)
		flight_message(f, "%s", err.text);
	return r;
}

static void write_snap(struct flight *f)
{
	f->is_snap = true;
	f->name = capture_name_of_snap(clock_now(), f->realtime_offset);
	f->asked = 0;
	if (start_writing(f) < 0 && f->snap)
		snap_server_reply(f->snap, -EIO, "cannot start a thread");
}

static void write_slow(struct flight *f, nsec_t to, bool is_last)
{
	f->is_snap = false;
	f->written.count = 0;
	schedule_take(&f->schedule, to, is_last, &f->written);
	f->name = capture_name_of_request(&f->written.items[0], f->realtime_offset);
	if (start_writing(f) < 0)
		f->schedule.missed += f->written.count;
}

/* Whether the records of the moment of the snap are there. */
static bool snap_is_due(const struct flight *f, nsec_t to)
{
	return f->asked && (to >= f->asked || clock_now() > f->asked + ASKED_MAX);
}

void flight_write_if_due(struct flight *f)
{
	struct block_ring_state held = block_ring_state(f->ring);

	if (held.bytes)
		schedule_forget(&f->schedule, held.from);
	if (snapshot_writer_is_busy(f->writer) || f->stop)
		return;
	if (snap_is_due(f, held.to) && held.bytes) {
		write_snap(f);
	} else if (snap_is_due(f, held.to)) {
		f->asked = 0;
		flight_message(f, "no capture: nothing was recorded yet");
		if (f->snap)
			snap_server_reply(f->snap, -ENODATA, "nothing was recorded yet");
	} else if (f->state.captures < f->options->at_most &&
		   schedule_is_due(&f->schedule, held.to)) {
		write_slow(f, held.to, false);
	}
}

void flight_write_last(struct flight *f)
{
	struct block_ring_state held = block_ring_state(f->ring);

	if (f->schedule.waiting.count && f->state.captures < f->options->at_most &&
	    !snapshot_writer_is_busy(f->writer))
		write_slow(f, held.to, true);
}

static void report_request(const struct flight *f, const struct slow_request *r, const char *path)
{
	flight_message(f, "a request to %s (%s) took %s%s: sonde explain --trace=%s '%s'",
		       r->service, r->entry, format_time(r->end - r->start).s,
		       r->is_partial ? ", longer than the time held, so its start is missing" : "",
		       trace_text(r).s, path);
}

static void report_slow(struct flight *f, const char *path)
{
	size_t count = f->written.count;

	f->state.captures++;
	for (size_t i = 0; i < count && i < LISTED_MAX; i++)
		report_request(f, &f->written.items[i], path);
	if (count > LISTED_MAX)
		flight_message(f,
			       "'%s' contains %zu more slow requests; 'sonde info' lists their "
			       "trace ids",
			       path, count - LISTED_MAX);
	if (f->state.captures == f->options->at_most)
		f->stop = true;
}

void flight_capture_written(struct flight *f)
{
	struct err err = { "" };
	int64_t size = snapshot_writer_finish(f->writer, &err);
	_cleanup_(freep) char *path = must_printf("%s/%s", capture_dir_path(f->dir), f->name.s);

	if (size < 0) {
		flight_message(f, "no capture: %s", err.text);
		f->schedule.missed += f->is_snap ? 0 : f->written.count;
	} else if (f->is_snap) {
		f->state.snaps++;
		flight_message(f, "'%s': %s", path, format_size(size).s);
	} else {
		report_slow(f, path);
	}
	if (f->is_snap && f->snap)
		snap_server_reply(f->snap, size < 0 ? size : 0, size < 0 ? err.text : path);
}
