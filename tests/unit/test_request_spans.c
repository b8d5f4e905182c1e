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

static struct model *model_of(const struct story *s)
{
	struct model *model = story_model(s);
	struct requests requests = { 0 };

	requests_find(model, &requests);
	request_spans_add(model, &requests);
	requests_done(&requests);
	return model;
}

static const struct span *span_of(const struct model *model, uint32_t tid)
{
	for (uint32_t i = 1; i < model_span_count(model); i++)
		if (model_span(model, (span_id){ i })->tid == tid)
			return model_span(model, (span_id){ i });
	return model_span(model, (span_id){ 0 });
}

TEST(a_rebuilt_request_is_a_span_of_its_thread)
{
	_cleanup_(story_done) struct story s = { 0 };

	tell(&s, 60, 50);

	_cleanup_(model_freep) struct model *model = model_of(&s);
	const struct span *front = span_of(model, 1), *back = span_of(model, 2);

	CHECK_INT(model_span_count(model), 3);
	CHECK_INT(front->start, 10);
	CHECK_INT(front->end, 60);
	CHECK_INT(front->source, SPAN_INFERRED);
	CHECK_INT(front->flags, 0);
	CHECK_INT(front->parent.i, 0);
	CHECK_INT(model_thread(model, front->thread)->tid, 1);
	CHECK_STR(model_string(model, front->service), "string 1");
	CHECK(strstr(model_string(model, front->operation), ":101"));
	CHECK(model_span(model, back->parent) == front);
	CHECK_INT(back->start, 30);
	CHECK_INT(back->end, 50);
	CHECK_INT(memcmp(back->trace, front->trace, sizeof(back->trace)), 0);
}

TEST(who_works_on_behind_the_answer_is_not_waited_for)
{
	_cleanup_(story_done) struct story s = { 0 };

	tell(&s, 60, 200);

	_cleanup_(model_freep) struct model *model = model_of(&s);

	CHECK_INT(span_of(model, 1)->flags, 0);
	CHECK_INT(span_of(model, 2)->flags, SPAN_FOLLOWS);
}

TEST(a_request_without_an_answer_is_open)
{
	_cleanup_(story_done) struct story s = { 0 };

	thread(&s, 1);
	story_connect(&s, 100);
	story_receive(&s, 1, 10, 101, 11, 10);
	story_run(&s, 1, 10, 100);

	_cleanup_(model_freep) struct model *model = model_of(&s);

	CHECK_INT(model_span_count(model), 2);
	CHECK_INT(span_of(model, 1)->flags, SPAN_OPEN);
}
