/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_id - ids of spans that sonde adds.
 *
 * They are derived from what the span is about, so that they are the same in each run: a span that
 * is sent again adds nothing.
 */
#ifndef SONDE_ANNOTATE_CHILD_ID_H
#define SONDE_ANNOTATE_CHILD_ID_H

#include <stdint.h>

#include "base/base.h"

struct child_id {
	uint8_t bytes[8];
};

/* In place of a thread id: the critical path of a trace. */
#define CHILD_PATH UINT32_MAX

/* Below a span, about a thread from a time on. */
struct child_id child_id_of(const void *trace, const void *id, uint64_t tid, nsec_t start);

#endif
