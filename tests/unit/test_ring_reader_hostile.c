/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder reads arenas that a hostile process writes.  These tests pin the
 * checks that keep the recorder alive: seals, bounds, and a single fetch of
 * everything that the process can change between two reads.
 */
#include "record/spans/ring_reader.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "arena_build.h"
#include "test.h"

enum { PAGE = 4096, EVENTS_MAX = 16 };

/* Copies of what the reader delivered. */
struct seen {
	_Alignas(8) char events[EVENTS_MAX][256];
	size_t count;
	char service[SPAN_SERVICE_MAX];
	const struct span_ring *ring; /* observe the tail of this ring, or NULL */
	uint64_t tail;
	size_t steps; /* changes of the tail */
	uint64_t lost;
};

static const struct span_event *event_at(const struct seen *seen, size_t i)
{
	return (const void *)seen->events[i % EVENTS_MAX];
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
	struct seen *seen = arg;
	char *copy = seen->events[seen->count++ % EVENTS_MAX];

	(void)reader;
	memcpy(copy, event, event->size < 256 ? event->size : 256);
	memcpy(seen->service, ring->service, sizeof(seen->service));
	if (seen->ring && seen->ring->tail != seen->tail) {
		seen->tail = seen->ring->tail;
		seen->steps++;
	}
}

static void take_loss(void *arg, struct ring_reader *reader, struct ring_owner *ring, nsec_t first,
		      nsec_t last, uint64_t count)
{
	struct seen *seen = arg;

	(void)reader;
	(void)ring;
	(void)first;
	(void)last;
	seen->lost += count;
}

static struct seen drain_watched(struct ring_reader *reader, const struct span_ring *ring)
{
	struct seen seen = { .ring = ring, .tail = ring ? ring->tail : 0 };

	ring_reader_drain(reader,
			  &(struct ring_sink){ is_ready, take_event, take_loss, &seen, NULL });
	return seen;
}

static struct seen drain(struct ring_reader *reader)
{
	return drain_watched(reader, NULL);
}

static struct ring_reader *open_reader(const struct arena_build *b)
{
	struct ring_reader *reader;

	if (ring_reader_open(b->fd, arena_file_device(), &reader) < 0)
		abort();
	return reader;
}

TEST(an_arena_without_seals_is_refused)
{
	static const int seals[] = { 0, F_SEAL_SHRINK, F_SEAL_GROW };

	for (size_t i = 0; i < ARRAY_LEN(seals); i++) {
		_cleanup_(arena_build_done) struct arena_build b = arena_build_sealed(seals[i]);
		struct span_arena *arena = NULL;
		struct ring_reader *reader = NULL;

		CHECK_INT(ring_reader_open(b.fd, arena_file_device(), &reader), -EBADMSG);
		CHECK_INT(arena_file_map(b.fd, arena_file_device(), &arena), -EBADMSG);
		CHECK(!reader && !arena);
	}
}

/* How many events are accepted if their text sizes differ from the true ones. */
static size_t accepted_end(size_t name, size_t attributes, int more)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);
	_Alignas(8) char room[SPAN_EVENT_MAX] = { 0 };
	struct span_event_end *e = (void *)room;

	e->name_size = name;
	e->attributes_size = attributes + more;
	e->head = (struct span_event){ .size = sizeof(*e) + name + attributes,
				       .kind = SPAN_EVENT_END };
	arena_build_put(ring, e, e->head.size);
	return drain(reader).count;
}

static size_t accepted_begin(size_t name, int more)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);
	_Alignas(8) char room[SPAN_EVENT_MAX] = { 0 };
	struct span_event_begin *e = (void *)room;

	e->name_size = name + more;
	e->head = (struct span_event){ .size = sizeof(*e) + name, .kind = SPAN_EVENT_BEGIN };
	arena_build_put(ring, e, e->head.size);
	return drain(reader).count;
}

TEST(text_can_fill_its_event_but_not_exceed_it)
{
	CHECK_INT(accepted_begin(0, 0), 1);
	CHECK_INT(accepted_begin(16, -1), 1);
	CHECK_INT(accepted_begin(16, 0), 1);
	CHECK_INT(accepted_end(0, 0, 0), 1);
	CHECK_INT(accepted_end(8, 16, -1), 1);
	CHECK_INT(accepted_end(8, 16, 0), 1);
	for (int more = 1; more <= 8; more++) {
		CHECK_INT(accepted_begin(16, more), 0);
		CHECK_INT(accepted_end(8, 16, more), 0);
		CHECK_INT(accepted_end(0, 16, more), 0);
		CHECK_INT(accepted_end(16, 0, more), 0);
	}
}

