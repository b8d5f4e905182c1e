/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect - what sonde can record of a process: agent, SDK, published context,
 * spans.  For `sonde doctor --pid`.
 *
 * The process is inspected from outside, as the recorder does it, and neither
 * changed nor stopped.
 */
#ifndef SONDE_RECORD_INSPECT_H
#define SONDE_RECORD_INSPECT_H

#include "record/kernel/feature.h"

/* Fails if the process does not exist, or if this user may not inspect it. */
int inspect_process(uint32_t pid, struct feature ret[FEATURE_MAX], size_t *ret_count,
		    struct err *err);

#endif
