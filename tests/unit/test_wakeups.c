/* SPDX-License-Identifier: Apache-2.0 */
/* The wake-up latency of threads and of services. */
#include <stdio.h>
#include <string.h>

#include "analyse/wakeup_latency.h"
#include "annotate/service_wakeups.h"
#include "event/sched_policy.h"
#include "story.h"
#include "test.h"

enum { FIFO = 1 + 1, NORMAL = 0 + 1 };

static void wait_and_wake(struct story *s, uint32_t tid, nsec_t start, nsec_t woken, nsec_t end)
{
	story_add(s, REC(WAIT, wait, end, tid, .start = start, .woken = woken, .state = STATE_TIMER,
			 .ready = STATE_READY, .flags = start == woken ? INTERVAL_PREEMPTED : 0));
}

/* Thread 1 is woken at 20, 50 and 80, and preempted at 60; 2 and 3 have the CPU. */
static struct model *woken_three_times(void)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_add(&s, REC(TASK, task, 0, 2, .pid = 2, .comm = 2, .event = TASK_OUT_OF_SCOPE,
			  .policy = FIFO, .priority = 50));
	story_add(&s, REC(TASK, task, 0, 3, .pid = 3, .comm = 3, .event = TASK_OUT_OF_SCOPE,
			  .policy = NORMAL, .priority = -5));
	story_run(&s, 1, 0, 10);
	wait_and_wake(&s, 1, 10, 20, 23);
	story_run(&s, 1, 23, 40);
	wait_and_wake(&s, 1, 40, 50, 57);
	story_run(&s, 1, 57, 60);
	wait_and_wake(&s, 1, 60, 60, 75);
	story_run(&s, 1, 75, 77);
	wait_and_wake(&s, 1, 77, 80, 81);
	story_run(&s, 1, 81, 100);
	story_add(&s, REC(RUN, run, 52, 3, .start = 40, .flags = INTERVAL_OUT_OF_SCOPE));
	story_add(&s, REC(RUN, run, 56, 2, .start = 52, .flags = INTERVAL_OUT_OF_SCOPE));
	return story_model(&s);
}

static struct wakeup_latency latency_of(const struct model *model, nsec_t from, nsec_t to)
{
	struct wakeup_latency sum = { 0 };

	wakeup_latency_add(model, (thread_id){ 1 }, from, to, &sum);
	return sum;
}

TEST(a_wakeup_is_a_wait_for_a_cpu_after_a_blocked_state)
{
	_cleanup_(model_freep) struct model *model = woken_three_times();
	struct wakeup_latency all = latency_of(model, 0, 100);

	CHECK_INT(all.count, 3);
	CHECK_INT(all.total, 3 + 7 + 1);
	CHECK_INT(all.max, 7);
	CHECK_INT(wakeup_latency_mean(&all), 3);
	CHECK_INT(all.start, 50);
}

TEST(each_wakeup_counts_once_in_times_that_follow_each_other)
{
	_cleanup_(model_freep) struct model *model = woken_three_times();

	for (nsec_t cut = 0; cut <= 100; cut++) {
		struct wakeup_latency a = latency_of(model, 0, cut),
				      b = latency_of(model, cut, 100);

		CHECK_INT(a.count + b.count, 3);
		wakeup_latency_merge(&a, &b);
		CHECK_INT(a.count, 3);
		CHECK(a.total <= 11 && a.total + 7 > 11);
	}
}

TEST(the_thread_that_had_the_cpu_longest_during_the_longest_wakeup_is_found)
{
	_cleanup_(model_freep) struct model *model = woken_three_times();
	struct wakeup_latency all = latency_of(model, 0, 100), first = latency_of(model, 0, 30);
	const struct thread *other = model_thread(model, wakeup_latency_cpu_thread(model, &all));

	CHECK_INT(other->tid, 2); /* 4 of 7, although 3 was there first */
	CHECK_STR(sched_priority_text(other->policy, other->priority).s, "SCHED_FIFO 50");
	CHECK_INT(wakeup_latency_cpu_thread(model, &first).i, 0); /* idle */
	CHECK_INT(wakeup_latency_cpu_thread(model, &(struct wakeup_latency){ 0 }).i, 0);
}

