/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/requests/spans.h"

#include <string.h>

#include "analyse/requests/sum.h"

/* The strings of one span, by the numbers that its record names them with. */
enum { STRING_NONE, STRING_SERVICE, STRING_OPERATION, STRING_COUNT };

static const char *get_string(const void *arg, uint32_t id)
{
	const char *const *strings = arg;

	return id < STRING_COUNT ? strings[id] : "";
}

const char *request_kind_name(enum request_kind kind)
{
	static const char *const names[] = {
		[REQUEST_NETWORK] = "network",
		[REQUEST_FORK] = "fork",
		[REQUEST_HANDOFF] = "handover",
	};

	return names[kind];
}

bool request_is_whole(const struct request_span *span)
{
	return !span->parent && span->kind == REQUEST_NETWORK && !span->parent_unknown &&
	       !span->no_reply;
}

/*
 * Who works on long after the answer was sent is not waited for.  Not so who
 * returns from sending just after the one it answered has answered in turn.
 */
static bool is_left_behind(const struct request_span *span, const struct request_span *parent)
{
	return span->end > parent->end && span->end - parent->end > (span->end - span->start) / 10;
}

static uint8_t flags_of(const struct requests *requests, const struct request_span *span)
{
	uint8_t flags = 0;

	if (span->parent && is_left_behind(span, &requests->spans.items[span->parent]))
		flags |= SPAN_FOLLOWS;
	if (span->no_reply || (!span->parent && !request_is_whole(span)))
		flags |= SPAN_OPEN;
	return flags;
}

static void add_span(struct model *model, const struct requests *requests,
		     const struct request_span *span)
{
	const struct thread *thread = model_thread(model, span->thread);
	struct request_address address = request_address(model, span);
	const char *strings[STRING_COUNT] = {
		[STRING_NONE] = "",
		[STRING_SERVICE] = request_service(model, span->thread),
		[STRING_OPERATION] =
			address.local[0] ? address.local : request_kind_name(span->kind),
	};
	struct source source = { .get_string = get_string, .arg = strings, .host = thread->host };
	struct record_span record = {
		.head = { .time = span->end,
			  .tid = thread->tid,
			  .kind = RECORD_SPAN,
			  .words = sizeof(record) / 8 },
		.start = span->start,
		.service = STRING_SERVICE,
		.operation = STRING_OPERATION,
		.pid = thread->pid,
		.source = SPAN_INFERRED,
		.flags = flags_of(requests, span),
	};

	memcpy(record.trace, span->trace, sizeof(record.trace));
	memcpy(record.span, span->id, sizeof(record.span));
	if (span->parent)
		memcpy(record.parent, requests->spans.items[span->parent].id,
		       sizeof(record.parent));
	model_add(model, &source, &record.head);
}

void request_spans_add(struct model *model, const struct requests *requests)
{
	for (size_t i = 1; i < requests->spans.count; i++)
		add_span(model, requests, &requests->spans.items[i]);
	model_finish(model);
}
