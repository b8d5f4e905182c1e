/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place - which machine each input is of, and where its times are on the common
 * line.  merge.h says what the rules are.
 *
 * Each machine has a clock: CLOCK_MONOTONIC, or that of its first trace if none
 * of its traces has that one.  An input's times are first put on the clock of
 * its machine, by adding a constant; then the machine's clock on the line, by
 * what align.h makes of messages, or else by CLOCK_REALTIME.
 */
#ifndef SONDE_READ_CLOCK_HOST_CLOCKS_H
#define SONDE_READ_CLOCK_HOST_CLOCKS_H

#include "base/vec.h"
#include "event/source.h"
#include "read/clock/align.h"
#include "read/input.h"
#include "read/merge.h"

/* Sentences for the person at the terminal. */
struct warnings {
	VEC(char *) items;
};

struct host_clock {
	const char *name; /* borrowed from an input */
	int64_t boot;     /* 0 if unknown */
	int64_t realtime; /* what to add to its clock to get CLOCK_REALTIME, */
	bool has_realtime;
	bool is_monotonic;
	struct align_line line; /* to the common line */
	struct merge_clock clock;
};

struct host_input {
	const char *path; /* borrowed, as is */
	struct input *input;
	bool is_kernel; /* a kernel trace: of one machine, */
	uint16_t host;  /* this one, */
	int64_t shift;  /* to whose clock this leads */
};

struct host_clocks {
	VEC(struct host_clock) hosts;
	VEC(struct host_input) inputs;
};

void host_clocks_done(struct host_clocks *clocks);

void host_clocks_add(struct host_clocks *clocks, const char *path, struct input *input);

/* After the last; format: as for input_open(), since kernel traces may be read for their messages.
 */
void host_clocks_solve(struct host_clocks *clocks, const char *format, struct warnings *warnings);

/*
 * How to read an input: the source of a kernel trace; or of spans, one for each
 * machine, and one for all others.  Without strings; to be freed.
 */
struct source *host_clocks_sources(const struct host_clocks *clocks, size_t input);

/* Which of those: the machine that spans call so, the only one if they do not say, or none. */
size_t host_clocks_find(const struct host_clocks *clocks, const char *name);

#endif
