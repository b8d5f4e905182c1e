/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/traceparent.h"

#include <string.h>

static const char digits[] = "0123456789abcdef"; /* the standard forbids capital letters */

static bool read_bytes(const char *text, uint8_t *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *high = text[2 * i] ? strchr(digits, text[2 * i]) : NULL;
		const char *low = high && text[2 * i + 1] ? strchr(digits, text[2 * i + 1]) : NULL;

		if (!low)
			return false;
		to[i] = (uint8_t)((high - digits) << 4 | (low - digits));
	}
	return true;
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
	while (count && !bytes[count - 1])
		count--;
	return !count;
}

bool traceparent_read(const char *text, uint8_t ret_trace[16], uint8_t ret_span[8],
		      uint8_t *ret_flags)
{
	uint8_t version, trace[16], span[8], flags;
	size_t size = text ? strnlen(text, 57) : 0;

	if (size < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' ||
	    !read_bytes(text, &version, 1) || !read_bytes(text + 3, trace, 16) ||
	    !read_bytes(text + 36, span, 8) || !read_bytes(text + 53, &flags, 1))
		return false;
	/* later versions may append fields after another '-' */
	if (version == 0xff || (size > 55 && (version == 0 || text[55] != '-')))
		return false;
	if (is_zero(trace, 16) || is_zero(span, 8))
		return false;
	memcpy(ret_trace, trace, sizeof(trace));
	memcpy(ret_span, span, sizeof(span));
	*ret_flags = flags;
	return true;
}

static char *write_bytes(char *to, const uint8_t *bytes, size_t count, char end)
{
	for (size_t i = 0; i < count; i++) {
		*to++ = digits[bytes[i] >> 4];
		*to++ = digits[bytes[i] & 15];
	}
	*to++ = end;
	return to;
}

void traceparent_write(const uint8_t trace[16], const uint8_t span[8], uint8_t flags,
		       char text[SONDE_TRACEPARENT_SIZE])
{
	static const uint8_t version = 0;

	text = write_bytes(text, &version, 1, '-');
	text = write_bytes(text, trace, 16, '-');
	text = write_bytes(text, span, 8, '-');
	write_bytes(text, &flags, 1, '\0');
}
