/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t size;
};

/* A decimal number, whole + part / scale, and the unit that follows it. */
struct number {
	uint64_t whole;
	uint64_t part, scale; /* digits after the point, and the power of ten to divide by */
	const char *unit;
};

/* Later digits are less than one of the smallest unit. */
#define MAX_SCALE 1000000000000000000ull

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int number_read(const char *s, struct number *ret)
{
	struct number n = { .scale = 1 };

	if (!is_digit(*s))
		return -EINVAL;
	for (; is_digit(*s); s++)
		if (__builtin_mul_overflow(n.whole, 10, &n.whole) ||
		    __builtin_add_overflow(n.whole, (uint64_t)(*s - '0'), &n.whole))
			return -ERANGE;
	if (*s == '.') {
		if (!is_digit(*++s))
			return -EINVAL;
		for (; is_digit(*s); s++) {
			if (n.scale == MAX_SCALE)
				continue;
			n.part = 10 * n.part + (uint64_t)(*s - '0');
			n.scale *= 10;
		}
	}
	n.unit = s;
	*ret = n;
	return 0;
}

static int number_scale(const struct number *n, uint64_t unit, uint64_t *ret)
{
	uint64_t part = (uint64_t)((unsigned __int128)n->part * unit / n->scale);
	uint64_t sum;

	if (__builtin_mul_overflow(n->whole, unit, &sum) || __builtin_add_overflow(sum, part, &sum))
		return -ERANGE;
	*ret = sum;
	return 0;
}

int parse_time(const char *s, nsec_t *ret)
{
	static const struct unit units[] = {
		{ "", NSEC_PER_SEC },         { "ns", 1 },
		{ "us", NSEC_PER_USEC },      { "µs", NSEC_PER_USEC },
		{ "ms", NSEC_PER_MSEC },      { "s", NSEC_PER_SEC },
		{ "m", 60 * NSEC_PER_SEC },   { "min", 60 * NSEC_PER_SEC },
		{ "h", 3600 * NSEC_PER_SEC },
	};
	struct number n;
	int r = number_read(s, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(n.unit, units[i].name) == 0)
			return number_scale(&n, units[i].size, ret);
	return -EINVAL;
}

int parse_size(const char *s, uint64_t *ret)
{
	static const char letters[] = "kmgt";
	struct number n;
	uint64_t unit = 1;
	int r = number_read(s, &n);

	if (r < 0)
		return r;
	const char *letter = *n.unit ? strchr(letters, *n.unit | 0x20) : NULL;
	if (letter) {
		unit = 1ull << 10 * (letter - letters + 1);
		n.unit += n.unit[1] == 'i' && n.unit[2] == 'B' ? 2 : 1;
	}
	if (*n.unit && strcmp(n.unit, "B") != 0)
		return -EINVAL;
	return number_scale(&n, unit, ret);
}

int parse_count(const char *s, uint64_t max, uint64_t *ret)
{
	struct number n;
	int r = number_read(s, &n);

	if (r < 0)
		return r;
	if (*n.unit || n.scale != 1)
		return -EINVAL;
	if (n.whole > max)
		return -ERANGE;
	*ret = n.whole;
	return 0;
}

int parse_percentile(const char *s, unsigned int *ret)
{
	unsigned int value = 0, digits = 0, scale = 1000;

	if (*s++ != 'p')
		return -EINVAL;
	for (; is_digit(*s) && digits < 2; s++, digits++)
		value = value * 10 + (*s - '0');
	value *= scale;
	if (digits && *s == '.' && s[1])
		for (s++; is_digit(*s) && scale > 1; s++)
			value += (*s - '0') * (scale /= 10);
	if (!digits || *s || !value)
		return -EINVAL;
	*ret = value;
	return 0;
}

static uint64_t divide_rounded(unsigned __int128 n, uint64_t by)
{
	return (uint64_t)((n + by / 2) / by);
}

/* n in a unit, with three significant digits and without trailing zeros. */
static struct text format_scaled(uint64_t n, struct unit unit)
{
	struct text t;
	uint64_t hundredths = divide_rounded((unsigned __int128)n * 100, unit.size);
	uint64_t tenths = divide_rounded((unsigned __int128)n * 10, unit.size);

	if (hundredths < 1000 && hundredths % 10)
		snprintf(t.s, sizeof(t.s), "%" PRIu64 ".%02u %s", hundredths / 100,
			 (unsigned)(hundredths % 100), unit.name);
	else if (tenths < 1000 && tenths % 10)
		snprintf(t.s, sizeof(t.s), "%" PRIu64 ".%u %s", tenths / 10,
			 (unsigned)(tenths % 10), unit.name);
	else
		snprintf(t.s, sizeof(t.s), "%" PRIu64 " %s", divide_rounded(n, unit.size),
			 unit.name);
	return t;
}

/* Format n in the first unit in which it rounds to less than `limit`, or in the last one. */
static struct text format_in(uint64_t n, const struct unit *units, size_t count, uint64_t limit)
{
	size_t i = 0;

	while (i + 1 < count && divide_rounded(n, units[i].size) >= limit)
		i++;
	return format_scaled(n, units[i]);
}

struct text format_time(nsec_t ns)
{
	static const struct unit units[] = {
		{ "ns", 1 },
		{ "µs", NSEC_PER_USEC },
		{ "ms", NSEC_PER_MSEC },
		{ "s", NSEC_PER_SEC },
	};
	uint64_t seconds = divide_rounded(ns, NSEC_PER_SEC);
	uint64_t minutes = divide_rounded(ns, 60 * NSEC_PER_SEC);
	struct text t;

	if (seconds < 100)
		return format_in(ns, units, ARRAY_LEN(units), 1000);
	if (seconds < 3600)
		snprintf(t.s, sizeof(t.s), "%u min %02u s", (unsigned)(seconds / 60),
			 (unsigned)(seconds % 60));
	else
		snprintf(t.s, sizeof(t.s), "%" PRIu64 " h %02u min", minutes / 60,
			 (unsigned)(minutes % 60));
	return t;
}

struct text format_size(uint64_t bytes)
{
	static const struct unit units[] = {
		{ "B", 1 },
		{ "KiB", 1ull << 10 },
		{ "MiB", 1ull << 20 },
		{ "GiB", 1ull << 30 },
		{ "TiB", 1ull << 40 },
	};
	return format_in(bytes, units, ARRAY_LEN(units), 1024);
}

struct text format_count(uint64_t n)
{
	struct text t;
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);
	char *to = t.s;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return t;
}

struct text text_right(struct text t, size_t columns)
{
	size_t bytes = strlen(t.s), width = 0;
	struct text padded;

	for (const char *s = t.s; *s; s++)
		width += (*s & 0xc0) != 0x80; /* continuation bytes of UTF-8 have no width */

	size_t blanks = columns > width ? columns - width : 0;
	if (blanks > sizeof(padded.s) - 1 - bytes)
		blanks = sizeof(padded.s) - 1 - bytes;
	memset(padded.s, ' ', blanks);
	memcpy(padded.s + blanks, t.s, bytes + 1);
	return padded;
}
