/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event - write events into the ring of a thread.
 *
 * Names and attributes come from the host program.  If they exceed the size of an event,
 * the name is cut, and attributes that do not fit are left out.
 *
 * Writing is slow when it touches a page of the ring for the first time.  That time
 * should be inside the span: so the time of a BEGIN is taken before writing, and that
 * of an END after it.  The time of a context is taken after publishing it: otherwise an
 * observer of the thread could still find the old context at that time.
 */
#include "agent/internal.h"

#include <string.h>

enum { NAME_MAX_SIZE = 1024 };

static size_t round_up(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static struct span_event head(const struct agent_thread *t, uint64_t now, size_t size, uint8_t kind,
			      uint8_t flags)
{
	return (struct span_event){ .time = now,
				    .size = (uint16_t)size,
				    .kind = kind,
				    .flags = flags,
				    .number = (uint32_t)t->ring->event_count };
}

static uint16_t name_size(const struct sonde_agent_span *span)
{
	return (uint16_t)(span->name_size < NAME_MAX_SIZE ? span->name_size : NAME_MAX_SIZE);
}

/* The size in bytes of the attributes that fit. */
static uint16_t attributes_size(const struct sonde_agent_span *span, size_t room)
{
	const uint8_t *bytes = span->attributes;
	struct span_attribute one;
	size_t at = 0;

	if (!bytes)
		return 0;
	if (span->attributes_size <= room)
		return (uint16_t)span->attributes_size;
	while (at + sizeof(one) <= room) {
		memcpy(&one, bytes + at, sizeof(one));
		size_t size = sizeof(one) + one.key_size + one.value_size;
		if (at + size > room)
			break;
		at += size;
	}
	return (uint16_t)at;
}

void event_begin(struct agent_thread *t, uint64_t now, const struct sonde_agent_span *span)
{
	uint16_t name = name_size(span);
	size_t size = round_up(sizeof(struct span_event_begin) + name);
	struct span_event_begin *event = ring_reserve(t, size, now);

	if (!event)
		return;
	event->head = head(t, now, size, SPAN_EVENT_BEGIN, 0);
	memcpy(event->trace, span->trace, sizeof(event->trace));
	memcpy(event->span, span->span, sizeof(event->span));
	memcpy(event->parent, span->parent, sizeof(event->parent));
	event->name_size = name;
	event->kind = span->kind;
	memcpy(event->name, span->name, name);
	ring_commit(t, size);
}

uint64_t event_end(struct agent_thread *t, const struct sonde_agent_span *span)
{
	uint16_t name = name_size(span);
	uint16_t more =
		attributes_size(span, SPAN_EVENT_MAX - sizeof(struct span_event_end) - name);
	size_t size = round_up(sizeof(struct span_event_end) + name + more);
	struct span_event_end *event = ring_reserve(t, size, 0);

	if (!event)
		return clock_now();
	memcpy(event->trace, span->trace, sizeof(event->trace));
	memcpy(event->span, span->span, sizeof(event->span));
	memcpy(event->parent, span->parent, sizeof(event->parent));
	event->start = span->start;
	event->tid = span->tid;
	event->name_size = name;
	event->attributes_size = more;
	event->kind = span->kind;
	memcpy(event->text, span->name, name);
	if (more)
		memcpy(event->text + name, span->attributes, more);

	uint64_t now = clock_now();
	event->head = head(t, now, size, SPAN_EVENT_END, span->is_error ? SPAN_ERROR : 0);
	ring_commit(t, size);
	return now;
}

void event_context(struct agent_thread *t, uint64_t now)
{
	const struct context_record *record = *t->context;
	const size_t size = sizeof(struct span_event_context);
	struct span_event_context *event = ring_reserve(t, size, now);

	if (!event)
		return;
	event->head = head(t, now, size, SPAN_EVENT_CONTEXT, 0);
	if (!record) {
		memset(event->trace, 0, sizeof(event->trace));
		memset(event->span, 0, sizeof(event->span));
	} else {
		event->head.flags = record->valid ? 0 : CONTEXT_UNKNOWN;
		memcpy(event->trace, record->trace, sizeof(event->trace));
		memcpy(event->span, record->span, sizeof(event->span));
	}
	ring_commit(t, size);
}

void sonde_agent_begin(const struct sonde_agent_span *span)
{
	struct agent_thread *t = &agent_thread;
	uint64_t start = span->start;

	if (!start && agent_is_first(t))
		start = clock_now();
	if (unlikely(!agent_enter(t))) {
		ring_drop_nested(t);
		return;
	}
	if (arena_is_recording())
		event_begin(t, start ? start : clock_now(), span);
	agent_exit(t);
}

void sonde_agent_end(const struct sonde_agent_span *span)
{
	struct agent_thread *t = &agent_thread;

	if (unlikely(!agent_enter(t))) {
		ring_drop_nested(t);
		return;
	}
	if (arena_is_recording())
		event_end(t, span);
	agent_exit(t);
}
