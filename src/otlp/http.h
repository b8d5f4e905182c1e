/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_http - send export requests to a collector, by OTLP/HTTP.
 *
 * Each request is one POST in protobuf on a connection of its own.  If the collector is overloaded
 * (429, 502, 503, 504), the request is sent again, as the protocol demands, after the time that the
 * collector asks for or after a growing delay.  TLS is left to a collector on this host.
 */
#ifndef SONDE_OTLP_HTTP_H
#define SONDE_OTLP_HTTP_H

#include "base/err.h"
#include "base/view.h"

struct otlp_target {
	char host[256], port[8], path[512];
};

/* Parses "http://HOST[:PORT][/PATH]"; the default is port 4318 and path /v1/traces. */
int otlp_target_parse(const char *url, struct otlp_target *ret, struct err *err);

/* Sends a request; the error contains the collector's own message. */
int otlp_http_post(const struct otlp_target *target, struct view request, struct err *err);

#endif
