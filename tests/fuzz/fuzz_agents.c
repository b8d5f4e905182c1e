/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: what a hostile process leaves in its arena.  The first byte selects the form of the
 * rest: a whole ring with its header; the contents of an otherwise valid ring, at a position
 * that the second byte selects; or the bodies of events, each after its kind, flags and size,
 * so that the fuzzer gets past these.  Everything is drained and passes through the
 * recorder; the results must be valid records of a capture.  The same bytes are also
 * parsed as the process context of OTEP 4719.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/file_sink.h"
#include "record/spans/process_scan.h"
#include "record/spans/span_writer.h"
#include "record/spans/ring_reader.h"
#include "unit/arena_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

enum { RUNS = 1000, NOW = 1 << 30 }; /* discard the strings after so many runs */

static struct arena_build arena;
static struct ring_reader *reader;
static struct sorter *sorter;
static struct span_writer *span_writer;
static struct file_sink sink;
static struct counters counters;

static void warning(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static void set_up(void)
{
	char path[] = "/tmp/fuzz_agents.XXXXXX";
	const struct capture_meta meta = { "", "", "", "", "", .cpu_count = 1 };
	int fd = mkstemp(path);
	struct err err;

	if (!reader) {
		arena = arena_build_make();
		assert(ring_reader_open(arena.fd, arena_file_device(), &reader) == 0);
	}
	span_writer_free(span_writer);
	sorter_free(sorter);
	file_sink_done(&sink);
	file_sink_init(&sink, path, warning, NULL);
	assert(fd >= 0 && sink_begin(&sink.sink, &meta, &err) == 0);
	close(fd);
	unlink(path);
	sorter = sorter_new(1);
	span_writer = span_writer_new(
		&(struct span_writer_config){ sorter, 0, &sink.sink, 1, &counters, warning, NULL });
}

static bool is_ready(void *arg, struct ring_reader *t, struct ring_owner *ring)
{
	(void)arg;
	(void)t;
	return ring->tid % 2 == 0;
}

static void add_event(void *arg, struct ring_reader *t, struct ring_owner *ring,
		      const struct span_event *event)
{
	const struct span_origin origin = { ring_reader_inode(t), ring->pid, ring->tid, ring->tid,
					    span_writer_string(span_writer, 0, ring->service,
							       SPAN_SERVICE_MAX) };

	(void)arg;
	span_writer_add_event(span_writer, &origin, event, NOW);
}

static void add_loss(void *arg, struct ring_reader *t, struct ring_owner *ring, nsec_t first,
		     nsec_t last, uint64_t count)
{
	(void)arg;
	(void)t;
	span_writer_add_loss(span_writer, ring ? ring->tid : 0, first, last, count, NOW);
}

static bool is_dead(void *arg, struct ring_reader *t, struct ring_owner *ring)
{
	(void)arg;
	(void)t;
	return ring->pid % 2;
}

static int check(void *arg, const struct record *record, struct err *err)
{
	(void)arg;
	(void)err;
	counter_add(&counters, COUNTER_WRITTEN, 1);
	assert(record->time >= 1 && record->time <= NOW && record->words >= 2);
	assert(record->kind == RECORD_SPAN || record->kind == RECORD_CONTEXT ||
	       record->kind == RECORD_ATTRIBUTE || record->kind == RECORD_LOSS);
	if (record->kind == RECORD_SPAN)
		assert(((const struct record_span *)(const void *)record)->start <= record->time);
	return 0;
}

static void fill_events(struct span_ring *ring, const uint8_t *input, size_t size)
{
	for (uint64_t time = 1; size >= 4; time++) {
		_Alignas(8) uint8_t room[SPAN_EVENT_MAX] = { 0 };
		struct span_event *e = (void *)room;
		size_t body = input[2] | (input[3] & 15) << 8;

		*e = (struct span_event){ .time = time, .kind = input[0] % 5, .flags = input[1] };
		input += 4;
		size -= 4;
		body = body < size ? body : size;
		body = body < sizeof(room) - sizeof(*e) ? body : sizeof(room) - sizeof(*e);
		memcpy(e + 1, input, body);
		e->size = arena_build_round(sizeof(*e) + body);
		arena_build_put(ring, e, e->size);
		input += body;
		size -= body;
	}
}

static void fill(const uint8_t *input, size_t size)
{
	struct span_ring *ring = &arena.arena->rings[input[0] % 2];
	uint8_t form = input[0] >> 1 & 3, position = input[1];

	input += 2;
	size -= 2;
	memset(ring, 0, offsetof(struct span_ring, data));
	arena_build_take(&arena, ring - arena.arena->rings, 10, 12);
	if (form == 0) {
		memcpy(ring, input, size < sizeof(*ring) ? size : sizeof(*ring));
		return;
	}
	ring->head = ring->tail = (uint64_t)position << 8;
	if (form == 1 && size <= SPAN_EVENT_MAX)
		arena_build_put(ring, input, size);
	else
		fill_events(ring, input, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	static unsigned int runs;
	char service[PROCESS_SCAN_SERVICE_MAX];
	struct err err;

	if (size < 2)
		return 0;
	if (runs++ % RUNS == 0)
		set_up();
	counters = (struct counters){ 0 };
	fill(input, size);
	for (int i = 0; i < 2; i++) {
		ring_reader_drain(reader, &(struct ring_sink){ is_ready, add_event, add_loss, NULL,
							       &counters });
		ring_reader_reap(reader, is_dead, NULL);
	}
	span_writer_close_all(span_writer, NOW);
	span_writer_flush(span_writer, NOW);
	assert(sorter_flush(sorter, UINT64_MAX, check, NULL, &err) == 0);
	assert(counters_agree(&counters, false));
	if (process_scan_parse_service((struct view){ (const char *)input, size }, service))
		assert(strnlen(service, sizeof(service)) < sizeof(service));
	return 0;
}
