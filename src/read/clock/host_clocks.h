/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_clocks - the host of each input, and the conversion of its times to the
 * common timeline.  merge.h documents the rules.
 *
 * Each host has one clock: CLOCK_MONOTONIC, or the clock of its first trace if none
 * of its traces uses CLOCK_MONOTONIC.  The times of an input are converted to the
 * clock of its host by adding a constant.  The clock of the host is converted to the
 * timeline by messages (align.h), or by CLOCK_REALTIME if there are too few.
 */
#ifndef SONDE_READ_CLOCK_HOST_CLOCKS_H
#define SONDE_READ_CLOCK_HOST_CLOCKS_H

#include "base/vec.h"
#include "base/warnings.h"
#include "event/source.h"
#include "read/clock/align.h"
#include "read/input.h"
#include "read/merge.h"

struct host_clock {
	const char *name;       /* borrowed from an input */
	int64_t boot;           /* ns of CLOCK_REALTIME; 0 if unknown */
	int64_t realtime;       /* ns from the clock to CLOCK_REALTIME */
	bool has_realtime;      /* realtime is known */
	bool is_monotonic;      /* the clock is CLOCK_MONOTONIC */
	struct align_line line; /* to the timeline */
	struct merge_clock clock;
};

struct host_input {
	const char *path;    /* borrowed */
	struct input *input; /* borrowed */
	bool is_kernel;      /* a kernel trace; only these have a host and a shift */
	uint16_t host;
	int64_t shift; /* ns from the clock of the input to that of the host */
};

struct host_clocks {
	VEC(struct host_clock) hosts;
	VEC(struct host_input) inputs;
};

void host_clocks_done(struct host_clocks *clocks);

void host_clocks_add(struct host_clocks *clocks, const char *path, struct input *input);

/* Called after the last input.  Reads kernel traces for their messages if there are several hosts;
 * format: as for input_open(). */
void host_clocks_solve(struct host_clocks *clocks, const char *format, struct warnings *warnings);

/*
 * The sources of an input: one for a kernel trace; for spans one per host, and a last
 * one for spans of other hosts.  The caller sets the string functions and frees the
 * array.
 */
struct source *host_clocks_sources(const struct host_clocks *clocks, size_t input);

/* Index of the source for spans of the named host; "" is the only host if there is just one. */
size_t host_clocks_find(const struct host_clocks *clocks, const char *name);

#endif
