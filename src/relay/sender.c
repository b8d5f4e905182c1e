/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/sender.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/random.h>

#include "relay/curl_loop.h"
#include "relay/transfer.h"

#define QUEUE_LIMIT (64ull << 20)
#define EXPORT_LIMIT (2ull << 20)
#define OLDEST (300 * NSEC_PER_SEC)
#define BACKOFF_FIRST (100 * NSEC_PER_MSEC)
#define BACKOFF_LAST (30 * NSEC_PER_SEC)
#define EXPORT_LIMIT_LEAST (64ull << 10)
#define DELAY_MAX (60 * NSEC_PER_SEC) /* that a collector can ask for */

enum { ROUNDS = 4 }; /* per sender_run() */

/* One signal on its way to its endpoint. */
struct lane {
	enum otlp_signal signal;
	struct export_queue queue;
	struct transfer transfer;
	size_t in_flight;    /* number of requests at the head of the queue; 0: idle */
	size_t limit;        /* bytes of the next export */
	nsec_t backoff;      /* the next one; 0 after a success */
	nsec_t next_attempt; /* CLOCK_MONOTONIC; not before */
	struct sender_counts counts;
};

struct sender {
	struct sender_options options;
	struct curl_loop loop;
	struct lane lanes[OTLP_SIGNAL_COUNT];
};

static int init_lanes(struct sender *s, struct err *err)
{
	int r = 0;

	for (int i = 0; i < OTLP_SIGNAL_COUNT && r == 0; i++) {
		struct lane *lane = &s->lanes[i];

		lane->signal = i;
		lane->limit = s->options.export_limit;
		r = transfer_init(&lane->transfer, &s->options.endpoints->signals[i], lane, err);
	}
	return r;
}

int sender_new(const struct sender_options *options, struct sender **ret, struct err *err)
{
	_cleanup_(sender_freep) struct sender *s = must_alloc(sizeof(*s));
	int r;

	s->options = *options;
	s->options.queue_limit = options->queue_limit ?: QUEUE_LIMIT;
	s->options.export_limit = options->export_limit ?: EXPORT_LIMIT;
	s->options.oldest = options->oldest ?: OLDEST;
	s->options.backoff = options->backoff ?: BACKOFF_FIRST;
	curl_global_init(CURL_GLOBAL_DEFAULT); /* counts its calls */
	r = curl_loop_init(&s->loop, err);
	if (r == 0)
		r = init_lanes(s, err);
	if (r < 0)
		return r;
	*ret = TAKE(s);
	return 0;
}

void sender_free(struct sender *s)
{
	if (!s)
		return;
	for (int i = 0; i < OTLP_SIGNAL_COUNT; i++) {
		struct lane *lane = &s->lanes[i];

		if (lane->in_flight)
			curl_multi_remove_handle(s->loop.multi, lane->transfer.easy);
		transfer_done(&lane->transfer);
		export_queue_done(&lane->queue);
	}
	curl_loop_done(&s->loop);
	curl_global_cleanup();
	free(s);
}

static void add_sum(struct export_sum *to, struct export_sum sum)
{
	to->requests += sum.requests;
	to->items += sum.items;
}

static size_t charge_of_all(const struct sender *s)
{
	size_t sum = 0;

	for (int i = 0; i < OTLP_SIGNAL_COUNT; i++)
		sum += s->lanes[i].queue.charge;
	return sum;
}

/*
 * A queue may be three times as long as the room that is left, so that full queues always leave
 * some of it to the others.
 */
static bool has_room(const struct sender *s, const struct lane *lane, size_t charge)
{
	size_t all = charge_of_all(s) + charge;

	return all <= s->options.queue_limit &&
	       (lane->queue.charge + charge) / 3 <= s->options.queue_limit - all;
}

/* Requests in flight do not expire: they may have arrived. */
static void expire(struct sender *s, struct lane *lane, nsec_t now)
{
	if (!lane->in_flight && now > s->options.oldest)
		add_sum(&lane->counts.expired,
			export_queue_expire(&lane->queue, now - s->options.oldest));
}

