/* SPDX-License-Identifier: Apache-2.0 */
#include "report/lock_words.h"

#include "base/base.h"

static const struct lock_words all[] = {
	[LOCK_PLAIN] = { "waits", " for a lock", " held by", "waits for the lock it holds" },
	[LOCK_SHARED] = { "waits", " for an rwlock", " held by", "waits for the rwlock it holds" },
	[LOCK_SEMAPHORE] = { "waits", " for a semaphore", " held by",
			     "waits for the semaphore it holds" },
	[LOCK_GIL] = { "waits", " for the GIL", " held by", "waits for the GIL, which it holds" },
	[LOCK_RESULT] = { "waits", " for a result", " of", "waits for its result" },
	[LOCK_ANY] = { "waits", " for a lock or a result", " of",
		       "waits for a lock or a result of it" },
	[LOCK_SAFEPOINT] = { "is stopped", " at a safepoint of the JVM", " by",
			     "is stopped at a safepoint of the JVM" },
	[LOCK_GO] = { "is parked",
		      " by the Go runtime, cause unknown: the kernel does not show the lock or "
		      "channel that a goroutine waits for",
		      NULL, "is parked by the Go runtime" },
	[LOCK_FILE] = { "waits", " for the lock", " held by", "waits for the file lock it holds" },
	[LOCK_KERNEL] = { "waits", " for a lock in the kernel", " held by",
			  "waits for the lock it holds" },
	[LOCK_BACKEND] = { "waits", " for a lock of PostgreSQL", " held by",
			   "waits for the lock it holds" },
};

const struct lock_words *lock_words(enum lock_kind kind)
{
	return &all[kind < ARRAY_LEN(all) && all[kind].verb ? kind : LOCK_PLAIN];
}
