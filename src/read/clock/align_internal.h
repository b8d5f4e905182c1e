/* SPDX-License-Identifier: Apache-2.0 */
/* align_internal - shared by align.c, which matches messages, and align_graph.c, which solves. */
#ifndef SONDE_READ_CLOCK_ALIGN_INTERNAL_H
#define SONDE_READ_CLOCK_ALIGN_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "read/clock/align.h"
#include "read/clock/fit.h"

/* One end of a message, as its host recorded it. */
struct message_end {
	int64_t time;
	uint32_t position; /* in the stream */
	uint32_t stream;   /* index */
	uint16_t host;
	uint8_t direction; /* enum direction */
};

/* One direction of a TCP connection, and the hosts at its two ends. */
struct tcp_stream {
	uint16_t hosts[2]; /* by enum direction */
	bool has_host[2];  /* by enum direction */
	bool is_ambiguous; /* several hosts have the same end */
	uint32_t first;    /* while ends are sorted: index of the first one of this stream */
	uint32_t count;    /* of ends */
};

/* The streams that start and end at a socket. */
struct socket_streams {
	uint32_t streams[2]; /* index + 1, by enum direction; 0 if the peer is on the same host */
};

/* Messages between two hosts, as points (time at `from`, time at `to` - time at `from`). */
struct host_pair {
	struct align_link link;
	struct fit fit;
	int64_t x, y;     /* origin of the points */
	int64_t min, max; /* first and last time of a message, at `from` */
};

/* First and last time of the events of a host. */
struct host_extent {
	int64_t begin, end;
	bool known;
};

struct align {
	size_t host_count;
	struct host_extent *extents;
	struct align_host *hosts;
	struct map socket_index, stream_index, pair_index; /* -> index + 1 */
	VEC(struct socket_streams) sockets;
	VEC(struct tcp_stream) streams;
	VEC(struct message_end) ends;
	VEC(struct host_pair) pairs;
};

/* Damaged files contain any value, so overflows wrap around. */
static inline int64_t plus(int64_t a, int64_t b)
{
	return (uint64_t)a + (uint64_t)b;
}

static inline int64_t minus(int64_t a, int64_t b)
{
	return (uint64_t)a - (uint64_t)b;
}

/* Matches the ends of messages and adds the points of all pairs. */
void align_match(struct align *align);

#endif
