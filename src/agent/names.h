/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names - the names of sonde.h's spans, in the arena, where they can be switched.
 */
#ifndef SONDE_AGENT_NAMES_H
#define SONDE_AGENT_NAMES_H

#include "event/span_wire.h"

/* The entry of a name. Never NULL: a name without a place has one that is always on. */
struct span_name *names_find(const char *name);

/* The rules of SONDE_SPANS_OFF=PATTERN,... */
void names_off_from_environment(struct span_arena *arena);

#endif
