/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json - JSON, written as it comes.
 *
 *	json_object(&j);
 *	json_key(&j, "tid");
 *	json_u64(&j, 4127);
 *	json_end(&j);
 *	json_newline(&j);
 *
 * Nothing is allocated and nothing held back but the buffer of `out`, so a dump
 * of any length runs in constant memory.  The writer sets the commas; that keys
 * stand in objects and every begin has its end is the caller's duty, and
 * asserted.  Strings may hold anything: what is not UTF-8 becomes U+FFFD, and
 * characters that act on a terminal or change the direction of a line (out.h)
 * become \uXXXX, so that the result is always valid and safe to print.
 */
#ifndef SONDE_BASE_JSON_H
#define SONDE_BASE_JSON_H

#include "base/out.h"

#define JSON_DEPTH 32

struct json {
	struct out *out; /* borrowed */
	unsigned depth;
	bool after_key;
	uint32_t filled; /* bit d: the object or array at depth d has an item already */
	uint32_t arrays; /* bit d: it is an array */
};

void json_init(struct json *j, struct out *out);

void json_object(struct json *j);
void json_array(struct json *j);
void json_end(struct json *j);     /* of the innermost object or array */
void json_newline(struct json *j); /* between values, outside all of them */

void json_key(struct json *j, const char *key);         /* a plain name, written as it stands */
void json_key_escaped(struct json *j, const char *key); /* of anybody's making */

void json_string(struct json *j, const char *s);
void json_string_n(struct json *j, const char *s, size_t len);
void json_u64(struct json *j, uint64_t n);
void json_i64(struct json *j, int64_t n);
void json_real(struct json *j, double n); /* null if it is no number */
void json_bool(struct json *j, bool b);

#endif
