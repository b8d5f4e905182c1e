/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live - the pump: records of a running system, or of a file, through a window to consumers.
 *
 *	live_open_keeper(keeper, &options, &live, &err);
 *	live_add_consumer(live, &consumer);
 *	while ((r = live_poll(live, -1, STDIN_FILENO, &err)) > 0)
 *		if (r & LIVE_INPUT)
 *			handle_key();
 *	live_free(live);
 *
 * Records go into a model that holds the last seconds only.  At each tick, the pump rebuilds the
 * requests that have ended since, passes each to the consumers, once, and forgets what is older
 * than the window.  A consumer keeps values; all pointers into the model end with the call.
 * Consumers know nothing of each other.
 *
 * The window is bounded in time and in bytes.  If the memory does not suffice for the time, the
 * window shrinks, and the state shows it.
 *
 * If the recorder ends, the consumers' ticks go on, with the reason in the state, and the pump
 * starts it again, at first after one second, then after increasing pauses.  A new recorder
 * describes everything again, so it gets a new model.
 *
 * A file is replayed as fast as possible: its records are the clock, and the result does not
 * depend on the speed of the machine.
 */
#ifndef SONDE_LIVE_LIVE_H
#define SONDE_LIVE_LIVE_H

#include "analyse/requests/requests.h"
#include "base/err.h"
#include "base/view.h"
#include "event/recorder_stats.h"
#include "event/stream_read.h"
#include "model/span_set.h"

struct keeper;
struct live;
struct verb_message;

/* All of it is borrowed, and valid during the call. */
struct live_view {
	const struct model *model;
	const struct span_set *spans;    /* recorded and rebuilt ones */
	const struct requests *requests; /* rebuilt ones; empty if all spans are recorded */
	const span_id *in_flight;        /* requests that were received and have no reply yet */
	size_t in_flight_count;
	nsec_t begin, now; /* times of the first and of the newest records */
};

struct live_state {
	nsec_t begin;            /* time of the first record; CLOCK_MONOTONIC of the host */
	nsec_t now;              /* time of the tick, on the same clock */
	nsec_t settled;          /* until when requests were passed, as far as they are certain */
	int64_t realtime_offset; /* ns from that clock to CLOCK_REALTIME; 0 if unknown */
	const char *host;        /* name of the recorded host; "" if unknown */

	nsec_t window, window_wanted;  /* time that the model holds, and should hold */
	uint64_t memory, memory_limit; /* bytes of the model, and above which the window shrinks */
	nsec_t lag;                    /* age of the newest record; 0 for a file */
	uint64_t records;              /* number of records read */
	uint64_t lost;                 /* number of records lost, in the kernel or in the stream */

	bool is_replay;                 /* the records come from a file */
	struct recorder_stats recorder; /* newest; all 0 if there are none yet */
	const char *problem;            /* why there are no new records; NULL if there are */
	const char *warning;            /* newest warning of the recorder or reader, or NULL */
	unsigned int restarts;          /* number of recorders before the current one */
};

struct consumer {
	void *arg;
	/* A request has ended; `span` is the root of its tree.  Each request is passed once. */
	void (*span_ended)(void *arg, const struct live_view *view, span_id span);
	/* All requests of this view were passed; the view is the same. */
	void (*batch_ended)(void *arg, const struct live_view *view);
	/* Time has passed.  Most requests that ended before state->settled were passed before. */
	void (*tick)(void *arg, const struct live_state *state);
	/* The input has ended, after the last tick.  May be NULL, as the others. */
	void (*done)(void *arg);
};

struct live_options {
	nsec_t window;   /* 0: LIVE_WINDOW */
	uint64_t memory; /* bytes; 0: LIVE_MEMORY */
	nsec_t interval; /* between two ticks; 0: LIVE_INTERVAL */
	/*
	 * Of a stream, or NULL: called for its file header, again for each new recorder, and for
	 * each verified block.
	 */
	void (*on_stream)(void *arg, const struct capture_meta *meta);
	stream_block_fn *on_block;
	void *stream_arg;
	bool all_requests; /* rebuild requests beside recorded spans with threads, too */
	bool no_model;     /* pass blocks and ticks only: no model, and no requests */
};

#define LIVE_WINDOW (10 * NSEC_PER_SEC)
#define LIVE_MEMORY (256ull << 20)
#define LIVE_INTERVAL NSEC_PER_SEC

/* Replay files in any format (NULL-terminated). */
int live_open_files(char **inputs, const struct live_options *options, struct live **ret,
		    struct err *err);

/* Read the stream of a recorder from a pipe or socket, until it ends.  Takes the descriptor. */
int live_open_fd(int fd, const struct live_options *options, struct live **ret, struct err *err);

/*
 * Let a keeper (record/keeper.h) start the recorder, and start it again if it ends.  The keeper is
 * borrowed.  Missing in builds without the recorder.
 */
int live_open_keeper(struct keeper *keeper, const struct live_options *options, struct live **ret,
		     struct err *err);

/*
 * Sends a verb (record/verb.h) to the recorder that a keeper started: 0; -EAGAIN if the recorder
 * does not read; -ENOTCONN if no recorder runs.
 */
int live_verb(struct live *live, const struct verb_message *message);

/*
 * The number of the recorder that runs, from 1 on; 0 if none does.  A new recorder knows nothing of
 * the verbs that were sent to earlier ones.
 */
unsigned int live_recorder(const struct live *live);
void live_free(struct live *live);
DEFINE_FREEP(live)

void live_add_consumer(struct live *live, const struct consumer *consumer); /* copied */

/*
 * Between two ticks: the model with all records so far, and the time until which they are complete.
 * Borrowed, until the next call of live_poll() or live_add_spans().  NULL before the first record.
 */
const struct model *live_model(struct live *live, nsec_t *ret_until);

/* ns from the clock of the records to CLOCK_REALTIME; 0 if unknown. */
int64_t live_realtime_offset(const struct live *live);

/*
 * Adds spans that do not come from the recorder, in OTLP (one export request), on the clock
 * CLOCK_REALTIME of this host.  A span that the model has already stays as it is.
 */
int live_add_spans(struct live *live, struct view request, struct err *err);

enum {
	LIVE_RUNNING = 1, /* more records can come */
	LIVE_TICKED = 2,  /* the consumers' tick was called */
	LIVE_INPUT = 4,   /* the extra descriptor is readable, or was closed */
};

/*
 * Wait for records, for the next tick, or for the extra descriptor (-1: none), at most `timeout`
 * ms (-1: until one of these).  Returns after at most one tick, or if a signal interrupts the wait:
 * the bits above; after the last tick, 0 at the end of the input, or a negative errno if it is
 * damaged.
 */
int live_poll(struct live *live, int timeout, int extra_fd, struct err *err);

#endif
