/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of requests that an event loop (thread 1) serves, in the notation of scenario.h.  Paths
 * are written as in ". 3-5, N 5-20 remote": a scenario does not contain when threads run.
 */
#include "analyse/path.h"
#include "analyse/requests/spans.h"
#include "scenario.h"
#include "test.h"

static void put_step(FILE *file, const struct step *step)
{
	static const char *const words[] = { " transit", "",        " queueing", " sending",
					     " remote",  " behind", " timer",    "",
					     "",         " parked" };

	fprintf(file, "%c %lu-%lu", step->state == STATE_GAP ? '.' : step->state,
		(unsigned long)step->start, (unsigned long)step->end);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (step->flags & 1 << i)
			fputs(words[i], file);
}

/* Checks the path of the span that begins at a time. */
static void check_path(const char *statements, nsec_t start, const char *want)
{
	_cleanup_(scenario_done) struct scenario s = { 0 };
	struct path path = { 0 };
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	scenario_add(&s, 0, statements);

	_cleanup_(model_freep) struct model *model = story_model(&s.story);
	_cleanup_(requests_done) struct requests requests;
	_cleanup_(span_set_done) struct span_set spans = { .model = model };

	requests_find(model, &requests);
	request_spans_add(&requests, NULL, &spans);
	for (uint32_t i = 1; i < span_set_count(&spans); i++)
		if (span_set_at(&spans, (span_id){ i })->start == start)
			path_of_span(&spans, (span_id){ i }, &path);
	for (size_t i = 0; i < path.steps.count; i++) {
		fputs(i ? ", " : "", file);
		put_step(file, &path.steps.items[i]);
	}
	fclose(file);
	CHECK_STR(text, want);
	path_done(&path);
	free(text);
}

TEST(a_call_to_a_service_that_was_not_recorded_is_a_wait_for_that_service)
{
	check_path("process 1; 10 1 gets a; 12 1 calls b; 13-30 1 polls; 31 1 reads b;"
		   "32 1 replies a; 40-50 1 polls",
		   10, ". 10-12, N 12-31 remote, . 31-32");
}

/* The loop is woken at 15 and 20 by requests b and c, which do not concern a. */
TEST(a_request_of_an_event_loop_does_not_wait_for_other_clients)
{
	check_path(
		"process 1; 10 1 gets a; 11 1 calls d; 12-15 1 polls; 15 1 gets b; 16 1 replies b;"
		"17-20 1 polls; 20 1 gets c; 21 1 replies c; 22-30 1 polls; 30 1 reads d;"
		"32 1 replies a; 40-50 1 polls",
		10, ". 10-11, N 11-30 remote, . 30-32");
}

TEST(a_request_without_a_pending_call_waits_for_a_timer)
{
	check_path("process 1; 10 1 gets a; 12-15 1 polls; 15 1 gets b; 16 1 replies b;"
		   "17-30 1 sleeps; 32 1 replies a; 40-50 1 polls",
		   10, ". 10-12, T 12-30 timer, . 30-32");
}

/* c wakes the loop just before it goes on with a. */
TEST(a_pause_that_ends_without_a_reply_or_a_timer_has_an_unknown_cause)
{
	check_path(
		"process 1; 10 1 gets a; 11 1 gets b; 12-30 1 polls; 30 1 gets c; 31 1 replies c;"
		"32 1 replies a; 40-50 1 polls",
		10, ". 10-11, ? 11-30 parked, . 30-31 queueing, . 31-32");
}

/* The loop keeps one connection; b gets it when the reply for a has come. */
TEST(a_request_that_is_queued_for_a_connection_waits_for_another_request)
{
	check_path("process 1; 10 1 gets a; 11 1 calls d; 12 1 gets b; 13-30 1 polls; 30 1 reads d;"
		   "31 1 replies a; 32 1 calls d; 33-40 1 polls; 40 1 reads d; 41 1 replies b;"
		   "42-50 1 polls",
		   12,
		   ". 12-13, L 13-30 behind, . 30-31 queueing, . 31-32, N 32-40 remote, . 40-41");
}

TEST(a_request_waits_in_the_queue_of_a_pool_s_thread_that_works_for_others)
{
	check_path("process 1 2 3; 10 1 gets a; 2-11 3 waits 1; 12 2 gets b; 11-20 1 awaits 3;"
		   "13-30 2 awaits 3; 31 2 replies b; 21 1 replies a; 31-40 3 waits 1",
		   12, ". 12-13, . 13-20 queueing, . 20-30, . 30-31");
}
