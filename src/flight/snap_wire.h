/* SPDX-License-Identifier: Apache-2.0 */
/* snap_wire - the reply of a flight recorder to `sonde snap`, one message on the socket. */
#ifndef SONDE_FLIGHT_SNAP_WIRE_H
#define SONDE_FLIGHT_SNAP_WIRE_H

#include <limits.h>
#include <stdint.h>

struct snap_reply {
	int32_t code;        /* 0, or a negative errno */
	char text[PATH_MAX]; /* terminated: a path, or the message of an error */
};

#endif
