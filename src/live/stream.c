/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream - the stream of a recorder through the pump.
 *
 * Ticks follow the time of the records, as in a replay.  An idle system has no records, so a tick
 * is also due when the recorder's clock has passed it by more than records need to arrive.  That
 * clock is ours if the recorder is a child of ours.  Otherwise it is the time of the newest record,
 * and goes on with ours.
 */
#include "live/stream.h"

#include <errno.h>
#include <poll.h>

/* Records arrive at most this long after their time, unless they are queued. */
#define ARRIVAL (NSEC_PER_SEC / 4)
/* A record further ahead of the recorder's clock than this has a wrong time. */
#define AHEAD_MAX (10 * NSEC_PER_SEC)

enum { READS_MAX = 64 }; /* per round, so that keys are handled while records pour in */

struct stream *stream_new(void)
{
	struct stream *s = must_alloc(sizeof(*s));

	s->fd = s->keeper_fd = -1;
	return s;
}

static const char *get_string(const void *arg, uint32_t id)
{
	return stream_reader_get_string(arg, id);
}

static void on_note(void *arg, const char *text)
{
	live_set_warning(arg, text);
}

void stream_start(struct live *live, int fd)
{
	struct stream *s = live->input;

	s->fd = fd;
	s->reader = stream_reader_new("the stream of the recorder");
	s->source = (struct source){ .get_string = get_string,
				     .arg = s->reader,
				     .has_host_clock = true };
	s->has_meta = s->has_more = false;
	s->newest = 0;
	stream_reader_on_note(s->reader, on_note, live);
	if (live->options.on_block)
		stream_reader_on_block(s->reader, live->options.on_block, live->options.stream_arg);
}

void stream_stop(struct live *live)
{
	struct stream *s = live->input;

	live->pending = NULL; /* it is in the reader */
	stream_reader_free(s->reader);
	s->reader = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->has_more = false;
}

/* The recorder's clock; 0 if unknown. */
static nsec_t recorder_clock(const struct stream *s)
{
	nsec_t now = clock_now();

	if (s->keeper)
		return now;
	return s->clock_at ? s->clock + (now - s->clock_at) : 0;
}

/* The record that came fastest shows the clock best. */
static void set_clock(struct stream *s)
{
	if (s->newest <= recorder_clock(s))
		return;
	s->clock = s->newest;
	s->clock_at = clock_now();
}

static void begin_stream(struct live *live, const struct capture_meta *meta)
{
	struct stream *s = live->input;

	s->has_meta = true;
	free((char *)live->state.host);
	live->state.host = must_strdup(meta->host ?: "");
	live->state.realtime_offset = meta->realtime_offset;
	live_restart(live, meta->start);
	if (live->options.on_stream)
		live->options.on_stream(live->options.stream_arg, meta);
}

/*
 * Whether a record comes from the future.  It would move the window to that time, and everything
 * else out of it.
 */
static bool is_ahead(struct live *live, const struct record *record)
{
	struct stream *s = live->input;

	if (!s->keeper || record->time < s->newest + AHEAD_MAX ||
	    record->time < clock_now() + AHEAD_MAX)
		return false;
	if (!s->skipped++)
		live_set_warning(live, "the recorder sends times in the future; sonde skips them");
	return true;
}

static int stream_next(struct live *live, const struct record **ret,
		       const struct source **ret_source, struct err *err)
{
	struct stream *s = live->input;
	int r;

	do {
		r = stream_reader_next(s->reader, ret, err);
		if (!s->has_meta && stream_reader_meta(s->reader))
			begin_stream(live, stream_reader_meta(s->reader));
	} while (r > 0 && is_ahead(live, *ret));
	if (r <= 0)
		return r;
	if ((*ret)->time > s->newest)
		s->newest = (*ret)->time;
	*ret_source = &s->source;
	return 1;
}

static void update_state(struct live *live)
{
	const struct stream *s = live->input;
	const struct recorder_stats *stats = s->reader ? stream_reader_stats(s->reader) : NULL;
	nsec_t clock = recorder_clock(s);

	live->state.lag = s->newest && clock > s->newest ? clock - s->newest : 0;
	if (!stats)
		return;
	live->state.recorder = *stats;
	live->state.lost = stats->lost + stats->agent_lost + stats->dropped_records;
}

