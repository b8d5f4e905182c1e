/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text - parse and format times, sizes, counts and percentiles.
 *
 * Parsing uses integers only, so `0.1s` is exactly 100,000,000 ns, and a number
 * too large for its type is an error.  The whole string must be one number with
 * its unit.
 *
 * Formatting uses at most three significant digits, and the unit that leaves one
 * to three of them before the decimal point.  The result is returned by value, so
 * that one call can use several:
 *
 *	printf("%s in %s\n", format_size(bytes).s, format_time(ns).s);
 */
#ifndef SONDE_BASE_TEXT_H
#define SONDE_BASE_TEXT_H

#include "base/base.h"

struct text {
	char s[32];
};

/* These return 0, -EINVAL if the string is malformed, or -ERANGE if the number is too large. */

int parse_time(const char *s, nsec_t *ret);   /* 5, 5s, 1.5ms, 20us, 20µs, 7ns, 2m, 1h */
int parse_size(const char *s, uint64_t *ret); /* 4096, 64k, 1.5M, 1G, 64KiB: powers of 1024 */
int parse_count(const char *s, uint64_t max, uint64_t *ret); /* decimal digits only */
int parse_percentile(const char *s,
		     unsigned int *ret); /* p95, p99.9: in thousandths of a percent */

struct text format_time(nsec_t ns); /* 480 ns, 12 µs, 3.21 ms, 75.2 s, 2 min 05 s, 3 h 20 min */
struct text format_size(uint64_t bytes); /* 512 B, 12.4 MiB */
struct text format_count(uint64_t n);    /* 1,234,567 */

/* Right-align in a number of columns.  Unlike printf's %8s, it counts µ as one column. */
struct text text_right(struct text t, size_t columns);

#endif
