/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align - the clocks of several machines, from the messages between them.
 *
 * A message is received after it was sent.  So each one that was seen at both
 * ends says something about the two clocks: how far, at that moment, the one is
 * ahead of the other at most, or at least.  fit.h makes a line of it, with a
 * bound of its error.
 *
 * The two ends of a message are known by the connection and by the position in
 * its stream, whatever the clocks say.  All messages are collected, input by
 * input, and matched at the end; nothing depends on the order in which they
 * come.  What two messages claim to be is believed of neither.
 *
 * Machines and the lines between them are a graph.  From the first machine, each
 * is reached on the way with the least sum of bounds (Dijkstra); lines and
 * bounds add up along it.  What cannot be reached is in another group, with a
 * machine of its own to begin from.
 */
#ifndef SONDE_READ_CLOCK_ALIGN_H
#define SONDE_READ_CLOCK_ALIGN_H

#include "base/base.h"
#include "event/event.h"

/* It takes so many messages in each direction. */
enum { ALIGN_MATCHES_MIN = 3 };

/* From one clock to another: t + shift + drift * (t - origin). */
struct align_line {
	int64_t shift, origin;
	double drift;
};

struct align_line align_inverse(struct align_line line);
/* First the one, then the other. */
struct align_line align_compose(struct align_line first, struct align_line second);
int64_t align_apply(struct align_line line, int64_t t);

/* What the messages say of two machines' clocks. */
struct align_link {
	uint16_t from, to;    /* the line leads from the clock of the one to that of the other */
	uint64_t there, back; /* messages from `from` to `to`, and the other way */
	uint64_t dropped;     /* that were not believed */
	bool contradictory;   /* they contradict each other: the clock is no line */
	struct align_line line;
	double bound;   /* ns by which that may be wrong while both were recording */
	int64_t middle; /* of that time, on the clock of `from` */
};

/* Where a machine stands. */
struct align_host {
	uint16_t root; /* the machine its line leads to; itself, if it is the first there */
	struct align_line line; /* to the clock of that */
	double bound;
	const struct align_link
		*link; /* the last on the way; of a root, the best of no use, or NULL */
};

struct align;

struct align *align_new(size_t host_count);
void align_free(struct align *align);
DEFINE_FREEP(align)

/* A record of that machine; shift: what to add to its times to get the machine's clock. */
void align_add(struct align *align, uint16_t host, int64_t shift, const struct record *record);

/* After the last: an item for each machine, which hold as long as align. */
const struct align_host *align_solve(struct align *align);

/* When the first thing happened on a machine, by its clock; 0 if nothing did. */
int64_t align_begin(const struct align *align, uint16_t host);

#endif
