/* SPDX-License-Identifier: Apache-2.0 */
#include "live/live.h"

#include <malloc.h>
#include <poll.h>
#include <string.h>

#include "live/live_internal.h"
#include "read/input.h"

enum {
	CHECK_EVERY = 1 << 14, /* records between two checks of memory */
	TICKS_MAX = 64,        /* in a time without records; more are skipped */
};

#define WINDOW_MIN (NSEC_PER_SEC / 5)
#define TIME_MAX ((nsec_t)INT64_MAX) /* later times are wrong, and sums with them would wrap */

struct live *live_new(const struct live_options *options, const struct feed *feed, void *input)
{
	struct live *live = must_alloc(sizeof(*live));

	live->options = *options;
	live->options.window = options->window ?: LIVE_WINDOW;
	live->options.memory = options->memory ?: LIVE_MEMORY;
	live->options.interval = options->interval ?: LIVE_INTERVAL;
	live->window = live->options.window;
	live->feed = feed;
	live->input = input;
	live->state.window_wanted = live->options.window;
	live->state.memory_limit = live->options.memory;
	live->state.host = must_strdup("");
	return live;
}

static void free_window(struct live *live)
{
	request_window_free(live->requests);
	model_free(live->model);
	live->requests = NULL;
	live->model = NULL;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	live->feed->free(live);
	free_window(live);
	free((char *)live->state.host);
	free((char *)live->state.problem);
	free((char *)live->state.warning);
	vec_done(&live->consumers);
	free(live);
}

void live_add_consumer(struct live *live, const struct consumer *consumer)
{
	*vec_push(&live->consumers) = *consumer;
}

void live_restart(struct live *live, nsec_t begin)
{
	begin = begin <= TIME_MAX ? begin : 0;
	free_window(live);
	live->held_from = begin;
	if (begin && !live->state.records) { /* later ones go on with the ticks of the first */
		live->next_tick = begin + live->options.interval;
		live->state.begin = begin;
	}
	live->window = live->options.window;
	if (live->options.no_model)
		return;
	live->model = model_new();
	if (begin)
		model_set_begin(live->model, begin);
	live->requests = request_window_new(live->options.window);
	if (live->options.all_requests)
		request_window_keep_all(live->requests);
}

void live_set_warning(struct live *live, const char *text)
{
	free((char *)live->state.warning);
	live->state.warning = must_strdup(text);
}

static void pass_batch(const struct live *live, const struct request_batch *batch, nsec_t now)
{
	struct live_view view = { .model = live->model,
				  .spans = &batch->spans,
				  .requests = &batch->requests,
				  .in_flight = batch->in_flight.items,
				  .in_flight_count = batch->in_flight.count,
				  .begin = live->state.begin,
				  .now = now };

	for (size_t i = 0; i < live->consumers.count; i++) {
		const struct consumer *c = &live->consumers.items[i];

		for (size_t k = 0; c->span_ended && k < batch->ended.count; k++)
			c->span_ended(c->arg, &view, batch->ended.items[k]);
		if (c->batch_ended)
			c->batch_ended(c->arg, &view);
	}
}

static void forget(struct live *live, nsec_t now)
{
	nsec_t t = now > live->window ? now - live->window : 0;
	nsec_t needed = request_window_needs(live->requests);

	if (t > needed)
		t = needed;
	if (t <= live->held_from)
		return;
	model_forget(live->model, t);
	live->held_from = t;
}

static uint64_t window_memory(const struct live *live)
{
	return model_memory(live->model) + request_window_memory(live->requests);
}

/* Less of the window if its memory is used up, more if there is room again. */
static void set_window(struct live *live, nsec_t now)
{
	nsec_t held = now > live->held_from ? now - live->held_from : 0;
	nsec_t window = live->window, wanted = live->options.window;

	if (live->state.memory > live->options.memory)
		window = (held < window ? held : window) / 4 * 3;
	else if (live->state.memory < live->options.memory / 4 * 3)
		window += window / 8;
	if (window < WINDOW_MIN) {
		live_set_warning(live, "the shortest window needs more memory than its limit");
		window = WINDOW_MIN;
	}
	live->window = window < wanted ? window : wanted;
	request_window_set_length(live->requests, live->window);
}

/*
 * Lists that grow and tables that come and go leave holes in the heap, a quarter of it after an
 * hour.  Once per window, the pages in them go back to the system.
 */
static void give_back(struct live *live, nsec_t now)
{
	if (now < live->given_back + live->options.window)
		return;
	malloc_trim(0);
	live->given_back = now;
}

