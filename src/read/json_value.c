/* SPDX-License-Identifier: Apache-2.0 */
#include "read/json_value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* Names need not be proper text: who shows them makes them so. */
#define READ_FLAGS (YYJSON_READ_NUMBER_AS_RAW | YYJSON_READ_ALLOW_INVALID_UNICODE)

static int parse_failed(const char *name, const yyjson_read_err *why, struct err *err)
{
	if (why->code == YYJSON_READ_ERROR_FILE_READ)
		return err_errno(err, "cannot read '%s'", name);
	if (why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return err_set(err, -ENOMEM, "cannot read '%s': it is too large for this memory",
			       name);
	return err_set(err, -EBADMSG, "'%s' is not valid JSON: %s at offset %zu", name, why->msg,
		       why->pos);
}

static void closefp(FILE **file)
{
	if (*file)
		fclose(*file);
}

int json_load(const char *path, yyjson_doc **ret, struct err *err)
{
	_cleanup_(closefp) FILE *file = fopen(path, "re");
	yyjson_read_err why = { 0 };

	if (!file)
		return err_errno(err, "cannot open '%s'", path);
	*ret = yyjson_read_fp(file, READ_FLAGS, NULL, &why);
	return *ret ? 0 : parse_failed(path, &why, err);
}

int json_parse(const char *name, const char *data, size_t size, yyjson_doc **ret, struct err *err)
{
	yyjson_read_err why = { 0 };

	/* it does not write to the data unless told to */
	*ret = yyjson_read_opts((char *)data, size, READ_FLAGS, NULL, &why);
	return *ret ? 0 : parse_failed(name, &why, err);
}

struct json_text json_text(yyjson_val *value)
{
	if (!yyjson_is_str(value) && !yyjson_is_raw(value))
		return (struct json_text){ 0 };
	return (struct json_text){ unsafe_yyjson_get_str(value), unsafe_yyjson_get_len(value) };
}

bool json_text_is(struct json_text text, const char *s)
{
	return text.s && text.len == strlen(s) && memcmp(text.s, s, text.len) == 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* m * 10^e; what is behind the point is cut off. */
static bool scale_by(uint64_t m, long e, int64_t *ret)
{
	for (; m && e < 0; e++)
		m /= 10;
	for (; m && e > 0; e--)
		if (__builtin_mul_overflow(m, 10, &m))
			return false;
	*ret = m;
	return m <= INT64_MAX;
}

/* The digits at *at, as a number, of which *e says how far it is off: those too many are left out.
 */
static uint64_t take_digits(const char **at, const char *end, uint64_t m, long *e, bool fraction)
{
	for (; *at < end && is_digit(**at); ++*at) {
		bool fits = m <= (UINT64_MAX - 9) / 10;

		if (fits)
			m = 10 * m + (**at - '0');
		*e += fits && fraction ? -1 : !fits && !fraction ? 1 : 0;
	}
	return m;
}

static bool take_exponent(const char **at, const char *end, long *e)
{
	bool down = *at < end && **at == '-';
	long n = 0;

	if (*at < end && (**at == '-' || **at == '+'))
		++*at;
	if (*at == end)
		return false;
	for (; *at < end && is_digit(**at); ++*at)
		n = n < 100000 ? 10 * n + (**at - '0') : n;
	*e += down ? -n : n;
	return true;
}

bool json_scaled(yyjson_val *value, int scale, int64_t *ret)
{
	struct json_text text = json_text(value);
	long e = scale;
	int64_t n;

	if (!text.len)
		return false;

	const char *at = text.s, *end = at + text.len;
	bool negative = *at == '-';

	if (negative)
		at++;
	if (at == end || !is_digit(*at))
		return false;

	uint64_t m = take_digits(&at, end, 0, &e, false);

	if (at < end && *at == '.') {
		at++;
		m = take_digits(&at, end, m, &e, true);
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		if (!take_exponent(&at, end, &e))
			return false;
	}
	if (at < end || !scale_by(m, e, &n))
		return false;
	*ret = negative ? -n : n;
	return true;
}

bool json_u32(yyjson_val *value, uint32_t *ret)
{
	int64_t n;

	if (!json_scaled(value, 0, &n) || n < 0 || n > UINT32_MAX)
		return false;
	*ret = n;
	return true;
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex_id(struct json_text text, uint8_t *ret, size_t size)
{
	uint8_t id[16] = { 0 };
	bool zero = true;

	if (text.len > 2 * size)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		int digit = hex_digit(text.s[text.len - 1 - i]);

		if (digit < 0)
			return false;
		id[size - 1 - i / 2] |= i % 2 ? digit << 4 : digit;
		zero = zero && digit == 0;
	}
	if (!zero) /* that means none, wherever ids are bytes */
		memcpy(ret, id, size);
	return !zero;
}

bool json_id(yyjson_val *value, uint8_t *ret, size_t size)
{
	struct json_text text = json_text(value);

	if (!text.len)
		return false;
	if (!hex_id(text, ret, size)) {
		XXH128_canonical_t hash;

		XXH128_canonicalFromHash(&hash, XXH3_128bits(text.s, text.len));
		memcpy(ret, hash.digest, size);
	}
	return true;
}
