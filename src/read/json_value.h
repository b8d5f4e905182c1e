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
#ifndef SONDE_READ_JSON_VALUE_H
#define SONDE_READ_JSON_VALUE_H

#include <yyjson.h>

#include "base/base.h"
#include "base/err.h"

static inline void yyjson_doc_freep(yyjson_doc **doc)
{
	yyjson_doc_free(*doc);
}

/* The sentence for what is no JSON has the name and the offset. */
int json_load(const char *path, yyjson_doc **ret, struct err *err);
int json_parse(const char *name, const char *data, size_t size, yyjson_doc **ret, struct err *err);

struct json_text {
	const char *s; /* NULL if there is none */
	size_t len;
};

/* A string, or a number as it is written. */
struct json_text json_text(yyjson_val *value);
bool json_text_is(struct json_text text, const char *s);

/* A number times 10^scale, rounded towards 0; false if it is none or does not fit. */
bool json_scaled(yyjson_val *value, int scale, int64_t *ret);

/* A whole number from 0 to UINT32_MAX. */
bool json_u32(yyjson_val *value, uint32_t *ret);

/*
 * An id of that many bytes, up to 16: up to twice as many hexadecimal digits.
 * Any other text is an id, too, and gets its hash.  False if there is no text.
 */
bool json_id(yyjson_val *value, uint8_t *ret, size_t size);

#endif
