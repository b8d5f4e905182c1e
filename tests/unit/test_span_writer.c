/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/span_writer.h"

#include <stdlib.h>

#include "record/spans/ring_reader.h"
#include "arena_build.h"
#include "build.h"
#include "record/file_sink.h"
#include "test.h"

/* A ring, a span writer, and what the span writer wrote. */
struct desk {
	struct arena_build arena;
	struct span_ring *ring;
	struct ring_reader *reader;
	struct file_sink sink;
	struct sorter *sorter;
	struct span_writer *span_writer;
	struct record_span spans[64];
	struct record_context contexts[64];
	struct record_attribute attributes[64];
	struct record_loss losses[64];
	size_t span_count, context_count, attribute_count, loss_count, warnings;
	size_t attributes_at_span; /* seen before the last span */
	uint32_t start_tid;
	struct counters counters;
};

static void warning(void *arg, const char *words)
{
	struct desk *d = arg;

	(void)words;
	d->warnings++;
}

static void desk_init(struct desk *d)
{
	*d = (struct desk){ .arena = arena_build_make() };
	d->ring = arena_build_take(&d->arena, 0, 10, 11);
	CHECK_INT(ring_reader_open(d->arena.fd, arena_file_device(), &d->reader), 0);
	file_sink_init(&d->sink, NULL, NULL, NULL);
	d->sink.writer = build_capture(scratch("span_writer"));
	d->sorter = sorter_new(2);
	d->span_writer = span_writer_new(&(struct span_writer_config){
		.sorter = d->sorter,
		.stream = 1,
		.sink = &d->sink.sink,
		.start = 1000,
		.counters = &d->counters,
		.warning = warning,
		.arg = d,
	});
}

static bool is_ready(void *arg, struct ring_reader *reader, struct ring_owner *ring)
{
	(void)arg;
	(void)reader;
	(void)ring;
	return true;
}

static void take_event(void *arg, struct ring_reader *reader, struct ring_owner *ring,
		       const struct span_event *event)
{
	struct desk *d = arg;
	struct span_origin origin = { ring_reader_inode(reader), ring->pid, ring->tid, d->start_tid,
				      span_writer_string(d->span_writer, 0, "service", 7) };

	span_writer_add_event(d->span_writer, &origin, event, 9000);
}

static void take_loss(void *arg, struct ring_reader *reader, struct ring_owner *ring, nsec_t first,
		      nsec_t last, uint64_t count)
{
	struct desk *d = arg;

	(void)reader;
	span_writer_add_loss(d->span_writer, ring->tid, first, last, count, 9000);
}

static int keep(void *arg, const struct record *record, struct err *err)
{
	struct desk *d = arg;

	(void)err;
	counter_add(&d->counters, COUNTER_WRITTEN, 1);
	switch (record->kind) {
	case RECORD_SPAN:
		memcpy(&d->spans[d->span_count++ % 64], record, sizeof(d->spans[0]));
		d->attributes_at_span = d->attribute_count;
		break;
	case RECORD_CONTEXT:
		memcpy(&d->contexts[d->context_count++ % 64], record, sizeof(d->contexts[0]));
		break;
	case RECORD_ATTRIBUTE:
		memcpy(&d->attributes[d->attribute_count++ % 64], record, sizeof(d->attributes[0]));
		break;
	case RECORD_LOSS:
		memcpy(&d->losses[d->loss_count++ % 64], record, sizeof(d->losses[0]));
		break;
	}
	return 0;
}

/* In all tests, no event disappears. */
static void desk_done(struct desk *d)
{
	struct err err;

	span_writer_close_all(d->span_writer, UINT64_MAX - 1);
	span_writer_flush(d->span_writer, UINT64_MAX);
	sorter_flush(d->sorter, UINT64_MAX, keep, d, &err);
	CHECK(counters_agree(&d->counters, false));
	span_writer_free(d->span_writer);
	sorter_free(d->sorter);
	file_sink_done(&d->sink);
	ring_reader_free(d->reader);
	arena_build_done(&d->arena);
}

