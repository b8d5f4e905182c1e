/* SPDX-License-Identifier: Apache-2.0 */
/* stream - the input of a pump that reads the stream of a recorder; private to live/. */
#ifndef SONDE_LIVE_STREAM_H
#define SONDE_LIVE_STREAM_H

#include "base/clock.h"
#include "live/live_internal.h"

struct stream {
	int fd;                       /* -1: there is none */
	struct stream_reader *reader; /* NULL without a stream */
	struct source source;
	bool has_meta;
	bool has_more;    /* whether records are left after a tick */
	nsec_t newest;    /* time of the newest record; 0: none yet */
	nsec_t clock;     /* the recorder's clock, if it is not ours: the newest record, */
	nsec_t clock_at;  /* and when it came, on our clock */
	uint64_t skipped; /* number of records with impossible times */

	/* The supervisor of the recorder, if it can be started again. */
	struct keeper *keeper; /* borrowed, or NULL */
	int keeper_fd;         /* readable when a recorder has ended; -1: none */
	/* Called in each round; `ended`: why the stream ended in this round, or NULL. */
	int (*supervise)(struct live *live, const char *ended, struct err *err);
	nsec_t start_at;   /* when to start the next recorder, on our clock; 0: one runs */
	nsec_t started_at; /* when the last one was started */
	nsec_t pause;      /* between the end of a recorder and the start of the next one */
	bool worked;       /* a recorder has sent records */
};

extern const struct feed stream_feed;

/* A stream without a descriptor yet. */
struct stream *stream_new(void);

/* Takes the descriptor of a new stream. */
void stream_start(struct live *live, int fd);
void stream_stop(struct live *live);

#endif
