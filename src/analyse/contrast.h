/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contrast - what the slow requests of an operation have that its usual requests do not.
 *
 * Where the time of the slow requests goes is only half of an answer: much of it goes there in
 * every request.  So the causes of the slow requests (analyse/causes.h) are compared with those of
 * the usual ones, the faster half.  The part of a cause is its mean time per slow request minus its
 * mean time per usual request.  The leaves of an account add up to the latency of its request, so
 * the parts of all causes add up to the difference of the mean latencies: each part is the
 * share of the difference that the cause explains.  Parts can be negative.
 *
 * Means vary by chance, too.  The usual requests are divided into two random halves; the difference
 * of a cause between these halves is its noise.  A cause stands out if its part is at least a tenth
 * of the difference and twice its noise.  Time without records never does: it is no cause.
 *
 * The same number of accounts is enough for any number of requests: of more, each n-th in the order
 * of latency is compared, so the sample has the same distribution of latency.
 */
#ifndef SONDE_ANALYSE_CONTRAST_H
#define SONDE_ANALYSE_CONTRAST_H

#include "analyse/causes.h"
#include "analyse/latency.h"
#include "analyse/requests/path_share.h"

/* Requests that an operation needs: fewer have too many differences by chance. */
enum { CONTRAST_SLOW_MIN = 5, CONTRAST_USUAL_MIN = 5, CONTRAST_SAMPLE_MAX = 500 };

/* From which latency on a request is slow. */
struct contrast_limit {
	unsigned int thousandths; /* percentile of the operation, in thousandths of a percent */
	nsec_t time;              /* or, if that is 0, a latency */
};

/* Requests sorted by latency, slowest first: the first `slow`, and the last `usual`. */
struct contrast_choice {
	size_t slow, usual;
};

/*
 * Usual requests are those up to the median that are not slow.  With a percentile, at least
 * CONTRAST_SLOW_MIN requests are slow, and none that is as fast as the median.
 */
struct contrast_choice contrast_choose(const nsec_t *times, size_t count,
				       struct contrast_limit limit);

/* Whether there are enough requests for a comparison. */
bool contrast_is_enough(struct contrast_choice choice, struct contrast_limit limit);

/* One of the two groups of requests. */
struct contrast_side {
	const span_id *requests; /* borrowed */
	size_t count;
	size_t compared; /* number of accounts */
	nsec_t time;     /* of these */
};

struct contrast_cause {
	double part;                            /* ns per request; can be negative */
	double noise;                           /* ns per request */
	nsec_t slow, usual;                     /* ns, of all compared requests */
	uint32_t slow_requests, usual_requests; /* number of compared requests with it */
	bool stands_out;
	struct cause_group group; /* an example, of the slow requests if they have it */
};

/* Time of a service in a state on the critical path, of all compared requests. */
struct contrast_state {
	const char *service; /* borrowed from the model or the span set */
	uint8_t state;
	double part; /* ns per request */
	nsec_t slow, usual;
};

struct contrast {
	struct contrast_side slow, usual;
	double difference;                   /* of the mean latencies, ns */
	VEC(struct contrast_cause) causes;   /* largest part first; adds up to the difference */
	VEC(struct contrast_cause) patterns; /* repeated calls, whose leaves are among the causes */
	VEC(struct contrast_state) states;   /* largest part first */
};

/* `ret` keeps the arrays only as borrowed pointers. */
void contrast_find(const struct span_set *spans, const span_id *slow, size_t slow_count,
		   const span_id *usual, size_t usual_count, struct contrast *ret);
void contrast_done(struct contrast *contrast);

/* Mean latency of the compared requests, ns. */
double contrast_mean(const struct contrast_side *side);
/* The index of the n-th compared request in `requests`. */
size_t contrast_index(const struct contrast_side *side, size_t n);

/* Whether the slow requests take much longer than the usual ones. */
bool contrast_differs(const struct contrast *contrast);
/* Whether the cause is in so few usual requests that its presence makes a request slow. */
bool contrast_is_rare(const struct contrast *contrast, const struct contrast_cause *cause);

#endif
