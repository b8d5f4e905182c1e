/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align - the offset and drift between the clocks of several hosts, computed from
 * the messages between them.
 *
 * A message is received after it was sent.  Each message recorded at both ends
 * therefore limits the offset between the two clocks at that moment, from above or
 * from below, depending on its direction.  fit.h computes a line from these limits,
 * with a bound on its error.
 *
 * The two ends of a message are matched by connection and position in the byte
 * stream, which do not depend on the clocks.  The messages of all inputs are
 * collected first and matched at the end, so their order does not matter.  If two
 * different messages claim the same position, both are ignored.
 *
 * Hosts are the nodes of a graph, and pairs of hosts with a line its edges.  Each
 * host is reached from the first one along the path with the least sum of bounds
 * (Dijkstra); lines and bounds add up along the path.  Hosts that cannot be reached
 * form another group, with a root of its own.
 */
#ifndef SONDE_READ_CLOCK_ALIGN_H
#define SONDE_READ_CLOCK_ALIGN_H

#include "base/base.h"
#include "event/event.h"

/* Messages needed in each direction. */
enum { ALIGN_MATCHES_MIN = 3 };

/* Converts a time t of one clock to another: t + shift + drift * (t - origin); times in ns. */
struct align_line {
	int64_t shift, origin;
	double drift;
};

struct align_line align_inverse(struct align_line line);
/* Applies first, then second. */
struct align_line align_compose(struct align_line first, struct align_line second);
int64_t align_apply(struct align_line line, int64_t t);

/* The relation between the clocks of two hosts, from their messages. */
struct align_link {
	uint16_t from, to; /* hosts; the line converts from the clock of `from` to that of `to` */
	uint64_t there, back; /* messages from `from` to `to`, and in the other direction */
	uint64_t dropped;     /* contradictory messages that were ignored */
	bool contradictory;   /* no line fits, for example because a clock was set */
	struct align_line line;
	double bound;   /* maximum error while both recorded, in ns */
	int64_t middle; /* of the time that both recorded, on the clock of `from` */
};

/* How to convert the clock of a host. */
struct align_host {
	uint16_t root;          /* first host of the group; the host itself if it is that one */
	struct align_line line; /* to the clock of the root */
	double bound;           /* maximum error, in ns */
	/* last edge of the path; for a root the unusable edge with most messages, or NULL */
	const struct align_link *link;
};

struct align;

struct align *align_new(size_t host_count);
void align_free(struct align *align);
DEFINE_FREEP(align)

/* Adds a record; shift: ns from the times of the record to the clock of the host. */
void align_add(struct align *align, uint16_t host, int64_t shift, const struct record *record);

/* Called after the last record; returns one item per host, valid until align_free(). */
const struct align_host *align_solve(struct align *align);

/* Time of the first event of a host, on its clock; 0 if there is none. */
int64_t align_begin(const struct align *align, uint16_t host);

#endif
