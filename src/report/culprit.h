/* SPDX-License-Identifier: Apache-2.0 */
/* culprit - the one thing that a cause blames: a process, a file, a lock, a peer, a function. */
#ifndef SONDE_REPORT_CULPRIT_H
#define SONDE_REPORT_CULPRIT_H

#include "analyse/account.h"

struct culprit {
	const char *
		kind; /* "process", "file", "device", "lock", "peer", "quota", "function", "none" */
	char name[128]; /* untrusted: escape it */
};

/* Of a leaf of an account with shares. */
struct culprit culprit_of(const struct span_set *spans, const struct account *account,
			  uint32_t leaf);

#endif
