/* SPDX-License-Identifier: Apache-2.0 */
/* ring - the reading side of the per-CPU rings of bpf/wire.h. */
#ifndef SONDE_RECORD_KERNEL_RING_H
#define SONDE_RECORD_KERNEL_RING_H

#include "base/base.h"
#include "base/err.h"
#include "bpf/wire.h"

struct rings;

/* Map the rings of all CPUs from the BPF map `fd`. */
int rings_open(int fd, size_t cpus, size_t ring_size, struct rings **ret, struct err *err);
void rings_free(struct rings *rings);
DEFINE_FREEP(rings)

/* The value size of the BPF map for rings of this size, bytes. */
size_t rings_value_size(size_t ring_size);

typedef void ring_fn(void *arg, size_t cpu, const struct record *record);

struct ring_state {
	unsigned int fill; /* fill level of the fullest ring, in 1/256 of its size */
	bool pending;      /* whether a record is reserved but not committed yet */
};

/* Read all committed records, CPU by CPU; a record is valid until fn returns. */
struct ring_state rings_drain(struct rings *rings, ring_fn *fn, void *arg);

/* Number of samples that --profile took on a CPU. */
uint64_t rings_sampled(struct rings *rings, size_t cpu);

/* Number of rings with a record that was reserved but never committed. */
size_t rings_uncommitted(struct rings *rings);

/* Losses of a CPU since its last LOSS record; false if there are none. */
bool rings_unreported_loss(struct rings *rings, size_t cpu, struct record_loss *ret);

#endif
