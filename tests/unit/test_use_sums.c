/* SPDX-License-Identifier: Apache-2.0 */
/* Sums at marks, compared with a scan of the timelines of a thread. */
#include "analyse/use_sums.h"

#include "story.h"
#include "test.h"

enum { COUNT = 2000, STEP = 10 };

/* A thread that runs, sleeps and waits for a disk, with short and long calls and probe events. */
static struct model *random_thread(void)
{
	static const enum state states[] = { STATE_TIMER, STATE_DISK, STATE_LOCK };
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	for (nsec_t i = 0, at = 0, called = 0; i < COUNT; i++, at += STEP) {
		story_run(&s, 1, at, at + 5);
		story_wait(&s, 1, at + 5, at + STEP, states[random() % 3], 0);
		if (random() % 3 == 0) {
			story_add(&s, REC(SYSCALL, syscall, at + random() % 8, 1, .start = called,
					  .nr = random() % 5));
			called = at + 8;
		}
		if (random() % 4 == 0)
			story_add(&s, REC(PROBE_EVENT, probe_event, at + random() % STEP, 1,
					  .type = 1 + random() % 3));
	}
	return story_model(&s);
}

static uint64_t calls_of(const struct request_use *use, int16_t nr)
{
	for (size_t i = 0; i < use->calls.count; i++)
		if (use->calls.items[i].nr == nr)
			return use->calls.items[i].count;
	return 0;
}

static uint64_t probe_events_of(const struct request_use *use, uint32_t type)
{
	for (size_t i = 0; i < use->probe_events.count; i++)
		if (use->probe_events.items[i].type == type)
			return use->probe_events.items[i].count;
	return 0;
}

static void check_slice(const struct model *model, const struct use_sums *sums, nsec_t from,
			nsec_t to)
{
	struct request_use want = { 0 }, got = { 0 };
	struct request_work work = { .thread = sums->thread, .from = from, .to = to };

	request_use_work(model, &work, &want);
	use_sums_add(sums, model, from, to, &got);
	for (size_t i = ' ' + 1; i < ARRAY_LEN(want.states); i++)
		CHECK_INT(got.states[i], want.states[i]);
	CHECK_INT(got.calls.count, want.calls.count);
	for (int16_t nr = 0; nr < 5; nr++)
		CHECK_INT(calls_of(&got, nr), calls_of(&want, nr));
	CHECK_INT(got.probe_events.count, want.probe_events.count);
	for (uint32_t type = 1; type < 5; type++)
		CHECK_INT(probe_events_of(&got, type), probe_events_of(&want, type));
	request_use_done(&want);
	request_use_done(&got);
}

TEST(sums_match_a_scan_of_the_timelines)
{
	for (unsigned seed = 0; seed < 5; seed++) {
		srandom(seed);
		_cleanup_(model_freep) struct model *model = random_thread();
		_cleanup_(use_sums_done) struct use_sums sums;

		use_sums_init(&sums, model, model_find_thread(model, 1, 0));
		check_slice(model, &sums, 0, COUNT * STEP);
		check_slice(model, &sums, 0, 2 * COUNT * STEP);
		for (int i = 0; i < 300 && !test_failures; i++) {
			nsec_t from = random() % (COUNT * STEP);

			check_slice(model, &sums, from, from + random() % (COUNT * STEP));
		}
	}
}

TEST(a_thread_without_events_has_no_sums)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(use_sums_done) struct use_sums sums;

	use_sums_init(&sums, model, model_find_thread(model, 1, 0));
	check_slice(model, &sums, 0, 100);
}
