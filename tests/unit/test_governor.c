/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/governor.h"

#include "test.h"

#define SECOND NSEC_PER_SEC

/* A governor in a system that needs some CPU time, and more for each detail. */
struct system {
	struct governor g;
	nsec_t now;
	struct cpu_usage usage[GOVERNOR_PARTS];
	double needs;              /* share of a CPU without any detail */
	double each[DETAIL_COUNT]; /* share of a CPU for a detail */
	nsec_t recorder;           /* its CPU time */
	unsigned int changes;
};

static struct system system_of(double budget)
{
	struct system s = { .now = 1000 * SECOND };

	governor_init(&s.g, s.now);
	governor_set_budget(&s.g, budget);
	for (int i = DETAIL_STACKS; i < DETAIL_COUNT; i++)
		s.g.recorded[i] = true;
	return s;
}

static double share_of(const struct system *s)
{
	double share = s->needs;

	for (int i = DETAIL_STACKS; i < DETAIL_COUNT; i++)
		share += governor_sheds(&s->g, i) ? 0 : s->each[i];
	return share;
}

/* The recorder reads its CPU time at other times than the governor. */
static void run(struct system *s, unsigned int seconds)
{
	for (unsigned int i = 0; i < seconds; i++) {
		nsec_t cpu = share_of(s) * SECOND / 4, tenths = s->now / SECOND * 3 % 7;

		s->now += SECOND;
		s->usage[GOVERNOR_RELAY] =
			(struct cpu_usage){ s->now, s->usage[GOVERNOR_RELAY].cpu + cpu };
		s->usage[GOVERNOR_WORKER] =
			(struct cpu_usage){ s->now, s->usage[GOVERNOR_WORKER].cpu + cpu };
		s->recorder += 2 * cpu;
		s->usage[GOVERNOR_RECORDER] =
			(struct cpu_usage){ s->now - tenths * SECOND / 10,
					    s->recorder - 2 * cpu * tenths / 10 };
		s->changes += governor_update(&s->g, s->now, s->usage);
	}
}

TEST(below_the_budget_all_detail_stays)
{
	struct system s = system_of(0.05);

	s.needs = 0.045;
	run(&s, 1000);
	CHECK_INT(s.g.level, 0);
	CHECK_INT(s.changes, 0);
	CHECK(s.g.used > 0.044 && s.g.used < 0.046);
}

TEST(above_the_budget_each_two_seconds_shed_one_detail)
{
	struct system s = system_of(0.05);

	s.needs = 0.5;
	run(&s, 4); /* the start of the parts does not count */
	CHECK_INT(s.g.level, 0);
	run(&s, 2);
	CHECK_INT(s.g.level, DETAIL_STACKS);
	CHECK(governor_sheds(&s.g, DETAIL_STACKS));
	CHECK(!governor_sheds(&s.g, DETAIL_SYSCALLS));
	run(&s, 2);
	CHECK_INT(s.g.level, DETAIL_SYSCALLS);
	run(&s, 2);
	CHECK_INT(s.g.level, DETAIL_OTHER_TASKS);
	run(&s, 100);
	CHECK_INT(s.g.level, DETAIL_OTHER_TASKS);
	CHECK_INT(s.changes, 3);
}

TEST(detail_that_suffices_is_shed_and_no_more)
{
	struct system s = system_of(0.05);

	s.needs = 0.04;
	s.each[DETAIL_STACKS] = 0.03;
	run(&s, 100);
	CHECK_INT(s.g.level, DETAIL_STACKS);
	CHECK_INT(s.changes, 1);
}

TEST(detail_returns_one_by_one_when_the_load_ends)
{
	struct system s = system_of(0.05);

	s.needs = 0.5;
	run(&s, 20);
	CHECK_INT(s.g.level, DETAIL_OTHER_TASKS);
	s.needs = 0.01;
	run(&s, 9);
	CHECK_INT(s.g.level, DETAIL_OTHER_TASKS);
	run(&s, 6);
	CHECK_INT(s.g.level, DETAIL_SYSCALLS);
	run(&s, 11);
	CHECK_INT(s.g.level, DETAIL_STACKS);
	run(&s, 11);
	CHECK_INT(s.g.level, 0);
}

TEST(slightly_below_the_budget_nothing_returns)
{
	struct system s = system_of(0.05);

	s.needs = 0.052;
	run(&s, 6);
	CHECK_INT(s.g.level, DETAIL_STACKS);
	s.needs = 0.04;
	run(&s, 1000);
	CHECK_INT(s.g.level, DETAIL_STACKS);
}

