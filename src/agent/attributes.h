/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attributes - encode the attributes of sonde.h spans.
 */
#ifndef SONDE_AGENT_ATTRIBUTES_H
#define SONDE_AGENT_ATTRIBUTES_H

#include "agent/sonde.h"

/* At the end of a span: if attributes were dropped, add one with their number. */
void attributes_close(struct sonde_span *span);

#endif
