/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/span_writer.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "record/spans/unfinished_spans.h"
#include "record/spans/ring_reader.h"

/* Bytes of distinct strings accepted from agents: from all, and from one owner. */
#define STRINGS_MAX (256ull << 20)
#define STRINGS_PER_OWNER (32ull << 20)
/* The most events in one loss; no agent can drop more between two drains. */
#define LOSS_MAX 1000000000ull

struct buffered_record {
	nsec_t time;
	size_t offset; /* in `bytes`; also gives the order of arrival */
};

struct span_writer {
	struct span_writer_config config;
	struct unfinished_spans unfinished;
	VEC(struct buffered_record) records;
	unsigned char *bytes; /* of the buffered records */
	size_t used, room;
	uint64_t string_bytes;
	struct map owner_bytes; /* owner -> bytes of the strings it added */
	bool warned_strings, warned_unfinished;
};

struct span_writer *span_writer_new(const struct span_writer_config *config)
{
	struct span_writer *s = must_alloc(sizeof(*s));

	s->config = *config;
	return s;
}

void span_writer_free(struct span_writer *s)
{
	if (!s)
		return;
	unfinished_spans_done(&s->unfinished);
	map_done(&s->owner_bytes);
	vec_done(&s->records);
	free(s->bytes);
	free(s);
}

static void count(struct span_writer *s, enum counter which)
{
	counter_add(s->config.counters, which, 1);
}

static void warn_once(struct span_writer *s, bool *warned, const char *text)
{
	if (!*warned)
		s->config.warning(s->config.arg, text);
	*warned = true;
}

static bool has_string_room(const struct span_writer *s, uint64_t owner)
{
	const uint64_t *bytes = map_find(&s->owner_bytes, owner);
	uint64_t own = bytes ? *bytes : 0;
	uint64_t left = STRINGS_MAX > s->string_bytes ? STRINGS_MAX - s->string_bytes : 0;

	return own < STRINGS_PER_OWNER && own <= left / 4;
}

uint32_t span_writer_string(struct span_writer *s, uint64_t owner, const char *text, size_t size)
{
	char copy[SPAN_EVENT_MAX + 1];

	size = strnlen(text, size < SPAN_EVENT_MAX ? size : SPAN_EVENT_MAX);
	memcpy(copy, text, size);
	copy[size] = '\0';

	uint32_t number = sink_find_string(s->config.sink, copy);

	if (number || !size)
		return number;
	if (!has_string_room(s, owner)) {
		warn_once(s, &s->warned_strings,
			  "the spans of a process have too many different names and values: new "
			  "ones are left out");
		return 0;
	}
	s->string_bytes += size;
	*map_insert(&s->owner_bytes, owner) += size;
	return sink_add_string(s->config.sink, copy);
}

void span_writer_renew_strings(struct span_writer *s)
{
	struct sink *sink = s->config.sink;

	for (size_t i = 0; i < s->unfinished.spans.count; i++) {
		struct record_span *span = &s->unfinished.spans.items[i].span;

		span->operation = sink_renew_string(sink, span->operation);
		span->service = sink_renew_string(sink, span->service);
	}
	s->string_bytes = 0;
	map_done(&s->owner_bytes);
	s->owner_bytes = (struct map){ 0 };
}

size_t span_writer_buffered(const struct span_writer *s)
{
	return s->used;
}

static void buffer_record(struct span_writer *s, const void *record)
{
	const struct record *r = record;
	size_t size = r->words * 8u;

	if (s->used + size > s->room) {
		s->room = s->room ? 2 * s->room : 16 * 1024;
		s->bytes = must_realloc(s->bytes, s->room);
	}
	memcpy(s->bytes + s->used, r, size);
	*vec_push(&s->records) = (struct buffered_record){ r->time, s->used };
	s->used += size;
}

static int by_time(const void *a, const void *b)
{
	const struct buffered_record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->offset < y->offset ? -1 : 1;
}

