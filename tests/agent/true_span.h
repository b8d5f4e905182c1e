/* SPDX-License-Identifier: Apache-2.0 */
/*
 * true_span - sonde.h spans with the ground truth that check.py needs.
 *
 * Each switch of a thread's current span goes through this file: the CPU time since the
 * previous switch belongs to the previous span, that in the call to either.
 */
#ifndef SONDE_TESTS_TRUE_SPAN_H
#define SONDE_TESTS_TRUE_SPAN_H

#include <stdint.h>
#include <stdio.h>

#include "agent/sonde.h"

struct true_span {
	struct sonde_span span;
	const char *name;
	uint64_t begin_call, begin; /* before and after the call; ns on CLOCK_MONOTONIC */
	uint64_t end_call, end;
	uint64_t cpu;          /* ns, without the calls that switched to and from this span */
	uint64_t cpu_in_calls; /* ns in these */
	unsigned int switches;
	int tid, end_tid;
	struct true_span *before; /* the thread's current span before the begin or attach */
	char attributes[256];     /* as JSON */
};

uint64_t true_span_clock(void);

void true_span_begin(struct true_span *s, struct sonde_site *site);
void true_span_end(struct true_span *s);
void true_span_detach(struct true_span *s);
void true_span_attach(struct true_span *s);
/* Use this much CPU time, in µs. */
void burn_cpu(unsigned int us);

/* Append all ended spans to a file.  Returns the exit code of the process. */
int true_span_write(const char *path);

#endif
