/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/ring_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "arena_build.h"
#include "test.h"

/* What the reader delivered. */
struct seen {
	size_t events, owners, losses;
	uint64_t lost, last; /* time of the last event */
	uint32_t tid;
	bool not_ready, is_dead;
	struct counters counters;
};

static bool is_ready(void *arg, struct ring_reader *reader, struct ring_owner *ring)
{
	struct seen *seen = arg;

	(void)reader;
	seen->owners += !ring->resolved.is_final;
	ring->resolved.is_final = true;
	seen->tid = ring->tid;
	return !seen->not_ready;
}

static void take_event(void *arg, struct ring_reader *reader, struct ring_owner *ring,
		       const struct span_event *event)
{
	struct seen *seen = arg;

	(void)reader;
	(void)ring;
	seen->events++;
	seen->last = event->time;
}

static void take_loss(void *arg, struct ring_reader *reader, struct ring_owner *ring, nsec_t first,
		      nsec_t last, uint64_t count)
{
	struct seen *seen = arg;

	(void)reader;
	(void)ring;
	(void)first;
	(void)last;
	seen->losses++;
	seen->lost += count;
}

static bool is_dead(void *arg, struct ring_reader *reader, struct ring_owner *ring)
{
	(void)reader;
	(void)ring;
	return ((struct seen *)arg)->is_dead;
}

static unsigned int drain(struct ring_reader *reader, struct seen *seen)
{
	return ring_reader_drain(reader, &(struct ring_sink){ is_ready, take_event, take_loss, seen,
							      &seen->counters });
}

static struct ring_reader *open_reader(const struct arena_build *b)
{
	struct ring_reader *reader = NULL;

	CHECK_INT(ring_reader_open(b->fd, arena_file_device(), &reader), 0);
	if (!reader)
		abort();
	return reader;
}

TEST(events_are_read_once_and_in_order)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 700, 10, 11);
	struct seen seen = { 0 };

	arena_build_begin(ring, 5, &(struct arena_span){ .span = 1, .name = "one" });
	arena_build_context(ring, 6, 1, 1, 0);
	arena_build_end(ring, 7, &(struct arena_span){ .span = 1, .name = "one" });
	drain(reader, &seen);
	CHECK_INT(seen.events, 3);
	CHECK_INT(seen.last, 7);
	CHECK_INT(seen.tid, 11);
	CHECK_INT(ring->tail, ring->head);
	drain(reader, &seen);
	CHECK_INT(seen.events, 3);
}

TEST(an_event_can_continue_behind_the_end_of_the_ring)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);
	struct seen seen = { 0 };

	for (uint64_t i = 1; i <= 20011; i++) {
		arena_build_begin(ring, i, &(struct arena_span){ .span = 1, .name = "a name" });
		if (i % 499 == 0)
			drain(reader, &seen);
	}
	drain(reader, &seen);
	CHECK_INT(seen.events, 20011);
	CHECK_INT(seen.last, 20011);
	CHECK_INT(seen.losses, 0);
}

TEST(dropped_events_are_reported_once)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);
	struct seen seen = { 0 };
	const size_t fit = SPAN_RING_SIZE / sizeof(struct span_event_context);

	for (uint64_t i = 0; i < fit + 53; i++)
		arena_build_context(ring, i + 1, 1, 1, 0);
	CHECK(drain(reader, &seen) > 250);
	drain(reader, &seen);
	CHECK_INT(seen.events, fit);
	CHECK_INT(seen.losses, 1);
	CHECK_INT(seen.lost, 53);
	b.arena->lost_without_ring += 7;
	drain(reader, &seen);
	CHECK_INT(seen.lost, 60);
	CHECK_INT(seen.counters.n[COUNTER_EVENTS_MISSING], 0);
	/* events follow the last drop */
	arena_build_context(ring, 9000, 1, 1, 0);
	drain(reader, &seen);
	CHECK_INT(seen.counters.n[COUNTER_EVENTS_DRAINED], fit + 1);
	CHECK_INT(seen.counters.n[COUNTER_EVENTS_MISSING], 0);
}

/* An agent that takes its recorder for dead lets the next thread acquire a ring that is not empty.
 */
