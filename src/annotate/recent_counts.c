/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/recent_counts.h"

#include <stdlib.h>

#include "base/hash.h"

enum { SETS = 2048, WAYS = 8 }; /* 384 KiB */

struct recent_count {
	uint64_t hash; /* of the key */
	uint64_t used; /* time of the last use, in uses; 0: never */
	uint32_t count;
};

struct recent_counts {
	uint64_t uses;
	struct recent_count sets[SETS][WAYS];
};

struct recent_counts *recent_counts_new(void)
{
	return must_alloc(sizeof(struct recent_counts));
}

void recent_counts_free(struct recent_counts *c)
{
	free(c);
}

uint32_t *recent_counts_at(struct recent_counts *c, const void *key, size_t size)
{
	uint64_t hash = hash_bytes(key, size);
	struct recent_count *set = c->sets[hash % SETS], *oldest = set;

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].used && set[i].hash == hash) {
			set[i].used = ++c->uses;
			return &set[i].count;
		}
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	*oldest = (struct recent_count){ .hash = hash, .used = ++c->uses };
	return &oldest->count;
}
