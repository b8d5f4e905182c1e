/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/ring_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mapping.h"
#include "record/clock.h"

enum {
	PORTION = 16 * 1024, /* give room back in portions: a busy thread need not wait for all */
	CLOCK_PORTION = 4 * 1024, /* look at the clock after each */
};

/* The numbers of the events of a ring, over all threads that have it one after the other. */
struct numbers {
	uint32_t last;   /* that was read; 0 if none was */
	int64_t skipped; /* numbers that were not, less losses that were reported */
};

struct ring_reader {
	struct span_arena *arena; /* shared */
	int fd;                   /* of our own, with the lock */
	uint64_t inode;
	uint64_t no_ring;            /* as last told */
	size_t next;                 /* ring with which the next drain begins */
	struct drain_budget *budget; /* borrowed, or NULL */
	int64_t ahead;               /* of our clock, in ns: that of its processes */
	bool has_asked;              /* for events */
	bool was_silent;             /* when it was opened */
	struct ring_owner *rings[SPAN_RINGS];
	struct numbers numbers[SPAN_RINGS];
};

uint64_t arena_file_device(void)
{
	_cleanup_(closep) int fd = memfd_create("sonde", MFD_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_dev : 0;
}

/* Asks nothing of a file system that somebody may have made: it could keep us waiting. */
int arena_file_identify(int fd, uint64_t device, uint64_t *ret_inode)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE | STATX_INO,
		  &st) < 0)
		return -errno;
	if (makedev(st.stx_dev_major, st.stx_dev_minor) != device || !S_ISREG(st.stx_mode) ||
	    st.stx_size != sizeof(struct span_arena))
		return -EBADMSG;
	*ret_inode = st.stx_ino;
	return 0;
}

/*
 * A description of our own: a lock on one that is shared would be shared as well.  The
 * size is known only once it is sealed: before that, it may change after any check.
 */
static int open_own(int fd, uint64_t device)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
	uint64_t inode;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

	_cleanup_(closep) int own = open(path, O_RDWR | O_CLOEXEC);

	if (own < 0)
		return -errno;

	int seals = fcntl(own, F_GET_SEALS);

	if (seals < 0 || (seals & wanted) != wanted)
		return -EBADMSG;

	int r = arena_file_identify(own, device, &inode);

	return r < 0 ? r : TAKE_FD(own);
}

static int map_arena(int own, struct span_arena **ret)
{
	struct span_arena *arena =
		mapping_new(own, sizeof(*arena), PROT_READ | PROT_WRITE, MAP_SHARED, NULL);

	if (!arena)
		return -errno;
	if (memcmp(arena->magic, SPAN_ARENA_MAGIC, sizeof(arena->magic)) != 0 ||
	    arena->version != SPAN_ARENA_VERSION) {
		arena_file_unmap(arena);
		return -EBADMSG;
	}
	*ret = arena;
	return 0;
}

void arena_file_unmap(struct span_arena *arena)
{
	mapping_free(arena, sizeof(*arena));
}

int arena_file_map(int fd, uint64_t device, struct span_arena **ret)
{
	uint64_t inode;
	int r = arena_file_identify(fd, device, &inode);
	_cleanup_(closep) int own = r < 0 ? r : open_own(fd, device);

	return own < 0 ? own : map_arena(own, ret);
}

