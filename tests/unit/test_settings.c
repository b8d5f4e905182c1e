/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/control.h"
#include "test.h"

#define MESSAGE(s) ((struct view){ s, sizeof(s) })

static int read_message(struct view message, struct settings *ret)
{
	struct err err = { "" };

	return settings_read(message, ret, &err);
}

static double budget(const char *text)
{
	struct err err = { "" };
	double share = -1;

	return budget_parse(text, &share, &err) == 0 ? share : -1;
}

TEST(all_settings_of_a_message_are_read)
{
	struct settings s = { 0 };

	CHECK_INT(read_message(MESSAGE("threshold=5ms\0config=/a b\0x * p95\n\0budget=10%"), &s),
		  0);
	CHECK_STR(s.slow.standard, "5ms");
	CHECK_STR(s.slow.name, "/a b");
	CHECK(view_is(s.slow.rules, "x * p95\n"));
	CHECK(s.has_budget);
	CHECK(s.budget == 0.1);
}

TEST(a_setting_that_is_not_given_stays)
{
	struct settings s;

	CHECK_INT(read_message(MESSAGE("budget=none"), &s), 0);
	CHECK(!s.slow.standard);
	CHECK(!s.slow.name);
	CHECK(s.has_budget);
	CHECK(s.budget == 0);
}

TEST(rules_can_look_like_a_setting_or_be_empty)
{
	struct settings s;

	CHECK_INT(read_message(MESSAGE("config=f\0threshold=x\0threshold=1s"), &s), 0);
	CHECK(view_is(s.slow.rules, "threshold=x"));
	CHECK_STR(s.slow.standard, "1s");
	CHECK_INT(read_message(MESSAGE("config=f\0"), &s), 0);
	CHECK_INT(s.slow.rules.len, 0);
}

TEST(damaged_messages_are_refused)
{
	struct settings s = { .budget = 53 };

	CHECK_INT(read_message((struct view){ NULL, 0 }, &s), -EBADMSG);
	CHECK_INT(read_message((struct view){ "threshold=5ms", 13 }, &s), -EBADMSG);
	CHECK_INT(read_message(MESSAGE("config=f"), &s), -EINVAL);
	CHECK_INT(read_message(MESSAGE("threshold"), &s), -EINVAL);
	CHECK_INT(read_message(MESSAGE("thresholds=5ms"), &s), -EINVAL);
	CHECK_INT(read_message(MESSAGE(""), &s), -EINVAL);
	CHECK_INT(read_message(MESSAGE("threshold=5ms\0budget=x"), &s), -EINVAL);
	CHECK(s.budget == 53);
}

TEST(a_budget_is_a_share_of_a_cpu)
{
	CHECK(budget("5%") == 0.05);
	CHECK(budget("0.5%") == 0.005);
	CHECK(budget("250%") == 2.5);
	CHECK(budget("none") == 0);

	const char *bad[] = {
		"", "%", "5", "0%", "-1%", "nan%", "inf%", "1e9%", "5%%", "5 %", "x"
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK(budget(bad[i]) == -1);
}

TEST(a_written_message_can_be_read)
{
	char path[] = "/tmp/sonde-test-XXXXXX";
	int fd = mkstemp(path);
	_cleanup_(freep) char *config = must_printf("config=%s", path);
	struct pb_buffer message = { 0 };
	struct settings s = { 0 };
	struct err err = { "" };

	CHECK_INT(write(fd, "a * 5ms\n", 8), 8);
	CHECK_INT(settings_write("threshold=p99", &message, &err), 0);
	CHECK_INT(settings_write(config, &message, &err), 0);
	CHECK_INT(settings_read((struct view){ (char *)message.data, message.size }, &s, &err), 0);
	CHECK_STR(s.slow.standard, "p99");
	CHECK_STR(s.slow.name, path);
	CHECK(view_is(s.slow.rules, "a * 5ms\n"));

	_cleanup_(freep) char *text = settings_describe(&s), *want = NULL;

	want = must_printf("threshold p99, rules of '%s'", path);
	CHECK_STR(text, want);
	CHECK_INT(ftruncate(fd, CONTROL_REQUEST_MAX), 0);
	CHECK_INT(settings_write(config, &message, &err), -EFBIG);
	CHECK_INT(ftruncate(fd, 16), 0);
	CHECK_INT(settings_write(config, &message, &err), -EINVAL);
	CHECK_INT(settings_write("config=/nonexistent", &message, &err), -ENOENT);
	pb_buffer_done(&message);
	close(fd);
	unlink(path);
}
