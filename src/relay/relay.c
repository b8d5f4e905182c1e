/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/clock.h"
#include "otlp/check.h"
#include "otlp/from_json.h"
#include "relay/grpc_server.h"
#include "relay/hold.h"
#include "relay/http_server.h"
#include "relay/slow_spans.h"

/*
 * Bytes per second of spans that are not slow, for the annotator: it decodes all of them, and keeps
 * them as long as its records.
 */
enum { SHARED_RATE = 512 << 10 };

struct relay {
	struct relay_options options;
	struct intake intake;
	struct grpc_server *grpc;
	struct http_server *http;
	struct sender *sender;
	struct hold *hold;
	struct channel *channel; /* borrowed, or NULL */
	struct relay_counts counts;
	struct budget shared;
	nsec_t share_until; /* CLOCK_MONOTONIC */
};

/* Takes the body.  Returns the number of items that were dropped. */
static uint64_t forward(struct relay *relay, enum otlp_signal signal, struct pb_buffer *body,
			uint64_t items)
{
	if (sender_add(relay->sender, signal, body, items) == 0)
		return 0;
	relay->counts.dropped[signal] += items;
	return items;
}

/* A request leaves the hold. */
static void on_release(void *arg, struct pb_buffer *body, uint64_t items, uint64_t annotated)
{
	struct relay *relay = arg;

	relay->counts.annotated += annotated;
	forward(relay, OTLP_TRACES, body, items);
}

/* Shows slow spans to the annotator; whether it will answer. */
static bool ask(struct relay *relay, uint64_t ticket, nsec_t deadline, struct slow_spans *slow)
{
	struct view request = otlp_end(&slow->request);
	struct view limits = { (char *)slow->limits.items,
			       slow->limits.count * sizeof(slow->limits.items[0]) };
	struct channel_message head = {
		.kind = CHANNEL_SLOW, .number = ticket, .time = deadline, .split = request.len
	};
	struct pb_buffer body = { 0 };

	pb_append(&body, request);
	pb_append(&body, limits);

	int r = channel_send(relay->channel, &head, (struct view){ (char *)body.data, body.size });

	pb_buffer_done(&body);
	return r == 0;
}

/* Sends spans to the annotator, which finds the paths and parents of others by them. */
static void share(struct relay *relay, struct view body, uint64_t items)
{
	struct channel_message head = { .kind = CHANNEL_SPANS };
	nsec_t now = clock_now();

	if (!relay->channel || now > relay->share_until)
		return;
	if (!budget_take(&relay->shared, now, body.len) ||
	    channel_send(relay->channel, &head, body) < 0)
		relay->counts.unshared += items;
}

/* Holds a request with slow spans, or one behind such a request; false if there is no need to. */
static bool hold_back(struct relay *relay, struct view body, uint64_t items)
{
	_cleanup_(slow_spans_done) struct slow_spans slow = { 0 };
	nsec_t deadline = clock_now() + RELAY_HOLD;

	slow_spans_find(body, relay->options.slow, &slow);
	relay->counts.slow += slow.offsets.count;
	if (slow.offsets.count && !relay->channel) {
		relay->counts.unasked += slow.offsets.count;
		slow.offsets.count = 0;
	}
	if (!slow.offsets.count && hold_is_empty(relay->hold))
		return false;

	uint64_t ticket = hold_add(relay->hold, body, items, slow.offsets.items, slow.offsets.count,
				   deadline);

	if (slow.offsets.count && !ask(relay, ticket, deadline, &slow)) {
		relay->counts.unasked += slow.offsets.count;
		for (uint32_t i = 0; i < slow.offsets.count; i++)
			hold_annotate(relay->hold, ticket, i, (struct view){ 0 },
				      (struct view){ 0 });
	}
	return true;
}

/* An export_fn. */
static void on_export(void *arg, const struct export_request *request, struct export_reply *ret)
{
	struct relay *relay = arg;
	struct otlp_totals totals;
	struct pb_buffer body = { 0 };
	struct err err = { "" };

	*ret = (struct export_reply){ .status = EXPORT_ACCEPTED };
	if (otlp_check(request->signal, request->body, &totals, &err) < 0) {
		relay->counts.invalid++;
		ret->status = EXPORT_INVALID;
		snprintf(ret->message, sizeof(ret->message), "%s", err.text);
		return;
	}
	relay->counts.received[request->signal] += totals.items;
	if (request->signal == OTLP_TRACES)
		share(relay, request->body, totals.items);
	if (request->signal == OTLP_TRACES && hold_back(relay, request->body, totals.items))
		return;
	pb_append(&body, request->body);
	ret->rejected = forward(relay, request->signal, &body, totals.items);
	if (ret->rejected)
		snprintf(ret->message, sizeof(ret->message),
			 "the queue is full because the collector is too slow or away");
}

static const char *on_page(void *arg, const char *path, const char **ret_type)
{
	struct relay *relay = arg;

	return relay->options.page(relay->options.arg, path, ret_type);
}

