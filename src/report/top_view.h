/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_view - what `sonde top` shows at one moment, as values.
 *
 * The window forgets records, so a view refers to no model: all its strings and arrays are in its
 * own arena.  A frozen screen and an explanation stay valid while the recording goes on.
 *
 * Strings contain names of recorded programs.  They are UTF-8 at best, and hostile at worst; the
 * renderers escape them.
 */
#ifndef SONDE_REPORT_TOP_VIEW_H
#define SONDE_REPORT_TOP_VIEW_H

#include "base/arena.h"
#include "base/base.h"

enum { TOP_SECONDS = 60 }; /* length of the history of an operation */

/* Time on the critical path of one service in one state. */
struct top_share {
	const char *service;
	char state;   /* a letter of state_letters */
	double share; /* of the time of the requests, 0 to 1 */
};

/* A cause, as a sentence. */
struct top_cause {
	double share; /* of the time of the requests, 0 to 1 */
	const char *text;
};

/* Where the time of some requests went; both arrays have the largest first. */
struct top_account {
	const struct top_share *shares;
	size_t share_count;
	const struct top_cause *causes;
	size_t cause_count;
};

/* How the requests of an operation differ from the baseline. */
struct top_deviation {
	const char *service, *operation; /* of the spans that differ: the request, or a call */
	const char *state;               /* "lock", "queueing", ...; static */
	bool is_faster;
	uint64_t spans, flagged; /* compared in the last seconds, and outside of the usual range */
	nsec_t observed, usual;  /* means, per span */
	const char *compared_by; /* "position", "subtree" or "operation"; static */
	const char *text;        /* all of it in words */
};

/* Percentiles, as bits. */
enum { TOP_P50 = 1, TOP_P95 = 2, TOP_P99 = 4 };

/* An operation: requests of one entry and shape, or root spans of one service and name. */
struct top_row {
	const char *service;
	const char *operation; /* "127.0.0.1:8080 > contacts, ledger", "GET /home", or "others" */
	uint64_t requests;     /* that ended in the interval of the view */
	double rate;           /* requests per second */
	nsec_t p50, p95, p99, max;
	uint8_t at_least;            /* TOP_P50, ...: requests in flight can still raise it */
	bool is_idle;                /* its requests only wait for work, such as a long poll */
	uint64_t in_flight;          /* number of requests without a reply yet */
	nsec_t oldest;               /* time since the oldest of these arrived */
	nsec_t total;                /* sum of the latencies */
	nsec_t history[TOP_SECONDS]; /* p95 of each second, oldest first; 0: no request ended */
	struct top_account account;
	uint64_t compared; /* spans of its requests that were compared with the baseline */
	const struct top_deviation *deviations; /* slower ones first, largest excess first */
	size_t deviation_count;

	nsec_t slowest; /* latency of the slowest request since the window began; 0: none */
	const char *explanation; /* text of several lines that explains it; NULL: not yet */
};

struct top_view {
	struct arena *arena; /* owns all arrays and strings */

	const char *host;  /* name of the recorded host; "" if unknown */
	const char *scope; /* what is recorded: "all processes", "port 8080", "demo.sonde" */
	nsec_t time;       /* end of the interval; CLOCK_REALTIME, 0 if unknown */
	nsec_t elapsed;    /* since the first record */
	nsec_t interval;   /* length of the interval that rates and percentiles are of */

	const struct top_row *rows; /* in any order */
	size_t row_count;
	bool has_baseline;            /* requests are compared with one */
	struct top_account all;       /* of the requests of all rows that are not idle */
	uint64_t requests, accounted; /* of the interval; how many of them the accounts are of */
	double rate;
	uint64_t in_flight; /* requests without a reply yet */
	uint64_t left_out;  /* requests of the interval without an account, as records were lost */

	uint64_t records, lost; /* in all; lost includes those dropped by the stream */
	uint64_t lost_now;      /* of `lost`, in the interval */
	double record_rate;     /* records per second */
	nsec_t window;          /* time that the window holds now */
	nsec_t window_wanted;   /* and should hold */
	uint64_t memory;        /* bytes that the window uses now */
	uint64_t memory_limit;  /* above which it shrinks */
	nsec_t lag;             /* age of the newest request when it was shown; 0: a replay */
	double recorder_cpu, reader_cpu;         /* CPU time, in cores */
	uint64_t recorder_memory, reader_memory; /* resident size in bytes */

	const char *problem; /* why there are no new records, and what happens next; NULL: none */
	const char *warning; /* newest warning of the recorder; NULL: none */
};

void top_view_free(struct top_view *view);
DEFINE_FREEP(top_view)

#endif
