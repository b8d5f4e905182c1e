/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_sum - what threads did for the spans of requests, and sums over requests.
 *
 * Requests are grouped by entry, the address that they came to; and within an entry by shape, the
 * services that handled them, in order.
 */
#ifndef SONDE_ANALYSE_REQUESTS_SUM_H
#define SONDE_ANALYSE_REQUESTS_SUM_H

#include "analyse/causes.h"
#include "analyse/latency.h"
#include "analyse/requests/path_share.h"
#include "analyse/requests/requests.h"
#include "base/strtab.h"

struct call_use {
	int16_t nr;
	uint32_t count;
	nsec_t time;
};

struct probe_use {
	uint32_t type; /* see model_probe_name() */
	uint64_t count;
};

/* What a thread did while it worked for a span. */
struct request_use {
	nsec_t states[128]; /* by letter; ' ' for unknown */
	uint64_t sends, sent_bytes, receives, received_bytes;
	VEC(struct call_use) calls;
	VEC(struct probe_use) probe_events;
};

void request_use_add(const struct model *model, const struct requests *requests, uint32_t span,
		     struct request_use *use); /* all zero at first */
/* The same for one stretch of work, whatever its span. */
void request_use_work(const struct model *model, const struct request_work *work,
		      struct request_use *use);
/* The same, but counts only system calls that ended in the stretch. */
void request_use_ended(const struct model *model, const struct request_work *work,
		       struct request_use *use);
struct call_use *request_use_call(struct request_use *use, int16_t nr); /* added if missing */
struct probe_use *request_use_probe_event(struct request_use *use, uint32_t type);
void request_use_done(struct request_use *use);

/* The name of a thread's service: its container if known, otherwise its process. */
const char *request_service(const struct model *model, thread_id thread);

/* "127.0.0.1:80", "[::1]:80" or "unix" of the server's side and its peer; "" if unknown. */
struct request_address {
	char local[64], peer[64];
};
struct request_address request_address(const struct model *model, const struct request_span *span);

struct request_group { /* the requests of an entry, or of one shape in it */
	str_id name;
	str_id service; /* of an entry: the service that received the requests */
	uint32_t entry; /* of a shape: the index of its entry */
	uint32_t count;
	uint32_t no_reply;       /* requests without a recorded reply */
	struct latency latency;  /* of the others */
	struct path_shares path; /* of a shape: where the latency went */
	struct cause_sum causes; /* of a shape */
	latencies times;         /* private */
};

struct request_sum {
	struct strtab *strings;
	VEC(struct request_group) entries, shapes; /* the most frequent first */
	uint64_t unparented;                       /* number of spans whose parent is unknown */
};

/* Adds up these requests; `spans` has them, too. */
void request_sum_find(const struct span_set *spans, const struct requests *requests,
		      const uint32_t *roots, size_t count, struct request_sum *ret);
void request_sum_done(struct request_sum *sum);

/* The shape of a request, such as "front>(back>(redis x3),back)". The caller frees it. */
char *request_shape(const struct model *model, const struct requests *requests, uint32_t root);

#endif
