/* SPDX-License-Identifier: Apache-2.0 */
/* digit - the values of digits: 255 for other characters, so that the results of several can be
 * ORed. */
#ifndef SONDE_BASE_DIGIT_H
#define SONDE_BASE_DIGIT_H

#include <stdint.h>

/* 0 to 15. */
static inline uint8_t hex_digit(uint8_t c)
{
	static const uint8_t digits[256] = {
		['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
		['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
		['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
		['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
	};

	return digits[c] - 1;
}

/* 0 to 63, of base64 or base64url. */
static inline uint8_t base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : 255;
}

#endif
