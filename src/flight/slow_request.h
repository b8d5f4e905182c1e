/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_request - what the flight recorder keeps of a slow request: values that outlive the model.
 *
 * The names come from recorded processes: they are cut to their room, and any byte can be in them.
 */
#ifndef SONDE_FLIGHT_SLOW_REQUEST_H
#define SONDE_FLIGHT_SLOW_REQUEST_H

#include "base/base.h"

struct slow_request {
	nsec_t start, end; /* CLOCK_MONOTONIC of the host */
	uint8_t trace[16];
	char service[48];
	char entry[80];  /* an address, or the operation of a span */
	bool is_partial; /* it started before the oldest time that was held when it ended */
};

#endif
