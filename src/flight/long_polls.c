/* SPDX-License-Identifier: Apache-2.0 */
#include "flight/long_polls.h"

/* Recorded processes choose the entries: of too many, all are counted anew. */
enum { ENTRIES_KEPT = 10000 };

void long_polls_done(struct long_polls *l)
{
	map_done(&l->requests);
	map_done(&l->idle);
	*l = (struct long_polls){ 0 };
}

bool long_polls_count(struct long_polls *l, uint64_t entry, bool is_slow, bool is_idle)
{
	if (l->requests.count >= ENTRIES_KEPT)
		long_polls_done(l);

	uint64_t requests = ++*map_insert(&l->requests, entry);

	if (!is_slow || !is_idle)
		return is_slow;
	return ++*map_insert(&l->idle, entry) * 10 <= requests * 9;
}