TEST(an_event_that_disappears_from_a_ring_is_counted)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);
	struct seen seen = { 0 };

	arena_build_context(ring, 1, 1, 1, 0);
	drain(reader, &seen);
	arena_build_context(ring, 2, 1, 1, 0);
	arena_build_context(ring, 3, 1, 1, 0);
	ring->tail = ring->head;
	arena_build_context(ring, 4, 1, 1, 0);
	drain(reader, &seen);
	CHECK_INT(seen.events, 2);
	CHECK_INT(seen.counters.n[COUNTER_EVENTS_MISSING], 2);
}

TEST(a_malformed_event_is_counted)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);
	struct span_event bad = { .time = 1, .size = sizeof(bad), .kind = 77 };
	struct seen seen = { 0 };

	arena_build_put(ring, &bad, sizeof(bad));
	bad.size = 3;
	arena_build_put(ring, &bad, sizeof(bad));
	drain(reader, &seen);
	CHECK_INT(seen.events, 0);
	CHECK_INT(seen.counters.n[COUNTER_EVENTS_DRAINED], 2);
	CHECK_INT(seen.counters.n[COUNTER_EVENTS_DAMAGED], 2);
}

TEST(events_of_an_unresolved_owner_count_as_remaining)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);
	struct seen seen = { .not_ready = true };

	for (uint64_t i = 1; i <= 53; i++)
		arena_build_begin(ring, i, &(struct arena_span){ .span = 1, .name = "a name" });
	drain(reader, &seen);
	CHECK_INT(ring_reader_count_remaining(reader), 53);
	seen.not_ready = false;
	drain(reader, &seen);
	CHECK_INT(ring_reader_count_remaining(reader), 0);
}

TEST(an_abandoned_ring_is_freed_when_it_is_empty)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 65, 10, 11);
	struct seen seen = { .not_ready = true };

	arena_build_context(ring, 1, 1, 1, 0);
	ring->state = SPAN_RING_ABANDONED;
	drain(reader, &seen);
	CHECK_INT(ring->state, SPAN_RING_ABANDONED);
	seen.not_ready = false;
	drain(reader, &seen);
	CHECK_INT(seen.events, 1);
	CHECK_INT(ring->state, SPAN_RING_FREE);
	CHECK_INT(b.arena->taken[1], 0);
}

TEST(a_ring_of_a_dead_thread_is_freed_when_it_is_empty)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 5, 10, 11);
	struct seen seen = { 0 };

	drain(reader, &seen);
	ring_reader_reap(reader, is_dead, &seen);
	CHECK_INT(ring->state, SPAN_RING_TAKEN);
	seen.is_dead = true;
	arena_build_context(ring, 1, 1, 1, 0);
	ring_reader_reap(reader, is_dead, &seen);
	CHECK_INT(ring->state, SPAN_RING_TAKEN);
	drain(reader, &seen);
	ring_reader_reap(reader, is_dead, &seen);
	CHECK_INT(ring->state, SPAN_RING_FREE);
	CHECK_INT(seen.events, 1);
}

/* What the process does while the recorder checks whether the owner of ring 5 is dead. */
struct meanwhile {
	struct arena_build *b;
	bool is_taken_again;
};

/* A thread of the process frees the ring, and another one may acquire it. */
static bool is_dead_and_freed(void *arg, struct ring_reader *reader, struct ring_owner *owner)
{
	struct meanwhile *m = arg;
	struct span_ring *ring = &m->b->arena->rings[5];

	m->b->arena->taken[0] = 0;
	ring->state = span_ring_with(ring->state, SPAN_RING_FREE);
	if (m->is_taken_again) {
		arena_build_take(m->b, 5, 10, 12);
		ring->state += SPAN_RING_GENERATION;
	}
	return true;
}

TEST(a_ring_that_its_process_frees_first_stays_free)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 5, 10, 11);
	struct seen seen = { 0 };

	drain(reader, &seen);
	ring_reader_reap(reader, is_dead_and_freed, &(struct meanwhile){ &b, false });
	CHECK_INT(ring->state & SPAN_RING_STATE, SPAN_RING_FREE);
	CHECK_INT(b.arena->taken[0], 0);
}

