/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window - requests of a running system, rebuilt while it is recorded.
 *
 *	struct request_window *w = request_window_new(10 * NSEC_PER_SEC);
 *	struct request_batch batch;
 *
 *	each tick:
 *		model_update(model);
 *		request_window_advance(w, model, now, &batch);
 *		... batch.ended, batch.in_flight ...
 *		request_batch_done(&batch);
 *		model_forget(model, request_window_needs(w));
 *
 * The finder that rebuilds the requests of a file (requests.h) goes on from one call to the next:
 * it processes each event once, REQUEST_LAG behind the newest record, as a wait is recorded when it
 * ends and a message gets its peer when that is recorded.  Each call then completes a copy of what
 * the finder holds, which is the requests in flight and the last second (at most
 * REQUEST_REACH), so a capture that is replayed through the window has the requests of the file.
 * What the finder has learned of processes, connections and threads stays; spans, work and calls of
 * requests that were returned are dropped.
 *
 * A root is returned once, when it is settled: its reply was sent and its connection was quiet for
 * REQUEST_QUIET or had the next request, the reply has left the send buffer, no part of its tree
 * is open, and the slices of its threads on CPUs are recorded.  After REQUEST_SETTLED it is
 * returned in any case.  A root with an unknown parent is returned after REQUEST_REACH, because
 * the reply of its parent can still show it.
 *
 * Time per call grows linearly with the events since the last call and the requests in flight.
 */
#ifndef SONDE_ANALYSE_REQUESTS_WINDOW_H
#define SONDE_ANALYSE_REQUESTS_WINDOW_H

#include "analyse/requests/requests.h"
#include "base/vec.h"
#include "model/model.h"
#include "model/span_set.h"

#define REQUEST_LAG ((nsec_t)250000000)
#define REQUEST_QUIET ((nsec_t)250000000)
#define REQUEST_SETTLED ((nsec_t)1000000000)
#define REQUEST_REACH ((nsec_t)3000000000)

struct request_window;

/* Number of requests since the window was made. */
struct request_counts {
	uint64_t ended;     /* returned */
	uint64_t truncated; /* of these: longer than the window, so without their beginning */
	uint64_t no_reply;  /* given up: their thread exited, or they had no reply for too long */
};

/* Valid until request_batch_done() or the next change of the model. */
struct request_batch {
	struct requests requests; /* indexes are of this batch */
	struct span_set spans;    /* recorded spans, and those of `requests` */
	VEC(span_id) ended;       /* roots that have ended and are settled, by end */
	VEC(span_id) in_flight;   /* roots without a reply yet, read or sent by a recorded client */
};

/* `length` of the window: what the model holds at least, in ns. */
struct request_window *request_window_new(nsec_t length);
void request_window_free(struct request_window *w);
DEFINE_FREEP(request_window)

/* Returns requests even if recorded spans with threads stand alone (spans.h). */
void request_window_keep_all(struct request_window *w);

/* Call before request_window_advance(): the model is going to hold less, or more again. */
void request_window_set_length(struct request_window *w, nsec_t length);

/* `now` is the time up to which all records are in the model. */
void request_window_advance(struct request_window *w, const struct model *model, nsec_t now,
			    struct request_batch *ret);

/* After the last record: returns all requests that are left. */
void request_window_finish(struct request_window *w, const struct model *model,
			   struct request_batch *ret);

void request_batch_done(struct request_batch *batch);

/* The oldest time that the model must still hold. */
nsec_t request_window_needs(const struct request_window *w);

struct request_counts request_window_counts(const struct request_window *w);
size_t request_window_memory(const struct request_window *w); /* bytes */

#endif