/* Turn the contents of the rings into records. */
static void flow(struct desk *d)
{
	struct err err;

	ring_reader_drain(d->reader,
			  &(struct ring_sink){ is_ready, take_event, take_loss, d, &d->counters });
	span_writer_flush(d->span_writer, 9500);
	sorter_flush(d->sorter, UINT64_MAX, keep, d, &err);
}

TEST(a_begin_and_an_end_become_a_span)
{
	_cleanup_(desk_done) struct desk d;

	desk_init(&d);
	arena_build_begin(d.ring, 2000, &(struct arena_span){ 1, 2, 3, .name = "old name" });
	flow(&d);
	CHECK_INT(d.span_count, 0);
	arena_build_end(d.ring, 3000,
			&(struct arena_span){ 1, 2, 3, .kind = SPAN_SERVER, .flags = SPAN_ERROR,
					      .start = 1, .tid = 99, .name = "new name" });
	flow(&d);
	CHECK_INT(d.span_count, 1);
	CHECK_INT(d.spans[0].start, 2000);
	CHECK_INT(d.spans[0].head.time, 3000);
	CHECK_INT(d.spans[0].head.tid, 11);
	CHECK_INT(d.spans[0].pid, 10);
	CHECK_INT(d.spans[0].trace[0], 1);
	CHECK_INT(d.spans[0].span[0], 2);
	CHECK_INT(d.spans[0].parent[0], 3);
	CHECK_INT(d.spans[0].kind, SPAN_SERVER);
	CHECK_INT(d.spans[0].flags, SPAN_ERROR);
	CHECK_INT(d.spans[0].operation, capture_add_string(d.sink.writer, "new name"));
	CHECK_INT(d.spans[0].service, capture_add_string(d.sink.writer, "service"));
}

TEST(an_end_with_a_start_time_becomes_a_span)
{
	_cleanup_(desk_done) struct desk d;

	desk_init(&d);
	d.start_tid = 12;
	arena_build_end(d.ring, 3000, &(struct arena_span){ 1, 2, .start = 7, .name = "x" });
	arena_build_end(d.ring, 3000, &(struct arena_span){ 1, 3, .name = "x" });
	flow(&d);
	CHECK_INT(d.span_count, 1);
	CHECK_INT(d.spans[0].start, 7);
	CHECK_INT(d.spans[0].head.tid, 12);
}

TEST(the_kind_in_the_end_takes_precedence)
{
	_cleanup_(desk_done) struct desk d;

	desk_init(&d);
	arena_build_begin(d.ring, 2000, &(struct arena_span){ 1, 2, .kind = 3, .name = "x" });
	arena_build_begin(d.ring, 2000, &(struct arena_span){ 1, 3, .kind = 3, .name = "x" });
	arena_build_end(d.ring, 3000, &(struct arena_span){ 1, 2, .name = "x" });
	arena_build_end(d.ring, 3001, &(struct arena_span){ 1, 3, .kind = 2, .name = "x" });
	arena_build_end(d.ring, 3002, &(struct arena_span){ 1, 4, .kind = 5, .start = 7 });
	flow(&d);
	CHECK_INT(d.span_count, 3);
	CHECK_INT(d.spans[0].kind, 3);
	CHECK_INT(d.spans[1].kind, 2);
	CHECK_INT(d.spans[2].kind, 5);
}

