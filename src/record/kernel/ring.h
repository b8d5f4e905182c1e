/* SPDX-License-Identifier: Apache-2.0 */
/* ring - the recorder's end of the rings that bpf/wire.h describes. */
#ifndef SONDE_RECORD_KERNEL_RING_H
#define SONDE_RECORD_KERNEL_RING_H

#include "base/base.h"
#include "base/err.h"
#include "bpf/wire.h"

struct rings;

/* Maps the rings of all CPUs from the map behind fd. */
int rings_open(int fd, size_t cpus, size_t ring_size, struct rings **ret, struct err *err);
void rings_free(struct rings *rings);
DEFINE_FREEP(rings)

/* How many bytes the map's value takes for rings of this size. */
size_t rings_value_size(size_t ring_size);

typedef void ring_fn(void *arg, size_t cpu, const struct record *record);

struct ring_state {
	unsigned int fill; /* of the fullest ring, in 1/256 of its size */
	bool pending;      /* somewhere a record is reserved, but not committed yet */
};

/* Take all committed records, CPU by CPU; a record holds until fn returns. */
struct ring_state rings_drain(struct rings *rings, ring_fn *fn, void *arg);

/* How often the clock of --profile interrupted a thread on a CPU. */
uint64_t rings_sampled(struct rings *rings, size_t cpu);

/* How many rings have a record that was reserved and never committed. */
size_t rings_uncommitted(struct rings *rings);

/* What was dropped on a CPU and has not been told by a LOSS record; false if nothing. */
bool rings_unreported_loss(struct rings *rings, size_t cpu, struct record_loss *ret);

#endif
