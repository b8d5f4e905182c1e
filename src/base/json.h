/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json - streaming JSON writer.
 *
 *	json_object(&j);
 *	json_key(&j, "tid");
 *	json_u64(&j, 4127);
 *	json_end(&j);
 *	json_newline(&j);
 *
 * The writer allocates nothing, so a dump of any length runs in constant memory.
 * It inserts the commas; asserts check that the caller writes keys only in
 * objects and closes what it opens.  Strings can contain any bytes: those that
 * are not UTF-8 become U+FFFD, and control characters, including those that
 * change the text direction (out.h), become \uXXXX.  So the result is always
 * valid JSON and safe to print on a terminal.
 */
#ifndef SONDE_BASE_JSON_H
#define SONDE_BASE_JSON_H

#include "base/out.h"

#define JSON_DEPTH 32

struct json {
	struct out *out; /* borrowed */
	unsigned depth;
	bool after_key;
	uint32_t filled; /* bit d: the object or array at depth d is not empty */
	uint32_t arrays; /* bit d: the level at depth d is an array */
};

void json_init(struct json *j, struct out *out);

void json_object(struct json *j);
void json_array(struct json *j);
void json_end(struct json *j);     /* close the innermost object or array */
void json_newline(struct json *j); /* between top-level values */

void json_key(struct json *j, const char *key);         /* must not need escapes */
void json_key_escaped(struct json *j, const char *key); /* any bytes */

void json_string(struct json *j, const char *s);
void json_string_n(struct json *j, const char *s, size_t len);
void json_u64(struct json *j, uint64_t n);
void json_i64(struct json *j, int64_t n);
void json_real(struct json *j, double n); /* null for NaN and infinities */
void json_bool(struct json *j, bool b);

#endif
