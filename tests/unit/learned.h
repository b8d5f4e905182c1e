/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learned - baselines of hand-made observations, for tests.
 *
 *	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);
 *	learn_traces(b, 0, 100);
 *	baseline_finish(b);
 *
 * A trace consists of a span of a shop and of its call to a database.  What it contains depends
 * on its number only, so that any recording can be made again.  The shop runs, calls, and waits for
 * a lock in every second trace; the database reads the disk.  Times are log-normal.  The spans of
 * the shop have attributes of all types, which explain nothing.
 */
#ifndef SONDE_TESTS_LEARNED_H
#define SONDE_TESTS_LEARNED_H

#include "diagnose/profile.h"

struct hand_trace {
	struct observation shop, database;
};

/* The observations are valid until the next call. */
const struct hand_trace *hand_trace(uint64_t number);

/* A number between 0 and 1 that depends on the arguments only. */
double random_share(uint64_t number, uint64_t salt);
/* The same, distributed normally around 0 with deviation 1. */
double random_normal(uint64_t number, uint64_t salt);

/* The spans in which the names of the observations are. */
const struct span_set *hand_spans(void);

/* A recording that contains `count` traces.  Returns whether it was learned. */
bool learn_traces(struct baseline *baseline, uint64_t first, uint64_t count);

/* All that a finished baseline contains, and its profiles, as text.  The caller frees it. */
char *baseline_text(const struct baseline *baseline);
char *profiles_text(const struct baseline *baseline, const struct profiles *profiles);

#endif
