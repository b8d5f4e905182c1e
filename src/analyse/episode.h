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

#include "base/map.h"
#include "base/vec.h"
#include "model/model.h"

struct episode {
	struct stretch last; /* the last part: its end decides the cause */
	uint32_t parts;      /* number of waits, at least 1 */
	uint8_t state;       /* of all parts */
	bool is_polling;     /* only sleeps: what the thread looked for is unknown */
};

/* The episode that a blocked interval of a thread begins, or is a later part of. */
struct episode episode_from(const struct model *model, thread_id id, const struct stretch *wait);

/* The last episode of each thread: the parts of one have the same end.  All zero at first. */
struct episode_cache {
	struct map index; /* thread -> index + 1 */
	VEC(struct cached_episode {
		nsec_t first; /* start of the part from which it was found */
		struct episode episode;
	})
	items;
};

/* episode_from(), or what it found for an earlier part. */
struct episode episode_cached(struct episode_cache *cache, const struct model *model, thread_id id,
			      const struct stretch *wait);
void episode_cache_done(struct episode_cache *cache);

#endif
