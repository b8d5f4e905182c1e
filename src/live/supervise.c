/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise - a recorder that is started again when it ends.
 *
 * A recorder that fails at once, such as on a kernel that it does not support, would fail again:
 * its message ends the pump.  Once a recorder has sent records, a later end is an accident: it is
 * started again after a pause, which doubles from start to start, up to half a minute, until
 * one runs for longer than that.
 */
#include <errno.h>
#include <stdio.h>

#include "base/text.h"
#include "live/stream.h"
#include "record/keeper.h"
#include "record/verb.h"

#define PAUSE_MIN NSEC_PER_SEC
#define PAUSE_MAX (30 * NSEC_PER_SEC)

static void set_problem(struct live *live, const char *text)
{
	free((char *)live->state.problem);
	live->state.problem = text ? must_strdup(text) : NULL;
}

/* Why there are no records, and when there will be. */
static void describe(struct live *live, const char *why)
{
	const struct stream *s = live->input;
	nsec_t now = clock_now(), rest = s->start_at > now ? s->start_at - now : 0;
	char text[640];

	/* in whole seconds, as the text stays until the start */
	rest = (rest + NSEC_PER_SEC / 2) / NSEC_PER_SEC * NSEC_PER_SEC;
	snprintf(text, sizeof(text), "%s; starting it again%s%s", why, rest ? " in " : "",
		 rest ? format_time(rest).s : "");
	set_problem(live, text);
}

static void plan_start(struct live *live, const char *why)
{
	struct stream *s = live->input;
	nsec_t now = clock_now();

	if (now - s->started_at > PAUSE_MAX)
		s->pause = PAUSE_MIN;
	s->start_at = now + s->pause;
	s->pause = s->pause < PAUSE_MAX / 2 ? 2 * s->pause : PAUSE_MAX;
	describe(live, why);
}

static int start(struct live *live, struct err *err)
{
	struct stream *s = live->input;
	int fd, r = keeper_start_recorder(s->keeper, &fd, err);

	if (r < 0)
		return r;
	s->start_at = 0;
	s->started_at = clock_now();
	stream_start(live, fd);
	return 0;
}

static void start_again(struct live *live)
{
	struct stream *s = live->input;
	struct err err = { "" };
	int r = start(live, &err);

	if (r == -EPIPE) {
		s->start_at = 0;
		s->keeper_fd = -1;
		set_problem(live, err.text);
	} else if (r < 0) {
		plan_start(live, err.text);
	} else {
		live->state.restarts++;
		live_set_warning(live, "the recorder was started again; records in between are "
				       "missing");
	}
}

/* The end of a recorder, as its keeper reports it; NULL if nothing has happened. */
static const char *poll_keeper(struct live *live, struct recorder_end *end)
{
	struct stream *s = live->input;
	int r = s->keeper_fd >= 0 ? keeper_poll(s->keeper, end) : 0;

	if (r > 0)
		return end->text;
	if (r == 0)
		return NULL;
	s->keeper_fd = -1;
	end->failed = true;
	return "the process that starts the recorder has ended";
}

static int supervise(struct live *live, const char *ended, struct err *err)
{
	struct stream *s = live->input;
	struct recorder_end end = { 0 };
	const char *reason = poll_keeper(live, &end);

	s->worked |= s->newest;
	if (reason && !s->worked && !s->newest && end.failed)
		return err_set(err, -EIO, "%s", reason);
	if (s->newest && live->state.problem && s->fd >= 0)
		set_problem(live, NULL);
	if (ended) {
		stream_stop(live);
		s->newest = 0;
		plan_start(live, reason ?: ended);
	} else if (reason && s->start_at) {
		describe(live, reason);
	} else if (s->start_at && clock_now() >= s->start_at) {
		start_again(live);
	}
	return 0;
}

int live_open_keeper(struct keeper *keeper, const struct live_options *options, struct live **ret,
		     struct err *err)
{
	_cleanup_(live_freep) struct live *live = live_new(options, &stream_feed, stream_new());
	struct stream *s = live->input;
	int r;

	s->keeper = keeper;
	s->keeper_fd = keeper_fd(keeper);
	s->supervise = supervise;
	s->pause = PAUSE_MIN;
	live_restart(live, clock_now());
	r = start(live, err);
	if (r < 0)
		return r;
	*ret = TAKE(live);
	return 0;
}

int live_verb(struct live *live, const struct verb_message *message)
{
	const struct stream *s = live->input;
	int r = live_recorder(live) ? verb_send(s->fd, message) : -ENOTCONN;

	return r == -EPIPE ? -ENOTCONN : r;
}

unsigned int live_recorder(const struct live *live)
{
	const struct stream *s = live->input;

	return live->feed == &stream_feed && s->keeper && s->fd >= 0 ? live->state.restarts + 1 : 0;
}
