/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attributes - what sonde.h's spans carry, in the form in which it is told.
 */
#ifndef SONDE_AGENT_ATTRIBUTES_H
#define SONDE_AGENT_ATTRIBUTES_H

#include "agent/sonde.h"

/* The span ends: if some attributes had no room, it gets one that says how many. */
void attributes_close(struct sonde_span *span);

#endif