static nsec_t due_of(const struct lane *lane)
{
	return lane->in_flight || !export_queue_count(&lane->queue) ? TIME_NEVER
								    : lane->next_attempt;
}

int sender_add(struct sender *s, enum otlp_signal signal, struct pb_buffer *body, uint64_t items)
{
	struct lane *lane = &s->lanes[signal];
	size_t charge = export_queue_charge(body);
	nsec_t now = clock_now();

	if (body->size == 0) { /* an empty message: nothing to send */
		add_sum(&lane->counts.accepted, (struct export_sum){ 1, items });
		add_sum(&lane->counts.forwarded, (struct export_sum){ 1, items });
		pb_buffer_done(body);
		return 0;
	}
	if (!has_room(s, lane, charge))
		for (int i = 0; i < OTLP_SIGNAL_COUNT; i++)
			expire(s, &s->lanes[i], now);
	if (!has_room(s, lane, charge)) {
		add_sum(&lane->counts.dropped, (struct export_sum){ 1, items });
		pb_buffer_done(body);
		return -ENOBUFS;
	}
	add_sum(&lane->counts.accepted, (struct export_sum){ 1, items });
	export_queue_add(&lane->queue, body, items, now);
	curl_loop_wake(&s->loop, due_of(lane));
	return 0;
}

int sender_fd(const struct sender *s)
{
	return s->loop.epoll_fd;
}

static bool start(struct sender *s, struct lane *lane, nsec_t now)
{
	if (due_of(lane) > now)
		return false;
	expire(s, lane, now);
	if (!export_queue_count(&lane->queue))
		return false;
	lane->in_flight =
		export_queue_merge(&lane->queue, lane->limit, transfer_begin(&lane->transfer));
	lane->counts.exports++;
	transfer_ready(&lane->transfer);
	if (curl_multi_add_handle(s->loop.multi, lane->transfer.easy) != CURLM_OK)
		abort(); /* out of memory, or a transfer started twice */
	return true;
}

/* "BEFORE traces AFTER 'http://HOST:4318': MESSAGE" */
static void remember_error(struct lane *lane, const char *before, const char *after, nsec_t now)
{
	snprintf(lane->counts.last_error, sizeof(lane->counts.last_error), "%s %s %s '%s': %s",
		 before, otlp_signal_name(lane->signal), after, lane->transfer.endpoint->name,
		 lane->transfer.reply.message);
	lane->counts.last_failure = now;
}

/* Between half of the backoff and all of it, so that senders do not come back all at once. */
static nsec_t jitter(nsec_t backoff)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint32_t)clock_now();
	return backoff / 2 + (backoff / 2 * (random >> 16) >> 16);
}

static void retry_later(const struct sender *s, struct lane *lane, nsec_t now)
{
	nsec_t asked = lane->transfer.reply.delay, delay;

	lane->backoff = lane->backoff ? 2 * lane->backoff : s->options.backoff;
	if (lane->backoff > BACKOFF_LAST)
		lane->backoff = BACKOFF_LAST;
	delay = jitter(lane->backoff);
	if (asked > delay)
		delay = asked < DELAY_MAX ? asked : DELAY_MAX;
	lane->next_attempt = now + delay;
	lane->counts.retries++;
	remember_error(lane, "cannot send", "to", now);
}

static void accepted(struct lane *lane, size_t count, nsec_t now)
{
	struct export_sum sum = export_queue_drop(&lane->queue, count);
	uint64_t rejected = lane->transfer.reply.rejected;

	lane->counts.last_success = now;
	lane->counts.rejected.items += rejected;
	sum.items -= rejected < sum.items ? rejected : sum.items;
	add_sum(&lane->counts.forwarded, sum);
	/* a collector can also use the message for a warning */
	if (lane->transfer.reply.message[0])
		remember_error(lane, rejected ? "some" : "warning about",
			       rejected ? "were dropped by" : "from", now);
}

static void rejected(struct lane *lane, size_t count, bool because_of_content, nsec_t now)
{
	if (because_of_content && count > 1) {
		export_queue_split(&lane->queue, count);
		return;
	}
	add_sum(&lane->counts.rejected, export_queue_drop(&lane->queue, count));
	remember_error(lane, "dropped", "rejected by", now);
}

