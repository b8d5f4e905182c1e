/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/child_id.h"

#include <string.h>
#include <xxhash.h>

struct child_id child_id_of(const void *trace, const void *id, uint64_t tid, nsec_t start)
{
	struct {
		uint8_t trace[16], id[8];
		uint64_t tid, start;
	} key = { .tid = tid, .start = start };
	struct child_id ret;
	uint64_t hash;

	memcpy(key.trace, trace, sizeof(key.trace));
	memcpy(key.id, id, sizeof(key.id));
	hash = XXH3_64bits(&key, sizeof(key)) ?: 1; /* an id of zeros is invalid */
	memcpy(ret.bytes, &hash, sizeof(hash));
	return ret;
}
