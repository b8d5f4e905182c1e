/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unfinished_spans - spans whose begin was seen and whose end was not, yet.
 *
 * There are at most so many; one more is not kept, and its end then has to
 * tell all by itself.  One owner has at most half of the room that is left to it, so
 * that others have room whatever it does.  They are found by a keyed hash of their ids and of whose
 * they are, so that no process can end a span of another one, or push it out.
 */
#ifndef SONDE_RECORD_SPANS_UNFINISHED_SPANS_H
#define SONDE_RECORD_SPANS_UNFINISHED_SPANS_H

#include "base/base.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"

enum {
	UNFINISHED_SPANS_MAX = 1 << 18,
	UNFINISHED_SPANS_PER_OWNER = 1 << 16, /* owner */
};

struct unfinished_span {
	uint64_t hash, owner;
	struct record_span span; /* as it will be written, but for its end; words is 0 if free */
};

struct unfinished_spans {
	struct map index; /* hash -> place */
	VEC(struct unfinished_span) places;
	VEC(uint32_t) free;
	struct map counts; /* owner -> how many it has */
};

/* All zero is an empty one. */
void unfinished_spans_done(struct unfinished_spans *spans);

enum unfinished_spans_result {
	UNFINISHED_SPANS_ADDED,
	UNFINISHED_SPANS_REPLACED, /* one with the same ids, which is gone */
	UNFINISHED_SPANS_FULL,     /* not added */
};

enum unfinished_spans_result unfinished_spans_add(struct unfinished_spans *spans, uint64_t owner,
						  const struct record_span *span);

/* Take out the one with these ids; whether it was there. */
bool unfinished_spans_take(struct unfinished_spans *spans, uint64_t owner, const uint8_t trace[16],
			   const uint8_t id[8], struct record_span *ret);

/* Take out the next one of which that is so; *pos is 0 at first. False after the last. */
bool unfinished_spans_take_next(struct unfinished_spans *spans, size_t *pos,
				bool (*is_meant)(void *arg, const struct record_span *span),
				void *arg, struct record_span *ret);

#endif