int ring_reader_open(int fd, uint64_t device, struct ring_reader **ret)
{
	_cleanup_(ring_reader_freep) struct ring_reader *reader = must_alloc(sizeof(*reader));
	int r = arena_file_identify(fd, device, &reader->inode);

	reader->fd = r < 0 ? r : open_own(fd, device);
	if (reader->fd < 0)
		return reader->fd;
	if (flock(reader->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	r = map_arena(reader->fd, &reader->arena);
	if (r < 0)
		return r;
	reader->no_ring = __atomic_load_n(&reader->arena->lost_without_ring, __ATOMIC_RELAXED);
	reader->was_silent = !__atomic_load_n(&reader->arena->recording, __ATOMIC_RELAXED);
	*ret = TAKE(reader);
	return 0;
}

void ring_reader_stop(struct ring_reader *reader)
{
	__atomic_store_n(&reader->arena->recording, 0, __ATOMIC_RELAXED);
}

void ring_reader_free(struct ring_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < SPAN_RINGS; i++)
		free(reader->rings[i]);
	if (reader->arena) {
		ring_reader_stop(reader);
		arena_file_unmap(reader->arena);
	}
	closep(&reader->fd);
	free(reader);
}

uint64_t ring_reader_inode(const struct ring_reader *reader)
{
	return reader->inode;
}

bool ring_reader_is_lost(const struct ring_reader *reader)
{
	return mapping_is_lost(reader->arena);
}

bool ring_reader_was_idle(const struct ring_reader *reader)
{
	return reader->was_silent;
}

void ring_reader_set_clock_offset(struct ring_reader *reader, int64_t ahead)
{
	reader->ahead = ahead;
}

void ring_reader_set_budget(struct ring_reader *reader, struct drain_budget *budget)
{
	reader->budget = budget;
}

bool ring_reader_heartbeat(struct ring_reader *reader, nsec_t now)
{
	bool is_asked =
		__atomic_load_n(&reader->arena->recording, __ATOMIC_RELAXED) == SPAN_RECORDING;
	bool has_stopped = reader->has_asked && !is_asked;

	__atomic_store_n(&reader->arena->heartbeat, now + (nsec_t)reader->ahead, __ATOMIC_RELAXED);
	if (!is_asked)
		__atomic_store_n(&reader->arena->recording, SPAN_RECORDING, __ATOMIC_RELEASE);
	reader->has_asked = true;
	return !has_stopped;
}

/* What may change under our hands, once. */
static void copy_out(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	__asm__ volatile("" ::: "memory"); /* so that the copy is looked at from now on */
}

static bool is_whole(const struct span_event *e)
{
	const struct span_event_begin *begin = (const void *)e;
	const struct span_event_end *end = (const void *)e;

	switch (e->kind) {
	case SPAN_EVENT_BEGIN:
		return e->size >= sizeof(*begin) && begin->name_size <= e->size - sizeof(*begin);
	case SPAN_EVENT_END:
		return e->size >= sizeof(*end) &&
		       (size_t)end->name_size + end->attributes_size <= e->size - sizeof(*end);
	case SPAN_EVENT_CONTEXT:
		return e->size >= sizeof(struct span_event_context);
	default:
		return false;
	}
}

int span_event_next_attribute(const struct span_event_end *end, size_t *at,
			      const struct span_attribute **ret)
{
	const char *text = end->text + end->name_size + *at;
	const struct span_attribute *a = (const void *)text;
	size_t left = end->attributes_size - *at;

	if (left < sizeof(*a) || left - sizeof(*a) < (size_t)a->key_size + a->value_size)
		return 0;
	*at += sizeof(*a) + a->key_size + a->value_size;
	*ret = a;
	return 1;
}

/* Who has the ring. */
static struct ring_owner *ring_owner(struct ring_reader *reader, size_t i)
{
	const struct span_ring *ring = &reader->arena->rings[i];
	struct ring_owner *own = reader->rings[i], said = { 0 };

	copy_out(&said.pid, &ring->pid, sizeof(said.pid));
	copy_out(&said.tid, &ring->tid, sizeof(said.tid));
	copy_out(&said.space, &ring->pid_ns, sizeof(said.space));
	copy_out(said.service, ring->service, sizeof(said.service));
	said.service[sizeof(said.service) - 1] = '\0';
	if (!own)
		own = reader->rings[i] = must_alloc(sizeof(*own));
	if (own->pid != said.pid || own->tid != said.tid || own->space != said.space ||
	    strcmp(own->service, said.service) != 0)
		*own = said;
	return own;
}

/*
 * One event; its size, or 0 if there is none that makes sense.  `buffer` has room
 * for the largest.
 */
static size_t take_event(const struct span_ring *ring, uint64_t tail, uint64_t left, void *buffer)
{
	const uint8_t *at = ring->data + (tail & (SPAN_RING_SIZE - 1));
	struct span_event head;

	copy_out(&head, at, sizeof(head));
	if (head.size < sizeof(head) || head.size % 8 || head.size > SPAN_EVENT_MAX ||
	    head.size > left)
		return 0;
	copy_out(buffer, at, head.size);
	memcpy(buffer, &head, sizeof(head));
	return head.size;
}

/* A whole event, on our clock. */
static void set_clock(const struct ring_reader *reader, void *event)
{
	struct span_event_end *end = event;

	end->head.time -= (nsec_t)reader->ahead;
	if (end->head.kind == SPAN_EVENT_END && end->start)
		end->start -= (nsec_t)reader->ahead;
}

/* How many numbers were left out before this one. */
static void follow_number(struct numbers *numbers, uint32_t number)
{
	uint32_t skipped = number - numbers->last - 1;

	if (numbers->last && number && skipped < INT32_MAX)
		numbers->skipped += skipped;
	numbers->last = number;
}

/* Whether to stop here, after taking so many bytes since the last call. */
static bool is_over(struct drain_budget *budget, uint64_t bytes)
{
	if (!budget)
		return false;
	drain_budget_use(budget, bytes);
	budget->is_spent = budget->bytes == 0 || clock_now() >= budget->deadline;
	return budget->is_spent;
}

/* Returns whether all of them were taken. */
static bool take_events(struct ring_reader *reader, struct span_ring *ring, uint64_t tail,
			uint64_t head, struct ring_owner *own, const struct ring_sink *sink)
{
	_Alignas(8) unsigned char buffer[SPAN_EVENT_MAX];
	struct numbers *numbers = &reader->numbers[ring - reader->arena->rings];
	uint64_t given = tail, checked = tail;

	while (tail != head) {
		if (tail - checked >= CLOCK_PORTION) {
			if (is_over(reader->budget, tail - checked))
				break;
			checked = tail;
		}

		size_t size = take_event(ring, tail, head - tail, buffer);
		const struct span_event *event = (const void *)buffer;

		counter_add(sink->counters, COUNTER_EVENTS_DRAINED, 1);
		if (size == 0 || !is_whole(event))
			counter_add(sink->counters, COUNTER_EVENTS_DAMAGED, 1);
		if (size == 0) {
			tail = head; /* nothing behind it can be found */
			break;
		}
		follow_number(numbers, event->number);
		if (is_whole(event)) {
			set_clock(reader, buffer);
			sink->event(sink->arg, reader, own, event);
		}
		tail += size;
		if (tail - given >= PORTION) {
			given = tail;
			__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
		}
	}
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	return tail == head;
}

static void take_loss(struct ring_reader *reader, struct span_ring *ring, struct ring_owner *own,
		      const struct ring_sink *sink)
{
	uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_ACQUIRE);
	uint64_t told = __atomic_load_n(&ring->lost_reported, __ATOMIC_RELAXED);

	if (lost == told)
		return;
	if (lost > told) {
		struct numbers *numbers = &reader->numbers[ring - reader->arena->rings];

		/* the process chooses both terms: an overflow concerns its own numbers only */
		if (__builtin_sub_overflow(numbers->skipped, lost - told, &numbers->skipped))
			numbers->skipped = 0;
		sink->loss(sink->arg, reader, own,
			   __atomic_load_n(&ring->lost_first, __ATOMIC_RELAXED) - reader->ahead,
			   __atomic_load_n(&ring->lost_last, __ATOMIC_RELAXED) - reader->ahead,
			   lost - told);
	}
	__atomic_store_n(&ring->lost_reported, lost, __ATOMIC_RELEASE);
}