/* Ids in which every byte is significant. */
TEST(an_end_matches_the_begin_with_the_same_ids)
{
	_cleanup_(desk_done) struct desk d;
	const struct span_origin origin = { .owner = 1, .pid = 10, .tid = 11 };
	struct span_event_begin begin = {
		.head = { .time = 2000, .size = sizeof(begin), .kind = SPAN_EVENT_BEGIN }
	};
	struct span_event_end end = {
		.head = { .time = 3000, .size = sizeof(end), .kind = SPAN_EVENT_END }
	};

	desk_init(&d);
	counter_add(&d.counters, COUNTER_EVENTS_DRAINED, sizeof(end.trace) + sizeof(end.span) + 2);
	span_writer_add_event(d.span_writer, &origin, &begin.head, 9000);
	for (size_t i = 0; i < sizeof(end.trace) + sizeof(end.span); i++) {
		uint8_t *byte = i < 16 ? &end.trace[i] : &end.span[i - 16];

		*byte = 1;
		span_writer_add_event(d.span_writer, &origin, &end.head, 9000);
		*byte = 0;
	}
	flow(&d);
	CHECK_INT(d.span_count, 0);
	span_writer_add_event(d.span_writer, &origin, &end.head, 9000);
	flow(&d);
	CHECK_INT(d.span_count, 1);
	CHECK_INT(d.spans[0].start, 2000);
}

TEST(a_span_does_not_begin_after_its_end)
{
	_cleanup_(desk_done) struct desk d;

	desk_init(&d);
	arena_build_end(d.ring, 3000, &(struct arena_span){ 1, 2, .start = 4000, .name = "x" });
	flow(&d);
	CHECK_INT(d.spans[0].start, 3000);
}

TEST(events_outside_the_recording_are_discarded)
{
	_cleanup_(desk_done) struct desk d;

	desk_init(&d);
	arena_build_context(d.ring, 999, 1, 1, 0);
	arena_build_context(d.ring, 1000, 1, 1, 0);
	arena_build_context(d.ring, 9001, 1, 1, 0);
	flow(&d);
	CHECK_INT(d.context_count, 1);
	CHECK_INT(d.contexts[0].since, 1000);
	CHECK_INT(d.contexts[0].trace[0], 1);
	CHECK_INT(d.contexts[0].span[0], 1);
}

TEST(events_in_the_future_are_discarded)
{
	_cleanup_(desk_done) struct desk d;

	desk_init(&d);
	span_writer_add_loss(d.span_writer, 1, 9600, 9700, 53, 9700);
	span_writer_add_loss(d.span_writer, 1, 2000, 9400, 53, 9400);
	flow(&d);
	CHECK_INT(d.loss_count, 1);
}

TEST(attributes_are_written_before_their_span)
{
	_cleanup_(desk_done) struct desk d;
	static const char attributes[] = "\1\3\4\0keytext"
					 "\3\1\10\0n\377\377\377\377\377\377\377\377"
					 "\7\1\0\0x";

	desk_init(&d);
	arena_build_end(d.ring, 3000,
			&(struct arena_span){ 1, 2, .start = 2000, .name = "x",
					      .attributes = attributes,
					      .attributes_size = sizeof(attributes) - 1 });
	flow(&d);
	CHECK_INT(d.attributes_at_span, 2);
	CHECK_INT(d.attribute_count, 2);
	CHECK_INT(d.attributes[0].type, ATTRIBUTE_STRING);
	CHECK_INT(d.attributes[0].key, capture_add_string(d.sink.writer, "key"));
	CHECK_INT(d.attributes[0].value, capture_add_string(d.sink.writer, "text"));
	CHECK_INT((int64_t)d.attributes[1].value, -1);
	CHECK_INT(d.attributes[1].span[0], 2);
}

TEST(an_unknown_context_names_no_span)
{
	_cleanup_(desk_done) struct desk d;

	desk_init(&d);
	arena_build_context(d.ring, 2000, 1, 1, CONTEXT_UNKNOWN | CONTEXT_OBSERVED);
	flow(&d);
	CHECK_INT(d.contexts[0].flags, CONTEXT_UNKNOWN);
	CHECK_INT(d.contexts[0].trace[0], 0);
	CHECK_INT(d.contexts[0].head.tid, 11);
}

TEST(rings_are_merged_by_time)
{
	_cleanup_(desk_done) struct desk d;

	desk_init(&d);

	struct span_ring *other = arena_build_take(&d.arena, 1, 10, 12);

	for (uint64_t t = 2000; t < 2020; t += 2) {
		arena_build_context(d.ring, t, 1, 1, 0);
		arena_build_context(other, t + 1, 1, 1, 0);
	}
	flow(&d);
	CHECK_INT(d.context_count, 20);
	for (size_t i = 0; i < 20; i++)
		CHECK_INT(d.contexts[i].since, 2000 + i);
	CHECK_INT(sorter_late(d.sorter), 0);
}

