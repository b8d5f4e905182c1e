/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traceparent - the W3C Trace Context header that passes a span to another process:
 * 00-TRACE-SPAN-FLAGS, in hexadecimal digits.
 */
#ifndef SONDE_AGENT_TRACEPARENT_H
#define SONDE_AGENT_TRACEPARENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/sonde.h"

enum { TRACE_SAMPLED = 1 };

/* Returns false and writes nothing if the text is NULL or malformed. */
bool traceparent_read(const char *text, uint8_t ret_trace[16], uint8_t ret_span[8],
		      uint8_t *ret_flags);

void traceparent_write(const uint8_t trace[16], const uint8_t span[8], uint8_t flags,
		       char text[SONDE_TRACEPARENT_SIZE]);

#endif
