/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of HTTP/2 that are neither requests nor replies.  Thread 1 serves a connection; its
 * messages are written as their sizes in bytes, positive if received and negative if sent.
 */
#include "analyse/requests/requests.h"
#include "story.h"
#include "test.h"

enum { SERVER = 100, STEP = 10 };

static size_t count_requests(const int *sizes, size_t count)
{
	_cleanup_(story_done) struct story s = { 0 };
	uint32_t received = 1, sent = 1;

	story_begin(&s, 1, 0);
	story_connect(&s, SERVER);
	for (size_t i = 0; i < count; i++)
		if (sizes[i] > 0)
			story_receive(&s, 1, (i + 1) * STEP, SERVER, received += sizes[i],
				      sizes[i]);
		else
			story_send(&s, 1, (i + 1) * STEP, SERVER, sent -= sizes[i], -sizes[i]);
	story_run(&s, 1, 0, (count + 1) * STEP);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(requests_done) struct requests requests;

	requests_find(model, &requests);
	return requests.roots.count;
}

#define REQUESTS(...) \
	count_requests((int[]){ __VA_ARGS__ }, sizeof((int[]){ __VA_ARGS__ }) / sizeof(int))

TEST(pings_of_both_ends_are_no_requests)
{
	CHECK_INT(REQUESTS(60, -71, 17, -17, 60, -71, -17, 17, 60, -71, 17, -30, 60, -71), 4);
}

TEST(a_ping_does_not_end_the_request_that_is_served)
{
	CHECK_INT(REQUESTS(60, 17, -17, -71, 60, -71, -17, 17, 60, 17, -30, -71), 3);
}

TEST(short_calls_are_requests_if_only_the_client_starts_exchanges)
{
	CHECK_INT(REQUESTS(60, -71, 17, -17, 60, -71, 17, -17, 60, -71, 17, -17), 6);
}

TEST(messages_of_one_size_are_requests)
{
	CHECK_INT(REQUESTS(17, -30, -17, 17, -30, -17, 17, -30, -17, 17, -30, -17), 4);
}
