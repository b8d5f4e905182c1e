/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain - accounts and paths, as text or JSON.
 *
 * The text of an account is a tree of where the time went, largest first.  Nodes below
 * 1 % of the whole are folded into one line per level.  The causes are leaves of the tree
 * as sentences, with their share of the time; equal ones are added up (analyse/causes.h).  The
 * causes of all slow requests of an entry come first: they are the answer, and the tree is an
 * example.
 */
#ifndef SONDE_REPORT_EXPLAIN_H
#define SONDE_REPORT_EXPLAIN_H

#include "analyse/account.h"
#include "analyse/causes.h"
#include "analyse/latency.h"
#include "base/json.h"
#include "report/phrase.h"
#include "report/wrap.h"

/* The requests that an explained one is compared with: those of its entry. */
struct entry_requests {
	struct latency latency;
	size_t slow;                    /* number of slow requests, which `causes` are of */
	size_t lost, all;               /* requests left out because of lost records; of how many */
	const struct cause_sum *causes; /* NULL: unknown */
};

/* `usual` can be NULL. */
void explain_text(struct out *out, const struct style *style, const struct span_set *spans,
		  const struct account *account, const struct latency *usual);
void explain_json(struct json *j, const struct span_set *spans, struct account *account,
		  const struct entry_requests *baseline);

/*
 * Causes as sentences, those of at least 10 %, or the first.  If `account` is NULL, they are of
 * many requests.  Returns whether one of them is a span without a known thread.
 */
bool explain_causes(struct out *out, const struct style *style, const struct span_set *spans,
		    struct account *account, const struct cause_sum *causes);
/* The sentence of one of them; marks its node in the account if it is of several threads. */
struct phrase explain_cause(const struct span_set *spans, struct account *account,
			    const struct cause_group *cause);
/* The same as an array, the member `causes` of a JSON object. */
void explain_causes_json(struct json *j, const struct span_set *spans, struct account *account,
			 const struct cause_sum *causes);

/* A sentence, and the causes that it describes. */
struct cause_line {
	const struct cause_group *cause; /* the largest one; borrowed */
	nsec_t time;                     /* of all */
	uint32_t requests;               /* number of requests with it, at least */
	struct phrase text;
};

typedef VEC(struct cause_line) cause_lines;

/* Appends the largest causes; those with the same words are one line. */
void cause_lines_find(const struct span_set *spans, struct account *account,
		      const struct cause_sum *causes, cause_lines *ret);

/* "of the latency of the 8 slowest of 151 requests to ...": what the causes are shares of. */
void explain_entry(struct out *out, const struct style *style, const struct span_set *spans,
		   span_id request, const struct entry_requests *baseline);
/* "left out 12 of 1,234 requests: records were lost in them"; nothing if there are none. */
void explain_left_out(struct out *out, size_t lost, size_t all);
/* Advice about spans without a known thread, to write once after all accounts. */
void explain_missing_thread(struct out *out, const struct style *style);

/* The shortest prefix of the trace ID of a span that --trace accepts. */
struct phrase explain_trace_id(const struct span_set *spans, const struct span *span);

/* "p50 7.5 ms, p95 75.1 ms, p99 103 ms of 151 requests" */
struct phrase explain_latency(const struct latency *latency);
/* A rounded percentage. */
unsigned int explain_percent(nsec_t part, nsec_t whole);

void path_text(struct out *out, const struct style *style, const struct span_set *spans,
	       const struct path *path, nsec_t origin);
void path_json(struct json *j, const struct span_set *spans, const struct path *path);

#endif
