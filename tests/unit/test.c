/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

int test_failures;
const char *test_skipped;

static struct test *first, **last = &first;

void test_add(struct test *t)
{
	*last = t;
	last = &t->next;
}

int main(void)
{
	int n = 0, failed = 0;

	setlinebuf(stdout); /* a forked child must not inherit buffered output */
	for (struct test *t = first; t; t = t->next) {
		test_failures = 0;
		test_skipped = NULL;
		t->run();
		printf("%sok %d - %s%s%s\n", test_failures ? "not " : "", ++n, t->name,
		       test_skipped ? " # SKIP " : "", test_skipped ? test_skipped : "");
		failed += test_failures > 0;
	}
	printf("1..%d\n", n);
	return failed > 0;
}
