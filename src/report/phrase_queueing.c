/* SPDX-License-Identifier: Apache-2.0 */
/* Phrases of requests in a queue, and of the requests that they wait for. */
#include "report/phrase_queueing.h"

#include <stdio.h>
#include <string.h>

#include "event/socket_name.h"

/* The span with the connection that a span is work for: itself or an ancestor. */
static const struct span *received_span(const struct span_set *spans, span_id id)
{
	const struct span *span = span_set_at(spans, id);

	while (!span->socket && span->parent.i)
		span = span_set_at(spans, span->parent);
	return span;
}

struct phrase phrase_client(const struct span_set *spans, span_id id)
{
	const struct span *span = received_span(spans, id);
	const struct socket *socket = model_socket(spans->model, span->host, span->socket);
	struct phrase p;

	if (span->socket && socket && socket->address.peer_port) {
		struct socket_name name;

		socket_name_init(&name, &socket->address);
		snprintf(p.s, sizeof(p.s), "client %s", name.peer);
	} else {
		snprintf(p.s, sizeof(p.s), "another request");
	}
	return p;
}

struct phrase phrase_others(const struct span_set *spans, const struct node *node)
{
	struct phrase p = { "" };

	if (node->flags & STEP_PARKED)
		return p; /* it works for no request */
	if (node->others == 1)
		snprintf(p.s, sizeof(p.s), " for %.200s",
			 phrase_client(spans, node->longest.other_span).s);
	else if (node->others)
		snprintf(p.s, sizeof(p.s), " for %u other requests", node->others);
	return p;
}

const struct node *others_above(const struct account *account, const struct node *node)
{
	const struct node *found = NULL;

	for (; node->state; node = &account->nodes.items[node->parent])
		found = node->others ? node : found;
	return found;
}

/* The node with steps of the request's own thread, or the node of the queueing that it is below. */
static const struct node *queueing_above(const struct account *account, const struct node *node)
{
	while (node->parent && account->nodes.items[node->parent].state)
		node = &account->nodes.items[node->parent];
	if (node->parent && account->nodes.items[node->parent].flags & STEP_QUEUEING)
		node = &account->nodes.items[node->parent];
	return node->flags & STEP_QUEUEING ? node : NULL;
}

/* Where the request of a node waits; before it is read, the node has no state. */
static const char *queue_name(const struct node *queue, const struct span *span)
{
	if (queue->flags & STEP_POOL)
		return "waits in the queue of its pool";
	if (queue->state)
		return "waits for its turn";
	return span->flags & SPAN_ACCEPT_QUEUE ? "waits in the accept queue" : "waits in its queue";
}

struct phrase phrase_queueing(const struct span_set *spans, const struct account *account,
			      const struct node *node)
{
	const struct node *queue = queueing_above(account, node);
	struct phrase p = { "" };

	if (!queue)
		return p;

	const struct span *span = span_set_at(spans, queue->span);

	if (queue->span.i == account->span.i)
		snprintf(p.s, sizeof(p.s), ", while this request %s", queue_name(queue, span));
	else
		snprintf(p.s, sizeof(p.s), ", while the request to %.150s %.150s %s",
			 span_set_string(spans, span->service),
			 span_set_string(spans, span->operation), queue_name(queue, span));
	return p;
}

struct phrase phrase_sending(const struct step *step)
{
	static const char *const reasons[] = {
		[HELD_UNKNOWN] = "",
		[HELD_NAGLE] = ": Nagle's algorithm holds it until earlier bytes are acknowledged",
		[HELD_WINDOW] = ": the receive window is full, since its peer reads slowly",
		[HELD_CONGESTION] = ": the congestion window is full",
		[HELD_CORK] = ": TCP_CORK or MSG_MORE holds it",
	};
	struct phrase p;

	snprintf(p.s, sizeof(p.s), "%s in the send buffer%s", step->parent ? "message" : "reply",
		 reasons[step->held < ARRAY_LEN(reasons) ? step->held : 0]);
	return p;
}

struct phrase phrase_queueing_node(const struct span_set *spans, const struct node *node)
{
	bool accept = span_set_at(spans, node->span)->flags & SPAN_ACCEPT_QUEUE;
	struct phrase p;

	snprintf(p.s, sizeof(p.s), "queued before it is read%s",
		 accept ? ", first in the accept queue" : "");
	return p;
}
