/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history - the requests that were rebuilt in the window, for spans that come later.
 *
 * A service that was not started by `sonde run` exports its spans seconds after their end, when the
 * pump has passed the requests that they serve.  So the history keeps these requests, tree by tree,
 * until the window has passed them.  With too many bytes, the oldest are dropped.
 */
#ifndef SONDE_ANNOTATE_HISTORY_H
#define SONDE_ANNOTATE_HISTORY_H

#include "live/live.h"

struct history;

/* The window at a time, until which its records and requests are complete. */
struct history_view {
	const struct model *model;
	const struct history *history;
	nsec_t until;
	int64_t realtime; /* ns to add to times to get CLOCK_REALTIME */
};

struct history *history_new(size_t bytes_max);
void history_free(struct history *h);
DEFINE_FREEP(history)

/*
 * Adds the requests of a batch that have a reply.  Those that it has already are replaced, unless
 * the batch has only a part of them left.
 */
void history_add(struct history *h, const struct live_view *view);

/* Drops what ended before t. */
void history_forget(struct history *h, nsec_t t);

/* The requests that overlap a time, as requests_find() returns them.  Linear in the history. */
void history_find(const struct history *h, nsec_t from, nsec_t to, struct requests *ret);

#endif
