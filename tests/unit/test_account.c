/* SPDX-License-Identifier: Apache-2.0 */
/* Small models of one process, and the reported holders of locks. */
#include "analyse/account.h"

#include "story.h"
#include "test.h"

enum { LOCK = 0x7000 };

static struct story process_of(uint32_t count)
{
	struct story s = { 0 };

	for (uint32_t tid = 1; tid <= count; tid++)
		story_add(&s, REC(TASK, task, 0, tid, .pid = 1, .event = TASK_EXISTING));
	return s;
}

static void queues(struct story *s, uint32_t tid, nsec_t from, nsec_t to, uint32_t waker)
{
	story_run(s, tid, 0, from);
	story_add(s, REC(WAIT, wait, to, tid, .start = from, .woken = to, .state = STATE_LOCK,
			 .ready = STATE_READY, .waker = waker, .context = WAKE_TASK, .syscall = 202,
			 .object_kind = OBJECT_FUTEX, .object = LOCK));
}

/* The holder of the lock that thread 1 waits for. */
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

TEST(the_thread_that_releases_a_lock_is_its_holder)
{
	_cleanup_(story_done) struct story s = process_of(2);

	queues(&s, 1, 10, 50, 2);
	story_run(&s, 1, 50, 60);
	story_run(&s, 2, 0, 60);
	check_holder(&s, 60, 2, 40);
}

/* 3 holds the lock until 90 and passes it to 2, which passes it to 1. */
TEST(a_waiter_that_passes_the_lock_on_is_not_its_holder)
{
	_cleanup_(story_done) struct story s = process_of(3);

	queues(&s, 1, 10, 95, 2);
	story_run(&s, 1, 95, 100);
	queues(&s, 2, 5, 90, 3);
	story_run(&s, 2, 90, 100);
	story_run(&s, 3, 0, 100);
	check_holder(&s, 100, 3, 80);
}

TEST(a_waiter_that_keeps_the_lock_longest_is_its_holder)
{
	_cleanup_(story_done) struct story s = process_of(3);

	queues(&s, 1, 10, 95, 2);
	story_run(&s, 1, 95, 100);
	queues(&s, 2, 5, 20, 3);
	story_run(&s, 2, 20, 100);
	story_run(&s, 3, 0, 100);
	check_holder(&s, 100, 2, 75);
}

static void is_ready(struct story *s, uint32_t tid, nsec_t from, nsec_t to)
{
	story_add(s, REC(WAIT, wait, to, tid, .start = from, .woken = from, .ready = STATE_READY,
			 .flags = INTERVAL_PREEMPTED));
}

/* The node of thread 1's waits for a CPU, the only ones. */
static const struct node *ready_node(const struct model *model, nsec_t to, struct account *ret)
{
	account_of_thread(model, model_find_thread(model, 1, 0), 0, to, ret);
	for (size_t i = 0; i < ret->nodes.count; i++)
		if (ret->nodes.items[i].state == STATE_READY)
			return &ret->nodes.items[i];
	return NULL;
}

TEST(a_wait_for_a_cpu_names_the_other_thread_of_the_same_process)
{
	_cleanup_(story_done) struct story s = process_of(3);

	story_run(&s, 1, 0, 10);
	is_ready(&s, 1, 10, 30);
	story_run(&s, 1, 30, 40);
	story_run(&s, 2, 10, 25);
	story_run(&s, 3, 25, 30);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(account_done) struct account a;
	const struct node *node = ready_node(model, 40, &a);

	CHECK(node);
	CHECK_INT(node->share_count, 2);
	CHECK_INT(model_thread(model, a.shares.items[node->shares].thread)->tid, 2);
	CHECK_INT(a.shares.items[node->shares].time, 15);
	CHECK_INT(model_thread(model, a.shares.items[node->shares + 1].thread)->tid, 3);
	CHECK_INT(a.shares.items[node->shares + 1].time, 5);
}

