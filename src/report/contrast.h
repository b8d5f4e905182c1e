/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contrast - why the slow requests of an operation are slow, as text or JSON.
 *
 * The text leads with the answer: the causes that stand out, as sentences, each with its part
 * of the difference and the number of slow and usual requests that have it.  A table of services
 * and states and what else the slow requests have in common follow.
 */
#ifndef SONDE_REPORT_CONTRAST_H
#define SONDE_REPORT_CONTRAST_H

#include "analyse/contrast_traits.h"
#include "base/json.h"
#include "report/phrase.h"
#include "report/wrap.h"

/* An operation, and what was found about its slow requests. */
struct contrast_view {
	const struct span_set *spans;
	span_id request; /* any of its requests, for the names */
	struct latency latency;
	struct contrast_limit limit;
	struct contrast_choice choice;
	const struct contrast *contrast; /* NULL: too few requests */
	const struct contrast_traits *traits;
	const char *(*host_name)(const void *arg, uint16_t host); /* "" if unknown */
	const void *arg;
};

enum contrast_verdict {
	VERDICT_CAUSES,    /* one that stands out explains at least a fifth of the difference */
	VERDICT_SPREAD,    /* the slow requests take longer, but no cause explains much of it */
	VERDICT_SAME,      /* they hardly take longer, or there is no contrast: most are equal */
	VERDICT_NONE_SLOW, /* no request is as slow as the user's limit */
	VERDICT_TOO_FEW,
};

/* Service of a cause. */
const char *contrast_service(const struct span_set *spans, const struct cause_group *group);

enum contrast_verdict contrast_verdict(const struct contrast_view *view);

/* A sentence, and the causes that it describes. */
struct contrast_line {
	struct contrast_cause cause; /* the sums of all; of request numbers, the largest */
	struct phrase text;
	size_t merged; /* number of causes; 0 for repeated calls */
};

typedef VEC(struct contrast_line) contrast_lines;

/*
 * Appends the causes with the largest parts, positive and negative, and repeated calls that explain
 * more than any cause.  Causes with the same words are one line; largest part first.
 */
void contrast_lines_find(const struct contrast_view *view, contrast_lines *ret);

void contrast_text(struct out *out, const struct style *style, const struct contrast_view *view);
void contrast_json(struct json *j, const struct contrast_view *view);

/* The value of an attribute. */
struct phrase contrast_value(const struct model *model, const struct attribute *attribute);

/* "have http.status_code = 500 in shop", "were handled by thread front/8 (20251 of 20249)". */
struct phrase contrast_trait(const struct contrast_view *view, const struct trait *trait);

/* Whether the time of a cause that stands out is that of a span without a known thread. */
bool contrast_misses_thread(const struct contrast_view *view);

#endif
