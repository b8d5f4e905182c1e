/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to an event loop (thread 1), in the notation of scenario.h. */
#include "analyse/requests/idle.h"

#include "analyse/requests/spans.h"
#include "scenario.h"
#include "test.h"

/* Whether the request that begins at time 10 is idle. */
static bool first_is_idle(const char *statements)
{
	_cleanup_(scenario_done) struct scenario s = { 0 };

	scenario_add(&s, 0, statements);

	_cleanup_(model_freep) struct model *model = story_model(&s.story);
	_cleanup_(requests_done) struct requests requests;
	_cleanup_(span_set_done) struct span_set spans = { .model = model };

	requests_find(model, &requests);
	request_spans_add(&requests, NULL, &spans);
	for (uint32_t i = 1; i < span_set_count(&spans); i++)
		if (span_set_at(&spans, (span_id){ i })->start == 10)
			return request_is_idle(&spans, (span_id){ i });
	CHECK(false);
	return false;
}

TEST(a_request_that_another_client_ends_is_idle)
{
	CHECK(first_is_idle("process 1; 10 1 gets a; 20-5000000 1 polls; 5000010 1 gets b;"
			    "5000020 1 replies b; 5000030 1 replies a"));
}

TEST(a_request_that_calls_another_service_is_not_idle)
{
	CHECK(!first_is_idle("process 1; process 2; 10 1 gets a; 20 1 calls b; 25 2 takes b;"
			     "30-5000000 1 polls; 4999990 2 replies b; 5000010 1 reads b;"
			     "5000030 1 replies a"));
}

TEST(a_short_request_is_not_idle)
{
	CHECK(!first_is_idle("process 1; 10 1 gets a; 20-5000 1 polls; 5010 1 gets b;"
			     "5020 1 replies b; 5030 1 replies a"));
}
