/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known - spans of sonde.h of which the program notes all that check.py asks.
 *
 * Each switch of what a thread works for goes through here: the CPU time since the
 * last one belongs to what it worked for until now.
 */
#ifndef SONDE_TESTS_KNOWN_H
#define SONDE_TESTS_KNOWN_H

#include <stdint.h>
#include <stdio.h>

#include "agent/sonde.h"

struct known {
	struct sonde_span span;
	const char *name;
	uint64_t begin, end; /* CLOCK_MONOTONIC */
	uint64_t cpu;
	unsigned int switches;
	int tid, end_tid;
	struct known *before; /* what the thread worked for when this was begun or entered */
	char attributes[256]; /* as JSON */
};

uint64_t known_clock(void);

void known_begin(struct known *known, struct sonde_site *site);
void known_end(struct known *known);
void known_leave(struct known *known);
void known_enter(struct known *known);
/* Compute for so many µs of CPU time. */
void known_burn(unsigned int us);

/* All that have ended, added to a file; the process's exit code. */
int known_write(const char *path);

#endif
