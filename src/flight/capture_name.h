/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_name - file names of captures that the flight recorder writes.
 *
 *	2026-11-16T12-30-05.123Z-nginx-8080-412ms-5be1f0a3.sonde	for a slow request
 *	2026-11-16T12-30-05.123Z-snap.sonde				on request
 *
 * The time is that of the request's arrival, in UTC; then service, entry, latency, and the first
 * digits of the trace id.  Services choose their names, so only letters, digits, '-', '_' and '.'
 * are kept: a name can be typed without quotes, and contains no directory.
 */
#ifndef SONDE_FLIGHT_CAPTURE_NAME_H
#define SONDE_FLIGHT_CAPTURE_NAME_H

#include "base/base.h"
#include "flight/slow_request.h"

struct capture_name {
	char s[160];
};

/* `realtime_offset`: CLOCK_REALTIME minus CLOCK_MONOTONIC. */
struct capture_name capture_name_of_request(const struct slow_request *request,
					    int64_t realtime_offset);
struct capture_name capture_name_of_snap(nsec_t time, int64_t realtime_offset);

/* Whether a name could be the result of one of these. */
bool capture_name_is_safe(const char *name);

#endif