static void set_limit(const struct sender *s, struct lane *lane, enum reply_verdict verdict)
{
	size_t most = s->options.export_limit, half = lane->transfer.wire.size / 2;

	if (verdict == REPLY_MISSING && lane->in_flight > 1)
		lane->limit = half > EXPORT_LIMIT_LEAST ? half : EXPORT_LIMIT_LEAST;
	else if (verdict == REPLY_ACCEPTED)
		lane->limit *= 2;
	if (lane->limit > most)
		lane->limit = most;
}

static void complete(struct sender *s, struct lane *lane, CURLcode result)
{
	enum reply_verdict verdict = transfer_judge(&lane->transfer, result);
	size_t count = lane->in_flight;
	nsec_t now = clock_now();

	curl_multi_remove_handle(s->loop.multi, lane->transfer.easy);
	set_limit(s, lane, verdict);
	lane->in_flight = 0;
	transfer_trim(&lane->transfer, s->options.export_limit);
	if (verdict == REPLY_RETRY || verdict == REPLY_MISSING) {
		retry_later(s, lane, now);
		return;
	}
	lane->backoff = lane->next_attempt = 0;
	if (verdict == REPLY_ACCEPTED)
		accepted(lane, count, now);
	else
		rejected(lane, count, verdict == REPLY_REJECTED, now);
}

static bool complete_all(struct sender *s)
{
	bool any = false;
	CURLcode result;

	for (CURL *easy; (easy = curl_loop_complete(&s->loop, &result)); any = true) {
		char *lane = NULL;

		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &lane);
		complete(s, (struct lane *)lane, result);
	}
	return any;
}

static bool start_all(struct sender *s)
{
	nsec_t now = clock_now();
	bool any = false;

	for (int i = 0; i < OTLP_SIGNAL_COUNT; i++)
		any |= start(s, &s->lanes[i], now);
	return any;
}

void sender_run(struct sender *s)
{
	nsec_t due = TIME_NEVER;

	for (int i = 0; i < ROUNDS; i++) {
		curl_loop_run(&s->loop);

		bool completed = complete_all(s), started = start_all(s);

		if (!completed && !started)
			break;
	}
	for (int i = 0; i < OTLP_SIGNAL_COUNT; i++)
		if (due_of(&s->lanes[i]) < due)
			due = due_of(&s->lanes[i]);
	curl_loop_wake(&s->loop, due);
}

struct sender_counts sender_counts_of(const struct sender *s, enum otlp_signal signal)
{
	struct sender_counts counts = s->lanes[signal].counts;

	counts.queued = export_queue_count(&s->lanes[signal].queue);
	counts.queued_bytes = s->lanes[signal].queue.charge;
	return counts;
}

static bool is_empty(const struct sender *s)
{
	for (int i = 0; i < OTLP_SIGNAL_COUNT; i++)
		if (export_queue_count(&s->lanes[i].queue))
			return false;
	return true;
}

static void give_up(struct sender *s)
{
	for (int i = 0; i < OTLP_SIGNAL_COUNT; i++) {
		struct lane *lane = &s->lanes[i];

		if (lane->in_flight)
			curl_multi_remove_handle(s->loop.multi, lane->transfer.easy);
		lane->in_flight = 0;
		add_sum(&lane->counts.unsent,
			export_queue_drop(&lane->queue, export_queue_count(&lane->queue)));
	}
}

int sender_finish(struct sender *s, nsec_t timeout)
{
	nsec_t now = clock_now(), deadline = now + timeout;
	struct pollfd p = { .fd = sender_fd(s), .events = POLLIN };

	for (int i = 0; i < OTLP_SIGNAL_COUNT; i++)
		s->lanes[i].next_attempt = 0; /* the last chance: do not wait */
	for (;;) {
		sender_run(s);
		now = clock_now();
		if (is_empty(s))
			return 0;
		if (now >= deadline)
			break;
		poll(&p, 1, (int)((deadline - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));
	}
	give_up(s);
	return -ETIMEDOUT;
}
