/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint_headers - the list in OTEL_EXPORTER_OTLP_HEADERS.
 *
 * "name=value,name=value" in the format of W3C Baggage: blanks around names and values are ignored,
 * and values are percent-encoded.  The list contains credentials, so messages give the number of a
 * wrong header, never its text.
 */
#ifndef SONDE_RELAY_ENDPOINT_HEADERS_H
#define SONDE_RELAY_ENDPOINT_HEADERS_H

#include "relay/endpoint.h"

/* Appends to the headers of the endpoint.  `name` is that of the variable. */
int endpoint_headers_parse(const char *text, const char *name, struct endpoint *ret,
			   struct err *err);

#endif
