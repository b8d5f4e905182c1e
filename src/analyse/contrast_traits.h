/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contrast_traits - what slow requests have in common besides their causes.
 *
 * Slow requests can share a thread, a process, a host or the value of an attribute: one customer,
 * one bad instance.  Such a trait is reported if at least half of the slow requests have it, usual
 * requests half as often at most, and chance is an unlikely explanation: the hypergeometric
 * probability of so many slow requests with the trait, times the number of traits that were
 * tried (Bonferroni), is below 1 %.  Only requests that reach the
 * service of the trait count: that usual requests do not is a matter of calls.  The time of arrival
 * is tried in the same way: a quarter of the recording or less in which four fifths of the slow
 * requests arrive.
 *
 * Slow requests can also make more calls.  An operation below them is reported if slow requests
 * call it at least twice as often as usual ones, and the additional time of these calls
 * is at least a fifth of the difference, and no operation above it is reported: what it calls in
 * turn is part of it.
 */
#ifndef SONDE_ANALYSE_CONTRAST_TRAITS_H
#define SONDE_ANALYSE_CONTRAST_TRAITS_H

#include "analyse/contrast.h"

enum trait_kind { TRAIT_ATTRIBUTE, TRAIT_HOST, TRAIT_PROCESS, TRAIT_THREAD };

struct trait {
	uint8_t kind;                      /* enum trait_kind */
	span_id span;                      /* example of a span with it */
	const struct attribute *attribute; /* borrowed from the model; NULL of other kinds */
	uint32_t slow_requests, usual_requests;
	double probability; /* that chance explains it, corrected for the number of traits */
	uint32_t last;      /* private: number of the last request with it */
	uint32_t reach;     /* private: index of the service in the counts of requests */
};

struct call_contrast {
	span_id span;         /* example */
	uint64_t slow, usual; /* number of calls, in all compared requests */
	nsec_t slow_time, usual_time;
	uint32_t slow_requests, usual_requests; /* number of requests with such a call */
	uint32_t last;                          /* private: number of the last request with it */
};

/* When slow requests arrive. */
struct slow_period {
	nsec_t from, to;                        /* arrival of the first and last one; 0 if none */
	uint32_t slow_requests, usual_requests; /* number that arrive in between */
};

struct contrast_traits {
	VEC(struct trait) traits;        /* the least probable first */
	VEC(struct call_contrast) calls; /* those with most additional time first */
	struct slow_period period;
};

/* Linear in the number of spans and attributes of the compared requests. */
void contrast_traits_find(const struct span_set *spans, const struct contrast *contrast,
			  struct contrast_traits *ret);
void contrast_traits_done(struct contrast_traits *traits);

/* The probability of at least `hits` of `drawn` items, if `marked` of `all` items are hits. */
double hypergeometric_tail(size_t all, size_t marked, size_t drawn, size_t hits);

#endif