/*
 * An event is written after the one before it was written or counted as dropped.  So numbers that
 * are left out now, beyond the losses that were just read, have disappeared.
 */
static void take_missing(struct ring_reader *reader, size_t i, const struct ring_sink *sink)
{
	struct numbers *numbers = &reader->numbers[i];

	if (numbers->skipped <= 0)
		return;
	counter_add(sink->counters, COUNTER_EVENTS_MISSING, numbers->skipped);
	numbers->skipped = 0;
}

/* Unless another has done so, as those in the process may: then it may be taken again already. */
static void ring_free(struct ring_reader *reader, size_t i, uint32_t state)
{
	struct span_arena *arena = reader->arena;
	__u64 *word = &arena->taken[i / 64], bit = 1ull << (i % 64);

	free(TAKE(reader->rings[i]));
	__atomic_fetch_and(word, ~bit, __ATOMIC_RELEASE);
	if (!__atomic_compare_exchange_n(&arena->rings[i].state, &state, SPAN_RING_FREE, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		__atomic_fetch_or(word, bit, __ATOMIC_RELEASE);
}

/* Where its thread and its reader are; a distance that cannot be is none. */
static uint64_t ring_filled(const struct span_ring *ring, uint64_t *ret_tail)
{
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED) & ~7ull;
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) & ~7ull;

	*ret_tail = tail;
	return head - tail <= SPAN_RING_SIZE ? head - tail : 0;
}