TEST(a_ring_with_a_new_owner_is_not_freed)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 5, 10, 11);
	struct seen seen = { .is_dead = true };

	drain(reader, &seen);
	ring_reader_reap(reader, is_dead_and_freed, &(struct meanwhile){ &b, true });
	CHECK_INT(ring->state & SPAN_RING_STATE, SPAN_RING_TAKEN);
	CHECK_INT(b.arena->taken[0], 1 << 5);

	/* again, between two drains: the new owner has not written an event yet */
	drain(reader, &seen);
	ring->state += SPAN_RING_GENERATION;
	ring_reader_reap(reader, is_dead, &seen);
	CHECK_INT(ring->state & SPAN_RING_STATE, SPAN_RING_TAKEN);
	CHECK_INT(b.arena->taken[0], 1 << 5);
}

TEST(a_new_owner_of_a_ring_is_resolved_again)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 5, 10, 11);
	struct seen seen = { 0 };

	arena_build_context(ring, 1, 1, 1, 0);
	drain(reader, &seen);
	arena_build_context(ring, 2, 1, 1, 0);
	drain(reader, &seen);
	CHECK_INT(seen.owners, 1);
	ring->tid = 12;
	arena_build_context(ring, 3, 1, 1, 0);
	drain(reader, &seen);
	CHECK_INT(seen.owners, 2);
	CHECK_INT(seen.tid, 12);
}

TEST(a_claimed_ring_is_not_read)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 5, 10, 11);
	struct seen seen = { 0 };

	arena_build_context(ring, 1, 1, 1, 0);
	ring->state = SPAN_RING_CLAIMED;
	drain(reader, &seen);
	CHECK_INT(seen.events, 0);
	ring->state = SPAN_RING_TAKEN;
	drain(reader, &seen);
	CHECK_INT(seen.events, 1);
}

TEST(a_recorder_sets_and_clears_its_request)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	struct ring_reader *reader = open_reader(&b);

	ring_reader_heartbeat(reader, 77);
	CHECK_INT(b.arena->recording, 1);
	CHECK_INT(b.arena->heartbeat, 77);
	ring_reader_free(reader);
	CHECK_INT(b.arena->recording, 0);
}

TEST(only_one_recorder_reads_an_arena)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	struct ring_reader *reader = open_reader(&b), *second;

	CHECK_INT(ring_reader_open(b.fd, arena_file_device(), &second), -EBUSY);
	ring_reader_free(reader);
	second = open_reader(&b);
	ring_reader_free(second);
}

TEST(a_file_that_is_not_an_arena_is_refused)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(closep) int loose = memfd_create("x", MFD_ALLOW_SEALING), zero;
	struct ring_reader *reader;

	b.arena->version++;
	CHECK_INT(ring_reader_open(b.fd, arena_file_device(), &reader), -EBADMSG);
	b.arena->version--;
	CHECK_INT(ring_reader_open(b.fd, arena_file_device() + 1, &reader), -EBADMSG);
	CHECK_INT(ring_reader_open(loose, arena_file_device(), &reader), -EBADMSG);
	CHECK_INT(ftruncate(loose, sizeof(struct span_arena)), 0);
	CHECK_INT(ring_reader_open(loose, arena_file_device(), &reader),
		  -EBADMSG); /* its size is not sealed */
	zero = open("/dev/zero", O_RDWR);
	CHECK_INT(ring_reader_open(zero, arena_file_device(), &reader), -EBADMSG);
	close(zero);
}

TEST(implausible_positions_are_ignored)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 1023, 10, 11);
	static const uint64_t heads[] = { SPAN_RING_SIZE + 8, UINT64_MAX, 1ull << 63, 3, 15 };
	static const uint16_t sizes[] = { 0, 1, 8, 15, 20, SPAN_EVENT_MAX + 8, UINT16_MAX };
	struct seen seen = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		ring->tail = 0;
		ring->head = heads[i];
		drain(reader, &seen);
	}
	CHECK_INT(seen.events, 0);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct span_event_end e = { .head = { .size = sizes[i],
						      .kind = SPAN_EVENT_CONTEXT } };

		ring->head = ring->tail = SPAN_RING_SIZE - 8;
		arena_build_put(ring, &e, 64); /* too small */
		drain(reader, &seen);
		CHECK_INT(ring->tail, ring->head);
	}
	CHECK_INT(seen.events, 0);
	ring->lost = 5;
	ring->lost_reported = 9;
	drain(reader, &seen);
	CHECK_INT(seen.losses, 0);
	for (int i = 0; i < 3; i++) { /* together more than a signed integer holds */
		ring->lost = INT64_MAX;
		ring->lost_reported = 0;
		drain(reader, &seen);
	}
	CHECK_INT(seen.losses, 3);
}

