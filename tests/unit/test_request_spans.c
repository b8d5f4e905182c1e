/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rebuilt requests as spans beside the model.  Thread 1 gets a request over connection 100 and
 * calls thread 2 over connection 200.  Connection n has port n on the client's side and n + 1 on
 * the server's.
 */
#include "analyse/requests/spans.h"

#include <string.h>

#include "story.h"
#include "test.h"

static void thread(struct story *s, uint32_t tid)
{
	story_add(s, REC(TASK, task, 0, tid, .pid = tid, .comm = tid, .event = TASK_EXISTING));
	story_run(s, tid, 0, 1);
}

/* Thread 1 replies to its client at `reply`; thread 2 replies to thread 1 at `back_reply`. */
static void call_backend(struct story *s, nsec_t reply, nsec_t back_reply)
{
	thread(s, 1);
	thread(s, 2);
	story_connect(s, 100);
	story_connect(s, 200);
	story_receive(s, 1, 10, 101, 11, 10);
	story_send(s, 1, 20, 200, 11, 10);
	story_receive(s, 2, 30, 201, 11, 10);
	story_send(s, 2, back_reply, 201, 6, 5);
	if (back_reply < reply)
		story_receive(s, 1, back_reply + 5, 200, 6, 5);
	story_send(s, 1, reply, 101, 21, 20);
}

/* A model, and beside it the spans of its requests. */
struct rebuilt {
	struct model *model;
	struct span_set spans;
};

static struct rebuilt rebuild(const struct story *s)
{
	struct rebuilt r = { .model = story_model(s) };
	struct requests requests = { 0 };

	r.spans.model = r.model;
	requests_find(r.model, &requests);
	request_spans_add(&requests, NULL, &r.spans);
	requests_done(&requests);
	return r;
}

static void rebuilt_done(struct rebuilt *r)
{
	span_set_done(&r->spans);
	model_free(r->model);
}

static const struct span *span_of(const struct span_set *spans, uint32_t tid)
{
	for (uint32_t i = 1; i < span_set_count(spans); i++)
		if (span_set_at(spans, (span_id){ i })->tid == tid)
			return span_set_at(spans, (span_id){ i });
	return span_set_at(spans, (span_id){ 0 });
}

TEST(a_rebuilt_request_is_a_span_of_its_thread)
{
	_cleanup_(story_done) struct story s = { 0 };

	call_backend(&s, 60, 50);

	_cleanup_(rebuilt_done) struct rebuilt r = rebuild(&s);
	const struct span *front = span_of(&r.spans, 1), *back = span_of(&r.spans, 2);

	CHECK_INT(span_set_count(&r.spans), 3);
	CHECK_INT(front->start, 10);
	CHECK_INT(front->end, 60);
	CHECK_INT(front->source, SPAN_INFERRED);
	CHECK_INT(front->flags, 0);
	CHECK_INT(front->parent.i, 0);
	CHECK_INT(model_thread(r.model, front->thread)->tid, 1);
	CHECK_STR(span_set_string(&r.spans, front->service), "string 1");
	CHECK(strstr(span_set_string(&r.spans, front->operation), ":101"));
	CHECK(span_set_at(&r.spans, back->parent) == front);
	CHECK_INT(back->start, 20); /* the send */
	CHECK_INT(back->read, 30);
	CHECK_INT(back->end, 50);
	CHECK_INT(memcmp(back->trace, front->trace, sizeof(back->trace)), 0);
}

TEST(the_parent_does_not_wait_for_work_that_goes_on_after_its_reply)
{
	_cleanup_(story_done) struct story s = { 0 };

	call_backend(&s, 60, 200);

	_cleanup_(rebuilt_done) struct rebuilt r = rebuild(&s);

	CHECK_INT(span_of(&r.spans, 1)->flags, 0);
	CHECK_INT(span_of(&r.spans, 2)->flags, SPAN_FOLLOWS);
}

TEST(a_request_without_a_reply_is_open)
{
	_cleanup_(story_done) struct story s = { 0 };

	thread(&s, 1);
	story_connect(&s, 100);
	story_receive(&s, 1, 10, 101, 11, 10);
	story_run(&s, 1, 10, 100);

	_cleanup_(rebuilt_done) struct rebuilt r = rebuild(&s);

	CHECK_INT(span_set_count(&r.spans), 2);
	CHECK_INT(span_of(&r.spans, 1)->flags, SPAN_OPEN);
}

TEST(rebuilt_spans_leave_the_model_as_it_was)
{
	_cleanup_(story_done) struct story s = { 0 };

	call_backend(&s, 60, 50);

	_cleanup_(rebuilt_done) struct rebuilt r = rebuild(&s);

	CHECK_INT(model_span_count(r.model), 1);
	CHECK_INT(span_set_at(&r.spans, (span_id){ 1 })->source, SPAN_INFERRED);
}

/* The inputs can hold an earlier export of the same requests. */
TEST(a_rebuilt_span_with_the_ids_of_a_recorded_one_is_ignored)
{
	_cleanup_(story_done) struct story s = { 0 };

	call_backend(&s, 60, 50);

	_cleanup_(rebuilt_done) struct rebuilt first = rebuild(&s);
	const struct span *front = span_of(&first.spans, 1);
	struct record_span record = *(const struct record_span *)REC(
		SPAN, span, front->end, 1, .start = front->start, .pid = 1);

	memcpy(record.trace, front->trace, sizeof(record.trace));
	memcpy(record.span, front->id, sizeof(record.span));
	story_add(&s, &record.head);

	_cleanup_(rebuilt_done) struct rebuilt again = rebuild(&s);

	CHECK_INT(model_span_count(again.model), 2);
	CHECK_INT(span_set_count(&again.spans), 3);
}
