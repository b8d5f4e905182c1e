/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_value - the value of an attribute, decoded from any format.
 *
 * Records contain strings, booleans and numbers.  Lists and objects are converted to
 * JSON text, with bytes in base64, as OpenTelemetry specifies for formats without such
 * types.  A missing value is the empty text.
 */
#ifndef SONDE_READ_SPAN_VALUE_H
#define SONDE_READ_SPAN_VALUE_H

#include "base/json.h"
#include "base/view.h"
#include "event/event.h"
#include "otlp/trace.h"
#include "read/span/json_value.h"

struct span_value {
	enum attribute_type type;
	struct view text; /* STRING; for numbers of JSON the original text */
	int64_t number;   /* INT and BOOL */
	double real;      /* DOUBLE */
};

static inline bool span_value_is_true(const struct span_value *value)
{
	return value->type == ATTRIBUTE_BOOL && value->number;
}

/* A reusable buffer for the text of lists; each call overwrites it.  Initialise with zeros. */
struct span_text_buffer {
	FILE *file; /* writes to text */
	char *text;
	size_t size;
	struct out *out;
};

void span_text_buffer_done(struct span_text_buffer *buffer);

/* From an AnyValue of OTLP in protobuf: 0 or -EBADMSG. */
int span_value_otlp(struct span_text_buffer *buffer, struct view bytes, struct span_value *ret);

/* From an AnyValue of OTLP in JSON, such as {"stringValue": "text"}. */
struct span_value span_value_otlp_json(struct span_text_buffer *buffer, yyjson_val *any);

/* From a JSON value; type: the name of a type in Jaeger, or empty. */
struct span_value span_value_json(struct span_text_buffer *buffer, yyjson_val *value,
				  struct view type);

#endif
