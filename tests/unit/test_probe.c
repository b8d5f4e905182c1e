/* SPDX-License-Identifier: Apache-2.0 */
#include "record/kernel/probe.h"

#include <errno.h>
#include <unistd.h>

#include "test.h"

/* This description is longer than a page, which is the most that one read() returns. */
TEST(a_long_description_is_read_to_its_end)
{
	struct probe type = { 0 };
	struct err err = { "" };

	if (geteuid() != 0)
		SKIP("only root can read tracefs");
	CHECK_INT(probe_prepare(&err), 0);
	CHECK_INT(probe_init(&type, "kmem:kmalloc", &err), 0);
	CHECK_STR(err.text, "");
	if (test_failures)
		return;
	CHECK_STR(type.category, "kmem");
	CHECK_STR(type.name, "kmalloc");
	CHECK(strstr(type.format, "\nprint fmt: "));
	CHECK_INT(type.format[strlen(type.format) - 1], '\n');
	probe_done(&type);
}

TEST(a_malformed_event_name_is_an_error)
{
	static const char *const bad[] = { "",      "kmalloc",         ":kmalloc",
					   "kmem:", "kmem:../kmalloc", "../kmem:kmalloc" };
	struct probe type = { 0 };
	struct err err = { "" };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK_INT(probe_init(&type, bad[i], &err), -EINVAL);
}
