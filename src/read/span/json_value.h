/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_value - what the readers of JSON formats take out of strangers' files.
 *
 * Numbers are kept as they are written: a time in microseconds since 1970 with
 * a fraction has more digits than a double.  Many tools write them as strings,
 * so a string of digits is as good as a number.  No value has to be of the type
 * that it should be: what is not reads as missing.
 *
 * The parser is the yyjson library, which only read/ knows.
 */
#ifndef SONDE_READ_SPAN_JSON_VALUE_H
#define SONDE_READ_SPAN_JSON_VALUE_H

#include <yyjson.h>

#include "base/err.h"
#include "base/view.h"
#include "read/span/json_split.h"

/* The sentence for what is no JSON has the name and the offset. */
typedef int json_fn(void *arg, yyjson_val *root, struct err *err);

/*
 * Gives fn each document of a text: the only one, or, if its first line is one
 * alone, that of each line.  Of lines, the last may be cut off, as when a program
 * was killed that wrote it: it is left out, and *ret_cut set.  Ends when fn fails.
 * A large document is given in parts, by its shape: see json_split.h.
 */
int json_each(const char *name, struct view text, const struct json_shape *shape, json_fn *fn,
	      void *arg, bool *ret_cut, struct err *err);

/* A string, or a number as it is written. */
struct view json_text(yyjson_val *value);

/* A number times 10^scale, rounded towards 0; false if it is none or does not fit. */
bool text_scaled(struct view text, int scale, int64_t *ret);
bool json_scaled(yyjson_val *value, int scale, int64_t *ret);

/*
 * An id of that many bytes, up to 16: up to twice as many hexadecimal digits,
 * zeros before them not counted, or the bytes in base64, as in the JSON of
 * protobuf.  Any other text is an id, too, and gets its hash.  False if there is
 * no text.
 */
bool json_id(yyjson_val *value, uint8_t *ret, size_t size);

/* The same, but nothing but zeros is no id. */
bool json_id_or_none(yyjson_val *value, uint8_t *ret, size_t size);

/* Whether the text of a JSON file, of which this is the first part, has an object with this key. */
bool json_shows_key(struct view head, const char *key);

#endif
