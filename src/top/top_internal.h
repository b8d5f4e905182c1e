/* SPDX-License-Identifier: Apache-2.0 */
/* top_internal - the state of top, shared by the files that fill it and that show it. */
#ifndef SONDE_TOP_TOP_INTERNAL_H
#define SONDE_TOP_TOP_INTERNAL_H

#include "diagnose/watch.h"
#include "top/operation.h"
#include "top/sentences.h"
#include "top/top.h"

/* Numbers of the last seconds, by second modulo their number. */
struct top_second {
	nsec_t from;                 /* end of the one before, at a tick */
	struct costs costs;          /* of all operations that are not idle */
	uint64_t requests, left_out; /* reported; without an account, as records were lost */
	uint64_t lost;               /* records */
};

/* CPU time of a process between two ticks. */
struct cpu_use {
	nsec_t time, cpu; /* at the last tick */
	double cores;
};

struct top {
	struct top_options options;
	struct operations operations;
	struct sentences sentences;
	struct top_second seconds[SECONDS_EXACT];
	uint64_t seed;
	size_t budget;       /* accounts that can still be made before the next tick */
	size_t accounts;     /* made since the last tick */
	size_t steps;        /* of their paths */
	size_t explanations; /* the same for explanations */
	uint64_t in_flight;
	struct watch *watch;   /* NULL: there is no baseline */
	size_t to_compare;     /* spans that can still be compared before the next tick */
	size_t spans_per_tree; /* of the requests that were compared last, at least */

	struct live_state state; /* of the last tick; strings are copies */
	nsec_t begin;            /* from which seconds are counted */
	bool has_begun;
	uint64_t open; /* the first second after the last tick */
	uint64_t lost; /* records lost before the last tick */
	uint64_t records;
	double record_rate;
	struct cpu_use recorder, reader;
	uint64_t reader_memory;
};

/* The second before a time. */
uint64_t top_second_of(const struct top *top, nsec_t t);

/* Accounts of the requests of a batch, or of a sample of them; explanations of the slowest ones. */
void top_account_batch(struct top *top, const struct live_view *view);

/* Compares the requests of a batch with the baseline, before they are accounted. */
void top_compare_batch(struct top *top, const struct live_view *view);
void top_compare_tick(struct top *top);
/* A string of a view. */
const char *top_copy(struct arena *arena, const char *s);
/* What differs from it, as values. */
void top_fill_deviations(const struct top *top, const struct watch_summary *summary,
			 const struct operation *op, struct arena *arena, struct top_row *row);

/* Counts the requests in flight of a view, instead of those of the view before; or none. */
void top_add_in_flight(struct top *top, const struct live_view *view);
void top_clear_in_flight(struct top *top);

#endif