static int start_servers(struct relay *relay, struct err *err)
{
	const struct relay_options *o = &relay->options;
	struct grpc_server_options grpc = { .listeners = o->grpc,
					    .listener_count = o->grpc_count,
					    .intake = &relay->intake,
					    .export = on_export,
					    .arg = relay };
	struct http_server_options http = { .listeners = o->http,
					    .listener_count = o->http_count,
					    .intake = &relay->intake,
					    .export = on_export,
					    .arg = relay,
					    .json_to_protobuf = otlp_from_json,
					    .page = o->page ? on_page : NULL,
					    .page_arg = relay };
	int r = grpc_server_new(&grpc, &relay->grpc, err);

	return r < 0 ? r : http_server_new(&http, &relay->http, err);
}

int relay_new(const struct relay_options *options, struct relay **ret, struct err *err)
{
	_cleanup_(relay_freep) struct relay *relay = must_alloc(sizeof(*relay));
	struct sender_options sender = { .endpoints = options->endpoints,
					 .queue_limit = options->queue_limit };
	int r;

	relay->options = *options;
	relay->shared.rate = SHARED_RATE;
	relay->hold = hold_new(&(struct hold_options){ .release = on_release, .arg = relay });
	r = sender_new(&sender, &relay->sender, err);
	if (r == 0)
		r = start_servers(relay, err);
	if (r < 0)
		return r;
	*ret = TAKE(relay);
	return 0;
}

void relay_free(struct relay *relay)
{
	if (!relay)
		return;
	http_server_free(relay->http);
	grpc_server_free(relay->grpc);
	hold_free(relay->hold);
	sender_free(relay->sender);
	free(relay);
}

void relay_set_channel(struct relay *relay, struct channel *channel)
{
	relay->channel = channel;
}

static void add_spans(struct relay *relay, uint64_t count, struct view request)
{
	struct pb_buffer body = { 0 };

	pb_append(&body, request);
	relay->counts.added += count;
	forward(relay, OTLP_TRACES, &body, count);
}

static void handle_message(struct relay *relay, const struct channel_message *head,
			   struct view body)
{
	struct view attributes = { body.s, head->split };
	struct view spans = { body.s + head->split, body.len - head->split };

	switch (head->kind) {
	case CHANNEL_ANNOTATION:
		if (!hold_annotate(relay->hold, head->number, head->index, attributes, spans) &&
		    body.len)
			relay->counts.late++;
		break;
	case CHANNEL_EXPORT:
		add_spans(relay, head->number, body);
		break;
	case CHANNEL_STATUS:
		if (relay->options.status)
			relay->options.status(relay->options.arg, body);
		break;
	case CHANNEL_WAKEUPS:
		if (relay->options.wakeups)
			relay->options.wakeups(relay->options.arg, body);
		break;
	case CHANNEL_WANT_SPANS:
		relay->share_until = head->time;
		break;
	}
}

static int read_channel(struct relay *relay)
{
	struct channel_message head;
	struct view body;
	int r;

	if (!relay->channel)
		return 0;
	channel_flush(relay->channel);
	while ((r = channel_receive(relay->channel, &head, &body)) > 0)
		handle_message(relay, &head, body);
	if (r == 0)
		return 0;
	relay->channel = NULL;
	hold_run(relay->hold, UINT64_MAX);
	return -EPIPE;
}

static int timeout_until(nsec_t deadline, int timeout)
{
	nsec_t now = clock_now(), ms = 0;

	if (deadline == UINT64_MAX)
		return timeout;
	if (deadline > now)
		ms = (deadline - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	return timeout >= 0 && (nsec_t)timeout < ms ? timeout : (int)ms;
}

int relay_poll(struct relay *relay, int timeout)
{
	bool writes = relay->channel && channel_has_queued(relay->channel);
	struct pollfd fds[] = {
		{ .fd = grpc_server_fd(relay->grpc), .events = POLLIN },
		{ .fd = http_server_fd(relay->http), .events = POLLIN },
		{ .fd = sender_fd(relay->sender), .events = POLLIN },
		{ .fd = relay->channel ? channel_fd(relay->channel) : -1,
		  .events = POLLIN | (writes ? POLLOUT : 0) },
		{ .fd = relay->options.extra ? relay->options.extra_fd : -1, .events = POLLIN },
	};
	int r = 0;

	if (poll(fds, ARRAY_LEN(fds), timeout_until(hold_deadline(relay->hold), timeout)) < 0)
		return 0; /* a signal */
	if (fds[0].revents)
		grpc_server_run(relay->grpc);
	if (fds[1].revents)
		http_server_run(relay->http);
	if (fds[3].revents)
		r = read_channel(relay);
	if (fds[4].revents)
		relay->options.extra(relay->options.arg);
	hold_run(relay->hold, clock_now());
	if (fds[2].revents)
		sender_run(relay->sender);
	return r;
}

int relay_finish(struct relay *relay, nsec_t timeout)
{
	hold_run(relay->hold, UINT64_MAX);
	return sender_finish(relay->sender, timeout);
}

struct relay_counts relay_counts(const struct relay *relay)
{
	return relay->counts;
}

struct sender_counts relay_sender_counts(const struct relay *relay, enum otlp_signal signal)
{
	return sender_counts_of(relay->sender, signal);
}

const struct receive_counters *relay_receive_counters(const struct relay *relay, int server)
{
	return server == 0 ? grpc_server_counters(relay->grpc) : http_server_counters(relay->http);
}
