/* SPDX-License-Identifier: Apache-2.0 */
#include "model/span_slice.h"

#include "test.h"

static void add(struct span_slices *s, uint32_t span, uint32_t thread, nsec_t start, nsec_t end)
{
	span_slices_add(s, &(struct span_slice){ start, end, { thread }, { span } });
}

TEST(a_thread_works_for_the_span_of_its_slice_at_that_time)
{
	struct span_slices s = { 0 };

	add(&s, 2, 7, 30, 40);
	add(&s, 1, 7, 10, 20);
	add(&s, 3, 8, 0, 90);
	span_slices_finish(&s);
	CHECK_INT(span_slice_of_thread(&s, (thread_id){ 7 }, 0)->span.i, 1);
	CHECK_INT(span_slice_of_thread(&s, (thread_id){ 7 }, 19)->span.i, 1);
	CHECK_INT(span_slice_of_thread(&s, (thread_id){ 7 }, 20)->span.i, 2);
	CHECK(!span_slice_of_thread(&s, (thread_id){ 7 }, 40));
	CHECK(!span_slice_of_thread(&s, (thread_id){ 9 }, 0));
	CHECK_INT(span_slice_of_span(&s, (span_id){ 3 }, 5)->end, 90);
	span_slices_done(&s);
}

TEST(later_work_of_a_thread_ends_its_earlier_work)
{
	struct span_slices s = { 0 };

	add(&s, 1, 7, 10, 50);
	add(&s, 2, 7, 20, 30);
	span_slices_finish(&s);
	CHECK_INT(span_slice_of_thread(&s, (thread_id){ 7 }, 15)->end, 20);
	CHECK_INT(span_slice_of_thread(&s, (thread_id){ 7 }, 25)->span.i, 2);
	CHECK(!span_slice_of_thread(&s, (thread_id){ 7 }, 35));
	span_slices_done(&s);
}

TEST(the_next_reply_of_a_span_is_found)
{
	struct span_slices s = { 0 };

	span_slices_add_reply(&s, &(struct span_reply){ .span = { 2 }, .time = 50 });
	span_slices_add_reply(&s, &(struct span_reply){ .span = { 1 }, .time = 60 });
	span_slices_add_reply(&s, &(struct span_reply){ .span = { 1 }, .time = 20 });
	span_slices_finish(&s);
	CHECK_INT(span_reply_from(&s, (span_id){ 1 }, 20)->time, 20);
	CHECK_INT(span_reply_from(&s, (span_id){ 1 }, 21)->time, 60);
	CHECK(!span_reply_from(&s, (span_id){ 1 }, 61));
	span_slices_done(&s);
}
