/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_names - list and switch the sonde.h span names of a running process, from
 * another process.
 */
#ifndef SONDE_RECORD_SPANS_SPAN_NAMES_H
#define SONDE_RECORD_SPANS_SPAN_NAMES_H

#include "base/base.h"
#include "base/err.h"
#include "event/span_wire.h"

struct span_names;

/* Needs permission to read the process.  Processes that fork share their names. */
int span_names_open(uint32_t pid, struct span_names **ret, struct err *err);
void span_names_free(struct span_names *names);
DEFINE_FREEP(span_names)

/*
 * Switch the names that match a shell pattern off or on, including names that appear later.
 * Returns the number of existing names that match.
 */
size_t span_names_switch(struct span_names *names, const char *pattern, bool off);

struct span_name_state {
	char name[SPAN_NAME_MAX];
	uint64_t count; /* spans begun */
	bool off;
};

/* Iterate over the names; *pos is 0 at first.  False after the last. */
bool span_names_next(const struct span_names *names, size_t *pos, struct span_name_state *ret);

#endif
