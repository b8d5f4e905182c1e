/* SPDX-License-Identifier: Apache-2.0 */
#include "base/out.h"

#include <errno.h>

void out_init(struct out *o, FILE *file)
{
	o->file = file;
	o->used = 0;
	o->error = 0;
}

static void out_drain(struct out *o)
{
	if (!o->error && fwrite(o->buf, 1, o->used, o->file) != o->used)
		o->error = errno ? -errno : -EIO;
	o->used = 0;
}

int out_flush(struct out *o)
{
	out_drain(o);
	if (!o->error && fflush(o->file) != 0)
		o->error = -errno;
	return o->error;
}

int out_finish(struct out *o, struct err *err)
{
	int r = out_flush(o);

	return r < 0 ? err_set(err, r, "cannot write: %s", strerror(-r)) : 0;
}

void out_spill(struct out *o, const char *s, size_t len)
{
	for (;;) {
		size_t room = sizeof(o->buf) - o->used, part = len < room ? len : room;

		memcpy(o->buf + o->used, s, part);
		o->used += part;
		s += part;
		len -= part;
		if (len == 0)
			return;
		out_drain(o);
	}
}

void out_fill(struct out *o, size_t count, char c)
{
	while (count-- > 0)
		out_char(o, c);
}

void out_u64_wide(struct out *o, uint64_t n, size_t columns, char fill)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = '0' + n % 10;
	while (n /= 10);
	size_t len = sizeof(digits) - at;
	if (columns > len)
		out_fill(o, columns - len, fill);
	out_bytes(o, digits + at, len);
}

void out_u64(struct out *o, uint64_t n)
{
	out_u64_wide(o, n, 0, ' ');
}

void out_i64(struct out *o, int64_t n)
{
	if (n < 0)
		out_char(o, '-');
	out_u64(o, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

void out_hex(struct out *o, uint64_t n)
{
	char digits[16];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdef"[n % 16];
	while (n /= 16);
	out_bytes(o, digits + at, sizeof(digits) - at);
}

size_t utf8_length(const char *s, size_t len)
{
	const unsigned char *c = (const unsigned char *)s;
	/* Limits of the second byte: low excludes overlong forms, high surrogates and > 10ffff. */
	unsigned char low = 0x80, high = 0xbf;
	size_t n;

	if (len == 0)
		return 0;
	if (c[0] < 0x80)
		return 1;
	if (c[0] < 0xc2 || c[0] > 0xf4)
		return 0;
	n = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
	if (c[0] == 0xe0)
		low = 0xa0;
	else if (c[0] == 0xed)
		high = 0x9f;
	else if (c[0] == 0xf0)
		low = 0x90;
	else if (c[0] == 0xf4)
		high = 0x8f;
	if (n > len || c[1] < low || c[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (c[i] < 0x80 || c[i] > 0xbf)
			return 0;
	return n;
}

/* Most texts are ASCII: test eight bytes at a time. */
bool utf8_is_valid(const char *s, size_t len)
{
	uint64_t word;
	size_t n;

	for (; len; s += n, len -= n) {
		n = 1;
		if (len >= sizeof(word)) {
			memcpy(&word, s, sizeof(word));
			if (!(word & 0x8080808080808080)) {
				n = sizeof(word);
				continue;
			}
		}
		if (*s & 0x80 && !(n = utf8_length(s, len)))
			return false;
	}
	return true;
}

uint32_t utf8_code(const char *s, size_t char_len)
{
	static const uint8_t first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = (unsigned char)s[0] & first_bits[char_len];

	for (size_t i = 1; i < char_len; i++)
		code = code << 6 | ((unsigned char)s[i] & 0x3f);
	return code;
}

bool utf8_control(const char *s, size_t char_len)
{
	static const struct {
		uint32_t first, last;
	} controls[] = {
		{ 0x0000, 0x001f }, /* C0 */
		{ 0x007f, 0x009f }, /* DEL, and C1: U+009B begins an escape sequence */
		{ 0x061c, 0x061c }, /* text direction */
		{ 0x200e, 0x200f }, /* text direction */
		{ 0x2028, 0x202e }, /* line and paragraph separators, text direction */
		{ 0x2066, 0x206f }, /* text direction */
		{ 0xfeff, 0xfeff }, /* byte order mark */
		{ 0xfff9, 0xfffb }, /* annotations */
	};
	uint32_t code = utf8_code(s, char_len);

	for (size_t i = 0; i < ARRAY_LEN(controls) && code >= controls[i].first; i++)
		if (code <= controls[i].last)
			return true;
	return false;
}

static size_t out_escape(struct out *o, char c)
{
	static const char short_form[] = {
		['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't', ['\\'] = '\\'
	};
	unsigned char u = c;

	out_char(o, '\\');
	if (u < sizeof(short_form) && short_form[u]) {
		out_char(o, short_form[u]);
		return 2;
	}
	out_char(o, 'x');
	out_char(o, "0123456789abcdef"[u >> 4]);
	out_char(o, "0123456789abcdef"[u & 15]);
	return 4;
}

size_t out_escaped(struct out *o, const char *s, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len;) {
		size_t n = utf8_length(s + i, len - i);
		if (n == 0 || s[i] == '\\' || utf8_control(s + i, n)) {
			for (size_t end = i + (n ? n : 1); i < end; i++)
				width += out_escape(o, s[i]);
			continue;
		}
		out_bytes(o, s + i, n);
		width++;
		i += n;
	}
	return width;
}