TEST(a_detail_that_exceeds_the_budget_returns_ever_more_rarely)
{
	struct system s = system_of(0.05);
	unsigned int changes[3];

	s.needs = 0.01;
	s.each[DETAIL_STACKS] = 0.1;
	for (int i = 0; i < 3; i++) {
		run(&s, 3600);
		changes[i] = s.changes;
	}
	/* with ten seconds of patience, an hour had 600 changes */
	CHECK(changes[0] >= 10 && changes[0] <= 30);
	CHECK(changes[1] - changes[0] <= 12);
	CHECK(changes[2] - changes[1] <= 12);
	CHECK(changes[2] > changes[1]);
}

TEST(after_a_detail_stayed_the_patience_is_short_again)
{
	struct system s = system_of(0.05);

	s.needs = 0.01;
	s.each[DETAIL_STACKS] = 0.1;
	run(&s, 3600);
	s.each[DETAIL_STACKS] = 0.01;
	run(&s, 2000);
	CHECK_INT(s.g.level, 0);
	s.needs = 0.5;
	run(&s, 2);
	CHECK_INT(s.g.level, DETAIL_STACKS);
	s.needs = 0.01;
	run(&s, 30);
	CHECK_INT(s.g.level, 0);
}

TEST(detail_that_is_not_recorded_is_skipped)
{
	struct system s = system_of(0.05);

	s.g.recorded[DETAIL_SYSCALLS] = false;
	s.needs = 0.5;
	run(&s, 9);
	CHECK_INT(s.g.level, DETAIL_OTHER_TASKS);
	CHECK_INT(s.changes, 2);
	CHECK(!governor_sheds(&s.g, DETAIL_SYSCALLS));
	s.needs = 0;
	run(&s, 12);
	CHECK_INT(s.g.level, DETAIL_STACKS);
	s.g.recorded[DETAIL_STACKS] = s.g.recorded[DETAIL_OTHER_TASKS] = false;
	run(&s, 20);
	s.needs = 0.5;
	run(&s, 20);
	CHECK_INT(s.g.level, 0);
}

TEST(a_new_budget_applies_at_once)
{
	struct system s = system_of(0.001);

	s.needs = 0.1;
	run(&s, 600);
	CHECK_INT(s.g.level, DETAIL_OTHER_TASKS);
	governor_set_budget(&s.g, 0.5);
	run(&s, 36);
	CHECK_INT(s.g.level, 0);
	governor_set_budget(&s.g, 0.001);
	run(&s, 2);
	CHECK_INT(s.g.level, DETAIL_STACKS);
	governor_set_budget(&s.g, 0);
	run(&s, 2);
	CHECK_INT(s.g.level, 0);
	run(&s, 100);
	CHECK_INT(s.g.level, 0);
}

TEST(a_new_recorder_begins_with_full_detail)
{
	struct system s = system_of(0.05);

	s.needs = 0.5;
	run(&s, 20);
	governor_restart(&s.g, s.now);
	s.recorder = 0;
	CHECK_INT(s.g.level, 0);
	run(&s, 3);
	CHECK_INT(s.g.level, 0);
	CHECK(s.g.used < 0.6);
	run(&s, 3);
	CHECK_INT(s.g.level, DETAIL_STACKS);
}

TEST(a_part_that_is_gone_uses_nothing)
{
	struct system s = system_of(0.05);

	s.needs = 0.02;
	run(&s, 10);
	for (int i = 0; i < 4; i++) { /* no part reports anything */
		s.now += SECOND;
		governor_update(&s.g, s.now, s.usage);
	}
	CHECK(s.g.used == 0);
}

TEST(gaps_are_known_after_their_end)
{
	struct system s = system_of(0.05);
	nsec_t start = s.now, shed, restored;

	CHECK(!governor_has_gap(&s.g, DETAIL_STACKS, 0, UINT64_MAX));
	s.needs = 0.06;
	run(&s, 6);
	CHECK_INT(s.g.level, DETAIL_STACKS);
	shed = s.now;
	CHECK(governor_has_gap(&s.g, DETAIL_STACKS, start, shed + SECOND));
	CHECK(!governor_has_gap(&s.g, DETAIL_STACKS, start, shed - 3 * SECOND));
	CHECK(!governor_has_gap(&s.g, DETAIL_SYSCALLS, start, shed + SECOND));
	s.needs = 0.01;
	run(&s, 14);
	CHECK_INT(s.g.level, 0);
	restored = s.now;
	CHECK(governor_has_gap(&s.g, DETAIL_STACKS, shed + SECOND, restored));
	CHECK(!governor_has_gap(&s.g, DETAIL_STACKS, restored + 2 * SECOND, restored + 3 * SECOND));
	s.needs = 0.06; /* soon enough that both are one gap */
	run(&s, 4);
	CHECK(governor_has_gap(&s.g, DETAIL_STACKS, shed, shed + SECOND));
	s.needs = 0.01;
	run(&s, 200);
	s.needs = 0.06;
	run(&s, 4);
	CHECK(!governor_has_gap(&s.g, DETAIL_STACKS, shed, shed + SECOND));
}