TEST(a_thread_has_no_share_in_its_own_wait_for_a_cpu)
{
	_cleanup_(story_done) struct story s = process_of(1);

	story_add(&s, REC(TASK, task, 0, 9, .pid = 9, .event = TASK_EXISTING));
	story_run(&s, 1, 0, 10);
	story_run(&s, 9, 10, 12);
	is_ready(&s, 1, 10, 30);
	story_run(&s, 1, 12, 40); /* contradicts the wait */

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(account_done) struct account a;
	const struct node *node = ready_node(model, 40, &a);

	CHECK(node);
	CHECK_INT(node->share_count, 1);
	CHECK_INT(a.shares.items[node->shares].pid, 9);
	CHECK(!a.shares.items[node->shares].thread.i);
	CHECK_INT(a.shares.items[node->shares].time, 2);
}

enum { DISK = 254 << 20 };

static void requests(struct story *s, uint32_t tid, nsec_t from, nsec_t to)
{
	story_add(s, REC(BLOCK, block, to, tid, .start = from, .device = DISK, .bytes = 4096,
			 .op = 'W'));
}

static void waits_for_disk(struct story *s, uint32_t tid, nsec_t from, nsec_t to)
{
	story_add(s, REC(WAIT, wait, to, tid, .start = from, .woken = to, .state = STATE_DISK,
			 .ready = STATE_READY, .context = WAKE_IRQ,
			 .object_kind = OBJECT_BLOCK_DEVICE, .object = DISK));
}

/* One I/O spans both waits, one is in each, one between them, one after them. */
TEST(io_in_the_queue_has_a_share_in_a_wait_for_the_disk)
{
	_cleanup_(story_done) struct story s = process_of(1);

	story_add(&s, REC(TASK, task, 0, 9, .pid = 9, .event = TASK_EXISTING));
	story_run(&s, 1, 0, 10);
	waits_for_disk(&s, 1, 10, 20);
	story_run(&s, 1, 20, 30);
	waits_for_disk(&s, 1, 30, 50);
	story_run(&s, 1, 50, 60);
	requests(&s, 9, 5, 100);  /* 10 + 20 */
	requests(&s, 9, 12, 15);  /* 3 */
	requests(&s, 9, 22, 28);  /* 0 */
	requests(&s, 9, 25, 45);  /* 15 */
	requests(&s, 9, 55, 110); /* 0 */
	requests(&s, 1, 10, 50);  /* its own */

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(account_done) struct account a;
	const struct node *node;

	account_of_thread(model, model_find_thread(model, 1, 0), 0, 60, &a);
	for (node = a.nodes.items; node->state != STATE_DISK; node++)
		CHECK(node + 1 < a.nodes.items + a.nodes.count);
	CHECK_INT(node->time, 30);
	CHECK_INT(node->share_count, 1);
	CHECK_INT(a.shares.items[node->shares].pid, 9);
	CHECK_INT(a.shares.items[node->shares].time, 48);
}

/* The thread publishes the child from 20 on, and the request from 80 on; before, it is unknown. */
TEST(leaves_add_up_if_the_thread_is_known_for_a_part_of_the_time)
{
	_cleanup_(story_done) struct story s = process_of(1);

	story_run(&s, 1, 0, 100);
	story_span(&s, 0, 100, 1, 0, 0);
	story_span(&s, 20, 80, 2, 1, 0);
	story_context(&s, 1, 20, 2);
	story_context(&s, 1, 80, 1);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct span_set spans = { .model = model };
	_cleanup_(account_done) struct account a;
	nsec_t leaves = 0, unknown = 0;

	account_of_span(&spans, story_find_span(model, 1), &a);
	for (size_t i = 1; i < a.nodes.count; i++) {
		const struct node *node = &a.nodes.items[i];

		leaves += node->is_leaf ? node->time : 0;
		unknown += node->state == STATE_GAP ? node->time : 0;
	}
	CHECK_INT(leaves, 100);
	CHECK_INT(unknown, 20);
}
