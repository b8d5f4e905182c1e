/* SPDX-License-Identifier: Apache-2.0 */
/* flight_internal - the state that flight.c and flight_capture.c share. */
#ifndef SONDE_FLIGHT_FLIGHT_INTERNAL_H
#define SONDE_FLIGHT_FLIGHT_INTERNAL_H

#include "event/block_ring.h"
#include "flight/flight.h"
#include "flight/long_polls.h"
#include "flight/schedule.h"
#include "flight/snap.h"
#include "flight/snapshot_writer.h"

struct flight {
	const struct flight_options *options;
	struct flight_state state;
	nsec_t start;

	struct capture_dir *dir;
	struct control_server *snap; /* NULL if its socket could not be created */
	struct block_ring *ring;
	struct schedule schedule;
	struct long_polls long_polls;
	struct snapshot_writer *writer;

	/* of the recorder's stream */
	bool has_stream;
	struct capture_meta meta; /* owns its strings */
	int64_t realtime_offset;
	const char *warning; /* the last one that was reported; owned */

	/* of the capture that is being written */
	bool is_snap;
	slow_requests written;
	struct capture_name name;

	nsec_t asked; /* when a capture was asked for that has not been started; 0 if none */
	nsec_t hang_reported; /* when a request that hangs was reported last; 0 if never */
	bool stop;
};

__attribute__((format(printf, 2, 3))) void flight_message(const struct flight *f, const char *fmt,
							  ...);

/* Start to write a capture if one is due, or was asked for. */
void flight_write_if_due(struct flight *f);

/* Start to write the requests that wait, unless another capture is being written. */
void flight_write_last(struct flight *f);

/* Wait for the writer, and report the result. */
void flight_capture_written(struct flight *f);

#endif
