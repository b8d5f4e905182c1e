/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/scope_quota.h"

#include "test.h"

enum { ALICE = 1000, BOB = 1001 };

#define START (100 * NSEC_PER_SEC)

static size_t examine_many(struct scope_quota *q, uint32_t user, size_t count, nsec_t now)
{
	size_t accepted = 0;

	for (size_t i = 0; i < count; i++)
		accepted += scope_quota_examine(q, user, now);
	return accepted;
}

static size_t enter_many(struct scope_quota *q, uint32_t user, uint32_t first, size_t count)
{
	size_t accepted = 0;

	for (size_t i = 0; i < count; i++)
		accepted += scope_quota_enter(q, first + i, user);
	return accepted;
}

TEST(a_user_has_a_burst_and_a_rate_of_examinations)
{
	_cleanup_(scope_quota_done) struct scope_quota q = { 0 };

	CHECK_INT(examine_many(&q, ALICE, 1000, START), SCOPE_QUOTA_BURST);
	CHECK_INT(examine_many(&q, ALICE, 1000, START + NSEC_PER_SEC), SCOPE_QUOTA_RATE);
	CHECK_INT(examine_many(&q, ALICE, 1000, START + 100 * NSEC_PER_SEC), SCOPE_QUOTA_BURST);
}

TEST(users_do_not_take_from_each_other)
{
	_cleanup_(scope_quota_done) struct scope_quota q = { 0 };

	CHECK_INT(examine_many(&q, ALICE, 1000, START), SCOPE_QUOTA_BURST);
	CHECK_INT(enter_many(&q, ALICE, 1, 1000), SCOPE_QUOTA_USER);
	CHECK_INT(examine_many(&q, BOB, 1000, START), SCOPE_QUOTA_BURST);
	CHECK_INT(enter_many(&q, BOB, 2000, 1000), SCOPE_QUOTA_USER);
	CHECK_INT(examine_many(&q, 0, 1000, START), 1000);
	CHECK_INT(enter_many(&q, 0, 4000, 1000), 1000);
}

TEST(the_host_has_a_limit_for_all)
{
	_cleanup_(scope_quota_done) struct scope_quota q = { 0 };

	CHECK_INT(enter_many(&q, 0, 1, 10000), SCOPE_QUOTA_TOTAL);
	CHECK(!scope_quota_enter(&q, 20000, ALICE));
	scope_quota_leave(&q, 77);
	CHECK(scope_quota_enter(&q, 20000, ALICE));
}

TEST(a_process_that_ends_makes_room)
{
	_cleanup_(scope_quota_done) struct scope_quota q = { 0 };

	CHECK_INT(enter_many(&q, ALICE, 1, 1000), SCOPE_QUOTA_USER);
	scope_quota_leave(&q, 1);
	scope_quota_leave(&q, 1);
	scope_quota_leave(&q, 999999); /* never entered */
	CHECK_INT(enter_many(&q, ALICE, 5000, 10), 1);
}

TEST(a_reused_pid_counts_once)
{
	_cleanup_(scope_quota_done) struct scope_quota q = { 0 };

	for (int i = 0; i < 1000; i++)
		CHECK(scope_quota_enter(&q, 7, ALICE));
	CHECK(scope_quota_enter(&q, 7, BOB));
	CHECK_INT(enter_many(&q, ALICE, 10, 1000), SCOPE_QUOTA_USER);
}

static bool is_odd(void *arg, uint32_t pid)
{
	(void)arg;
	return pid % 2;
}

TEST(a_sweep_removes_processes_that_are_gone_and_idle_users)
{
	_cleanup_(scope_quota_done) struct scope_quota q = { 0 };

	CHECK_INT(enter_many(&q, ALICE, 1, 1000), SCOPE_QUOTA_USER);
	CHECK_INT(enter_many(&q, BOB, 1001, 1), 1);
	scope_quota_examine(&q, ALICE, START);
	scope_quota_examine(&q, BOB, START + NSEC_PER_SEC);
	scope_quota_sweep(&q, START + NSEC_PER_SEC, is_odd, NULL);
	CHECK_INT(q.processes.count, SCOPE_QUOTA_USER / 2);
	CHECK_INT(q.counts.count, 1);
	CHECK_INT(q.examined.count, 1);
	CHECK_INT(enter_many(&q, ALICE, 5000, 1000), SCOPE_QUOTA_USER / 2);
}

TEST(any_number_of_users_takes_limited_memory)
{
	_cleanup_(scope_quota_done) struct scope_quota q = { 0 };
	size_t accepted = 0;

	for (uint32_t user = 1; user <= 100000; user++)
		accepted += scope_quota_examine(&q, user, START);
	CHECK_INT(accepted, SCOPE_QUOTA_USERS);
	CHECK(scope_quota_examine(&q, 0, START));
	CHECK(scope_quota_examine(&q, 1, START)); /* one that is known */
}
