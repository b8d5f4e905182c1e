/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/ring_reader.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>

#include "base/mapping.h"
#include "record/clock.h"

enum {
	RELEASE_BYTES = 16 * 1024,    /* free ring space in portions, for a busy thread */
	CLOCK_CHECK_BYTES = 4 * 1024, /* read the clock after each */
};

/* Event numbers continue when another thread takes over a ring. */
struct event_numbers {
	uint32_t last;   /* number of the last event read; 0 if none */
	int64_t skipped; /* numbers skipped, minus reported losses */
};

struct ring_reader {
	struct span_arena *arena; /* shared memory */
	int fd;                   /* holds the lock */
	uint64_t inode;
	uint64_t lost_without_ring;  /* already reported */
	size_t next_ring;            /* where the next drain starts */
	struct drain_budget *budget; /* borrowed, or NULL */
	int64_t clock_offset;        /* ns that the agents' clock is ahead of ours */
	bool has_requested;          /* events */
	bool was_idle;               /* no agent wrote events when it was opened */
	struct ring_owner *owners[SPAN_RINGS];
	struct event_numbers numbers[SPAN_RINGS];
};

int ring_reader_open(int fd, uint64_t device, struct ring_reader **ret)
{
	_cleanup_(ring_reader_freep) struct ring_reader *reader = must_alloc(sizeof(*reader));
	int r = arena_file_identify(fd, device, &reader->inode);

	reader->fd = r < 0 ? r : arena_file_open(fd, device);
	if (reader->fd < 0)
		return reader->fd;
	if (flock(reader->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	r = arena_file_map_open(reader->fd, &reader->arena);
	if (r < 0)
		return r;
	reader->lost_without_ring =
		__atomic_load_n(&reader->arena->lost_without_ring, __ATOMIC_RELAXED);
	reader->was_idle = !__atomic_load_n(&reader->arena->recording, __ATOMIC_RELAXED);
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
		free(reader->owners[i]);
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
	return reader->was_idle;
}

void ring_reader_set_clock_offset(struct ring_reader *reader, int64_t offset)
{
	reader->clock_offset = offset;
}

void ring_reader_set_budget(struct ring_reader *reader, struct drain_budget *budget)
{
	reader->budget = budget;
}

bool ring_reader_heartbeat(struct ring_reader *reader, nsec_t now)
{
	bool is_requested =
		__atomic_load_n(&reader->arena->recording, __ATOMIC_RELAXED) == SPAN_RECORDING;
	bool has_stopped = reader->has_requested && !is_requested;

	__atomic_store_n(&reader->arena->heartbeat, now + (nsec_t)reader->clock_offset,
			 __ATOMIC_RELAXED);
	if (!is_requested)
		__atomic_store_n(&reader->arena->recording, SPAN_RECORDING, __ATOMIC_RELEASE);
	reader->has_requested = true;
	return !has_stopped;
}

/* Read memory that can change at any time, exactly once. */
static void copy_out(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	__asm__ volatile("" ::: "memory"); /* keeps the compiler from reading `from` again */
}

static bool is_valid_event(const struct span_event *e)
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

int span_event_next_attribute(const struct span_event_end *end, size_t *pos,
			      const struct span_attribute **ret)
{
	const char *text = end->text + end->name_size + *pos;
	const struct span_attribute *a = (const void *)text;
	size_t left = end->attributes_size - *pos;

	if (left < sizeof(*a) || left - sizeof(*a) < (size_t)a->key_size + a->value_size)
		return 0;
	*pos += sizeof(*a) + a->key_size + a->value_size;
	*ret = a;
	return 1;
}

/* Read which thread claims the ring, which has this state. */
static struct ring_owner *read_owner(struct ring_reader *reader, size_t i, uint32_t state)
{
	const struct span_ring *ring = &reader->arena->rings[i];
	struct ring_owner *owner = reader->owners[i], claimed = { 0 };

	copy_out(&claimed.pid, &ring->pid, sizeof(claimed.pid));
	copy_out(&claimed.tid, &ring->tid, sizeof(claimed.tid));
	copy_out(&claimed.pid_ns, &ring->pid_ns, sizeof(claimed.pid_ns));
	copy_out(claimed.service, ring->service, sizeof(claimed.service));
	claimed.service[sizeof(claimed.service) - 1] = '\0';
	if (!owner)
		owner = reader->owners[i] = must_alloc(sizeof(*owner));
	if (owner->pid != claimed.pid || owner->tid != claimed.tid ||
	    owner->pid_ns != claimed.pid_ns || strcmp(owner->service, claimed.service) != 0)
		*owner = claimed;
	owner->state = state;
	return owner;
}

/*
 * Copy one event into `buffer`, which has room for the largest.  Returns its size, or 0 if the
 * size in the ring is invalid.
 */
static size_t copy_event(const struct span_ring *ring, uint64_t tail, uint64_t left, void *buffer)
{
	const uint8_t *from = ring->data + (tail & (SPAN_RING_SIZE - 1));
	struct span_event head;

	copy_out(&head, from, sizeof(head));
	if (head.size < sizeof(head) || head.size % 8 || head.size > SPAN_EVENT_MAX ||
	    head.size > left)
		return 0;
	copy_out(buffer, from, head.size);
	memcpy(buffer, &head, sizeof(head));
	return head.size;
}

/* Convert the times of a valid event to our clock. */
static void convert_times(const struct ring_reader *reader, void *event)
{
	struct span_event_end *end = event;

	end->head.time -= (nsec_t)reader->clock_offset;
	if (end->head.kind == SPAN_EVENT_END && end->start)
		end->start -= (nsec_t)reader->clock_offset;
}

static void count_skipped(struct event_numbers *numbers, uint32_t number)
{
	uint32_t skipped = number - numbers->last - 1;

	if (numbers->last && number && skipped < INT32_MAX)
		numbers->skipped += skipped;
	numbers->last = number;
}

/* Charge bytes to the budget; true if it is exhausted. */
static bool charge(struct drain_budget *budget, uint64_t bytes)
{
	if (!budget)
		return false;
	drain_budget_use(budget, bytes);
	budget->is_spent = budget->bytes == 0 || clock_now() >= budget->deadline;
	return budget->is_spent;
}

/* Returns whether all events up to `head` were read. */
static bool read_events(struct ring_reader *reader, struct span_ring *ring, uint64_t tail,
			uint64_t head, struct ring_owner *owner, const struct ring_sink *sink)
{
	_Alignas(8) unsigned char buffer[SPAN_EVENT_MAX];
	struct event_numbers *numbers = &reader->numbers[ring - reader->arena->rings];
	uint64_t released = tail, charged = tail;

	while (tail != head) {
		if (tail - charged >= CLOCK_CHECK_BYTES) {
			if (charge(reader->budget, tail - charged))
				break;
			charged = tail;
		}

		size_t size = copy_event(ring, tail, head - tail, buffer);
		const struct span_event *event = (const void *)buffer;

		counter_add(sink->counters, COUNTER_EVENTS_DRAINED, 1);
		if (size == 0 || !is_valid_event(event))
			counter_add(sink->counters, COUNTER_EVENTS_DAMAGED, 1);
		if (size == 0) {
			tail = head; /* no way to find the next event */
			break;
		}
		count_skipped(numbers, event->number);
		if (is_valid_event(event)) {
			convert_times(reader, buffer);
			sink->event(sink->arg, reader, owner, event);
		}
		tail += size;
		if (tail - released >= RELEASE_BYTES) {
			released = tail;
			__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
		}
	}
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	return tail == head;
}

static void read_loss(struct ring_reader *reader, struct span_ring *ring, struct ring_owner *owner,
		      const struct ring_sink *sink)
{
	uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_ACQUIRE);
	uint64_t reported = __atomic_load_n(&ring->lost_reported, __ATOMIC_RELAXED);

	if (lost == reported)
		return;
	if (lost > reported) {
		struct event_numbers *numbers = &reader->numbers[ring - reader->arena->rings];

		/* the process controls both terms: an overflow damages only its own count */
		if (__builtin_sub_overflow(numbers->skipped, lost - reported, &numbers->skipped))
			numbers->skipped = 0;
		sink->loss(
			sink->arg, reader, owner,
			__atomic_load_n(&ring->lost_first, __ATOMIC_RELAXED) - reader->clock_offset,
			__atomic_load_n(&ring->lost_last, __ATOMIC_RELAXED) - reader->clock_offset,
			lost - reported);
	}
	__atomic_store_n(&ring->lost_reported, lost, __ATOMIC_RELEASE);
}

/*
 * An agent writes or counts an event before it writes the next one.  So event numbers that are
 * skipped now, beyond the losses just read, belong to events that disappeared.
 */
static void count_missing(struct ring_reader *reader, size_t i, const struct ring_sink *sink)
{
	struct event_numbers *numbers = &reader->numbers[i];

	if (numbers->skipped <= 0)
		return;
	counter_add(sink->counters, COUNTER_EVENTS_MISSING, numbers->skipped);
	numbers->skipped = 0;
}

/* Does nothing if the state has changed: a thread of the process may have freed the ring. */
static void ring_free(struct ring_reader *reader, size_t i, uint32_t state)
{
	struct span_arena *arena = reader->arena;
	uint32_t *word = &arena->rings[i].state;
	uint64_t bit = 1ull << (i % 64);

	free(TAKE(reader->owners[i]));
	if (!__atomic_compare_exchange_n(word, &state, span_ring_with(state, SPAN_RING_CLAIMED),
					 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	__atomic_fetch_and(&arena->taken[i / 64], ~bit, __ATOMIC_RELEASE);
	__atomic_store_n(word, span_ring_with(state, SPAN_RING_FREE), __ATOMIC_RELEASE);
}

/* The number of unread bytes; 0 if head and tail are implausible. */
static uint64_t ring_fill(const struct span_ring *ring, uint64_t *ret_tail)
{
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED) & ~7ull;
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) & ~7ull;

	*ret_tail = tail;
	return head - tail <= SPAN_RING_SIZE ? head - tail : 0;
}

static unsigned int ring_drain(struct ring_reader *reader, size_t i, const struct ring_sink *sink)
{
	struct span_ring *ring = &reader->arena->rings[i];
	uint32_t word = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
	uint32_t state = word & SPAN_RING_STATE;
	uint64_t tail, fill = ring_fill(ring, &tail);

	if (state != SPAN_RING_TAKEN && state != SPAN_RING_ABANDONED)
		return 0;

	struct ring_owner *owner = reader->owners[i];

	if (fill || !owner || owner->state != word)
		owner = read_owner(reader, i, word);

	if (fill && !sink->is_ready(sink->arg, reader, owner))
		return 0;

	bool is_empty = !fill || read_events(reader, ring, tail, tail + fill, owner, sink);

	read_loss(reader, ring, owner, sink);
	count_missing(reader, i, sink);
	/* the state was read before the head, so an abandoned ring gets no more events */
	if (is_empty && state == SPAN_RING_ABANDONED)
		ring_free(reader, i, word);
	return fill * 256 / SPAN_RING_SIZE;
}

/* Losses of threads that found no free ring. */
static void read_loss_without_ring(struct ring_reader *reader, const struct ring_sink *sink)
{
	uint64_t lost = __atomic_load_n(&reader->arena->lost_without_ring, __ATOMIC_RELAXED);

	if (lost > reader->lost_without_ring)
		sink->loss(sink->arg, reader, NULL, 0, UINT64_MAX,
			   lost - reader->lost_without_ring);
	reader->lost_without_ring = lost;
}

/* The bits of `taken` for this ring and the rest of its word. */
static uint64_t taken_from(const struct ring_reader *reader, size_t ring)
{
	return __atomic_load_n(&reader->arena->taken[ring / 64], __ATOMIC_ACQUIRE) &
	       UINT64_MAX << (ring % 64);
}

/* The first taken ring at or after this one; SPAN_RINGS if there is none. */
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

/* Drain the rings of [first, end); false if the budget is exhausted. */
static bool drain_rings(struct ring_reader *reader, size_t first, size_t end,
			const struct ring_sink *sink, unsigned int *fullest)
{
	for (size_t i = next_taken(reader, first); i < end; i = next_taken(reader, i + 1)) {
		unsigned int fill = ring_drain(reader, i, sink);

		*fullest = fill > *fullest ? fill : *fullest;
		if (fill && charge(reader->budget, 0)) {
			reader->next_ring = i;
			return false;
		}
	}
	return true;
}

unsigned int ring_reader_drain(struct ring_reader *reader, const struct ring_sink *sink)
{
	size_t first = reader->next_ring;
	unsigned int fullest = 0;

	if (drain_rings(reader, first, SPAN_RINGS, sink, &fullest) &&
	    drain_rings(reader, 0, first, sink, &fullest))
		reader->next_ring = 0;
	read_loss_without_ring(reader, sink);
	return fullest;
}

uint64_t ring_reader_count_remaining(struct ring_reader *reader)
{
	_Alignas(8) unsigned char buffer[SPAN_EVENT_MAX];
	uint64_t count = 0;

	for (size_t i = next_taken(reader, 0); i < SPAN_RINGS; i = next_taken(reader, i + 1)) {
		const struct span_ring *ring = &reader->arena->rings[i];
		uint64_t tail, fill = ring_fill(ring, &tail), size;

		for (; fill && (size = copy_event(ring, tail, fill, buffer)); fill -= size) {
			tail += size;
			count++;
		}
	}
	return count;
}

void ring_reader_reap(struct ring_reader *reader,
		      bool (*is_dead)(void *arg, struct ring_reader *reader,
				      struct ring_owner *owner),
		      void *arg)
{
	for (size_t i = 0; i < SPAN_RINGS; i++) {
		struct span_ring *ring = &reader->arena->rings[i];
		struct ring_owner *owner = reader->owners[i];
		uint64_t tail;

		/* with another state, the ring may have a new owner */
		if (!owner || (owner->state & SPAN_RING_STATE) != SPAN_RING_TAKEN ||
		    owner->state != __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE))
			continue;

		uint32_t state = owner->state;

		/* check for death first: the last events of a dead thread are visible then */
		if (is_dead(arg, reader, owner) && ring_fill(ring, &tail) == 0)
			ring_free(reader, i, state);
	}
}