TEST(an_event_is_at_least_as_large_as_its_kind)
{
	static const uint16_t sizes[] = { [SPAN_EVENT_BEGIN] = sizeof(struct span_event_begin),
					  [SPAN_EVENT_END] = sizeof(struct span_event_end),
					  [SPAN_EVENT_CONTEXT] = sizeof(struct span_event_context),
					  [SPAN_EVENT_CONTEXT + 1] = 0 };
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);

	for (uint8_t kind = 0; kind < ARRAY_LEN(sizes); kind++)
		for (uint16_t size = sizeof(struct span_event); size < 128; size += 8) {
			struct span_event room[8] = { { .size = size, .kind = kind } };

			arena_build_put(ring, room, size);
			CHECK_INT(drain(reader).count, sizes[kind] && size >= sizes[kind]);
		}
}

/* An attribute with these sizes of key and value, in `size` bytes of attributes. */
static int accepted_attribute(uint8_t key, uint16_t value, uint16_t size)
{
	_Alignas(8) char room[SPAN_EVENT_MAX] = { 0 };
	struct span_event_end *e = (void *)room;
	const struct span_attribute *ret = NULL;
	struct span_attribute a = { .type = ATTRIBUTE_STRING,
				    .key_size = key,
				    .value_size = value };
	size_t at = 0;

	e->name_size = 3;
	e->attributes_size = size;
	memcpy(e->text + 3, &a, sizeof(a));

	int r = span_event_next_attribute(e, &at, &ret);

	CHECK_INT(at, r ? sizeof(a) + key + value : 0);
	CHECK(ret == (r ? (const void *)(e->text + 3) : NULL));
	return r;
}

TEST(an_attribute_can_fill_its_space_but_not_exceed_it)
{
	const size_t head = sizeof(struct span_attribute);

	CHECK_INT(accepted_attribute(0, 0, head), 1);
	CHECK_INT(accepted_attribute(5, 7, head + 12), 1);
	CHECK_INT(accepted_attribute(5, 7, head + 13), 1);
	for (size_t less = 1; less <= 12; less++)
		CHECK_INT(accepted_attribute(5, 7, head + 12 - less), 0);
	for (size_t size = 0; size < head; size++)
		CHECK_INT(accepted_attribute(0, 0, size), 0);
	CHECK_INT(accepted_attribute(UINT8_MAX, UINT16_MAX, UINT8_MAX + head), 0);
}

TEST(times_are_converted_to_our_clock)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);

	ring_reader_set_clock_offset(reader, 1000);
	ring_reader_heartbeat(reader, 5);
	CHECK_INT(b.arena->heartbeat, 1005);
	arena_build_context(ring, 1007, 1, 1, 0);
	arena_build_begin(ring, 1008, &(struct arena_span){ 1, 2, .name = "a name of a span" });
	arena_build_end(ring, 1009, &(struct arena_span){ 1, 2, .start = 1008, .name = "x" });
	arena_build_end(ring, 1010, &(struct arena_span){ 1, 3, .name = "x" });

	struct seen seen = drain(reader);
	const struct span_event_begin *begin = (const void *)event_at(&seen, 1);
	const struct span_event_end *end = (const void *)event_at(&seen, 2);
	const struct span_event_end *unknown = (const void *)event_at(&seen, 3);

	for (size_t i = 0; i < 4; i++)
		CHECK_INT(event_at(&seen, i)->time, 7 + i);
	CHECK(memcmp(begin->name, "a name of a span", 16) == 0);
	CHECK_INT(end->start, 8);
	CHECK_INT(unknown->start, 0);
}

TEST(a_service_name_without_final_nul_is_cut)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);

	memset(ring->service, 'x', sizeof(ring->service));
	arena_build_context(ring, 1, 1, 1, 0);

	struct seen seen = drain(reader);

	CHECK_INT(strnlen(seen.service, sizeof(seen.service)), SPAN_SERVICE_MAX - 1);
}

TEST(unaligned_positions_are_rounded_down)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);

	for (uint64_t low = 1; low < 8; low++) {
		ring->head = ring->tail = 0;
		arena_build_context(ring, low, 1, 1, 0);
		ring->head += low;
		ring->tail += low;

		struct seen seen = drain(reader);

		CHECK_INT(seen.count, 1);
		CHECK_INT(event_at(&seen, 0)->time, low);
		CHECK_INT(ring->tail, sizeof(struct span_event_context));
	}
}

/* A busy thread gets space back before the drain ends, but not with a store for each event. */
TEST(ring_space_is_released_in_portions)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);
	const size_t fit = SPAN_RING_SIZE / sizeof(struct span_event_context);

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < fit; i++)
			arena_build_context(ring, i, 1, 1, 0);

		struct seen seen = drain_watched(reader, ring);

		CHECK_INT(seen.count, fit);
		CHECK(seen.steps >= 4 && seen.steps <= 16);
		CHECK_INT(ring->tail, ring->head);
	}
}

