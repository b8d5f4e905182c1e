/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_fields - field numbers of opentelemetry-proto (trace.proto, resource.proto,
 * common.proto), for trace.c and trace_write.c.
 */
#ifndef SONDE_OTLP_TRACE_FIELDS_H
#define SONDE_OTLP_TRACE_FIELDS_H

#include "otlp/protobuf.h"

#define BYTES(number) PB_TAG(number, PB_BYTES)
#define VARINT(number) PB_TAG(number, PB_VARINT)
#define FIXED64(number) PB_TAG(number, PB_FIXED64)
#define FIXED32(number) PB_TAG(number, PB_FIXED32)

enum { REQUEST_RESOURCE_SPANS = 1 };
enum { RESOURCE_SPANS_RESOURCE = 1, RESOURCE_SPANS_SCOPE_SPANS = 2 };
enum { SCOPE_SPANS_SCOPE = 1, SCOPE_SPANS_SPANS = 2 };
enum { ANY_SPANS_SCHEMA_URL = 3 }; /* of ResourceSpans and ScopeSpans */
enum { RESOURCE_ATTRIBUTES = 1, RESOURCE_DROPPED = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2, SCOPE_ATTRIBUTES = 3, SCOPE_DROPPED = 4 };
enum { STATUS_MESSAGE = 2, STATUS_CODE = 3 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { LIST_VALUES = 1 }; /* of ArrayValue and KeyValueList */
enum {
	SPAN_TRACE_ID = 1,
	SPAN_SPAN_ID = 2,
	SPAN_TRACE_STATE = 3,
	SPAN_PARENT_SPAN_ID = 4,
	SPAN_NAME = 5,
	SPAN_KIND = 6,
	SPAN_START = 7,
	SPAN_END = 8,
	SPAN_ATTRIBUTES = 9,
	SPAN_DROPPED_ATTRIBUTES = 10,
	SPAN_EVENTS = 11,
	SPAN_DROPPED_EVENTS = 12,
	SPAN_LINKS = 13,
	SPAN_DROPPED_LINKS = 14,
	SPAN_STATUS = 15,
	SPAN_FLAGS = 16,
};

#endif
