/* SPDX-License-Identifier: Apache-2.0 */
#include "record/stream_sink.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "record/clock.h"

/* Bytes that are queued for a slow reader: a second at 400,000 records/s. */
#define QUEUE_MAX (16u << 20)

/* How long to wait for the reader at the end of a recording. */
#define CLOSE_TIMEOUT (2 * NSEC_PER_SEC)

/* More warnings than setting up a recording has. */
enum { EARLY_MAX = 64 };

static struct stream_sink *stream_of(const struct sink *s)
{
	return (struct stream_sink *)s;
}

static int stream_begin(struct sink *sink, const struct capture_meta *meta, struct err *err)
{
	struct stream_sink *s = stream_of(sink);
	int r = 0;

	s->writer = stream_writer_new(s->fd, meta, QUEUE_MAX);
	for (size_t i = 0; r == 0 && i < s->early.count; i++)
		r = stream_writer_add_note(s->writer, s->early.items[i], err);
	return r < 0 ? r : stream_writer_flush(s->writer, err);
}

static uint32_t stream_add_string(struct sink *s, const char *text)
{
	return stream_writer_add_string(stream_of(s)->writer, text);
}

static uint32_t stream_find_string(const struct sink *s, const char *text)
{
	return stream_writer_find_string(stream_of(s)->writer, text);
}

static uint32_t stream_renew_string(struct sink *s, uint32_t id)
{
	return stream_writer_renew_string(stream_of(s)->writer, id);
}

static int stream_write(struct sink *s, const struct record *record, struct err *err)
{
	return stream_writer_write(stream_of(s)->writer, record, err);
}

static int stream_flush(struct sink *s, struct err *err)
{
	return stream_writer_flush(stream_of(s)->writer, err);
}

static int stream_poll(struct sink *s, nsec_t now, struct err *err)
{
	return stream_writer_poll(stream_of(s)->writer, now, err);
}

/* A later call reports a failure. */
static void stream_note(struct sink *sink, const char *text)
{
	struct stream_sink *s = stream_of(sink);
	struct err unused;

	if (s->writer)
		(void)stream_writer_add_note(s->writer, text, &unused);
	else if (s->early.count < EARLY_MAX)
		*vec_push(&s->early) = must_strdup(text);
}

static int stream_stats(struct sink *s, const struct recorder_stats *stats, struct err *err)
{
	return stream_writer_add_stats(stream_of(s)->writer, stats, err);
}

/*
 * A socket holds less than a burst of records, so write on as soon as the reader has read.  Without
 * queued records, poll only for the end of the reader.
 */
static int stream_pause(struct sink *sink, nsec_t ns, struct err *err)
{
	struct stream_sink *s = stream_of(sink);
	nsec_t end = clock_now() + ns;
	int r = 0;

	for (nsec_t now = clock_now(); r == 0 && now < end; now = clock_now()) {
		struct timespec left = { (end - now) / NSEC_PER_SEC, (end - now) % NSEC_PER_SEC };
		struct pollfd p = { s->fd, stream_writer_has_queued(s->writer) ? POLLOUT : 0, 0 };

		if (ppoll(&p, 1, &left, NULL) <= 0)
			break;
		if (p.revents & (POLLHUP | POLLERR))
			return err_set(err, -EPIPE, "the reader has closed the stream");
		r = stream_writer_poll(s->writer, clock_now(), err);
	}
	return r;
}

static int stream_epoch(struct sink *s, nsec_t now, struct err *err)
{
	return stream_writer_begin_epoch(stream_of(s)->writer, now, err);
}

static bool stream_wants_epoch(const struct sink *s)
{
	return stream_writer_needs_epoch(stream_of(s)->writer);
}

static int stream_settle(struct sink *s, struct counters *counters, struct err *err)
{
	struct stream_writer *w = stream_of(s)->writer;
	int r = stream_writer_settle(w, CLOSE_TIMEOUT, err);

	counter_add(counters, COUNTER_STREAM_ADDED, stream_writer_added(w));
	counter_add(counters, COUNTER_STREAM_DROPPED, stream_writer_dropped(w));
	return r;
}

static int stream_close(struct sink *s, struct err *err)
{
	return stream_writer_close(stream_of(s)->writer, CLOSE_TIMEOUT, err);
}

static uint64_t stream_size(const struct sink *s)
{
	return stream_writer_size(stream_of(s)->writer);
}

static const struct sink_ops stream_ops = {
	.begin = stream_begin,
	.add_string = stream_add_string,
	.find_string = stream_find_string,
	.renew_string = stream_renew_string,
	.write = stream_write,
	.flush = stream_flush,
	.poll = stream_poll,
	.pause = stream_pause,
	.note = stream_note,
	.stats = stream_stats,
	.epoch = stream_epoch,
	.wants_epoch = stream_wants_epoch,
	.settle = stream_settle,
	.close = stream_close,
	.size = stream_size,
};

void stream_sink_init(struct stream_sink *s, int fd)
{
	*s = (struct stream_sink){ .sink = { &stream_ops, fd }, .fd = fd };
}

void stream_sink_done(struct stream_sink *s)
{
	stream_writer_free(s->writer);
	for (size_t i = 0; i < s->early.count; i++)
		free(s->early.items[i]);
	vec_done(&s->early);
}
