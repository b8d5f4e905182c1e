/* SPDX-License-Identifier: Apache-2.0 */
/*
 * from_json - export requests in JSON, converted to protobuf.
 *
 * The JSON mapping of proto3 with OTLP's exceptions: ids are hexadecimal, enums are numbers.  Names
 * of enum values are accepted, too.  Integers are numbers or strings; bytes are base64.  Unknown
 * keys are ignored, as the protocol requires.  Everything else is an error, which contains the path
 * of the field:
 *
 *	invalid 'resourceSpans[0].scopeSpans[1].spans[3].traceId': expected 32 hexadecimal digits
 *
 * Time is linear in the size of the text.  Memory is at most 13 times the size of the text while it
 * is parsed, and the result at most 4 times.  Values are nested at most OTLP_VALUE_DEPTH deep; the
 * parser itself does not recurse.
 */
#ifndef SONDE_OTLP_FROM_JSON_H
#define SONDE_OTLP_FROM_JSON_H

#include "base/err.h"
#include "otlp/protobuf.h"
#include "otlp/signal.h"

/* Appends the request to *ret: 0, or -EBADMSG without a change of *ret. */
int otlp_from_json(enum otlp_signal signal, struct view json, struct pb_buffer *ret,
		   struct err *err);

#endif
