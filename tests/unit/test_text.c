/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/text.h"
#include "test.h"

static nsec_t time_of(const char *s)
{
	nsec_t t = 0;

	CHECK_INT(parse_time(s, &t), 0);
	return t;
}

static uint64_t size_of(const char *s)
{
	uint64_t n = 0;

	CHECK_INT(parse_size(s, &n), 0);
	return n;
}

TEST(a_time_is_read_in_any_unit)
{
	CHECK_INT(time_of("5"), 5000000000);
	CHECK_INT(time_of("5s"), 5000000000);
	CHECK_INT(time_of("250ms"), 250000000);
	CHECK_INT(time_of("20us"), 20000);
	CHECK_INT(time_of("20µs"), 20000);
	CHECK_INT(time_of("7ns"), 7);
	CHECK_INT(time_of("2m"), 120000000000);
	CHECK_INT(time_of("2min"), 120000000000);
	CHECK_INT(time_of("1h"), 3600000000000);
}

TEST(a_fraction_of_a_time_is_exact)
{
	CHECK_INT(time_of("0.1"), 100000000);
	CHECK_INT(time_of("1.5ms"), 1500000);
	CHECK_INT(time_of("0.000000001s"), 1);
	CHECK_INT(time_of("0.3h"), 1080000000000);
	CHECK_INT(time_of("1.0000000019999999999999999999"), 1000000001);
}

TEST(a_malformed_time_is_an_error)
{
	static const char *const wrong[] = { "",    " ",  "s",    "-5",  "+5", ".5",  "5.",
					     "5 s", "5S", "5sec", "5s ", " 5", "0x5", "1e3" };
	nsec_t t = 42;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		CHECK_INT(parse_time(wrong[i], &t), -EINVAL);
	CHECK_INT(t, 42);
}

TEST(a_time_or_size_out_of_range_is_an_error)
{
	uint64_t n = 42;

	CHECK_INT(parse_time("18446744073", &n), 0);
	CHECK_INT(parse_time("18446744074", &n), -ERANGE);
	CHECK_INT(parse_time("18446744073.709551616s", &n), -ERANGE);
	CHECK_INT(parse_time("99999999999999999999ns", &n), -ERANGE);
	CHECK_INT(parse_size("16777216T", &n), -ERANGE);
	CHECK_INT(parse_size("18446744073709551616", &n), -ERANGE);
	CHECK_INT(n, 18446744073000000000ull);
}

TEST(a_size_is_in_powers_of_1024)
{
	CHECK_INT(size_of("4096"), 4096);
	CHECK_INT(size_of("4096B"), 4096);
	CHECK_INT(size_of("64k"), 65536);
	CHECK_INT(size_of("64K"), 65536);
	CHECK_INT(size_of("64KiB"), 65536);
	CHECK_INT(size_of("64KB"), 65536);
	CHECK_INT(size_of("1.5M"), 1572864);
	CHECK_INT(size_of("2G"), 2147483648);
	CHECK_INT(size_of("1T"), 1099511627776);
}

TEST(a_malformed_size_is_an_error)
{
	static const char *const wrong[] = { "", "k", "-1", "5x", "5kk", "5ki", "5iB", "5 k", "@" };
	uint64_t n;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		CHECK_INT(parse_size(wrong[i], &n), -EINVAL);
}

TEST(a_count_is_decimal_digits_up_to_its_limit)
{
	uint64_t n = 0;

	CHECK_INT(parse_count("65535", 65535, &n), 0);
	CHECK_INT(n, 65535);
	CHECK_INT(parse_count("65536", 65535, &n), -ERANGE);
	CHECK_INT(parse_count("8.0", 65535, &n), -EINVAL);
	CHECK_INT(parse_count("8k", 65535, &n), -EINVAL);
	CHECK_INT(parse_count("", 65535, &n), -EINVAL);
	CHECK_INT(n, 65535);
}

TEST(a_duration_has_three_digits_and_a_suitable_unit)
{
	CHECK_STR(format_time(0).s, "0 ns");
	CHECK_STR(format_time(999).s, "999 ns");
	CHECK_STR(format_time(1000).s, "1 µs");
	CHECK_STR(format_time(12000).s, "12 µs");
	CHECK_STR(format_time(12049).s, "12 µs");
	CHECK_STR(format_time(12051).s, "12.1 µs");
	CHECK_STR(format_time(3214000).s, "3.21 ms");
	CHECK_STR(format_time(3004000).s, "3 ms");
	CHECK_STR(format_time(3100000).s, "3.1 ms");
	CHECK_STR(format_time(197400000).s, "197 ms");
	CHECK_STR(format_time(75200000000).s, "75.2 s");
}

TEST(rounding_up_can_change_the_unit)
{
	CHECK_STR(format_time(9995).s, "10 µs");
	CHECK_STR(format_time(999499).s, "999 µs");
	CHECK_STR(format_time(999500).s, "1 ms");
	CHECK_STR(format_time(999999999).s, "1 s");
	CHECK_STR(format_time(3599600000000).s, "1 h 00 min");
	CHECK_STR(format_size(1048575).s, "1 MiB");
}

TEST(long_durations_are_in_minutes_and_hours)
{
	CHECK_STR(format_time(125 * NSEC_PER_SEC).s, "2 min 05 s");
	CHECK_STR(format_time(12000 * NSEC_PER_SEC).s, "3 h 20 min");
	CHECK_STR(format_time(UINT64_MAX).s, "5124095 h 35 min");
}

TEST(a_size_is_written_with_its_binary_unit)
{
	CHECK_STR(format_size(0).s, "0 B");
	CHECK_STR(format_size(1023).s, "1023 B");
	CHECK_STR(format_size(1536).s, "1.5 KiB");
	CHECK_STR(format_size(13002342).s, "12.4 MiB");
	CHECK_STR(format_size(UINT64_MAX).s, "16777216 TiB");
}

TEST(a_count_has_a_comma_every_three_digits)
{
	CHECK_STR(format_count(0).s, "0");
	CHECK_STR(format_count(999).s, "999");
	CHECK_STR(format_count(1000).s, "1,000");
	CHECK_STR(format_count(1234567).s, "1,234,567");
	CHECK_STR(format_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
}

TEST(a_multibyte_character_is_one_column)
{
	CHECK_STR(text_right(format_time(12000), 8).s, "   12 µs");
	CHECK_STR(text_right(format_time(12000000), 8).s, "   12 ms");
	CHECK_STR(text_right(format_time(12000), 2).s, "12 µs");
	CHECK_INT(strlen(text_right(format_time(12000), 99).s), sizeof(struct text) - 1);
}

TEST(a_percentile_has_up_to_three_decimals)
{
	static const char *const wrong[] = { "",    "p",   "95",   "p0",       "p100",
					     "p9.", "p.5", "p95x", "p99.9999", "p-1" };
	unsigned int percentile = 7;

	CHECK_INT(parse_percentile("p95", &percentile), 0);
	CHECK_INT(percentile, 95000);
	CHECK_INT(parse_percentile("p99.9", &percentile), 0);
	CHECK_INT(percentile, 99900);
	CHECK_INT(parse_percentile("p0.001", &percentile), 0);
	CHECK_INT(percentile, 1);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		CHECK_INT(parse_percentile(wrong[i], &percentile), -EINVAL);
	CHECK_INT(percentile, 1);
}
