/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names - the names of sonde.h spans, stored in the arena, where they can be switched off.
 */
#ifndef SONDE_AGENT_NAMES_H
#define SONDE_AGENT_NAMES_H

#include "event/span_wire.h"

/* Find or add a name.  Never NULL: if the table is full, returns an entry that is always on. */
struct span_name *names_find(const char *name);

/* Add the rules of the environment variable SONDE_SPANS_DISABLED=PATTERN,... */
void names_off_from_environment(struct span_arena *arena);

#endif
