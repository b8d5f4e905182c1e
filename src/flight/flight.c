/* SPDX-License-Identifier: Apache-2.0 */
#include "flight/flight.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "analyse/requests/idle.h"
#include "base/hash.h"
#include "base/text.h"
#include "flight/flight_internal.h"
#include "flight/threshold.h"
#include "live/live.h"
#include "record/clock.h"
#include "record/keeper.h"
#include "record/privilege.h"

/* How often to look at what is due, while no event comes, in ms. */
enum { PAUSE_MAX = 500 };

/* An epoch describes everything again; the ring holds up to two more of them than the time. */
#define EPOCH_SHARE 6
#define EPOCH_MIN (2 * NSEC_PER_SEC)

/* The model holds more, to find requests that took longer than what is held. */
#define WINDOW_TIMES 2
#define WINDOW_MIN (10 * NSEC_PER_SEC)

/* Least time between two reports of requests that do not end. */
#define HANG_INTERVAL (60 * NSEC_PER_SEC)

/* What the loop waits for, beside the stream. */
struct flight_events {
	int epoll, signals;
};

static void flight_done(struct flight *f)
{
	snapshot_writer_free(f->writer);
	schedule_done(&f->schedule);
	long_polls_done(&f->long_polls);
	block_ring_free(f->ring);
	control_server_free(f->snap);
	capture_dir_free(f->dir);
	vec_done(&f->written);
	free((char *)f->warning);
	free((char *)f->meta.host);
	free((char *)f->meta.kernel);
	free((char *)f->meta.machine);
	free((char *)f->meta.command);
	free((char *)f->meta.tool);
}

static void flight_events_done(struct flight_events *e)
{
	closep(&e->signals);
	closep(&e->epoll);
}

/* Callbacks of live/ */

static void replace(const char **to, const char *from)
{
	free((char *)*to);
	*to = must_strdup(from ?: "");
}

/* A recorder has started, the first one or one after another that ended. */
static void on_stream(void *arg, const struct capture_meta *meta)
{
	struct flight *f = arg;
	struct capture_meta old = f->meta;

	if (f->has_stream) {
		flight_write_last(f);
		schedule_forget(&f->schedule, UINT64_MAX);
		block_ring_clear(f->ring);
	}
	f->has_stream = true;
	f->realtime_offset = meta->realtime_offset;
	f->meta = *meta;
	f->meta.host = old.host;
	f->meta.kernel = old.kernel;
	f->meta.machine = old.machine;
	f->meta.command = old.command;
	f->meta.tool = old.tool;
	replace(&f->meta.host, meta->host);
	replace(&f->meta.kernel, meta->kernel);
	replace(&f->meta.machine, meta->machine);
	replace(&f->meta.command, meta->command);
	replace(&f->meta.tool, meta->tool);
}

static void on_block(void *arg, const struct block_header *header, const void *payload)
{
	struct flight *f = arg;

	block_ring_add(f->ring, header, payload);
}

static uint64_t entry_of(const char *service, const char *operation)
{
	uint64_t parts[] = { hash_bytes(service, strlen(service)),
			     hash_bytes(operation, strlen(operation)) };

	return hash_bytes(parts, sizeof(parts));
}

static void on_span_ended(void *arg, const struct live_view *view, span_id id)
{
	struct flight *f = arg;
	const struct span *span = span_set_at(view->spans, id);
	const char *service = span_set_string(view->spans, span->service);
	const char *operation = span_set_string(view->spans, span->operation);
	struct slow_request slow = { .start = span_arrival(span), .end = span->end };
	uint64_t entry = entry_of(service, operation);
	nsec_t limit;

	if (span->flags & SPAN_OPEN || slow.end < slow.start)
		return;
	f->state.requests++;

	bool is_slow = threshold_exceeded(f->options->when, entry, slow.end - slow.start, &limit);
	bool is_idle = is_slow && request_is_idle(view->spans, id);

	if (!long_polls_count(&f->long_polls, entry, is_slow, is_idle))
		return;
	f->state.slow++;
	memcpy(slow.trace, span->trace, sizeof(slow.trace));
	snprintf(slow.service, sizeof(slow.service), "%s", service);
	snprintf(slow.entry, sizeof(slow.entry), "%s", operation);
	schedule_add(&f->schedule, &slow, block_ring_state(f->ring).from);
}

/*
 * A request that hangs is not slow before it ends, and then its start is no longer held.  So report
 * it while it lasts.
 */
static void on_batch_ended(void *arg, const struct live_view *view)
{
	struct flight *f = arg;
	const struct span *oldest = NULL;

	if (f->hang_reported && view->now - f->hang_reported < HANG_INTERVAL)
		return;
	for (size_t i = 0; i < view->in_flight_count; i++) {
		const struct span *span = span_set_at(view->spans, view->in_flight[i]);

		if (view->now > span_arrival(span) + f->options->keep &&
		    (!oldest || span_arrival(span) < span_arrival(oldest)) &&
		    !request_is_idle(view->spans, view->in_flight[i]))
			oldest = span;
	}
	if (!oldest)
		return;
	f->hang_reported = view->now;
	flight_message(f,
		       "a request to %s (%s) has not ended after %s: 'sonde snap' captures what "
		       "is held",
		       span_set_string(view->spans, oldest->service),
		       span_set_string(view->spans, oldest->operation),
		       format_time(view->now - span_arrival(oldest)).s);
}