void span_writer_flush(struct span_writer *s, nsec_t now)
{
	bool sorted = true;

	for (size_t i = 1; i < s->records.count && sorted; i++)
		sorted = s->records.items[i - 1].time <= s->records.items[i].time;
	if (!sorted)
		qsort(s->records.items, s->records.count, sizeof(s->records.items[0]), by_time);
	for (size_t i = 0; i < s->records.count; i++) {
		const struct record *record = (const void *)(s->bytes + s->records.items[i].offset);

		if (record->time <= now) {
			count(s, COUNTER_AGENT_RECORDS);
			sorter_add(s->config.sorter, s->config.stream, record);
		} else if (record->kind == RECORD_SPAN) {
			count(s, COUNTER_SPANS_IN_FUTURE);
		}
	}
	s->records.count = 0;
	s->used = 0;
}

#define HEAD(type, kind_, time_, tid_) \
	{ .time = (time_), .tid = (tid_), .kind = (kind_), .words = sizeof(type) / 8 }

/* A span record without times. */
static struct record_span span_of(const struct span_origin *origin, const uint8_t trace[16],
				  const uint8_t id[8], const uint8_t parent[8])
{
	struct record_span span = {
		.head = HEAD(span, RECORD_SPAN, 0, 0),
		.service = origin->service,
		.pid = origin->pid,
		.source = SPAN_SDK,
	};

	memcpy(span.trace, trace, sizeof(span.trace));
	memcpy(span.span, id, sizeof(span.span));
	memcpy(span.parent, parent, sizeof(span.parent));
	return span;
}

static void add_begin(struct span_writer *s, const struct span_origin *origin,
		      const struct span_event_begin *b)
{
	struct record_span span = span_of(origin, b->trace, b->span, b->parent);

	span.head.tid = origin->tid;
	span.start = b->head.time;
	span.operation = span_writer_string(s, origin->owner, b->name, b->name_size);
	span.kind = b->kind;
	count(s, COUNTER_BEGINS);

	enum unfinished_spans_result result =
		unfinished_spans_add(&s->unfinished, origin->owner, &span);

	if (result == UNFINISHED_SPANS_REPLACED)
		count(s, COUNTER_BEGINS_REPEATED);
	if (result == UNFINISHED_SPANS_FULL) {
		count(s, COUNTER_BEGINS_DISCARDED);
		warn_once(s, &s->warned_unfinished,
			  "too many open spans: some spans that never end will be missing");
	}
}

static uint64_t attribute_value(struct span_writer *s, uint64_t owner,
				const struct span_attribute *a)
{
	const char *text = a->text + a->key_size;
	uint64_t value = 0;

	if (a->type == ATTRIBUTE_STRING)
		return span_writer_string(s, owner, text, a->value_size);
	memcpy(&value, text, a->value_size < sizeof(value) ? a->value_size : sizeof(value));
	return value;
}

static void add_attributes(struct span_writer *s, uint64_t owner, const struct span_event_end *e,
			   const struct record_span *span)
{
	const struct span_attribute *a;

	for (size_t pos = 0; span_event_next_attribute(e, &pos, &a) > 0;) {
		if (a->type < ATTRIBUTE_STRING || a->type > ATTRIBUTE_DOUBLE)
			continue;

		struct record_attribute r = {
			.head = HEAD(r, RECORD_ATTRIBUTE, span->head.time, span->head.tid),
			.value = attribute_value(s, owner, a),
			.key = span_writer_string(s, owner, a->text, a->key_size),
			.type = a->type,
		};

		memcpy(r.trace, span->trace, sizeof(r.trace));
		memcpy(r.span, span->span, sizeof(r.span));
		if (r.key)
			buffer_record(s, &r);
	}
}

