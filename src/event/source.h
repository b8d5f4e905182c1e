/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source - where records come from: how to read their strings, whose they are,
 * and how their clock relates to the one that all are shown on.
 */
#ifndef SONDE_EVENT_SOURCE_H
#define SONDE_EVENT_SOURCE_H

#include <stdint.h>

struct source {
	const char *(*get_string)(const void *arg, uint32_t id); /* "" if there is none */
	const void *arg;                                         /* borrowed */
	uint16_t host;  /* numbered from 0; threads of different hosts are different */
	int64_t shift;  /* ns to add to its times */
	uint16_t input; /* numbered from 0; stacks, frames and types of hits have numbers of it */
};

#endif
