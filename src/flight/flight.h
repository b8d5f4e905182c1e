/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight - the flight recorder: hold the last seconds in memory, and write a capture when asked, or
 * when a request was slow.
 *
 * It is a reader on the road of live/.  The blocks of the recorder's stream go into a ring
 * (event/block_ring.h) as they are, which costs little.  Only with a threshold do records also go
 * through the model, which finds the requests and their latency; the threshold decides which are
 * slow (threshold.h), the schedule when to write (schedule.h).
 *
 * A capture is written by a thread (capture_writer.h in this room), from a snapshot of the ring,
 * so that the ring goes on meanwhile.  Files are created by a process that can do only that
 * (capture_dir.h), because the reader itself has no privileges, not even those of its user.
 */
#ifndef SONDE_FLIGHT_FLIGHT_H
#define SONDE_FLIGHT_FLIGHT_H

#include "base/base.h"
#include "base/err.h"

struct record_options;
struct threshold;

#define FLIGHT_MEMORY (256ull << 20)
#define FLIGHT_EVERY (60 * NSEC_PER_SEC)
enum { FLIGHT_AT_MOST = 10 };

/* The shortest time to hold: shorter ones would be less than the delay of the records. */
#define FLIGHT_KEEP_MIN (2 * NSEC_PER_SEC)

struct flight_state {
	nsec_t elapsed;
	nsec_t held;     /* time that a capture would contain now */
	uint64_t bytes;  /* memory for it */
	bool is_limited; /* whether the memory does not suffice for the wanted time */
	uint64_t records, lost;
	uint64_t requests;   /* number of requests that were compared with the threshold */
	uint64_t slow;       /* number of slow ones */
	uint64_t missed;     /* number of slow ones that are in no capture */
	uint64_t captures;   /* number of captures written for slow requests */
	uint64_t snaps;      /* number of captures written when asked */
	const char *problem; /* why nothing is recorded now, or NULL */
};

struct flight_options {
	struct record_options *record; /* scope and kinds of records */
	const char *directory;         /* of the captures; created if it is missing */
	nsec_t keep;                   /* time to hold, from FLIGHT_KEEP_MIN */
	uint64_t memory;               /* bytes for it, and for the model each */
	struct threshold *when;        /* borrowed; NULL: write only when asked */
	nsec_t every;                  /* least time between two captures for slow requests */
	uint64_t at_most;              /* captures for slow requests; then the recording ends */
	nsec_t duration;               /* 0: unlimited */

	/* Called about once a second, and for each event that the user should know of. */
	void (*progress)(void *arg, const struct flight_state *state);
	void (*message)(void *arg, const char *text);
	void *arg;
};

/*
 * Record until SIGINT, SIGTERM or SIGHUP, which this function blocks and reads, as well as SIGUSR1,
 * which writes a capture.
 */
int flight_record(const struct flight_options *options, struct flight_state *ret, struct err *err);

#endif