static unsigned int ring_drain(struct ring_reader *reader, size_t i, const struct ring_sink *sink)
{
	struct span_ring *ring = &reader->arena->rings[i];
	uint32_t state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
	uint64_t tail, filled = ring_filled(ring, &tail);

	if (state != SPAN_RING_TAKEN && state != SPAN_RING_ABANDONED)
		return 0;

	struct ring_owner *own =
		filled || !reader->rings[i] ? ring_owner(reader, i) : reader->rings[i];

	if (filled && !sink->is_ready(sink->arg, reader, own))
		return 0;

	bool is_empty = !filled || take_events(reader, ring, tail, tail + filled, own, sink);

	take_loss(reader, ring, own, sink);
	take_missing(reader, i, sink);
	/* left before its head was read: there is no more to come */
	if (is_empty && state == SPAN_RING_ABANDONED)
		ring_free(reader, i, state);
	return filled * 256 / SPAN_RING_SIZE;
}

/* Events of threads that found no ring. */
static void take_no_ring(struct ring_reader *reader, const struct ring_sink *sink)
{
	uint64_t lost = __atomic_load_n(&reader->arena->lost_without_ring, __ATOMIC_RELAXED);

	if (lost > reader->no_ring)
		sink->loss(sink->arg, reader, NULL, 0, UINT64_MAX, lost - reader->no_ring);
	reader->no_ring = lost;
}

/* The bits of `taken` for rings from this one to the end of its word. */
static uint64_t taken_from(const struct ring_reader *reader, size_t ring)
{
	return __atomic_load_n(&reader->arena->taken[ring / 64], __ATOMIC_ACQUIRE) &
	       UINT64_MAX << (ring % 64);
}

/* The next ring that is taken, from this one on; SPAN_RINGS if there is none. */
static size_t next_taken(const struct ring_reader *reader, size_t ring)
{
	while (ring < SPAN_RINGS) {
		uint64_t bits = taken_from(reader, ring);

		if (bits)
			return (ring & ~63ul) + __builtin_ctzll(bits);
		ring = (ring | 63) + 1;
	}
	return ring;
}

/* The rings from `first` to before `end`; whether the budget was enough. */
static bool drain_rings(struct ring_reader *reader, size_t first, size_t end,
			const struct ring_sink *sink, unsigned int *fill)
{
	for (size_t i = next_taken(reader, first); i < end; i = next_taken(reader, i + 1)) {
		unsigned int filled = ring_drain(reader, i, sink);

		*fill = filled > *fill ? filled : *fill;
		if (filled && is_over(reader->budget, 0)) {
			reader->next = i;
			return false;
		}
	}
	return true;
}

unsigned int ring_reader_drain(struct ring_reader *reader, const struct ring_sink *sink)
{
	size_t first = reader->next;
	unsigned int fill = 0;

	if (drain_rings(reader, first, SPAN_RINGS, sink, &fill) &&
	    drain_rings(reader, 0, first, sink, &fill))
		reader->next = 0;
	take_no_ring(reader, sink);
	return fill;
}

uint64_t ring_reader_count_remaining(struct ring_reader *reader)
{
	_Alignas(8) unsigned char buffer[SPAN_EVENT_MAX];
	uint64_t left = 0;

	for (size_t i = next_taken(reader, 0); i < SPAN_RINGS; i = next_taken(reader, i + 1)) {
		const struct span_ring *ring = &reader->arena->rings[i];
		uint64_t tail, filled = ring_filled(ring, &tail), size;

		for (; filled && (size = take_event(ring, tail, filled, buffer)); filled -= size) {
			tail += size;
			left++;
		}
	}
	return left;
}

void ring_reader_reap(struct ring_reader *reader,
		      bool (*is_dead)(void *arg, struct ring_reader *reader,
				      struct ring_owner *ring),
		      void *arg)
{
	for (size_t i = 0; i < SPAN_RINGS; i++) {
		struct span_ring *ring = &reader->arena->rings[i];
		struct ring_owner *own = reader->rings[i];
		uint64_t tail;

		if (!own || __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) != SPAN_RING_TAKEN)
			continue;
		/* asked first, so that what it wrote before it died is seen */
		if (is_dead(arg, reader, own) && ring_filled(ring, &tail) == 0)
			ring_free(reader, i, SPAN_RING_TAKEN);
	}
}
