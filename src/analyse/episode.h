/* SPDX-License-Identifier: Apache-2.0 */
/*
 * episode - consecutive waits of a thread for the same thing.
 *
 * A thread that wakes by a timer, looks whether it can go on and waits again has waited once:
 * PostgreSQL looks for deadlocks after a second of a wait for a lock, Python's threads ask every
 * 5 ms for the global interpreter lock, many programs poll with a timeout.  The parts of such an
 * episode end by a timer, which explains nothing; the end of the last part does.
 *
 * A look is a short time on a CPU, without a message, a disk or another wait.
 */
#ifndef SONDE_ANALYSE_EPISODE_H
#define SONDE_ANALYSE_EPISODE_H

#include "model/model.h"

struct episode {
	struct stretch last; /* the last part: its end decides the cause */
	uint32_t parts;      /* number of waits, at least 1 */
	uint8_t state;       /* of all parts */
	bool is_polling;     /* only sleeps: what the thread looked for is unknown */
};

/* The episode that a blocked interval of a thread begins, or is a later part of. */
struct episode episode_from(const struct model *model, thread_id id, const struct stretch *wait);

#endif
