/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use - what a step of a path used, and what else had a part in its time.
 */
#ifndef SONDE_ANALYSE_USE_H
#define SONDE_ANALYSE_USE_H

#include "analyse/account.h"
#include "analyse/disk_queue.h"
#include "base/map.h"

/*
 * Add what the step used to the sums, unless it was used for another span; returns the time that
 * interrupts took of it.
 */
nsec_t use_add(struct resources *used, probe_event_counts *probe_events, const struct model *model,
	       const struct step *step);

typedef void use_share_fn(void *arg, uint32_t node, const struct share *share);

/* Where the shares of steps are reported to, and what finding them takes. */
struct use_sharing {
	const struct model *model; /* borrowed */
	nsec_t start, end;         /* of all steps */
	use_share_fn *fn;
	void *arg;
	VEC(struct disk_queue) queues; /* of the disks that were waited for */
	struct map queue_index;        /* the model's line of a disk's requests -> index + 1 */
};

void use_sharing_done(struct use_sharing *sharing);

/*
 * Report what had a part in a step's time: for a wait for a CPU, the processes that ran on it, and
 * the other threads of the waiting process; for a wait for a disk, the processes with requests in
 * its queue; for running time, the functions that samples show.  Steps come in the order of their
 * starts.
 */
void use_shares(struct use_sharing *sharing, const struct step *step, const struct cause *cause,
		uint32_t node);

#endif