static void add_end(struct span_writer *s, const struct span_origin *origin,
		    const struct span_event_end *e)
{
	struct record_span begun, span = span_of(origin, e->trace, e->span, e->parent);

	/* the END event's own data, used if there was no BEGIN event */
	span.head.tid = origin->start_tid;
	span.start = e->start;
	span.kind = e->kind;
	count(s, COUNTER_ENDS);

	bool is_paired =
		unfinished_spans_take(&s->unfinished, origin->owner, e->trace, e->span, &begun);

	if (is_paired) {
		span.start = begun.start;
		span.head.tid = begun.head.tid ? begun.head.tid : span.head.tid;
		span.operation = begun.operation;
		span.kind = e->kind ? e->kind : begun.kind;
	}
	if (!span.start) { /* it began before the recording, at an unknown time */
		count(s, COUNTER_ENDS_WITHOUT_BEGIN);
		return;
	}
	count(s, is_paired ? COUNTER_SPANS_PAIRED : COUNTER_SPANS_END_ONLY);
	if (e->name_size) /* the name may have changed since the begin */
		span.operation = span_writer_string(s, origin->owner, e->text, e->name_size);
	span.head.time = e->head.time;
	span.start = span.start < span.head.time ? span.start : span.head.time;
	span.flags = e->head.flags & SPAN_ERROR;
	add_attributes(s, origin->owner, e, &span);
	buffer_record(s, &span);
}

static void add_context(struct span_writer *s, const struct span_origin *origin,
			const struct span_event_context *c)
{
	struct record_context r = {
		.head = HEAD(r, RECORD_CONTEXT, c->head.time, origin->tid),
		.since = c->head.time,
		.flags = c->head.flags & CONTEXT_UNKNOWN,
	};

	count(s, COUNTER_CONTEXTS);
	if (!origin->tid) {
		count(s, COUNTER_CONTEXTS_UNKNOWN);
		return;
	}
	if (!r.flags) {
		memcpy(r.trace, c->trace, sizeof(r.trace));
		memcpy(r.span, c->span, sizeof(r.span));
	}
	buffer_record(s, &r);
}

void span_writer_add_event(struct span_writer *s, const struct span_origin *origin,
			   const struct span_event *event, nsec_t until)
{
	if (event->time < s->config.start || event->time > until) {
		count(s, COUNTER_EVENTS_OUTSIDE_RECORDING);
		return;
	}
	switch (event->kind) {
	case SPAN_EVENT_BEGIN:
		return add_begin(s, origin, (const void *)event);
	case SPAN_EVENT_END:
		return add_end(s, origin, (const void *)event);
	case SPAN_EVENT_CONTEXT:
		return add_context(s, origin, (const void *)event);
	}
}

void span_writer_add_loss(struct span_writer *s, uint32_t tid, nsec_t first, nsec_t last,
			  uint64_t count, nsec_t now)
{
	struct record_loss loss = {
		.head = HEAD(loss, RECORD_LOSS, now, tid),
		.start = first < s->config.start ? s->config.start : first,
		.end = last > now ? now : last,
		.count = count < LOSS_MAX ? count : LOSS_MAX,
	};

	if (last < s->config.start)
		return;
	if (loss.start > loss.end)
		loss.start = loss.end;
	buffer_record(s, &loss);
}

static void close_span(struct span_writer *s, struct record_span *span, nsec_t end)
{
	span->head.time = end > span->start ? end : span->start;
	span->flags |= SPAN_OPEN;
	count(s, COUNTER_SPANS_UNFINISHED);
	buffer_record(s, span);
}

static bool has_ended(void *arg, const struct record_span *span)
{
	const uint64_t *end = map_find(arg, span->pid);

	return end && span->start <= *end;
}

void span_writer_close_processes(struct span_writer *s, const struct map *ended)
{
	struct record_span span;

	for (size_t pos = 0;
	     unfinished_spans_take_next(&s->unfinished, &pos, has_ended, (void *)ended, &span);)
		close_span(s, &span, *map_find(ended, span.pid));
}

static bool has_begun(void *arg, const struct record_span *span)
{
	return span->start <= *(const nsec_t *)arg;
}

void span_writer_close_all(struct span_writer *s, nsec_t end)
{
	struct record_span span;

	for (size_t pos = 0;
	     unfinished_spans_take_next(&s->unfinished, &pos, has_begun, &end, &span);)
		close_span(s, &span, end);
}
