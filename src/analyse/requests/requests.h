/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests - requests of services without instrumentation, rebuilt from kernel events.
 *
 * A thread that receives a request on the server's side of a connection works for that request
 * until it sends the reply.  What the thread sends meanwhile on the client's side of other
 * connections are sub-requests, and the threads that receive these work for the same client.  So
 * each request that a service handles is a span, and the spans of one client request form a tree.
 * This is the Thread State Model of MiSeRTrace (ICPE 2022).  Beyond the paper, a receive is matched
 * to its send by the position in the byte stream, handoffs between threads are followed by wakeups,
 * and a reply shows which request its sender has worked for.
 *
 * A wrong parent is worse than none.  Each parent has a confidence, and if two parents are
 * possible, the span has none and is marked parent_unknown.
 *
 * One pass goes over all messages, wakeups and forks by time (occurrence.c).  For an event loop,
 * the owner of a call can be decided later (event_loop.c, batch.c), as can the request that a pool
 * thread worked for (pool.c).  After the pass, match.c assigns the work of pools to requests,
 * client_call.c adds calls to services that were not recorded, and link.c joins the spans into
 * trees.  Time is linear, but for sorting the work of pools.
 */
#ifndef SONDE_ANALYSE_REQUESTS_REQUESTS_H
#define SONDE_ANALYSE_REQUESTS_REQUESTS_H

#include "base/vec.h"
#include "model/model.h"

enum request_kind {
	REQUEST_NETWORK, /* a request received over a connection */
	REQUEST_FORK,    /* the life of a thread that was created for a request */
	REQUEST_HANDOFF, /* the work of a thread on a request that another thread received */
	REQUEST_CALL,    /* a call to a service that was not recorded, as its caller sees it */
};

struct request_span {
	uint32_t parent, first_child, next; /* indexes in requests.spans; 0 is none */
	uint32_t root;
	thread_id thread;
	nsec_t start, end;
	nsec_t read; /* when a thread read the request; since `start`, it was queued */
	nsec_t sent; /* when the reply was passed to the socket; until `end`, in the send buffer */
	uint64_t socket;     /* NETWORK: the server's side of the connection; CALL: the client's */
	float confidence;    /* probability of the parent, from 0 to 1 */
	uint8_t kind;        /* enum request_kind */
	bool parent_unknown; /* there is a parent, but it could not be determined */
	bool no_reply;       /* no reply was recorded */
	bool is_client_recorded; /* NETWORK: a recorded thread sent the request */
	bool tasks_move;         /* the process moves tasks between threads: their waits differ */
	bool arrival_unknown;    /* NETWORK: `start` is the read */
	bool before_accept;      /* NETWORK: it arrived before its connection was accepted */
	uint8_t held;            /* enum held_reason: why the reply was in the send buffer */
	uint32_t first_work;     /* index in requests.work */
	uint32_t work_count;
	uint8_t trace[16], id[8];
};

/* A stretch of time in which a thread worked for a span. */
struct request_work {
	uint32_t span;
	thread_id thread;
	nsec_t from, to;
};

/* Something that a thread read in reply to a call that it had made for a span. */
struct request_reply {
	uint32_t span;
	nsec_t time;
	nsec_t arrival; /* at the socket; 0 if unknown */
	uint64_t socket;
	bool is_peer_recorded;
};

struct requests {
	VEC(struct request_span) spans; /* the first is none; a parent can follow its children */
	VEC(struct request_work) work;  /* by span */
	VEC(uint32_t) roots;            /* of trees, by start */
	VEC(struct request_reply) replies;
};

void requests_find(const struct model *model, struct requests *ret);
void requests_done(struct requests *requests);

/*
 * The span after `at` in the tree below `root`, parents before their children; 0 after the last.
 * Adds the change of level to *depth if it is not NULL.
 */
uint32_t requests_next(const struct requests *requests, uint32_t root, uint32_t at,
		       unsigned int *depth);

#endif