TEST(unfinished_spans_end_with_their_process)
{
	_cleanup_(desk_done) struct desk d;
	struct map ended = { 0 };

	desk_init(&d);

	struct span_ring *other = arena_build_take(&d.arena, 1, 20, 21);

	arena_build_begin(d.ring, 2000, &(struct arena_span){ 1, 2, .name = "dies" });
	arena_build_begin(d.ring, 2900, &(struct arena_span){ 1, 3, .name = "the next program's" });
	arena_build_begin(other, 2000, &(struct arena_span){ 1, 4, .name = "lives" });
	flow(&d);
	*map_insert(&ended, 10) = 2500;
	span_writer_close_processes(d.span_writer, &ended);
	map_done(&ended);
	flow(&d);
	CHECK_INT(d.span_count, 1);
	CHECK_INT(d.spans[0].span[0], 2);
	CHECK_INT(d.spans[0].head.time, 2500);
	CHECK_INT(d.spans[0].flags, SPAN_OPEN);
	span_writer_close_all(d.span_writer, 4000);
	flow(&d);
	CHECK_INT(d.span_count, 3);
	CHECK_INT(d.spans[2].head.time, 4000);
}

TEST(only_spans_begun_before_the_exit_are_closed)
{
	_cleanup_(desk_done) struct desk d;
	struct map ended = { 0 };

	desk_init(&d);
	arena_build_begin(d.ring, 2000, &(struct arena_span){ 1, 2, .name = "at its end" });
	arena_build_begin(d.ring, 3000, &(struct arena_span){ 1, 3, .name = "at the end" });
	arena_build_begin(d.ring, 3001, &(struct arena_span){ 1, 4, .name = "too late" });
	flow(&d);
	*map_insert(&ended, 10) = 2000;
	span_writer_close_processes(d.span_writer, &ended);
	map_done(&ended);
	flow(&d);
	CHECK_INT(d.span_count, 1);
	span_writer_close_all(d.span_writer, 3000);
	flow(&d);
	CHECK_INT(d.span_count, 2);
	CHECK_INT(d.spans[1].span[0], 3);
	CHECK_INT(d.spans[1].head.time, 3000);
}

TEST(an_event_cannot_end_a_span_of_another_arena)
{
	_cleanup_(desk_done) struct desk d;
	struct span_event_end end = {
		.head = { .time = 3000, .size = sizeof(end), .kind = SPAN_EVENT_END },
		.trace = { 1 },
		.span = { 2 }
	};
	const struct span_origin stranger = { .owner = 12345, .pid = 30, .tid = 31 };

	desk_init(&d);
	arena_build_begin(d.ring, 2000, &(struct arena_span){ 1, 2, .name = "x" });
	flow(&d);
	counter_add(&d.counters, COUNTER_EVENTS_DRAINED, 1);
	span_writer_add_event(d.span_writer, &stranger, &end.head, 9000);
	flow(&d);
	CHECK_INT(d.span_count, 0);
}

TEST(losses_are_clipped_to_the_recording)
{
	_cleanup_(desk_done) struct desk d;

	desk_init(&d);
	span_writer_add_loss(d.span_writer, 1, 5, 10, 53, 9000);
	span_writer_add_loss(d.span_writer, 2, 5, 2000, 53, 9000);
	span_writer_add_loss(d.span_writer, 3, UINT64_MAX, UINT64_MAX, UINT64_MAX, 9000);
	flow(&d);
	CHECK_INT(d.loss_count, 2);
	CHECK_INT(d.losses[0].start, 1000);
	CHECK_INT(d.losses[0].end, 2000);
	CHECK_INT(d.losses[1].start, 9000);
	CHECK_INT(d.losses[1].end, 9000);
	CHECK(d.losses[1].count < UINT64_MAX);
}

