/* SPDX-License-Identifier: Apache-2.0 */
/* align_parts - what the two files of align share: one finds matches, one draws conclusions. */
#ifndef SONDE_READ_CLOCK_ALIGN_INTERNAL_H
#define SONDE_READ_CLOCK_ALIGN_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "read/clock/align.h"
#include "read/clock/fit.h"

/* One end of a message, as its machine saw it. */
struct sight {
	int64_t time;
	uint32_t position;
	uint32_t flow;
	uint16_t host;
	uint8_t direction;
};

/* One direction of a connection, and which machines have its ends. */
struct stream {
	uint16_t hosts[2]; /* by enum direction */
	bool known[2];
	bool disputed;  /* several claim to be one end */
	uint32_t first; /* while sights are sorted: where its own begin */
	uint32_t count;
};

/* A socket: the streams that begin and end here. */
struct end {
	uint32_t streams[2]; /* by enum direction; plus 1, 0 if it leads to no other machine */
};

/* Messages between two machines, as points of (time on the second, first less second). */
struct pair {
	struct align_link link;
	struct fit fit;
	int64_t x, y; /* what points count from */
	int64_t min, max;
};

struct reach {
	int64_t begin, end;
	bool known;
};

struct align {
	size_t host_count;
	struct reach *reaches;
	struct align_host *hosts;
	struct map end_index, stream_index, pair_index; /* -> index + 1 */
	VEC(struct end) ends;
	VEC(struct stream) streams;
	VEC(struct sight) sights;
	VEC(struct pair) pairs;
};

/* Files may say anything; what overflows wraps. */
static inline int64_t plus(int64_t a, int64_t b)
{
	return (uint64_t)a + (uint64_t)b;
}

static inline int64_t minus(int64_t a, int64_t b)
{
	return (uint64_t)a - (uint64_t)b;
}

/* From the sights, the points of all pairs. */
void align_match(struct align *align);

#endif
