/* SPDX-License-Identifier: Apache-2.0 */
/* Small stories of one process, and who is said to have held its lock. */
#include "analyse/account.h"

#include "story.h"
#include "test.h"

enum { LOCK = 0x7000 };

/* Of threads 1 to count. */
static struct story process_of(uint32_t count)
{
	struct story s = { 0 };

	for (uint32_t tid = 1; tid <= count; tid++)
		story_add(&s, REC(TASK, task, 0, tid, .pid = 1, .event = TASK_SEEN));
	return s;
}

static void queues(struct story *s, uint32_t tid, nsec_t from, nsec_t to, uint32_t waker)
{
	story_run(s, tid, 0, from);
	story_add(s, REC(WAIT, wait, to, tid, .start = from, .woken = to, .state = STATE_LOCK,
			 .ready = STATE_READY, .waker = waker, .context = WAKE_TASK, .syscall = 202,
			 .object_kind = OBJECT_FUTEX, .object = LOCK));
}

/* Of the lock that thread 1 waits for. */
static void check_holder(const struct story *s, nsec_t to, uint32_t tid, nsec_t held)
{
	_cleanup_(model_freep) struct model *model = story_model(s);
	struct account a;

	account_of_thread(model, model_find_thread(model, 1, 0), 0, to, &a);

	const struct node *node = a.nodes.items;

	while (node < a.nodes.items + a.nodes.count && node->state != STATE_LOCK)
		node++;
	CHECK(node < a.nodes.items + a.nodes.count);
	CHECK_INT(model_thread(model, node->holder)->tid, tid);
	CHECK_INT(node->held, held);
	account_done(&a);
}

TEST(who_holds_a_lock_is_who_gives_it)
{
	_cleanup_(story_done) struct story s = process_of(2);

	queues(&s, 1, 10, 50, 2);
	story_run(&s, 1, 50, 60);
	story_run(&s, 2, 0, 60);
	check_holder(&s, 60, 2, 40);
}

/* 3 holds it till 90, and gives it to 2, who gives it to 1. */
TEST(who_waited_for_it_too_and_passes_it_on_is_not_who_held_it)
{
	_cleanup_(story_done) struct story s = process_of(3);

	queues(&s, 1, 10, 95, 2);
	story_run(&s, 1, 95, 100);
	queues(&s, 2, 5, 90, 3);
	story_run(&s, 2, 90, 100);
	story_run(&s, 3, 0, 100);
	check_holder(&s, 100, 3, 80);
}

TEST(but_it_is_if_it_kept_it_for_longer)
{
	_cleanup_(story_done) struct story s = process_of(3);

	queues(&s, 1, 10, 95, 2);
	story_run(&s, 1, 95, 100);
	queues(&s, 2, 5, 20, 3);
	story_run(&s, 2, 20, 100);
	story_run(&s, 3, 0, 100);
	check_holder(&s, 100, 2, 75);
}
