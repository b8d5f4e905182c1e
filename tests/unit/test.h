/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test - the whole test framework.
 *
 * TEST(name) { ... } defines and registers a test; CHECK(...) reports a failure
 * and continues; SKIP("why") ends a test that cannot run here; main() runs all
 * tests in the order of the file, and prints TAP for meson.
 */
#ifndef SONDE_TESTS_TEST_H
#define SONDE_TESTS_TEST_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

extern int test_failures;        /* in the running test */
extern const char *test_skipped; /* reason, or NULL */

void test_add(struct test *t);

#define TEST(id) \
	static void test_##id(void); \
	__attribute__((constructor)) static void test_##id##_add(void) \
	{ \
		static struct test t = { #id, test_##id, NULL }; \
		test_add(&t); \
	} \
	static void test_##id(void)

#define SKIP(why) \
	do { \
		test_skipped = (why); \
		return; \
	} while (0)

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			test_failures++; \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond); \
		} \
	} while (0)

#define CHECK_INT(got, want) \
	do { \
		intmax_t g_ = (got), w_ = (want); \
		if (g_ != w_) { \
			test_failures++; \
			printf("# %s:%d: %s is %jd, want %jd\n", __FILE__, __LINE__, #got, g_, \
			       w_); \
		} \
	} while (0)

#define CHECK_STR(got, want) \
	do { \
		const char *g_ = (got), *w_ = (want); \
		if (strcmp(g_, w_) != 0) { \
			test_failures++; \
			printf("# %s:%d: %s is \"%s\", want \"%s\"\n", __FILE__, __LINE__, #got, \
			       g_, w_); \
		} \
	} while (0)

#endif
