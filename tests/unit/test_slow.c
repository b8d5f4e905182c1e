/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/slow.h"

#include <errno.h>
#include <fcntl.h>

#include "relay/slow_rules.h"
#include "test.h"

#define MS NSEC_PER_MSEC

static struct view view_of(const char *s)
{
	return (struct view){ s, strlen(s) };
}

static struct slow *slow_of(const char *standard, const char *rules)
{
	struct slow *slow = NULL;
	struct err err = { "" };

	CHECK_INT(slow_new(standard, &slow, &err), 0);
	CHECK_INT(slow_set_rules(slow, "rules", view_of(rules), &err), 0);
	CHECK_STR(err.text, "");
	return slow;
}

static bool is_slow(struct slow *slow, const char *service, const char *operation, nsec_t duration)
{
	nsec_t limit;

	return slow_exceeded(slow, view_of(service), view_of(operation), duration, &limit);
}

/* The limit of an operation. */
static nsec_t limit_of(struct slow *slow, const char *service, const char *operation)
{
	nsec_t limit = 1;

	slow_exceeded(slow, view_of(service), view_of(operation), 0, &limit);
	return limit;
}

TEST(a_time_is_exceeded_by_longer_spans)
{
	_cleanup_(slow_freep) struct slow *slow = slow_of("5ms", "");

	CHECK(!is_slow(slow, "a", "b", 5 * MS));
	CHECK(is_slow(slow, "a", "b", 5 * MS + 1));
	CHECK_INT(limit_of(slow, "a", "b"), 5 * MS);
}

TEST(all_spans_or_none_can_be_slow)
{
	_cleanup_(slow_freep) struct slow *slow = slow_of("all", "front * none");

	CHECK(is_slow(slow, "a", "b", 0));
	CHECK(!is_slow(slow, "front", "b", UINT64_MAX));
	CHECK_INT(limit_of(slow, "a", "b"), 0);
}

TEST(a_percentile_is_that_of_the_operation)
{
	_cleanup_(slow_freep) struct slow *slow = slow_of("p95", "");

	for (int i = 0; i < 200; i++) {
		CHECK(!is_slow(slow, "a", "fast", MS));
		CHECK(!is_slow(slow, "a", "long", 100 * MS));
	}
	CHECK(is_slow(slow, "a", "fast", 2 * MS));
	CHECK(!is_slow(slow, "a", "long", 2 * MS));
	CHECK(is_slow(slow, "a", "long", 200 * MS));
	CHECK(!is_slow(slow, "b", "fast", 2 * MS)); /* another service */
}

TEST(the_first_rule_that_matches_decides)
{
	_cleanup_(slow_freep) struct slow *slow = slow_of("5ms", "# comment\n"
								 "\n"
								 "front \"GET /a b\" 1ms # why\n"
								 "front\t'GET /*'  2ms\r\n"
								 "  pay-? * 3ms\n"
								 "* '' 6ms\n"
								 "[xy]z * 4ms");

	CHECK_INT(limit_of(slow, "front", "GET /a b"), MS);
	CHECK_INT(limit_of(slow, "front", "GET /c/d"), 2 * MS);
	CHECK_INT(limit_of(slow, "pay-1", "x"), 3 * MS);
	CHECK_INT(limit_of(slow, "pay-12", "x"), 5 * MS);
	CHECK_INT(limit_of(slow, "yz", "x"), 4 * MS);
	CHECK_INT(limit_of(slow, "other", ""), 6 * MS);
	CHECK_INT(limit_of(slow, "", "GET /a b"), 5 * MS);
}

TEST(malformed_rules_are_refused_with_their_line)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "a b",
		  "'f', line 1: expected SERVICE OPERATION THRESHOLD; quote names with blanks" },
		{ "\n\na",
		  "'f', line 3: expected SERVICE OPERATION THRESHOLD; quote names with blanks" },
		{ "a b 1ms c",
		  "'f', line 1: expected SERVICE OPERATION THRESHOLD; quote names with blanks" },
		{ "a b 1ms\na 'b 1ms", "'f', line 2: a quote is not closed" },
		{ "a 'b'c 1ms", "'f', line 1: expected a blank after a quote" },
		{ "a b p100",
		  "'f', line 1: a threshold is a time such as 5ms, a percentile such as "
		  "p95, 'all' or 'none'" },
		{ "a b 0ms", "'f', line 1: a threshold is a time such as 5ms, a percentile such as "
			     "p95, 'all' or 'none'" },
	};
	_cleanup_(slow_freep) struct slow *slow = slow_of("5ms", "a b 7ms");

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { "" };

		CHECK_INT(slow_set_rules(slow, "f", view_of(cases[i].text), &err), -EINVAL);
		CHECK_STR(err.text, cases[i].want);
		CHECK_INT(limit_of(slow, "a", "b"), 7 * MS); /* the old rules stay */
	}
}

TEST(words_and_rules_are_bounded)
{
	_cleanup_(slow_freep) struct slow *slow = slow_of("5ms", "");
	_cleanup_(freep) char *words = must_alloc(400), *rules = must_alloc(20000);
	char *end = rules;
	struct err err = { "" };

	memset(words, 'x', 256);
	strcpy(words + 256, " * 1ms");
	CHECK_INT(slow_set_rules(slow, "f", view_of(words), &err), -EINVAL);
	CHECK_STR(err.text, "'f', line 1: a word is longer than 255 bytes");
	CHECK_INT(slow_set_rules(slow, "f", view_of(words + 1), &err), 0);
	CHECK_INT(slow_set_rules(slow, "f", (struct view){ "a\0b * 1s", 8 }, &err), -EINVAL);
	CHECK_STR(err.text, "'f', line 1: a word contains a NUL");
	for (int i = 0; i < SLOW_RULES_MAX; i++)
		end = stpcpy(end, "* * 1s\n");
	CHECK_INT(slow_set_rules(slow, "f", view_of(rules), &err), 0);
	stpcpy(end, "* * 1s\n");
	CHECK_INT(slow_set_rules(slow, "f", view_of(rules), &err), -EINVAL);
	CHECK_STR(err.text, "'f', line 1001: more than 1000 rules");
}

