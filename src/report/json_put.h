/* SPDX-License-Identifier: Apache-2.0 */
/* json_put - write a member of a JSON object: key and value. */
#ifndef SONDE_REPORT_JSON_PUT_H
#define SONDE_REPORT_JSON_PUT_H

#include <stdio.h>

#include "base/json.h"

static inline void put_u64(struct json *j, const char *key, uint64_t n)
{
	json_key(j, key);
	json_u64(j, n);
}

static inline void put_real(struct json *j, const char *key, double n)
{
	json_key(j, key);
	json_real(j, n);
}

static inline void put_string(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_string(j, s);
}

static inline void put_bool(struct json *j, const char *key, bool b)
{
	json_key(j, key);
	json_bool(j, b);
}

static inline void put_hex(struct json *j, const char *key, const uint8_t *bytes, size_t size)
{
	char hex[33] = "";

	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	put_string(j, key, hex);
}

/* A digest of 64 bits, as 16 hexadecimal digits. */
static inline void put_digest(struct json *j, const char *key, uint64_t digest)
{
	char hex[17];

	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)digest);
	put_string(j, key, hex);
}

#endif
