/* SPDX-License-Identifier: Apache-2.0 */
#include "read/span/json_value.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "base/digit.h"

/* Invalid Unicode is accepted: sonde escapes it on output. */
#define READ_FLAGS (YYJSON_READ_NUMBER_AS_RAW | YYJSON_READ_ALLOW_INVALID_UNICODE)

/* Minimum size of a document that is split, and size of the items in each part, in bytes. */
enum { SPLIT_MIN = 4 << 20, PART_SIZE = 1 << 20 };

static int parse_failed(const char *name, size_t offset, const yyjson_read_err *why,
			struct err *err)
{
	if (why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return err_set(err, -ENOMEM, "cannot read '%s': not enough memory", name);
	return err_set(err, -EBADMSG, "'%s' is not valid JSON: %s at offset %zu", name, why->msg,
		       offset + why->pos);
}

static void yyjson_doc_freep(yyjson_doc **doc)
{
	yyjson_doc_free(*doc);
}

/* The result of document(), or -EBADMSG with the reason in *why if the text is not JSON. */
static int parse_one(struct view text, const struct json_reader *reader, yyjson_read_err *why,
		     struct err *err)
{
	/* the cast is safe: yyjson writes to the text only with YYJSON_READ_INSITU */
	_cleanup_(yyjson_doc_freep) yyjson_doc *doc =
		yyjson_read_opts((char *)text.s, text.len, READ_FLAGS, NULL, why);

	return doc ? reader->document(reader->arg, yyjson_doc_get_root(doc), err) : -EBADMSG;
}

static int parse(struct view text, const struct json_reader *reader, yyjson_read_err *why,
		 struct err *err)
{
	struct json_split split;
	struct view part;
	int r = 0;

	if (text.len < SPLIT_MIN || !json_split_begin(&split, text, reader->shape))
		return parse_one(text, reader, why, err);
	while (r == 0 && json_split_next(&split, PART_SIZE, &part)) {
		r = parse_one(part, reader, why, err);
		if (why->code)
			why->pos = json_split_offset(&split, why->pos);
	}
	json_split_done(&split);
	return r;
}

/* The line at this offset, without its newline. */
static struct view line_at(struct view text, size_t at)
{
	const char *end = memchr(text.s + at, '\n', text.len - at);

	return (struct view){ text.s + at, end ? (size_t)(end - text.s) - at : text.len - at };
}

int json_each(const char *name, struct view text, const struct json_reader *reader,
	      bool *ret_truncated, struct err *err)
{
	size_t begin = json_skip_blanks(text, 0), at = begin;

	do {
		struct view line = line_at(text, at), all = { text.s + at, text.len - at };
		yyjson_read_err why = { 0 };
		int r = parse(line, reader, &why, err);

		if (why.code && at == begin &&
		    line.len < all.len) { /* one document of several lines */
			line = all;
			r = parse(line, reader, &why, err);
		}
		*ret_truncated = why.code && at > begin && line.len == all.len;
		if (why.code && !*ret_truncated)
			return parse_failed(name, at, &why, err);
		if (r < 0 && !*ret_truncated)
			return r;
		at = json_skip_blanks(text, at + line.len);
	} while (at < text.len);
	return 0;
}

struct view json_text(yyjson_val *value)
{
	if (!yyjson_is_str(value) && !yyjson_is_raw(value))
		return (struct view){ 0 };
	return (struct view){ unsafe_yyjson_get_str(value), unsafe_yyjson_get_len(value) };
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* m * 10^e, rounded towards 0. */
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

/* Appends the digits at *at to m; adjusts the exponent *e for a fraction and for ignored digits. */
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
	bool negative = *at < end && **at == '-';
	long n = 0;

