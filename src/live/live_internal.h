/* SPDX-License-Identifier: Apache-2.0 */
/* live_internal - the parts of the pump: the window, and the feeds that fill it. */
#ifndef SONDE_LIVE_LIVE_INTERNAL_H
#define SONDE_LIVE_LIVE_INTERNAL_H

#include "analyse/requests/window.h"
#include "base/vec.h"
#include "event/source.h"
#include "live/live.h"

/* Where records come from: files, or the stream of a recorder. */
struct feed {
	/* Wait as live_poll() does, and call live_pump().  Returns as live_poll(). */
	int (*poll)(struct live *live, int timeout, int extra_fd, struct err *err);
	/* The next record: 1; 0 at the end; -EAGAIN if there is none yet; or damage. */
	int (*next)(struct live *live, const struct record **ret, const struct source **ret_source,
		    struct err *err);
	void (*free)(struct live *live);
};

struct live {
	struct live_options options;
	const struct feed *feed;
	void *input; /* of the feed */
	VEC(struct consumer) consumers;
	struct live_state state;

	struct model *model; /* NULL with options.no_model */
	struct request_window *requests;
	nsec_t window;        /* time to hold: less than options.window if memory is short */
	nsec_t newest;        /* time of the newest record in the model */
	nsec_t held_from;     /* the model holds records since then */
	nsec_t given_back;    /* when free memory was given back to the system */
	nsec_t next_tick;     /* on the clock of the records; 0 before the first record */
	uint32_t since_check; /* number of records since memory was checked */

	/* read, but of the time after the next tick; NULL if none */
	const struct record *pending;
	const struct source *pending_source;
	bool is_done;
	int result; /* of live_poll() after the last tick, and its message */
	struct err why;
};

struct live *live_new(const struct live_options *options, const struct feed *feed, void *input);

/* Starts with an empty model, such as for a new recorder.  `begin`: of its records, 0: unknown. */
void live_restart(struct live *live, nsec_t begin);

/*
 * Adds records until a tick is due, and calls it: LIVE_TICKED.  Otherwise as feed->next(), if it
 * has no record.
 */
int live_pump(struct live *live, struct err *err);

/* A tick at this time, without a record; for feeds with a clock of their own. */
void live_tick(struct live *live, nsec_t now);

/*
 * The last requests, the last tick, and the consumers' end.  Returns LIVE_TICKED; live_poll()
 * returns `result` from then on.
 */
int live_finish(struct live *live, int result, const struct err *why);

void live_set_warning(struct live *live, const char *text);

/* Whether a descriptor is readable now, as LIVE_INPUT or 0; -1 is none. */
int live_check_input(int fd);

#endif
