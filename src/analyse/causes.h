/* SPDX-License-Identifier: Apache-2.0 */
/*
 * causes - equal causes added up, within a request and over many requests.
 *
 * A cause is a leaf of an account: what a thread did, or waited for, while the request could not
 * continue.  One reason often has many leaves: six waits for the same pool below six spans, the
 * same lock in a thousand requests.  Leaves are equal if a sentence about them would differ only
 * in the thread, the connection or the instance of a span.  So the key of a leaf has its service,
 * state, system call and object, the service and operation that it worked for, and the
 * state and service of the wait that it explains.
 *
 * Many equal calls one after another are a pattern of its own, "N+1": no leaf of it may be large,
 * since each call is short.  If such calls take most of the time and no leaf does, the pattern
 * is the first cause, beside the leaves that it consists of.
 *
 * Sums keep no accounts.  Each cause has an example, the request in which it took most time, and
 * the node in the account of that request: account_of_span() numbers nodes in the same way
 * every time.
 */
#ifndef SONDE_ANALYSE_CAUSES_H
#define SONDE_ANALYSE_CAUSES_H

#include "analyse/account.h"
#include "base/map.h"

struct cause_group {
	uint64_t key;      /* hash of what the leaves have in common, the same in all sums */
	nsec_t time;       /* of all equal leaves */
	uint32_t requests; /* number of requests with such a leaf */
	uint32_t leaves;
	span_id example;  /* request in which a single leaf took longest; none for a thread */
	uint32_t node;    /* that leaf */
	nsec_t longest;   /* its time */
	thread_id thread; /* of the first leaf */
	span_id span;     /* that the first leaf worked for */
	uint8_t state;    /* 0: a span without a known thread, or a pattern */
	bool several;     /* whether the leaves are of several threads */
	bool several_processes;
	bool is_lost;      /* no records of it: lost, or older than the window; comes last */
	bool is_pattern;   /* `node` is that of the calls, not a leaf */
	uint32_t last_sum; /* private: number of the last account */
};

struct cause_sum {
	VEC(struct cause_group) groups; /* after cause_sum_finish(), largest first */
	nsec_t total;                   /* time of all accounts */
	uint32_t accounts;
	struct map index; /* private: hash of the key -> index + 1 */
};

/* All zero at first. */
void cause_sum_add(struct cause_sum *sum, const struct span_set *spans,
		   const struct account *account);
/* The same for a request of a sample, which stands for `weight` requests. */
void cause_sum_add_weighted(struct cause_sum *sum, const struct span_set *spans,
			    const struct account *account, double weight);
/*
 * Adds only the causes of one state of the explained span's own threads, and of what it waited for
 * meanwhile; with state 0, of its queueing.
 */
void cause_sum_add_state(struct cause_sum *sum, const struct span_set *spans,
			 const struct account *account, uint8_t state);
void cause_sum_finish(struct cause_sum *sum);
void cause_sum_done(struct cause_sum *sum);

#endif
