/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unfinished_spans - spans that have begun and not yet ended.
 *
 * Their number is limited.  A span beyond the limit is not stored; its END event then
 * has to contain everything.  One owner can use at most half of the space that is left
 * to it, so that there is always space for others.  The key is a keyed hash of
 * owner, trace id and span id, so that no process can end or displace a span of another.
 */
#ifndef SONDE_RECORD_SPANS_UNFINISHED_SPANS_H
#define SONDE_RECORD_SPANS_UNFINISHED_SPANS_H

#include "base/base.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"

enum {
	UNFINISHED_SPANS_MAX = 1 << 18,
	UNFINISHED_SPANS_PER_OWNER = 1 << 16,
};

struct unfinished_span {
	uint64_t hash, owner;
	struct record_span span; /* complete except for its end; head.words is 0 if unused */
};

struct unfinished_spans { /* empty if all zero */
	struct map index; /* hash -> index in `spans` */
	VEC(struct unfinished_span) spans;
	VEC(uint32_t) free; /* unused indices */
	struct map counts;  /* owner -> number of its spans */
};

void unfinished_spans_done(struct unfinished_spans *spans);

enum unfinished_spans_result {
	UNFINISHED_SPANS_ADDED,
	UNFINISHED_SPANS_REPLACED, /* a span with the same ids */
	UNFINISHED_SPANS_FULL,     /* not added */
};

enum unfinished_spans_result unfinished_spans_add(struct unfinished_spans *spans, uint64_t owner,
						  const struct record_span *span);

/* Remove the span with these ids; false if there is none. */
bool unfinished_spans_take(struct unfinished_spans *spans, uint64_t owner, const uint8_t trace[16],
			   const uint8_t id[8], struct record_span *ret);

/* Remove the next span that matches; *pos is 0 at first.  False after the last. */
bool unfinished_spans_take_next(struct unfinished_spans *spans, size_t *pos,
				bool (*matches)(void *arg, const struct record_span *span),
				void *arg, struct record_span *ret);

#endif
