/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_value - values of JSON files written by other tools.
 *
 * Numbers are kept as text: a time in microseconds since 1970 with a fraction has more
 * digits than a double.  Many tools write numbers as strings, so both are accepted.
 * Values of an unexpected type are treated as missing.
 *
 * The parser is the yyjson library; only read/ and otlp/ use it.
 */
#ifndef SONDE_READ_SPAN_JSON_VALUE_H
#define SONDE_READ_SPAN_JSON_VALUE_H

#include <yyjson.h>

#include "base/err.h"
#include "base/view.h"
#include "read/span/json_split.h"

/* How to read the documents of a file. */
struct json_reader {
	const struct json_shape *shape; /* to split large documents; see json_split.h */
	int (*document)(void *arg, yyjson_val *root, struct err *err);
	void *arg;
};

/*
 * Calls reader->document() for the only document of a text, or for the document on each
 * line if the first line is a document.  Skips the last line and sets *ret_truncated if
 * that line is incomplete, for example because its writer was killed.  Stops when
 * document() fails.  Messages contain the name and the offset.
 */
int json_each(const char *name, struct view text, const struct json_reader *reader,
	      bool *ret_truncated, struct err *err);

/* A member of an object; NULL if it is missing or this is not an object. */
static inline yyjson_val *json_field(yyjson_val *object, const char *name)
{
	return yyjson_obj_get(object, name);
}

/* A string, or the text of a number. */
struct view json_text(yyjson_val *value);

/* A number times 10^scale, rounded towards 0; false if it is invalid or does not fit. */
bool json_scaled_text(struct view text, int scale, int64_t *ret);
bool json_scaled(yyjson_val *value, int scale, int64_t *ret);

/*
 * An id of size bytes, at most 16: twice as many hexadecimal digits or fewer, not counting
 * leading zeros, or base64, as in the JSON of protobuf.  Any other text is hashed.  False
 * if there is no text.
 */
bool json_id(yyjson_val *value, uint8_t *ret, size_t size);

/* The same, but false if the id is zero. */
bool json_nonzero_id(yyjson_val *value, uint8_t *ret, size_t size);

/* Whether this start of a JSON file contains an object with this key. */
bool json_head_has_key(struct view head, const char *key);

#endif
