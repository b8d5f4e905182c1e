/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete - whether the model has all records of a span that ended.
 *
 * Records come in the order of their times, and the time of an interval is its end.  A thread that
 * ends a span and runs on has its last slice recorded at its next switch-out, which comes after
 * other records from after the end of the span.  Without that slice, the last part of the span
 * would be in no state.
 */
#ifndef SONDE_ANNOTATE_COMPLETE_H
#define SONDE_ANNOTATE_COMPLETE_H

#include "model/model.h"

/* Do not wait longer than this for the slice of a thread that runs on. */
#define COMPLETE_GRACE (100 * NSEC_PER_MSEC)

/* `until`: time of the newest record. */
bool span_is_complete(const struct model *model, span_id id, nsec_t until);

#endif
