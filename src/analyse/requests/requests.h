/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests - requests of services that nobody instrumented, from kernel events.
 *
 * A thread that receives a request on the server's side of a connection works
 * for it until it answers there.  What it sends meanwhile on the client's side
 * of other connections are sub-requests; who receives those works for the same
 * client.  So there is a span for each request that a service handled, and the
 * spans of a client's request form a tree (the Thread State Model of MiSeRTrace,
 * ICPE 2022).  Beyond that paper, which send a receive belongs to is known by
 * the position in the stream, threads that hand work to each other are followed
 * by wakeups, and who answers tells what he has been working for.
 *
 * A wrong parent is worse than none.  Each link has a confidence, and where two
 * parents are possible the span is left without one and marked open.
 *
 * One pass over all messages, wakeups and forks in the order of time
 * (requests_event.c).  Whom an event loop acts for may turn out later
 * (requests_whom.c, requests_batch.c), as may for whom a worker has worked (requests_pool.c); the
 * latter is told when all were seen (requests_match.c), and then who asked for what
 * (requests_link.c).  Linear but for the sorting of what pools have done.
 */
#ifndef SONDE_ANALYSE_REQUESTS_REQUESTS_H
#define SONDE_ANALYSE_REQUESTS_REQUESTS_H

#include "base/vec.h"
#include "model/model.h"

enum request_kind {
	REQUEST_NETWORK, /* a request that came by a connection */
	REQUEST_FORK,    /* the life of a thread that was created for one */
	REQUEST_HANDOFF, /* the work of a thread that was woken for one, or answers it */
};

struct request_span {
	uint32_t parent, first_child, next; /* places in requests.spans; 0 is none */
	uint32_t root;
	thread_id thread;
	nsec_t start, end;
	uint64_t socket;     /* NETWORK: that it came by */
	float confidence;    /* of its parent being the right one */
	uint8_t kind;        /* enum request_kind */
	bool parent_unknown; /* it has a parent, but which could not be known */
	bool no_reply;       /* no answer was seen */
	uint32_t first_work; /* in requests.slices: when its thread worked for it */
	uint32_t work_count;
	uint8_t trace[16], id[8];
};

/* A stretch in which a thread worked for a span. */
struct request_work {
	uint32_t span;
	thread_id thread;
	nsec_t from, to;
};

struct requests {
	VEC(struct request_span) spans; /* the first is none; parents may come after children */
	VEC(struct request_work) work;  /* by span */
	VEC(uint32_t) roots;            /* of trees, by start */
};

void requests_find(const struct model *model, struct requests *ret);
void requests_done(struct requests *requests);

/*
 * The span after `at` in the tree below root, parents before their children; 0 after the last.
 * If depth is not NULL, it is changed by as many levels as that goes down or up.
 */
uint32_t requests_next(const struct requests *requests, uint32_t root, uint32_t at,
		       unsigned int *depth);

#endif
