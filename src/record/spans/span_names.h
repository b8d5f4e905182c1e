/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_names - the names of sonde.h's spans in a running process, and the switch
 * of each, as somebody from outside sees them.
 */
#ifndef SONDE_RECORD_SPANS_SPAN_NAMES_H
#define SONDE_RECORD_SPANS_SPAN_NAMES_H

#include "base/base.h"
#include "base/err.h"
#include "event/span_wire.h"

struct span_names;

/* Needs the right to look into the process. All that were forked from one another share them. */
int span_names_open(uint32_t pid, struct span_names **ret, struct err *err);
void span_names_free(struct span_names *names);
DEFINE_FREEP(span_names)

/* Switch all names off or on that match a pattern of the shell, those to come too; how many there
 * are. */
size_t span_names_switch(struct span_names *names, const char *pattern, bool off);

struct span_name_state {
	char name[SPAN_NAME_MAX];
	uint64_t count; /* spans that were begun */
	bool off;
};

/* The next one; *at is 0 at first. False behind the last. */
bool span_names_next(const struct span_names *names, size_t *at, struct span_name_state *ret);

#endif
