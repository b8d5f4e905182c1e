/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect - what sonde sees of a process: our agent, its SDK, the context it
 * publishes, its spans.  For `sonde doctor --pid`.
 *
 * It is looked at as the recorder would look, from outside; nothing of the
 * process is changed or stopped.
 */
#ifndef SONDE_RECORD_INSPECT_H
#define SONDE_RECORD_INSPECT_H

#include "record/kernel/feature.h"

/* Fill features and set their number. Fails if the process is not there, or must not be looked at.
 */
int inspect_process(uint32_t pid, struct feature ret[FEATURE_MAX], size_t *ret_count,
		    struct err *err);

#endif