TEST(the_number_of_unfinished_spans_is_limited)
{
	_cleanup_(desk_done) struct desk d;
	const struct span_origin origin = { .owner = 1, .pid = 10, .tid = 11 };
	struct span_event_begin begin = {
		.head = { .time = 2000, .size = sizeof(begin), .kind = SPAN_EVENT_BEGIN }
	};

	desk_init(&d);
	for (uint32_t i = 0; i < 100003; i++) {
		memcpy(begin.span, &i, sizeof(i));
		counter_add(&d.counters, COUNTER_EVENTS_DRAINED, 1);
		span_writer_add_event(d.span_writer, &origin, &begin.head, 9000);
	}
	CHECK_INT(d.warnings, 1);
	span_writer_close_all(d.span_writer, 3000);
	flow(&d);
	CHECK_INT(d.span_count, 65536);
}

TEST(the_size_of_strings_is_limited)
{
	_cleanup_(desk_done) struct desk d;
	char text[4000];

	desk_init(&d);
	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < 75000 && !d.warnings; i++) {
		snprintf(text, 16, "%015u", i);
		text[15] = 'x';
		span_writer_string(d.span_writer, 0, text, sizeof(text));
	}
	CHECK_INT(d.warnings, 1);
	CHECK_INT(span_writer_string(d.span_writer, 0, "one more", 8), 0);
}

TEST(a_repeated_string_counts_once)
{
	_cleanup_(desk_done) struct desk d;
	char text[4000];

	desk_init(&d);
	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < 75000; i++)
		span_writer_string(d.span_writer, 0, text, sizeof(text));
	CHECK_INT(d.warnings, 0);
	CHECK(span_writer_string(d.span_writer, 0, "one more", 8) > 0);
}

TEST(a_process_with_too_many_names_leaves_room_for_others)
{
	_cleanup_(desk_done) struct desk d;
	char text[4000];

	desk_init(&d);
	memset(text, 'x', sizeof(text));

	uint32_t known = span_writer_string(d.span_writer, 1, "known", 5);

	for (uint64_t owner = 1; owner < 40; owner++) /* repeated */
		for (uint32_t i = 0; i < 20000; i++) {
			snprintf(text, 32, "%015u %015u", (uint32_t)owner, i);
			text[31] = 'x';
			if (!span_writer_string(d.span_writer, owner, text, sizeof(text)))
				break;
		}
	CHECK_INT(d.warnings, 1);
	CHECK_INT(span_writer_string(d.span_writer, 1, "new", 3), 0);
	CHECK_INT(span_writer_string(d.span_writer, 1, "known", 5), known);
	CHECK(span_writer_string(d.span_writer, 77, "new", 3) != 0);
}

TEST(a_process_with_too_many_unfinished_spans_leaves_room_for_others)
{
	_cleanup_(desk_done) struct desk d;
	struct span_event_begin begin = {
		.head = { .time = 2000, .size = sizeof(begin), .kind = SPAN_EVENT_BEGIN }
	};

	desk_init(&d);
	for (uint64_t owner = 1; owner < 9; owner++)
		for (uint32_t i = 0; i < 70000; i++) {
			memcpy(begin.span, &i, sizeof(i));
			counter_add(&d.counters, COUNTER_EVENTS_DRAINED, 1);
			span_writer_add_event(
				d.span_writer,
				&(struct span_origin){ .owner = owner, .pid = 10, .tid = 11 },
				&begin.head, 9000);
		}
	CHECK_INT(d.warnings, 1);
	counter_add(&d.counters, COUNTER_EVENTS_DRAINED, 1);
	span_writer_add_event(d.span_writer,
			      &(struct span_origin){ .owner = 77, .pid = 12, .tid = 13 },
			      &begin.head, 9000);

	struct map ended = { 0 };

	*map_insert(&ended, 12) = 3000;
	span_writer_close_processes(d.span_writer, &ended);
	map_done(&ended);
	flow(&d);
	CHECK_INT(d.span_count, 1);
}