static void on_tick(void *arg, const struct live_state *live)
{
	struct flight *f = arg;
	struct block_ring_state held = block_ring_state(f->ring);

	f->state.elapsed = clock_now() - f->start;
	f->state.held = held.to - held.from;
	f->state.bytes = held.bytes;
	f->state.is_limited = held.limited;
	f->state.records = live->records;
	f->state.lost = live->lost;
	f->state.missed = f->schedule.missed;
	f->state.problem = live->problem;
	if (live->warning && strcmp(live->warning, f->warning ?: "") != 0) {
		replace(&f->warning, live->warning);
		flight_message(f, "%s", live->warning);
	}
	if (live->realtime_offset)
		f->realtime_offset = live->realtime_offset;
	f->options->progress(f->options->arg, &f->state);
	f->state.problem = NULL; /* borrowed for the call */
}

/* The loop */

static void on_signal(struct flight *f, int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGUSR1)
			f->stop = true;
		else if (!f->asked)
			f->asked = clock_now();
}

static void on_input(struct flight *f, const struct flight_events *e)
{
	on_signal(f, e->signals);
	if (f->snap && control_server_poll(f->snap) && !f->asked &&
	    !(f->is_snap && snapshot_writer_is_busy(f->writer)))
		f->asked = clock_now();
}

static int watch(struct flight_events *e, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int open_events(struct flight *f, struct flight_events *e, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGXFSZ, SIG_IGN); /* exceeding RLIMIT_FSIZE then fails with EFBIG */
	e->epoll = epoll_create1(EPOLL_CLOEXEC);
	e->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (e->epoll < 0 || e->signals < 0 || watch(e, e->signals) < 0 ||
	    watch(e, snapshot_writer_fd(f->writer)) < 0 ||
	    (f->snap && watch(e, control_server_fd(f->snap)) < 0))
		return err_errno(err, "cannot wait for events");
	return 0;
}

/* From now on a signal ends the process, also while the disk does not answer. */
static void unblock_signals(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static bool is_over(const struct flight *f)
{
	nsec_t duration = f->options->duration;

	return f->stop || (duration && clock_now() - f->start >= duration);
}

static int run(struct flight *f, struct live *live, struct flight_events *e, struct err *err)
{
	int r = 1;

	while (r > 0 && !is_over(f)) {
		r = live_poll(live, PAUSE_MAX, e->epoll, err);
		if (r > 0 && r & LIVE_INPUT)
			on_input(f, e);
		if (snapshot_writer_is_done(f->writer))
			flight_capture_written(f);
		flight_write_if_due(f);
	}
	unblock_signals();
	if (snapshot_writer_is_busy(f->writer))
		flight_capture_written(f);
	flight_write_last(f);
	if (snapshot_writer_is_busy(f->writer))
		flight_capture_written(f);
	return r < 0 ? r : 0;
}

static int open_outputs(struct flight *f, struct err *err)
{
	const struct flight_options *o = f->options;
	int r = privilege_check(err);

	if (r == 0)
		r = capture_dir_open(o->directory, &f->dir, err);
	if (r == 0)
		r = snapshot_writer_new(f->dir, &f->writer, err);
	if (r == 0 && snap_server_new(capture_dir_path(f->dir), &f->snap, err) < 0)
		flight_message(f, "%s", err->text);
	return r;
}

static int open_keeper(const struct flight *f, struct keeper **ret, struct err *err)
{
	struct record_options *record = f->options->record;
	nsec_t epoch = f->options->keep / EPOCH_SHARE;

	record->epoch = epoch > EPOCH_MIN ? epoch : EPOCH_MIN;

	int r = keeper_start(record, ret, err);

	if (r == 0)
		r = privilege_drop_reader(0, 0, err);
	if (r > 0)
		flight_message(f, "%s", err->text);
	return r < 0 ? r : 0;
}

int flight_record(const struct flight_options *o, struct flight_state *ret, struct err *err)
{
	_cleanup_(flight_done) struct flight f = { .options = o, .start = clock_now() };
	_cleanup_(flight_events_done) struct flight_events events = { -1, -1 };
	_cleanup_(keeper_freep) struct keeper *keeper = NULL;
	_cleanup_(live_freep) struct live *live = NULL;
	nsec_t window = WINDOW_TIMES * o->keep;
	const struct live_options options = { .window = window > WINDOW_MIN ? window : WINDOW_MIN,
					      .memory = o->memory,
					      .on_stream = on_stream,
					      .on_block = on_block,
					      .stream_arg = &f,
					      .no_model = !o->when };
	const struct consumer consumer = { .arg = &f,
					   .span_ended = o->when ? on_span_ended : NULL,
					   .batch_ended = o->when ? on_batch_ended : NULL,
					   .tick = on_tick };

	f.schedule.every = o->every;
	f.ring = block_ring_new(o->keep, o->memory);
	int r = open_outputs(&f, err);
	if (r == 0)
		r = open_keeper(&f, &keeper, err);
	if (r == 0)
		r = open_events(&f, &events, err);
	if (r == 0)
		r = live_open_keeper(keeper, &options, &live, err);
	if (r < 0)
		return r;
	live_add_consumer(live, &consumer);
	r = run(&f, live, &events, err);
	f.state.missed = f.schedule.missed;
	f.state.elapsed = clock_now() - f.start;
	*ret = f.state;
	return r;
}
