/* SPDX-License-Identifier: Apache-2.0 */
/* use - the resources that a step of a path used, and what else took part in its time. */
#ifndef SONDE_ANALYSE_USE_H
#define SONDE_ANALYSE_USE_H

#include "analyse/account.h"
#include "analyse/disk_queue.h"
#include "base/map.h"

/*
 * Adds the resources of a step to the sums, unless its thread works for another span.  Returns the
 * time of the step in interrupts, ns.
 */
nsec_t use_add(struct resources *used, probe_event_counts *probe_events, const struct model *model,
	       const struct step *step);

/* The part of a running interval's time in interrupts, as if it were spread evenly. */
nsec_t use_irq(const struct stretch *s, nsec_t from, nsec_t to);

typedef void use_share_fn(void *arg, uint32_t node, const struct share *share);

/* Receives the shares of steps. */
struct use_sharing {
	const struct model *model; /* borrowed */
	nsec_t start, end;         /* of all steps */
	use_share_fn *fn;
	void *arg;
	VEC(struct disk_queue) queues; /* of the disks that steps waited for */
	struct map queue_index;        /* timeline of a disk's I/O -> index + 1 */
};

void use_sharing_done(struct use_sharing *sharing);

/*
 * Reports the shares of a step: for a wait for a CPU, the processes that ran on it, and the other
 * threads of the waiting process; for a wait for a disk, the processes with I/O in its queue; for
 * running time, the functions in samples.  Steps come in the order of their starts.
 */
void use_shares(struct use_sharing *sharing, const struct step *step, const struct cause *cause,
		uint32_t node);

#endif
