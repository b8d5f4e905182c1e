/* SPDX-License-Identifier: Apache-2.0 */
/* guard - bytes behind which memory ends, so that reading one too many is a crash. */
#ifndef SONDE_TESTS_GUARD_H
#define SONDE_TESTS_GUARD_H

#include <string.h>
#include <sys/mman.h>

/* A copy that ends where memory does; the next call overwrites it. */
static inline const char *guard(const char *data, size_t size)
{
	enum { ROOM = 1 << 18, PAGE = 1 << 16 /* of any machine */ };
	static char *guarded_end;

	if (!guarded_end) {
		char *all = mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		mprotect(all + ROOM, PAGE, PROT_NONE);
		guarded_end = all + ROOM;
	}
	memcpy(guarded_end - size, data, size);
	return guarded_end - size;
}

#endif
