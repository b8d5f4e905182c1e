/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_request - an export request for the annotation of a span that was forwarded before.
 *
 * Both have begun the resource of the span and the scope of sonde.
 */
#ifndef SONDE_ANNOTATE_LATE_REQUEST_H
#define SONDE_ANNOTATE_LATE_REQUEST_H

#include "otlp/trace.h"

/* With the resource of the reader's last span. */
struct otlp_writer late_request(struct otlp_reader *reader);

/* For a span of which only the recorder knows: with the name of its service. */
struct otlp_writer late_request_of(const char *service);

#endif
