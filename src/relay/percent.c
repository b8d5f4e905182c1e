/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/percent.h"

#include <stdio.h>

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t percent_decode(struct view in, char *out)
{
	size_t used = 0;

	for (size_t i = 0; i < in.len; i++) {
		bool is_code = in.s[i] == '%' && in.len - i > 2 && digit_of(in.s[i + 1]) >= 0 &&
			       digit_of(in.s[i + 2]) >= 0;

		if (is_code) {
			out[used++] = (char)(digit_of(in.s[i + 1]) << 4 | digit_of(in.s[i + 2]));
			i += 2;
		} else {
			out[used++] = in.s[i];
		}
	}
	return used;
}

void percent_encode(const char *text, char *out, size_t room)
{
	size_t used = 0;

	for (; *text && used + 4 <= room; text++) {
		uint8_t c = *text;

		if (c < ' ' || c > '~' || c == '%')
			used += snprintf(out + used, room - used, "%%%02X", c);
		else
			out[used++] = c;
	}
	out[used] = '\0';
}
