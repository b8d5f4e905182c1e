/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <assert.h>
#include <math.h>

void json_init(struct json *j, struct out *out)
{
	*j = (struct json){ .out = out };
}

/* Write the comma before a key or an array item, except the first. */
static void json_item(struct json *j)
{
	uint32_t bit = 1u << j->depth;

	if (j->depth == 0)
		return;
	if (j->filled & bit)
		out_char(j->out, ',');
	j->filled |= bit;
}

static void json_value(struct json *j)
{
	assert(j->after_key || j->depth == 0 || (j->arrays & 1u << j->depth));
	if (!j->after_key)
		json_item(j);
	j->after_key = false;
}

static void json_begin(struct json *j, bool array)
{
	json_value(j);
	out_char(j->out, array ? '[' : '{');
	assert(j->depth + 1 < JSON_DEPTH);
	j->depth++;
	uint32_t bit = 1u << j->depth;
	j->filled &= ~bit;
	j->arrays = array ? j->arrays | bit : j->arrays & ~bit;
}

void json_object(struct json *j)
{
	json_begin(j, false);
}

void json_array(struct json *j)
{
	json_begin(j, true);
}

void json_end(struct json *j)
{
	assert(j->depth > 0 && !j->after_key);
	out_char(j->out, j->arrays & 1u << j->depth ? ']' : '}');
	j->depth--;
}

void json_newline(struct json *j)
{
	assert(j->depth == 0);
	out_char(j->out, '\n');
}

/* Bytes that need no escape. */
static const bool plain[256] = {
	[' '] = true,
	['!'] = true,
	['#' ... '['] = true,
	[']' ... '~'] = true,
};

/* \uXXXX; all control characters are below U+10000. */
static void put_escape(struct json *j, uint32_t code)
{
	out_str(j->out, "\\u");
	for (int shift = 12; shift >= 0; shift -= 4)
		out_char(j->out, "0123456789abcdef"[code >> shift & 15]);
}

/* Write one character that is not plain, or one byte of invalid UTF-8; return its length. */
static size_t json_special(struct json *j, const char *s, size_t len)
{
	static const char short_form[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
	};
	size_t n = utf8_length(s, len);
	unsigned char c = s[0];

	if (n == 0) {
		out_bytes(j->out, "\xef\xbf\xbd", 3);
		return 1;
	}
	if (!utf8_control(s, n)) {
		if (n == 1)
			out_char(j->out, '\\'); /* a quote or a backslash */
		out_bytes(j->out, s, n);
		return n;
	}
	if (n == 1 && c < sizeof(short_form) && short_form[c]) {
		out_char(j->out, '\\');
		out_char(j->out, short_form[c]);
		return n;
	}
	put_escape(j, utf8_code(s, n));
	return n;
}

static void json_quoted(struct json *j, const char *s, size_t len)
{
	size_t i = 0;

	out_char(j->out, '"');
	while (i < len) {
		size_t run = i;
		while (run < len && plain[(unsigned char)s[run]])
			run++;
		out_bytes(j->out, s + i, run - i);
		i = run;
		if (i < len)
			i += json_special(j, s + i, len - i);
	}
	out_char(j->out, '"');
}

void json_key(struct json *j, const char *key)
{
	assert(j->depth > 0 && !(j->arrays & 1u << j->depth) && !j->after_key);
	json_item(j);
	out_char(j->out, '"');
	out_str(j->out, key);
	out_str(j->out, "\":");
	j->after_key = true;
}

void json_key_escaped(struct json *j, const char *key)
{
	assert(j->depth > 0 && !(j->arrays & 1u << j->depth) && !j->after_key);
	json_item(j);
	json_quoted(j, key, strlen(key));
	out_char(j->out, ':');
	j->after_key = true;
}

void json_string_n(struct json *j, const char *s, size_t len)
{
	json_value(j);
	json_quoted(j, s, len);
}

void json_string(struct json *j, const char *s)
{
	json_string_n(j, s, strlen(s));
}

void json_u64(struct json *j, uint64_t n)
{
	json_value(j);
	out_u64(j->out, n);
}

void json_i64(struct json *j, int64_t n)
{
	json_value(j);
	out_i64(j->out, n);
}

void json_real(struct json *j, double n)
{
	char text[32];

	json_value(j);
	snprintf(text, sizeof(text), "%.17g", n);
	out_str(j->out, isfinite(n) ? text : "null");
}

void json_bool(struct json *j, bool b)
{
	json_value(j);
	out_str(j->out, b ? "true" : "false");
}
