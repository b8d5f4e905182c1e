/* SPDX-License-Identifier: Apache-2.0 */
/* json_scalar - values of OTLP's JSON that are no objects and no arrays. */
#ifndef SONDE_OTLP_JSON_SCALAR_H
#define SONDE_OTLP_JSON_SCALAR_H

#include <yyjson.h>

#include "otlp/schema.h"

enum { JSON_ID_MAX = 16 }; /* bytes */

struct json_scalar {
	struct pb_field field; /* without its tag; bytes are borrowed from the JSON or in `id` */
	uint8_t id[JSON_ID_MAX];
};

/* Any type except BYTES and MESSAGE.  Returns NULL, or what was expected instead of the value. */
const char *json_scalar_read(const struct schema_field *field, yyjson_val *value,
			     struct json_scalar *ret);

/*
 * Appends the bytes that a string encodes in base64, with or without padding, also with the
 * alphabet for URLs.  False if it is something else.
 */
bool json_base64_read(yyjson_val *value, struct pb_buffer *ret);

#endif