TEST(text_beyond_its_event_is_refused)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct span_ring *ring = arena_build_take(&b, 0, 10, 11);
	struct span_event_begin begin = {
		.head = { .size = sizeof(begin), .kind = SPAN_EVENT_BEGIN }, .name_size = 1
	};
	struct span_event_end end = { .head = { .size = sizeof(end), .kind = SPAN_EVENT_END },
				      .name_size = UINT16_MAX,
				      .attributes_size = UINT16_MAX };
	struct seen seen = { 0 };

	arena_build_put(ring, &begin, sizeof(begin));
	arena_build_put(ring, &end, sizeof(end));
	drain(reader, &seen);
	CHECK_INT(seen.events, 0);
}

TEST(attributes_end_at_the_first_that_does_not_fit)
{
	_Alignas(8) char room[256] = { 0 };
	struct span_event_end *e = (void *)room;
	const struct span_attribute *a;
	size_t at = 0;

	e->name_size = 3;
	e->attributes_size = 14;
	memcpy(e->text + 3, "\1\1\2\0kvv\1\1\377\0kv", 14);
	CHECK_INT(span_event_next_attribute(e, &at, &a), 1);
	CHECK_INT(a->value_size, 2);
	CHECK_INT(span_event_next_attribute(e, &at, &a), 0);
}

/* A hostile process that writes while the recorder reads. */
struct vandal {
	struct span_arena *arena;
	int rounds; /* done */
};

enum { VANDAL_ROUNDS = 1009 };

static void *vandalise(void *arg)
{
	struct vandal *v = arg;
	uint64_t n = 88172645463325252ull;

	for (; v->rounds < VANDAL_ROUNDS; __atomic_fetch_add(&v->rounds, 1, __ATOMIC_RELAXED))
		for (int i = 0; i < 1000; i++) {
			struct span_ring *ring = &v->arena->rings[n % 4];
			uint64_t *word = (uint64_t *)ring + (n >> 8) % (sizeof(*ring) / 8);

			n ^= n << 13, n ^= n >> 7, n ^= n << 17;
			__atomic_store_n(word, n, __ATOMIC_RELAXED);
			ring->head = ring->tail + (n >> 40) % SPAN_RING_SIZE;
			ring->state = SPAN_RING_TAKEN + (n >> 63);
			v->arena->taken[0] |= 15;
		}
	return NULL;
}

static void use_event(void *arg, struct ring_reader *reader, struct ring_owner *ring,
		      const struct span_event *event)
{
	const struct span_event_end *end = (const void *)event;
	const struct span_attribute *a;
	struct seen *seen = arg;

	take_event(arg, reader, ring, event);
	if (event->kind == SPAN_EVENT_END)
		for (size_t at = 0; span_event_next_attribute(end, &at, &a) > 0;)
			seen->lost += a->text[a->key_size + a->value_size - 1];
}

TEST(concurrent_garbage_does_no_harm)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	struct vandal vandal = { .arena = b.arena };
	struct seen seen = { 0 };
	struct ring_sink sink = { is_ready, use_event, take_loss, &seen, NULL };
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, vandalise, &vandal), 0);
	while (__atomic_load_n(&vandal.rounds, __ATOMIC_RELAXED) < VANDAL_ROUNDS) {
		ring_reader_drain(reader, &sink);
		seen.is_dead = !seen.is_dead;
		ring_reader_reap(reader, is_dead, &seen);
	}
	pthread_join(thread, NULL);
	ring_reader_drain(reader,
			  &sink); /* the other thread may have finished before we got a CPU */
	CHECK(seen.owners > 0);
}

/* Rings full of the smallest events. */
static size_t fill_rings(struct arena_build *b, size_t rings)
{
	size_t count = 0;

	for (size_t i = 0; i < rings; i++) {
		struct span_ring *ring = arena_build_take(b, i, 10, 11 + i);

		for (; ring->lost == 0; count++)
			arena_build_context(ring, 1000 + count, 1, 2, 0);
		ring->lost = 0;
		count--;
	}
	return count;
}

