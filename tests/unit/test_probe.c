/* SPDX-License-Identifier: Apache-2.0 */
#include "record/kernel/probe.h"

#include <errno.h>
#include <unistd.h>

#include "test.h"

/* The description of this one is longer than a page, of which a read() gives no more. */
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

TEST(what_is_no_name_of_an_event_is_refused)
{
	static const char *const bad[] = { "",      "kmalloc",         ":kmalloc",
					   "kmem:", "kmem:../kmalloc", "../kmem:kmalloc" };
	struct probe type = { 0 };
	struct err err = { "" };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK_INT(probe_init(&type, bad[i], &err), -EINVAL);
}
