/* SPDX-License-Identifier: Apache-2.0 */
#include "record/kernel/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

struct rings {
	unsigned char *map;
	size_t map_size;
	size_t cpus, ring_size, value_size;
};

size_t rings_value_size(size_t ring_size)
{
	return sizeof(struct wire_ring) + ring_size + WIRE_RECORD_MAX;
}

int rings_open(int fd, size_t cpus, size_t ring_size, struct rings **ret, struct err *err)
{
	_cleanup_(rings_freep) struct rings *rings = must_alloc(sizeof(*rings));
	size_t page = sysconf(_SC_PAGESIZE);

	rings->cpus = cpus;
	rings->ring_size = ring_size;
	rings->value_size = rings_value_size(ring_size);
	rings->map_size = (cpus * rings->value_size + page - 1) & ~(page - 1);

	void *map = mmap(NULL, rings->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return err_errno(err, "cannot map the rings");
	rings->map = map;
	*ret = TAKE(rings);
	return 0;
}

void rings_free(struct rings *rings)
{
	if (!rings)
		return;
	if (rings->map)
		munmap(rings->map, rings->map_size);
	free(rings);
}

static struct wire_ring *ring_at(struct rings *rings, size_t cpu)
{
	return (struct wire_ring *)(rings->map + cpu * rings->value_size);
}

/* Free space in portions: each update of the tail costs the kernel a cache miss. */
enum { PORTION = 16 * 1024 };

static void ring_drain(struct wire_ring *ring, size_t cpu, size_t ring_size, ring_fn *fn, void *arg,
		       struct ring_state *state)
{
	uint64_t tail = ring->tail;
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	unsigned int fill = (head - tail) * 256 / ring_size;

	while (tail < head) {
		struct record *record = (void *)(ring->data + (tail & (ring_size - 1)));
		uint64_t word = __atomic_load_n((uint64_t *)record + 1, __ATOMIC_ACQUIRE);
		size_t size = (word >> 56) * 8;

		if (size == 0) {
			state->pending = true;
			break;
		}
		fn(arg, cpu, record);
		memset(record, 0, size);
		tail += size;
		if (tail - ring->tail >= PORTION)
			__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	}
	if (tail != ring->tail)
		__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	state->fill = fill > state->fill ? fill : state->fill;
}

struct ring_state rings_drain(struct rings *rings, ring_fn *fn, void *arg)
{
	struct ring_state state = { 0 };

	for (size_t cpu = 0; cpu < rings->cpus; cpu++)
		ring_drain(ring_at(rings, cpu), cpu, rings->ring_size, fn, arg, &state);
	return state;
}

uint64_t rings_sampled(struct rings *rings, size_t cpu)
{
	return ring_at(rings, cpu)->sampled;
}

size_t rings_uncommitted(struct rings *rings)
{
	size_t left = 0;

	for (size_t cpu = 0; cpu < rings->cpus; cpu++)
		left += ring_at(rings, cpu)->head != ring_at(rings, cpu)->tail;
	return left;
}

bool rings_unreported_loss(struct rings *rings, size_t cpu, struct record_loss *ret)
{
	const struct wire_ring *ring = ring_at(rings, cpu);

	if (!ring->lost)
		return false;
	*ret = (struct record_loss){
		.head = { .time = ring->lost_last,
			  .cpu = cpu,
			  .kind = RECORD_LOSS,
			  .words = sizeof(*ret) / 8 },
		.start = ring->lost_first,
		.end = ring->lost_last,
		.count = ring->lost,
	};
	return true;
}