/* Forgets what is older than the window. */
static void bound(struct live *live, nsec_t now)
{
	forget(live, now);
	live->state.memory = window_memory(live);
	live->state.window = now > live->held_from ? now - live->held_from : 0;
	give_back(live, now);
	set_window(live, now);
}

/* Rebuilds and passes the requests that ended since the last call. */
static void advance(struct live *live, nsec_t now, bool is_end)
{
	struct request_batch batch;

	if (!live->model)
		return;
	model_update(live->model);
	if (is_end)
		request_window_finish(live->requests, live->model, &batch);
	else
		request_window_advance(live->requests, live->model, now, &batch);
	pass_batch(live, &batch, now);
	request_batch_done(&batch);
	bound(live, now);
}

static void call_ticks(struct live *live, nsec_t now, nsec_t settled)
{
	live->state.now = now;
	live->state.settled = settled;
	for (size_t i = 0; i < live->consumers.count; i++)
		if (live->consumers.items[i].tick)
			live->consumers.items[i].tick(live->consumers.items[i].arg, &live->state);
}

void live_tick(struct live *live, nsec_t now)
{
	advance(live, now, false);
	call_ticks(live, now, now > REQUEST_LAG ? now - REQUEST_LAG : 0);
	live->next_tick = now + live->options.interval;
}

int live_finish(struct live *live, int result, const struct err *why)
{
	nsec_t end = live->model ? model_end(live->model) : 0;

	live->is_done = true;
	live->result = result;
	live->why = *why;
	end = end > live->state.now ? end : live->state.now;
	advance(live, end, true);
	call_ticks(live, end, end);
	for (size_t i = 0; i < live->consumers.count; i++)
		if (live->consumers.items[i].done)
			live->consumers.items[i].done(live->consumers.items[i].arg);
	return LIVE_TICKED;
}

static void add(struct live *live, const struct source *source, const struct record *record)
{
	nsec_t now = source_time(source, record->time);

	live->state.records++;
	if (now > live->newest)
		live->newest = now;
	if (record->kind == RECORD_LOSS)
		live->state.lost += ((const struct record_loss *)record)->count;
	if (!live->model)
		return;
	model_add(live->model, source, record);
	if (++live->since_check < CHECK_EVERY)
		return;
	live->since_check = 0;
	live->state.memory = window_memory(live);
	if (live->state.memory <= live->options.memory)
		return;
	set_window(live, now); /* do not wait for the tick to forget */
	advance(live, now, false);
}

/* Whether the time of a record is after the next tick.  The first one starts the clock. */
static bool is_tick_due(struct live *live, nsec_t now)
{
	nsec_t interval = live->options.interval;

	if (now > TIME_MAX)
		return false;
	if (!live->next_tick) {
		live->state.begin = live->held_from = now;
		live->next_tick = now + interval;
	}
	if (now < live->next_tick)
		return false;
	if ((now - live->next_tick) / interval > TICKS_MAX)
		live->next_tick = now - (now - live->next_tick) % interval;
	return true;
}

int live_pump(struct live *live, struct err *err)
{
	for (;;) {
		int r = live->pending ? 1
				      : live->feed->next(live, &live->pending,
							 &live->pending_source, err);

		if (r <= 0)
			return r;
		if (live->pending->time &&
		    is_tick_due(live, source_time(live->pending_source, live->pending->time))) {
			live_tick(live, live->next_tick);
			return LIVE_TICKED;
		}
		add(live, live->pending_source, live->pending);
		live->pending = NULL;
	}
}

const struct model *live_model(struct live *live, nsec_t *ret_until)
{
	if (!live->model || !live->state.records)
		return NULL;
	model_update(live->model);
	*ret_until = live->newest;
	return live->model;
}

int64_t live_realtime_offset(const struct live *live)
{
	return live->state.realtime_offset;
}

static const char *input_text(const void *arg, uint32_t id)
{
	return input_string(arg, id);
}

int live_add_spans(struct live *live, struct view request, struct err *err)
{
	_cleanup_(input_freep) struct input *input = NULL;
	const struct record *record;
	int r = input_open_otlp(request, &input, err);

	if (r < 0 || !live->model)
		return r;

	struct source source = { .get_string = input_text,
				 .arg = input,
				 .shift = -live->state.realtime_offset,
				 .has_host_clock = true };

	while ((r = input_next(input, &record, err)) > 0)
		model_add(live->model, &source, record);
	return r;
}

int live_check_input(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&p, 1, 0) > 0 ? LIVE_INPUT : 0;
}

int live_poll(struct live *live, int timeout, int extra_fd, struct err *err)
{
	if (!live->is_done)
		return live->feed->poll(live, timeout, extra_fd, err);
	*err = live->why;
	return live->result;
}
