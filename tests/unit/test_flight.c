/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the flight recorder: which requests are slow, when to write, and how files are
 * named. */
#include <string.h>

#include "flight/capture_name.h"
#include "flight/long_polls.h"
#include "flight/schedule.h"
#include "flight/threshold.h"
#include "test.h"

#define MS NSEC_PER_MSEC
#define SEC NSEC_PER_SEC

static struct threshold *threshold(const char *text)
{
	struct threshold *t = NULL;
	struct err err = { "" };

	CHECK_INT(threshold_new(text, &t, &err), 0);
	return t;
}

TEST(a_time_is_exceeded_only_by_longer_requests)
{
	_cleanup_(threshold_freep) struct threshold *t = threshold("500ms");
	nsec_t limit;

	CHECK(!threshold_exceeded(t, 1, 500 * MS, &limit));
	CHECK(threshold_exceeded(t, 1, 500 * MS + 1, &limit));
	CHECK_INT(limit, 500 * MS);
	CHECK_INT(threshold_needs(t), 0);
}

TEST(malformed_thresholds_are_refused)
{
	static const char *const texts[] = { "", "0", "p", "p100", "p0", "fast", "-1s", "p99.9x" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct threshold *t = NULL;
		struct err err = { "" };

		CHECK(threshold_new(texts[i], &t, &err) < 0);
		CHECK(strstr(err.text, "--when"));
	}
}

TEST(a_percentile_needs_ten_requests_above_it)
{
	_cleanup_(threshold_freep) struct threshold *p99 = threshold("p99");
	_cleanup_(threshold_freep) struct threshold *p999 = threshold("p99.9");
	nsec_t limit;

	CHECK_INT(threshold_needs(p99), 1000);
	CHECK_INT(threshold_needs(p999), 10000);
	for (size_t i = 0; i < 999; i++)
		CHECK(!threshold_exceeded(p99, 1, MS, &limit));
	CHECK(!threshold_exceeded(p99, 1, 100 * SEC, &limit)); /* the 1000th */
	CHECK(threshold_exceeded(p99, 1, 2 * MS, &limit));
	CHECK(!threshold_exceeded(p99, 2, 2 * MS, &limit)); /* another entry */
}

TEST(a_percentile_is_exact_to_three_percent)
{
	_cleanup_(threshold_freep) struct threshold *t = threshold("p99");
	nsec_t limit = 0;

	for (size_t round = 0; round < 3; round++)
		for (size_t i = 1; i <= 1000; i++)
			threshold_exceeded(t, 1, i * MS, &limit);
	CHECK(limit >= 990 * MS * 97 / 100);
	CHECK(limit <= 990 * MS * 104 / 100);
}

TEST(a_percentile_follows_a_service_that_becomes_slow_for_good)
{
	_cleanup_(threshold_freep) struct threshold *t = threshold("p90");
	nsec_t limit;

	for (size_t i = 0; i < 10000; i++)
		threshold_exceeded(t, 1, MS, &limit);
	CHECK(threshold_exceeded(t, 1, 10 * MS, &limit));
	for (size_t i = 0; i < 10000; i++)
		threshold_exceeded(t, 1, 10 * MS, &limit);
	CHECK(!threshold_exceeded(t, 1, 10 * MS, &limit));
}

TEST(any_latency_has_a_bucket)
{
	_cleanup_(threshold_freep) struct threshold *t = threshold("p50");
	nsec_t limit;

	for (size_t i = 0; i < 1000; i++)
		threshold_exceeded(t, 1, i % 2 ? 0 : UINT64_MAX, &limit);
	for (unsigned int bit = 0; bit < 64; bit++)
		threshold_exceeded(t, 1, 1ull << bit, &limit);
}

TEST(entries_are_bounded)
{
	_cleanup_(threshold_freep) struct threshold *t = threshold("p50");
	nsec_t limit;

	for (size_t i = 0; i < 1000; i++)
		threshold_exceeded(t, 1, MS, &limit);
	for (uint64_t entry = 2; entry < 10000; entry++)
		threshold_exceeded(t, entry, MS, &limit);
	CHECK(threshold_exceeded(t, 1, 2 * MS, &limit)); /* the one with most requests stays */
}

static struct slow_request request(nsec_t start, nsec_t end)
{
	return (struct slow_request){ .start = start, .end = end };
}

static void add(struct schedule *s, nsec_t start, nsec_t end, nsec_t from)
{
	struct slow_request r = request(start, end);

	schedule_add(s, &r, from);
}

TEST(a_capture_is_due_when_the_tail_of_a_request_is_held)
{
	_cleanup_(schedule_done) struct schedule s = { .every = 60 * SEC };

	add(&s, 10 * SEC, 11 * SEC, 0);
	CHECK(!schedule_is_due(&s, 11 * SEC + SCHEDULE_TAIL - 1));
	CHECK(schedule_is_due(&s, 11 * SEC + SCHEDULE_TAIL));
}