TEST(a_drain_over_its_byte_budget_continues_next_time)
{
	enum { RINGS = 8, PART = 3 * SPAN_RING_SIZE / 2 };
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	size_t count = fill_rings(&b, RINGS), drains = 0;
	struct drain_budget budget = { .is_spent = true };
	struct seen seen = { 0 };

	ring_reader_set_budget(reader, &budget);
	for (; budget.is_spent && drains < 100; drains++) {
		size_t before = seen.events;

		budget = (struct drain_budget){ .bytes = PART, .deadline = UINT64_MAX };
		drain(reader, &seen);
		CHECK(seen.events - before <= (PART + 8192) / sizeof(struct span_event_context));
		arena_build_context(&b.arena->rings[0], 5000, 1, 2, 0); /* never used */
	}
	CHECK(drains >= 5 && drains <= 8);
	CHECK(seen.events >= count);
	for (size_t i = 1; i < RINGS; i++)
		CHECK_INT(b.arena->rings[i].tail, b.arena->rings[i].head);
}

TEST(a_drain_over_its_deadline_leaves_countable_events)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_reader(&b);
	size_t count = fill_rings(&b, 4);
	struct drain_budget budget = { .bytes = UINT64_MAX, .deadline = 1 };
	struct seen seen = { 0 };

	ring_reader_set_budget(reader, &budget);
	drain(reader, &seen);
	CHECK(budget.is_spent);
	CHECK(seen.events < 200);
	CHECK_INT(ring_reader_count_remaining(reader), count - seen.events);
}

/* A process that acts between two steps of the recorder: after a number of statx() calls. */
static int calls_until_shrink;
static int fd_to_shrink = -1;

__attribute__((visibility("default"))) int statx(int dir, const char *path, int flags,
						 unsigned int mask, struct statx *ret)
{
	int r = (int)syscall(SYS_statx, dir, path, flags, mask, ret);

	if (fd_to_shrink >= 0 && --calls_until_shrink == 0 &&
	    (ftruncate(fd_to_shrink, 0) < 0 ||
	     fcntl(fd_to_shrink, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0))
		abort();
	return r;
}

TEST(an_arena_that_shrinks_before_it_is_sealed_is_refused)
{
	for (int calls = 1; calls < 4; calls++) {
		_cleanup_(closep) int fd =
			memfd_create(SPAN_ARENA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
		_cleanup_(ring_reader_freep) struct ring_reader *reader = NULL;
		struct span_arena *arena = NULL;

		CHECK_INT(ftruncate(fd, sizeof(*arena)), 0);
		calls_until_shrink = calls;
		fd_to_shrink = fd;
		CHECK_INT(ring_reader_open(fd, arena_file_device(), &reader), -EBADMSG);
		CHECK_INT(arena_file_map(fd, arena_file_device(), &arena), -EBADMSG);
		fd_to_shrink = -1;
	}
}

/* Simulate a kernel that lets a sealed file shrink: replaces fcntl() in this test. */
static bool is_seal_broken;

int fcntl(int fd, int command, ...)
{
	va_list args;

	va_start(args, command);
	long arg = va_arg(args, long);
	va_end(args);
	if (is_seal_broken && command == F_GET_SEALS)
		return F_SEAL_SHRINK | F_SEAL_GROW;
	return (int)syscall(SYS_fcntl, fd, command, arg);
}

static struct ring_reader *open_unsealed(int fd)
{
	static struct span_arena head = { .version = SPAN_ARENA_VERSION };
	struct ring_reader *reader = NULL;

	memcpy(head.magic, SPAN_ARENA_MAGIC, sizeof(head.magic));
	CHECK_INT(ftruncate(fd, sizeof(head)), 0);
	CHECK_INT(pwrite(fd, &head, 4096, 0), 4096);
	is_seal_broken = true;
	CHECK_INT(ring_reader_open(fd, arena_file_device(), &reader), 0);
	is_seal_broken = false;
	if (!reader)
		abort();
	return reader;
}

TEST(an_arena_without_memory_is_lost_and_does_no_harm)
{
	_cleanup_(closep) int fd = memfd_create(SPAN_ARENA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	_cleanup_(ring_reader_freep) struct ring_reader *reader = open_unsealed(fd);
	struct seen seen = { .is_dead = true };

	CHECK(!ring_reader_is_lost(reader));
	CHECK_INT(ftruncate(fd, 0), 0);
	ring_reader_heartbeat(reader, 1);
	drain(reader, &seen);
	ring_reader_reap(reader, is_dead, &seen);
	ring_reader_stop(reader);
	CHECK_INT(seen.events, 0);
	CHECK(ring_reader_is_lost(reader));
}
