/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_spans - the spans of a batch, and which roots among them are returned.
 *
 * Recorded spans are joined with rebuilt requests as those of files are (spans.h).  A recorded root
 * is returned once, some time after its end: its children can be recorded after it.  If it names a
 * parent, that can end much later; unless the parents of such spans, by service and operation,
 * usually do not come.
 */
#ifndef SONDE_ANALYSE_REQUESTS_WINDOW_SPANS_H
#define SONDE_ANALYSE_REQUESTS_WINDOW_SPANS_H

#include "analyse/requests/window.h"
#include "base/map.h"

/* What is known of recorded spans over several batches. */
struct returned_spans {
	struct map now, before; /* hash of ids -> 1; of this period and of the one before */
	nsec_t since;           /* start of this period */
	struct map entries;     /* service and operation: their parents are not recorded */
	bool has_joined;        /* spans serve rebuilt requests */
};

typedef VEC(uint32_t) uint32_list;

/* Rebuilt roots, as indexes in requests.spans. */
struct root_choice {
	uint32_list settled, in_flight;
	nsec_t earliest; /* start of those that are not settled */
	nsec_t recent;   /* the same, without those that are longer than REQUEST_REACH */
	nsec_t since;    /* start of all that were not returned before */
};

/* Fills spans, ended and in_flight of a batch from its requests. */
void window_spans_add(struct returned_spans *returned, nsec_t until,
		      const struct root_choice *choice, struct request_batch *batch);

/* Forgets spans that are older than the window. */
void returned_spans_rotate(struct returned_spans *returned, nsec_t now, nsec_t length);
void returned_spans_done(struct returned_spans *returned);

#endif
