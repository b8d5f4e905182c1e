/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_sum - what happened in a span of a request, and how requests compare.
 *
 * Requests that entered by the same address are put together, and of those the
 * ones that were handled by the same services in the same order: their shape.
 */
#ifndef SONDE_ANALYSE_REQUESTS_SUM_H
#define SONDE_ANALYSE_REQUESTS_SUM_H

#include "analyse/requests/requests.h"
#include "base/strtab.h"

struct call_use {
	int16_t nr;
	uint32_t count;
	nsec_t time;
};

struct probe_use {
	uint32_t type; /* as model_probe_name() knows it */
	uint64_t count;
};

/* What a thread did while it worked for a span. */
struct request_use {
	nsec_t states[128]; /* by letter; what is not told is in ' ' */
	uint64_t sends, sent_bytes, receives, received_bytes;
	VEC(struct call_use) calls;
	VEC(struct probe_use) probe_events;
};

void request_use_add(const struct model *model, const struct requests *requests, uint32_t span,
		     struct request_use *use); /* which is zeroed at first */
/* Of any thread, in any time; the slice's span says nothing. */
void request_use_work(const struct model *model, const struct request_work *work,
		      struct request_use *use);
/* The same, but of its calls only those that have ended in it. */
void request_use_ended(const struct model *model, const struct request_work *work,
		       struct request_use *use);
struct call_use *request_use_call(struct request_use *use, int16_t nr); /* made if it is new */
struct probe_use *request_use_probe_event(struct request_use *use, uint32_t type);
void request_use_done(struct request_use *use);

/* What to call who handled a span: its container, or its process. */
const char *request_service(const struct model *model, thread_id thread);

/* "127.0.0.1:80", "[::1]:80" or "unix" of the side that it came by; "" if that is not known. */
struct request_address {
	char local[64], peer[64];
};
struct request_address request_address(const struct model *model, const struct request_span *span);

struct request_group { /* of one entry, or of one shape in it */
	str_id name;
	str_id service; /* of an entry */
	uint32_t entry; /* of a shape: its place among the entries */
	uint32_t count;
	uint32_t no_reply;    /* of those */
	nsec_t p50, p95, p99; /* of how long the others took; 0 if there are none */
	nsec_t states[128];   /* of a shape: sums over all its spans */
	VEC(nsec_t) times;
};

struct request_sum {
	struct strtab *strings;
	VEC(struct request_group) entries, shapes; /* the most frequent first */
	uint64_t unparented;
};

/* Whether a request is to count. */
typedef bool request_filter(const void *arg, const struct request_span *root);

void request_sum_find(const struct model *model, const struct requests *requests,
		      request_filter *filter, const void *arg, struct request_sum *ret);
void request_sum_done(struct request_sum *sum);

/* The shape of a request, as in "front>(back>(redis x3),back)". The caller frees it. */
char *request_shape(const struct model *model, const struct requests *requests, uint32_t root);

#endif
