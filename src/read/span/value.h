/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_value - the value of an attribute, however its format carries it.
 *
 * A record has room for a text, a truth, and numbers.  All else, lists and
 * objects, becomes text, as OpenTelemetry has it for formats that know no
 * others: JSON, with bytes in base64.  What is nothing is the empty text.
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
	struct view text; /* STRING; of a number in JSON, as it is written */
	int64_t number;   /* INT; BOOL */
	double real;      /* DOUBLE */
};

static inline bool span_value_is_true(const struct span_value *value)
{
	return value->type == ATTRIBUTE_BOOL && value->number;
}

/* Where the text of a list is put, until that of the next.  All zero is an empty one. */
struct span_text {
	FILE *file; /* onto text */
	char *text;
	size_t size;
	struct out *out;
};

void span_text_done(struct span_text *room);

/* Of OTLP in protobuf: 0 or -EBADMSG. */
int span_value_otlp(struct span_text *room, struct view bytes, struct span_value *ret);

/* Of OTLP in JSON: {"stringValue": "text"} and its like. */
struct span_value span_value_otlp_json(struct span_text *room, yyjson_val *any);

/* Of a tag, by what it is; or by the name that Jaeger has for its type, if there is one. */
struct span_value span_value_json(struct span_text *room, yyjson_val *value, struct view type);

#endif