TEST(different_percentiles_are_bounded)
{
	_cleanup_(slow_freep) struct slow *slow = slow_of("p95", "");
	char rules[400], *end = rules;
	struct err err = { "" };

	for (int i = 1; i < SLOW_PERCENTILES_MAX; i++)
		end += sprintf(end, "s%d * p%d\n* s%d p%d\n", i, i, i, i);
	CHECK_INT(slow_set_rules(slow, "f", view_of(rules), &err), 0);
	strcpy(end, "x x p99.9");
	CHECK_INT(slow_set_rules(slow, "f", view_of(rules), &err), -EINVAL);
	CHECK_STR(err.text, "'f': more than 16 different percentiles");
	CHECK_INT(limit_of(slow, "s1", "x"), 0);
}

TEST(new_rules_replace_the_old_ones_and_keep_percentiles)
{
	_cleanup_(slow_freep) struct slow *slow = slow_of("p50", "a * 1ms");
	struct err err = { "" };

	for (int i = 0; i < 100; i++)
		is_slow(slow, "b", "x", MS);
	CHECK_INT(limit_of(slow, "a", "x"), MS);
	CHECK_INT(slow_set_rules(slow, "f", view_of("a * 2ms\nc * p90"), &err), 0);
	CHECK_INT(limit_of(slow, "a", "x"), 2 * MS);
	CHECK(limit_of(slow, "b", "x") >= MS);
}

TEST(rules_are_loaded_from_a_file)
{
	_cleanup_(slow_freep) struct slow *slow = slow_of("5ms", "");
	char path[] = "/tmp/test-slow-XXXXXX";
	_cleanup_(closep) int fd = mkstemp(path);
	struct err err = { "" };

	CHECK_INT(write(fd, "a * 9ms\n", 8), 8);
	CHECK_INT(slow_load(slow, path, &err), 0);
	CHECK_INT(limit_of(slow, "a", "x"), 9 * MS);
	CHECK_INT(write(fd, "wrong\n", 6), 6);
	CHECK_INT(slow_load(slow, path, &err), -EINVAL);
	CHECK(strstr(err.text, "line 2: ") && strstr(err.text, path));
	unlink(path);
	CHECK_INT(slow_load(slow, path, &err), -ENOENT);
	CHECK_INT(limit_of(slow, "a", "x"), 9 * MS);
}

TEST(a_malformed_default_is_refused)
{
	struct slow *slow = NULL;
	struct err err = { "" };

	CHECK_INT(slow_new("fast", &slow, &err), -EINVAL);
	CHECK_STR(err.text, "a threshold is a time such as 5ms, a percentile such as p95, 'all' or "
			    "'none', not 'fast'");
}

/* Names are distinguished beyond the part that patterns are compared with. */
TEST(long_and_unusual_names_are_accepted)
{
	_cleanup_(slow_freep) struct slow *slow = slow_of("p50", "long* * 1ms\n*\\** * 2ms");
	_cleanup_(freep) char *name = must_alloc(100001);
	nsec_t limit;

	memset(name, 'a', 100000);
	CHECK_INT(limit_of(slow, name, name), 0);
	memcpy(name, "long", 4);
	CHECK_INT(limit_of(slow, name, name), MS);
	CHECK_INT(limit_of(slow, "x*y", "z"), 2 * MS);
	CHECK(!slow_exceeded(slow, (struct view){ 0 }, (struct view){ "\0\xff", 2 }, 1, &limit));
}

TEST(many_names_do_not_displace_an_operation_in_use)
{
	_cleanup_(slow_freep) struct slow *slow = slow_of("p50", "");
	char name[16];

	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		is_slow(slow, name, name, MS);
		is_slow(slow, "a", "b", MS);
	}
	CHECK(is_slow(slow, "a", "b", 2 * MS));
}

TEST(a_change_applies_as_a_whole_or_not_at_all)
{
	_cleanup_(slow_freep) struct slow *slow = slow_of("5ms", "a * 10ms");
	struct err err = { "" };

	CHECK_INT(slow_change(slow, &(struct slow_change){ "1ms", "f", view_of("a * soon") }, &err),
		  -EINVAL);
	CHECK_INT(slow_change(slow, &(struct slow_change){ "soon", "f", view_of("a * 1ms") }, &err),
		  -EINVAL);
	CHECK_INT(limit_of(slow, "a", "x"), 10 * MS);
	CHECK_INT(limit_of(slow, "b", "x"), 5 * MS);
	CHECK_INT(slow_change(slow, &(struct slow_change){ .standard = "1ms" }, &err), 0);
	CHECK_INT(limit_of(slow, "a", "x"), 10 * MS);
	CHECK_INT(limit_of(slow, "b", "x"), 1 * MS);
	CHECK_INT(slow_change(slow, &(struct slow_change){ "2ms", "f", view_of("b * 3ms") }, &err),
		  0);
	CHECK_INT(limit_of(slow, "a", "x"), 2 * MS);
	CHECK_INT(limit_of(slow, "b", "x"), 3 * MS);
}
