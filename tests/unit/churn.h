/* SPDX-License-Identifier: Apache-2.0 */
/*
 * churn - the stream of a system in which everything comes and goes: processes, threads,
 * connections, files, stacks, spans with attributes, losses.  A few threads stay.
 *
 *	struct churn c = { .add = add_to, .arg = model, .rate = 50 };
 *	while (churn_second(&c))
 *		...
 *
 * All numbers and names are new each time, except those of threads, which the kernel reuses.
 */
#ifndef SONDE_TESTS_CHURN_H
#define SONDE_TESTS_CHURN_H

#include "event/event.h"
#include "base/base.h"

/* Threads that stay, each in a process of its own; their tids are 1 to this. */
enum { CHURN_STAYING = 20 };

struct churn {
	void (*add)(void *arg, const struct record *record);
	void *arg;
	uint32_t rate;      /* processes, connections, requests per second */
	uint32_t epoch;     /* length of an epoch, s; 0 for none */
	uint32_t seconds;   /* done so far */
	uint32_t processes; /* so far */
};

/* The next second of the stream; it begins at churn_time(). */
void churn_second(struct churn *c);

nsec_t churn_time(const struct churn *c);

#endif