/* A tick without records, if it is due. */
static int tick_idle(struct live *live)
{
	nsec_t clock = recorder_clock(live->input);

	if (!live->next_tick || clock < live->next_tick + ARRIVAL)
		return LIVE_RUNNING;
	/* after a stop of this process, skip ticks; the others stay at whole intervals */
	live->next_tick += (clock - ARRIVAL - live->next_tick) / live->options.interval *
			   live->options.interval;
	live_tick(live, live->next_tick);
	return LIVE_RUNNING | LIVE_TICKED;
}

/* Reads and pumps until a tick, or until nothing is left.  0 or an error if the stream has ended.
 */
static int pump(struct live *live, struct err *err)
{
	struct stream *s = live->input;
	int reads = s->keeper ? READS_MAX : 1; /* the descriptor of another may block */

	for (;;) {
		int r = live_pump(live, err);

		set_clock(s);
		s->has_more = r > 0;
		if (r != -EAGAIN)
			return r > 0 ? LIVE_RUNNING | r : r;
		if (!reads--)
			return LIVE_RUNNING;
		r = stream_reader_read(s->reader, s->fd, err);
		if (r == -EAGAIN)
			return tick_idle(live);
		if (r < 0)
			return r;
		if (r == 0)
			stream_reader_end(s->reader);
	}
}

static int timeout_until(nsec_t now, nsec_t t, int timeout)
{
	nsec_t ms = t > now ? (t - now) / NSEC_PER_MSEC + 1 : 0;

	return timeout >= 0 && (nsec_t)timeout < ms ? timeout : (int)(ms < 60000 ? ms : 60000);
}

static int timeout_of(const struct live *live, int timeout)
{
	const struct stream *s = live->input;
	nsec_t clock = recorder_clock(s);

	if (s->has_more)
		return 0;
	if (clock && live->next_tick)
		timeout = timeout_until(clock, live->next_tick + ARRIVAL, timeout);
	if (s->start_at)
		timeout = timeout_until(clock_now(), s->start_at, timeout);
	return timeout;
}

/* What one round did, as the result of live_poll(). */
static int run(struct live *live, bool is_readable, struct err *err)
{
	struct stream *s = live->input;
	struct err why = { "" };
	int r;

	update_state(live);
	if (s->reader && (is_readable || s->has_more))
		r = pump(live, &why);
	else
		r = tick_idle(live);
	update_state(live);
	if (r > 0)
		return s->supervise ? s->supervise(live, NULL, err) ?: r : r;
	if (s->supervise)
		return s->supervise(live, r < 0 ? why.text : "the recorder has ended", err)
			       ?: LIVE_RUNNING;
	return LIVE_RUNNING | live_finish(live, r, &why);
}

static int stream_poll(struct live *live, int timeout, int extra_fd, struct err *err)
{
	struct stream *s = live->input;
	struct pollfd fds[] = {
		{ .fd = s->fd, .events = POLLIN },
		{ .fd = extra_fd, .events = POLLIN },
		{ .fd = s->keeper_fd, .events = POLLIN },
	};
	int r = poll(fds, ARRAY_LEN(fds), timeout_of(live, timeout));

	if (r < 0 && errno != EINTR)
		return err_errno(err, "cannot wait for the recorder");
	if (r < 0)
		return LIVE_RUNNING;

	bool has_input = fds[1].revents;

	r = run(live, fds[0].revents, err);
	return r > 0 && has_input ? r | LIVE_INPUT : r;
}

static void stream_free(struct live *live)
{
	stream_stop(live);
	free(live->input);
}

const struct feed stream_feed = { stream_poll, stream_next, stream_free };

int live_open_fd(int fd, const struct live_options *options, struct live **ret, struct err *err)
{
	(void)err;
	*ret = live_new(options, &stream_feed, stream_new());
	stream_start(*ret, fd);
	return 0;
}