TEST(requests_close_together_share_a_capture)
{
	_cleanup_(schedule_done) struct schedule s = { .every = 0 };
	slow_requests taken = { 0 };

	add(&s, 10 * SEC, 11 * SEC, 0);
	add(&s, 10 * SEC, 11 * SEC + 100 * MS, 0);
	add(&s, 12 * SEC, 13 * SEC, 0);
	schedule_take(&s, 12 * SEC, false, &taken);
	CHECK_INT(taken.count, 2);
	CHECK_INT(s.waiting.count, 1);
	CHECK(!schedule_is_due(&s, 13 * SEC));
	CHECK(schedule_is_due(&s, 13 * SEC + SCHEDULE_TAIL)); /* the third has its own */
	vec_done(&taken);
}

TEST(a_request_waits_until_the_next_capture_is_allowed)
{
	_cleanup_(schedule_done) struct schedule s = { .every = 5 * SEC };
	slow_requests taken = { 0 };

	add(&s, 10 * SEC, 11 * SEC, 0);
	schedule_take(&s, 12 * SEC, false, &taken);
	add(&s, 12 * SEC, 13 * SEC, 0);
	CHECK(!schedule_is_due(&s, 17 * SEC - 1));
	CHECK(schedule_is_due(&s, 17 * SEC));
	vec_done(&taken);
}

TEST(a_request_is_missed_if_its_start_is_dropped)
{
	_cleanup_(schedule_done) struct schedule s = { .every = 60 * SEC };

	add(&s, 10 * SEC, 11 * SEC, 5 * SEC);
	schedule_forget(&s, 10 * SEC);
	CHECK_INT(s.waiting.count, 1);
	schedule_forget(&s, 10 * SEC + 1);
	CHECK_INT(s.waiting.count, 0);
	CHECK_INT(s.missed, 1);
	CHECK(!schedule_is_due(&s, 100 * SEC));
}

TEST(a_request_longer_than_what_is_held_is_partial)
{
	_cleanup_(schedule_done) struct schedule s = { .every = 0 };
	slow_requests taken = { 0 };

	add(&s, 10 * SEC, 60 * SEC, 30 * SEC);
	schedule_forget(&s, 31 * SEC);
	schedule_take(&s, 61 * SEC, false, &taken);
	CHECK_INT(taken.count, 1);
	CHECK(taken.items[0].is_partial);
	CHECK_INT(s.missed, 0);
	vec_done(&taken);
}

TEST(waiting_requests_are_bounded)
{
	_cleanup_(schedule_done) struct schedule s = { .every = 0 };

	for (size_t i = 0; i < SCHEDULE_WAITING_MAX + 7; i++)
		add(&s, 10 * SEC, 11 * SEC, 0);
	CHECK_INT(s.waiting.count, SCHEDULE_WAITING_MAX);
	CHECK_INT(s.missed, 7);
}

TEST(a_capture_is_named_after_its_request)
{
	struct slow_request r = {
		.start = 5 * SEC + 123 * MS,
		.end = 5 * SEC + 535 * MS,
		.trace = { 0x5b, 0xe1, 0xf0, 0xa3, 0xff },
		.service = "nginx",
		.entry = "127.0.0.1:8080",
	};
	struct capture_name name = capture_name_of_request(&r, 1794832200 * SEC);

	CHECK_STR(name.s, "2026-11-16T12-30-05.123Z-nginx-8080-412ms-5be1f0a3.sonde");
	CHECK(capture_name_is_safe(name.s));
	name = capture_name_of_snap(r.start, 1794832200 * SEC);
	CHECK_STR(name.s, "2026-11-16T12-30-05.123Z-snap.sonde");
	CHECK(capture_name_is_safe(name.s));
}

TEST(hostile_names_of_services_become_safe)
{
	static const char *const names[] = {
		"",
		"..",
		"../../etc/passwd",
		"-rf",
		"a b;rm -rf $HOME\n",
		".hidden",
		"///",
		"\xff",
		"GET /x?y=`id`",
		"\033[2Jevil",
		"a:0123456789012345678901234567890",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct slow_request r = { .start = 0, .end = UINT64_MAX };

		snprintf(r.service, sizeof(r.service), "%s", names[i]);
		snprintf(r.entry, sizeof(r.entry), "%s", names[i]);
		struct capture_name name = capture_name_of_request(&r, -1 - (int64_t)i);

		CHECK(capture_name_is_safe(name.s));
		CHECK(!strstr(name.s, ".."));
	}
}

TEST(unsafe_file_names_are_recognised)
{
	static const char *const names[] = { "",         ".sonde",    "x",         "a/b.sonde",
					     ".x.sonde", "a b.sonde", "a\n.sonde", "../x.sonde" };
	char longest[400] = "";

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		CHECK(!capture_name_is_safe(names[i]));
	memset(longest, 'a', sizeof(longest) - 7);
	strcat(longest, ".sonde");
	CHECK(!capture_name_is_safe(longest));
}

TEST(an_entry_with_idle_requests_only_has_no_slow_ones)
{
	_cleanup_(long_polls_done) struct long_polls l = { 0 };

	for (size_t i = 0; i < 100; i++)
		CHECK(!long_polls_count(&l, 1, true, true));
}

TEST(an_idle_request_among_others_is_slow)
{
	_cleanup_(long_polls_done) struct long_polls l = { 0 };

	for (size_t i = 0; i < 100; i++)
		CHECK(!long_polls_count(&l, 1, false, false));
	CHECK(long_polls_count(&l, 1, true, true));
	CHECK(long_polls_count(&l, 2, true, false)); /* the first one of another entry */
}
