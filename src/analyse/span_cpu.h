/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_cpu - how long threads ran for each span.
 *
 * What a thread runs is for the span that it works for then, and for no other:
 * not for the parents of that one, nor for tasks that wait meanwhile on the same
 * thread.  As with all running time, interrupts that came meanwhile are in it.
 */
#ifndef SONDE_ANALYSE_SPAN_CPU_H
#define SONDE_ANALYSE_SPAN_CPU_H

#include "model/model.h"

#define CPU_UNKNOWN UINT64_MAX

/* By number of the span, to be freed; unknown if no recorded thread is known to work for it. */
nsec_t *span_cpu_find(const struct model *model);

/* How long a thread ran between two times; unknown if nothing was recorded of it then. */
nsec_t span_cpu_between(const struct model *model, thread_id thread, nsec_t from, nsec_t to);

#endif
