/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use - what a step of a path used, and who else had a part in its time.
 */
#ifndef SONDE_ANALYSE_USE_H
#define SONDE_ANALYSE_USE_H

#include "analyse/account.h"

/*
 * Add what the step used to the sums, unless it was used for another span; returns the time that
 * interrupts took of it.
 */
nsec_t use_add(struct resources *used, hit_counts *hits, const struct model *model,
	       const struct step *step);

typedef void use_share_fn(void *arg, uint32_t node, str_id name, uint32_t pid, nsec_t time);

/*
 * Tell who had a part in a step's time: of a wait for a CPU, those who had it;
 * of a wait for a disk, those whose requests were in its queue; of running
 * time, the functions that samples show.
 */
void use_shares(const struct model *model, const struct step *step, const struct cause *cause,
		uint32_t node, use_share_fn *fn, void *arg);

#endif
