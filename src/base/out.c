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
	/* The least second byte keeps out overlong forms, the greatest surrogates and > 10ffff. */
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

bool utf8_control(const char *s, size_t char_len)
{
	const unsigned char *c = (const unsigned char *)s;

	if (char_len == 1)
		return c[0] < 0x20 || c[0] == 0x7f;
	if (char_len == 2)
		return c[0] == 0xc2 && c[1] < 0xa0; /* C1: 0x9b begins an escape sequence */
	/* U+200E, 200F, 2028 to 202E, 2066 to 2069: they break or turn the line around. */
	return char_len == 3 && c[0] == 0xe2 &&
	       ((c[1] == 0x80 &&
		 (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae))) ||
		(c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
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
