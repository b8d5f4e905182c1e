/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema - OTLP's messages as data: the fields of the export requests of all signals.
 *
 * check.c and from_json.c interpret this table.  A test compares it with opentelemetry-proto.
 */
#ifndef SONDE_OTLP_SCHEMA_H
#define SONDE_OTLP_SCHEMA_H

#include "otlp/protobuf.h"
#include "otlp/signal.h"

#define SCHEMA_TYPE(index, wire) ((index) << 3 | (wire))

/* Types by encoding; the lower three bits are the type on the wire. */
enum schema_type {
	SCHEMA_STRING = SCHEMA_TYPE(0, PB_BYTES),
	SCHEMA_BYTES = SCHEMA_TYPE(1, PB_BYTES),
	SCHEMA_ID = SCHEMA_TYPE(2, PB_BYTES), /* bytes; hexadecimal in JSON */
	SCHEMA_MESSAGE = SCHEMA_TYPE(3, PB_BYTES),
	SCHEMA_BOOL = SCHEMA_TYPE(4, PB_VARINT),
	SCHEMA_ENUM = SCHEMA_TYPE(5, PB_VARINT),
	SCHEMA_INT32 = SCHEMA_TYPE(6, PB_VARINT),
	SCHEMA_UINT32 = SCHEMA_TYPE(7, PB_VARINT),
	SCHEMA_SINT32 = SCHEMA_TYPE(8, PB_VARINT), /* zigzag */
	SCHEMA_INT64 = SCHEMA_TYPE(9, PB_VARINT),
	SCHEMA_UINT64 = SCHEMA_TYPE(10, PB_VARINT),
	SCHEMA_FIXED32 = SCHEMA_TYPE(11, PB_FIXED32),
	SCHEMA_FIXED64 = SCHEMA_TYPE(12, PB_FIXED64),
	SCHEMA_SFIXED64 = SCHEMA_TYPE(13, PB_FIXED64),
	SCHEMA_DOUBLE = SCHEMA_TYPE(14, PB_FIXED64),
};

struct schema_field {
	const char *name; /* in JSON; NULL if no field has this number */
	uint8_t name_length;
	uint8_t type;      /* enum schema_type */
	uint8_t id_size;   /* bytes; an id can also be empty */
	bool is_list;      /* repeated; lists of numbers are packed */
	bool has_presence; /* optional or in a oneof: a zero differs from a missing field */
	union {
		const struct schema_message *message;
		const char *const *names; /* of the numbers of an enum; the last is NULL */
	};
};

struct schema_message {
	const char *name;
	const struct schema_field *fields; /* by number */
	uint8_t count;                     /* of `fields` */
	bool is_item;                      /* a span, data point or log record */
	bool is_value;                     /* AnyValue, the only message that contains itself */
};

/* The export requests. */
extern const struct schema_message *const otlp_requests[OTLP_SIGNAL_COUNT];

/* Maximum depth of AnyValue in AnyValue. */
enum { OTLP_VALUE_DEPTH = 64 };

#endif
