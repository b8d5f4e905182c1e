/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_cpu - CPU time of each span.
 *
 * The CPU time of a thread counts for the span that the thread works for, and for no
 * other: not for its ancestors, nor for tasks that wait on the same thread.  Like all
 * running time, it includes interrupts.
 */
#ifndef SONDE_ANALYSE_SPAN_CPU_H
#define SONDE_ANALYSE_SPAN_CPU_H

#include "model/model.h"

#define CPU_UNKNOWN UINT64_MAX

/* By number of the span; CPU_UNKNOWN if no recorded thread works for it.  The caller frees it. */
nsec_t *span_cpu_find(const struct model *model);

/* CPU time of a thread between two times; CPU_UNKNOWN if it has no records there. */
nsec_t span_cpu_between(const struct model *model, thread_id thread, nsec_t from, nsec_t to);

#endif