TEST(losses_from_before_the_recording_are_not_reported)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();

	b.arena->lost_without_ring = 53;

	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);

	CHECK_INT(drain(reader).lost, 0);
	b.arena->lost_without_ring += 7;
	CHECK_INT(drain(reader).lost, 7);
	CHECK_INT(drain(reader).lost, 0);
}

TEST(an_arena_can_be_mapped_while_another_recorder_reads_it)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_arena *arena = NULL;

	CHECK_INT(arena_file_map(b.fd, arena_file_device(), &arena), 0);
	CHECK(arena && arena != b.arena);
	if (!arena)
		return;
	arena->rules[0].off = 53;
	CHECK_INT(b.arena->rules[0].off, 53);
	arena_file_unmap(arena);
	b.arena->magic[7]++;
	CHECK_INT(arena_file_map(b.fd, arena_file_device(), &arena), -EBADMSG);
}

#ifdef __x86_64__

/*
 * A process that changes the size of an event between any two reads of the recorder.
 * The page of the event is inaccessible in the recorder's mapping: a read faults, is
 * executed alone, in single-step mode, and then the size changes.
 */
static struct {
	char *page;     /* in the mapping of the recorder */
	uint16_t *size; /* in our mapping */
	uint16_t other; /* the other size */
	unsigned int reads, pattern;
} changing;

enum { SMALL = sizeof(struct span_event_context), LARGE = 2 * SMALL, HUGE = UINT16_MAX - 7 };
enum { STEP = 0x100, PATTERNS = 256 };

static void change_size(void)
{
	*changing.size = changing.pattern >> changing.reads % 8 & 1 ? changing.other : SMALL;
}

static void on_read(int signal, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	char *at = info->si_addr;

	(void)signal;
	if (at < changing.page || at >= changing.page + PAGE ||
	    mprotect(changing.page, PAGE, PROT_READ | PROT_WRITE) < 0)
		abort();
	u->uc_mcontext.gregs[REG_EFL] |= STEP;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)signal;
	(void)info;
	changing.reads++;
	change_size();
	if (mprotect(changing.page, PAGE, PROT_NONE) < 0)
		abort();
	u->uc_mcontext.gregs[REG_EFL] &= ~STEP;
}

/* Find the recorder's mapping of the arena: the one that is not ours. */
static char *recorders_mapping(const struct arena_build *b)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], *found = NULL;

	while (maps && fgets(line, sizeof(line), maps)) {
		char *start = (char *)strtoul(line, NULL, 16);

		if (strstr(line, "/memfd:" SPAN_ARENA_NAME) && start != (char *)b->arena)
			found = start;
	}
	if (maps)
		fclose(maps);
	return found;
}

/* Three context events of SMALL bytes; the time of each is its distance from the first. */
static struct seen drain_changing(struct ring_reader *reader, struct span_ring *ring, uint64_t at)
{
	struct seen seen;

	ring->head = ring->tail = at;
	for (uint64_t time = 0; time < 3; time++)
		arena_build_context(ring, time * SMALL, 1, 1, 0);
	changing.size = &((struct span_event *)(ring->data + at))->size;
	changing.reads = 0;
	change_size();
	if (mprotect(changing.page, PAGE, PROT_NONE) < 0)
		abort();
	seen = drain(reader);
	if (mprotect(changing.page, PAGE, PROT_READ | PROT_WRITE) < 0)
		abort();
	return seen;
}

/* The recorder continues with the size that it read, whichever that is. */
static void check_changing(const struct seen *seen)
{
	const uint16_t size = event_at(seen, 0)->size;

	CHECK(changing.reads > 0);
	if (seen->count == 0) {
		CHECK_INT(changing.other, HUGE); /* refused, with everything behind it */
		return;
	}
	CHECK_INT(seen->count, size == SMALL ? 3 : 2);
	CHECK_INT(event_at(seen, 1)->time, size);
}

TEST(the_size_of_an_event_is_read_once)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);
	struct sigaction read = { .sa_sigaction = on_read, .sa_flags = SA_SIGINFO }, old_read;
	struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO }, old_step;
	uint64_t at = PAGE + (-(uintptr_t)ring->data & (PAGE - 1));
	char *mapping = recorders_mapping(&b);

	CHECK(mapping != NULL);
	if (!mapping)
		return;
	changing.page = mapping + ((char *)ring->data + at - (char *)b.arena);
	sigaction(SIGSEGV, &read, &old_read);
	sigaction(SIGTRAP, &step, &old_step);
	for (int i = 0; i < 2 * PATTERNS; i++) {
		changing.pattern = i / 2;
		changing.other = i % 2 ? LARGE : HUGE;

		struct seen seen = drain_changing(reader, ring, at);

		check_changing(&seen);
		CHECK_INT(ring->tail, ring->head);
	}
	sigaction(SIGSEGV, &old_read, NULL);
	sigaction(SIGTRAP, &old_step, NULL);
}

#endif