TEST(priorities_are_named_as_people_set_them)
{
	static const struct {
		uint8_t policy;
		int8_t priority;
		const char *text;
	} cases[] = {
		{ 0, 0, "" },
		{ 1, -5, "nice -5" },
		{ 1, 0, "nice 0" },
		{ 2, 99, "SCHED_FIFO 99" },
		{ 3, 1, "SCHED_RR 1" },
		{ 4, 19, "SCHED_BATCH, nice 19" },
		{ 6, 0, "SCHED_IDLE" },
		{ 7, 0, "SCHED_DEADLINE" },
		{ 8, -20, "SCHED_EXT, nice -20" },
		{ 255, -128, "policy 254" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(sched_priority_text(cases[i].policy, cases[i].priority).s, cases[i].text);
}

/* Passes a batch in which a thread of a process has served a request of a service. */
static void serve(struct service_wakeups *w, uint32_t tid, const char *service, nsec_t now)
{
	_cleanup_(story_done) struct story s = { 0 };
	struct consumer consumer = service_wakeups_consumer(w);

	story_begin(&s, tid, 0);
	story_run(&s, tid, 0, 10);
	story_span(&s, 0, 10, 7, 0, tid);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(span_set_done) struct span_set spans = { .model = model };
	struct live_view view = { .model = model, .spans = &spans, .now = now };
	span_id id = story_find_span(model, 7);

	span_set_unite(&spans);
	span_set_edit(&spans, id)->service = span_set_intern(&spans, service);
	consumer.span_ended(consumer.arg, &view, id);
	consumer.batch_ended(consumer.arg, &view);
}

TEST(wakeups_of_a_service_count_for_ten_seconds)
{
	_cleanup_(service_wakeups_freep) struct service_wakeups *w = service_wakeups_new();
	_cleanup_(model_freep) struct model *model = woken_three_times();
	struct consumer consumer = service_wakeups_consumer(w);
	struct live_view view = { .model = model, .now = NSEC_PER_SEC };
	struct service_latency list[SERVICES_MAX];

	serve(w, 1, "shop", 30); /* the wake-up at 20 was before */
	consumer.batch_ended(consumer.arg, &view);
	CHECK_INT(service_wakeups_list(w, list), 1);
	CHECK_STR(list[0].service, "shop");
	CHECK_INT(list[0].count, 2);
	CHECK_INT(list[0].mean, 4);
	CHECK_INT(list[0].max, 7);
	CHECK_STR(list[0].cpu_thread, "string 2");
	CHECK_INT(list[0].cpu_policy, FIFO);
	CHECK_INT(list[0].cpu_priority, 50);

	view.now += 9 * NSEC_PER_SEC;
	consumer.batch_ended(consumer.arg, &view);
	CHECK_INT(service_wakeups_list(w, list), 1);
	CHECK_INT(list[0].count, 2);
	view.now += NSEC_PER_SEC;
	consumer.batch_ended(consumer.arg, &view);
	CHECK_INT(service_wakeups_list(w, list), 1);
	CHECK_INT(list[0].count, 0);
	CHECK_STR(list[0].cpu_thread, "");
}

TEST(the_number_of_services_is_bounded_and_idle_ones_make_room)
{
	_cleanup_(service_wakeups_freep) struct service_wakeups *w = service_wakeups_new();
	struct service_latency list[SERVICES_MAX];
	char name[32];

	for (uint32_t i = 0; i < SERVICES_MAX + 7; i++) {
		snprintf(name, sizeof(name), "service %u", i);
		serve(w, 100 + i, name, 1000 + i);
	}
	CHECK_INT(service_wakeups_list(w, list), SERVICES_MAX);
	CHECK_INT(service_wakeups_omitted(w), 7);
	for (uint32_t i = 1; i < SERVICES_MAX; i++)
		CHECK(strcmp(list[i - 1].service, list[i].service) < 0);

	serve(w, 5000, "late", 600 * NSEC_PER_SEC); /* the others leave after it */
	CHECK_INT(service_wakeups_list(w, list), 0);
	serve(w, 5000, "late", 601 * NSEC_PER_SEC);
	CHECK_INT(service_wakeups_list(w, list), 1);
}

TEST(a_service_has_a_clean_name_of_bounded_length)
{
	_cleanup_(service_wakeups_freep) struct service_wakeups *w = service_wakeups_new();
	struct service_latency list[SERVICES_MAX];
	char name[200] = "";

	for (size_t i = 0; i < 60; i++)
		strcat(name, "\xc3\xa4"); /* 120 bytes, of which 62 are whole characters that fit */
	serve(w, 1, name, 1000);
	serve(w, 2, "a\xff", 1000);
	serve(w, 3, "", 1000);
	CHECK_INT(service_wakeups_list(w, list), 2);
	CHECK_STR(list[0].service, "a\xef\xbf\xbd");
	CHECK_INT(strlen(list[1].service), 62);
	CHECK_INT(service_wakeups_omitted(w), 0);
}

TEST(a_process_that_changes_its_service_leaves_the_old_one)
{
	_cleanup_(service_wakeups_freep) struct service_wakeups *w = service_wakeups_new();
	struct service_latency list[SERVICES_MAX];

	serve(w, 1, "old", 1000);
	serve(w, 1, "new", 1001);
	CHECK_INT(service_wakeups_list(w, list), 1);
	CHECK_STR(list[0].service, "new");
}