	if (*at < end && (**at == '-' || **at == '+'))
		++*at;
	if (*at == end)
		return false;
	for (; *at < end && is_digit(**at); ++*at)
		n = n < 100000 ? 10 * n + (**at - '0') : n;
	*e += negative ? -n : n;
	return true;
}

bool json_scaled_text(struct view text, int scale, int64_t *ret)
{
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

bool json_scaled(yyjson_val *value, int scale, int64_t *ret)
{
	return json_scaled_text(json_text(value), scale, ret);
}

static bool hex_id(struct view text, uint8_t *ret, size_t size)
{
	uint8_t id[16] = { 0 }, digits = 0, bits = 0;

	for (; text.len > 2 * size && text.s[0] == '0'; text.len--)
		text.s++; /* leading zeros */
	if (text.len > 2 * size)
		return false;
	/* from the right, since short ids are padded with zeros on the left */
	for (size_t left = text.len, i = size; left; left -= left > 1 ? 2 : 1) {
		uint8_t low = hex_digit(text.s[left - 1]);
		uint8_t high = left > 1 ? hex_digit(text.s[left - 2]) : 0;

		digits |= low | high;
		id[--i] = high << 4 | low;
		bits |= id[i];
	}
	if (digits > 15 || !bits) /* not a digit; or zero, which OTLP does not allow as an id */
		return false;
	memcpy(ret, id, size);
	return true;
}

/* Decodes exactly size bytes of base64, with or without padding. */
static bool base64_bytes(struct view text, uint8_t *ret, size_t size)
{
	size_t digits = (8 * size + 5) / 6, padded = (digits + 3) / 4 * 4, filled = 0;
	uint32_t bits = 0, count = 0;

	if (text.len != digits && text.len != padded)
		return false;
	for (size_t i = digits; i < text.len; i++)
		if (text.s[i] != '=')
			return false;
	for (size_t i = 0; i < digits; i++) {
		uint8_t digit = base64_digit(text.s[i]);

		if (digit > 63)
			return false;
		bits = bits << 6 | digit;
		count += 6;
		if (count >= 8)
			ret[filled++] = bits >> (count -= 8);
	}
	return !(bits & ((1u << count) - 1)); /* unused bits must be 0 */
}

static bool base64_id(struct view text, uint8_t *ret, size_t size)
{
	uint8_t id[16];

	if (!base64_bytes(text, id, size))
		return false;
	memcpy(ret, id, size);
	return true;
}

bool json_id(yyjson_val *value, uint8_t *ret, size_t size)
{
	struct view text = json_text(value);

	if (!text.len)
		return false;
	if (!hex_id(text, ret, size) && !base64_id(text, ret, size)) {
		XXH128_canonical_t hash;

		XXH128_canonicalFromHash(&hash, XXH3_128bits(text.s, text.len));
		memcpy(ret, hash.digest, size);
	}
	return true;
}

/* Whether an id is zero, in hexadecimal or base64. */
static bool is_zero_id(struct view text, size_t size)
{
	static const uint8_t zero[16];
	uint8_t id[16];
	size_t zeros = 0;

	while (zeros < text.len && text.s[zeros] == '0')
		zeros++;
	if (zeros == text.len)
		return true;
	return text.s[0] == 'A' && base64_bytes(text, id, size) && memcmp(id, zero, size) == 0;
}

bool json_nonzero_id(yyjson_val *value, uint8_t *ret, size_t size)
{
	return !is_zero_id(json_text(value), size) && json_id(value, ret, size);
}

bool json_head_has_key(struct view head, const char *key)
{
	size_t len = strlen(key), at = json_skip_blanks(head, 0);

	if (at == head.len || (head.s[at] != '{' && head.s[at] != '['))
		return false;
	for (const char *found; (found = memmem(head.s + at, head.len - at, key, len));) {
		at = found - head.s + len;

		size_t colon = json_skip_blanks(head, at + 1);

		if (colon < head.len && found[-1] == '"' && head.s[at] == '"' &&
		    head.s[colon] == ':')
			return true;
	}
	return false;
}
