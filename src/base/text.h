/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text - times, sizes and counts, as people write and read them.
 *
 * Reading: all arithmetic is in integers, so that `0.1s` is 100,000,000 ns and
 * not something near it, and a number too large for its type is refused rather
 * than wrapped.  The whole string must be a number, with nothing before or
 * behind it.
 *
 * Writing: at most three significant digits, because a fourth is noise to a
 * reader, and the unit that leaves one to three of them before the point.  The
 * result comes by value, so that several may stand in one call:
 *
 *	printf("%s in %s\n", format_size(bytes).s, format_time(ns).s);
 */
#ifndef SONDE_BASE_TEXT_H
#define SONDE_BASE_TEXT_H

#include "base/base.h"

struct text {
	char s[32];
};

/* These return 0, -EINVAL if s is not of the kind, or -ERANGE if it does not fit. */

int parse_time(const char *s, nsec_t *ret);   /* 5, 5s, 1.5ms, 20us, 20µs, 7ns, 2m, 1h */
int parse_size(const char *s, uint64_t *ret); /* 4096, 64k, 1.5M, 1G, 64KiB: powers of 1024 */
int parse_count(const char *s, uint64_t max, uint64_t *ret); /* decimal digits only */

struct text format_time(nsec_t ns); /* 480 ns, 12 µs, 3.21 ms, 75.2 s, 2 min 05 s, 3 h 20 min */
struct text format_size(uint64_t bytes); /* 512 B, 12.4 MiB */
struct text format_count(uint64_t n);    /* 1,234,567 */

/* The same with blanks before it, up to that many columns; µ counts as one, which %8s gets wrong.
 */
struct text text_right(struct text t, size_t columns);

#endif
