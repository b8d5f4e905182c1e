/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rebuilt requests as spans of the model.  Thread 1 has a request on connection
 * 100 and asks thread 2 on connection 200, whose ports are 100 and 101, 200 and
 * 201: the client's side is n, the server's n + 1.
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

/* Thread 1 answers at this time; thread 2 has answered it at 50, or goes on. */
static void tell(struct story *s, nsec_t answer, nsec_t back_answer)
{
	thread(s, 1);
	thread(s, 2);
	story_connect(s, 100);
	story_connect(s, 200);
	story_receive(s, 1, 10, 101, 11, 10);
	story_send(s, 1, 20, 200, 11, 10);
	story_receive(s, 2, 30, 201, 11, 10);
	story_send(s, 2, back_answer, 201, 6, 5);
	if (back_answer < answer)
		story_receive(s, 1, back_answer + 5, 200, 6, 5);
	story_send(s, 1, answer, 101, 21, 20);
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
	request_spans_add(&requests, &r.spans);
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

	tell(&s, 60, 50);

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
	CHECK_INT(back->start, 30);
	CHECK_INT(back->end, 50);
	CHECK_INT(memcmp(back->trace, front->trace, sizeof(back->trace)), 0);
}

TEST(who_works_on_behind_the_answer_is_not_waited_for)
{
	_cleanup_(story_done) struct story s = { 0 };

	tell(&s, 60, 200);

	_cleanup_(rebuilt_done) struct rebuilt r = rebuild(&s);

	CHECK_INT(span_of(&r.spans, 1)->flags, 0);
	CHECK_INT(span_of(&r.spans, 2)->flags, SPAN_FOLLOWS);
}

TEST(a_request_without_an_answer_is_open)
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
