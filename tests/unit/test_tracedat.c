/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of the ring buffer, in trace.dat files of version 6. */
#include "tracedat_build.h"

#define FILE_OF(byte_order) \
	_cleanup_(file_done) struct file f = { .big = byte_order }; \
	size_t table = begin_file(&f, 2)

TEST(rings_are_merged_by_time_and_then_by_cpu)
{
	for (int big = 0; big < 2; big++) {
		FILE_OF(big);
		put_ring(&f, table, 0, (unsigned[]){ 100, 150, 300 }, 3, 1000);
		put_ring(&f, table, 1, (unsigned[]){ 90, 150, 200 }, 3, 2000);
		READ(&f);
		static const unsigned pids[] = { 2000, 1000, 1001, 2001, 2002, 1002 };
		static const unsigned times[] = { 90, 100, 150, 150, 200, 300 };

		CHECK_INT(r.code, 0);
		CHECK_INT(r.events.count, 6);
		for (size_t i = 0; i < 6 && i < r.events.count; i++) {
			const struct raw_event *e = &r.events.items[i];

			CHECK_INT(e->time, times[i]);
			CHECK_INT(e->kind, RAW_WAKING);
			CHECK_INT(e->wake.tid, pids[i]);
			CHECK_INT(e->cpu, pids[i] / 1000 - 1);
			CHECK_INT(e->tid, 41);
			CHECK_INT(e->context, RAW_IN_TASK);
			CHECK_INT(e->comm.len, 13);
		}
	}
}

TEST(a_file_contains_host_clock_and_kinds)
{
	FILE_OF(false);
	put_ring(&f, table, 0, (unsigned[]){ 100 }, 1, 1);
	READ(&f);

	CHECK_STR(r.source->host, "pluto");
	CHECK(r.source->is_monotonic);
	CHECK(!r.source->has_realtime);
	CHECK(r.source->has_kinds);
	CHECK_INT(r.source->kinds, 1 << RAW_WAKING);
	CHECK(!r.source->warning);
	CHECK_STR(r.source->type_name(r.source, WAKING), "sched:sched_waking");
	CHECK_STR(r.source->type_format(r.source, WAKING), waking_format);
}

TEST(time_extends_time_stamps_and_padding_move_the_time)
{
	for (int big = 0; big < 2; big++) {
		FILE_OF(big);
		size_t page = begin_page(&f, 1000);

		put_waking(&f, 0, 1);
		put_event_header(&f, 30, 5); /* time extend by (2 << 27) + 5 */
		put(&f, 4, 2);
		put_waking(&f, 1, 2);
		put_event_header(&f, 29, 10); /* a discarded event */
		put(&f, 4, 12);
		put(&f, 8, 0);
		put_waking(&f, 1, 3);
		put_event_header(&f, 31, 7); /* absolute time (8 << 27) + 7 */
		put(&f, 4, 8);
		put_waking(&f, 0, 4);
		put_event_header(&f, 0, 3); /* the length is in the next word: 8 bytes of data */
		put(&f, 4, 12);
		put(&f, 2, WAKING);
		put(&f, 6, 0);
		put_event_header(&f, 29, 0); /* padding up to the end of the page */
		end_page(&f, page, 0);
		set_ring(&f, table, 0, page);
		READ(&f);
		static const uint64_t times[] = { 1000, 1000 + (2 << 27) + 6, 1000 + (2 << 27) + 17,
						  (8 << 27) + 7, (8 << 27) + 10 };

		CHECK_INT(r.events.count, 5);
		for (size_t i = 0; i < 5 && i < r.events.count; i++) {
			CHECK_INT(r.events.items[i].time, times[i]);
			CHECK_INT(r.events.items[i].wake.tid, i == 4 ? 0 : i + 1);
		}
		CHECK(!r.source->warning);
	}
}

TEST(a_loss_is_reported_before_its_page)
{
	FILE_OF(false);
	size_t first = begin_page(&f, 100);
	put_waking(&f, 0, 1);
	end_page(&f, first, 0);
	size_t counted = begin_page(&f, 200);
	put_waking(&f, 5, 2);
	end_page(&f, counted, 3u << 30);
	size_t uncounted = begin_page(&f, 300);
	put_waking(&f, 0, 3);
	end_page(&f, uncounted, 1u << 31);
	set_ring(&f, table, 0, first);
	READ(&f);

	CHECK_INT(r.events.count, 5);
	if (r.events.count != 5)
		return;
	CHECK_INT(r.events.items[1].kind, RAW_LOST);
	CHECK_INT(r.events.items[1].time, 200);
	CHECK_INT(r.events.items[1].lost.start, 100);
	CHECK_INT(r.events.items[1].lost.count, 77);
	CHECK_INT(r.events.items[2].time, 205);
	CHECK_INT(r.events.items[3].kind, RAW_LOST);
	CHECK_INT(r.events.items[3].lost.start, 205);
	CHECK_INT(r.events.items[3].lost.count, 0);
}

TEST(a_damaged_page_is_a_loss_and_the_next_page_is_read)
{
	FILE_OF(false);
	size_t good = begin_page(&f, 100);
	put_waking(&f, 0, 1);
	end_page(&f, good, 0);
	size_t too_full = begin_page(&f, 200);
	end_page(&f, too_full, PAGE);
	size_t too_long = begin_page(&f, 300);
	put_waking(&f, 0, 2);
	put_event_header(&f, 28, 1);
	end_page(&f, too_long, 0);
	size_t last = begin_page(&f, 400);
	put_waking(&f, 0, 3);
	end_page(&f, last, 0);
	set_ring(&f, table, 0, good);
	READ(&f);

	CHECK_INT(r.events.count, 5);
	if (r.events.count != 5)
		return;
	CHECK_INT(r.events.items[1].kind, RAW_LOST);
	CHECK_INT(r.events.items[1].time, 300);
	CHECK_INT(r.events.items[2].wake.tid, 2);
	CHECK_INT(r.events.items[3].kind, RAW_LOST);
	CHECK_INT(r.events.items[4].wake.tid, 3);
	CHECK_STR(r.source->warning,
		  "'x.dat' is damaged or truncated; unreadable parts count as lost");
}

TEST(an_event_of_unknown_format_is_counted)
{
	FILE_OF(false);
	size_t page = begin_page(&f, 100);
	put_waking(&f, 0, 1);
	f.bytes.items[page + 20] = 99;
	end_page(&f, page, 0);
	set_ring(&f, table, 0, page);
	READ(&f);

	CHECK_INT(r.events.count, 1);
	CHECK_INT(r.events.items[0].kind, RAW_OTHER);
	CHECK_INT(r.events.items[0].tid, 41);
	CHECK_STR(r.source->type_name(r.source, r.events.items[0].type), "unknown");
	CHECK_STR(r.source->warning, "'x.dat' contains events of unknown format");
}

TEST(time_never_goes_back)
{
	FILE_OF(false);
	size_t late = begin_page(&f, 500);
	put_waking(&f, 0, 1);
	end_page(&f, late, 0);
	size_t early = begin_page(&f, 300);
	put_waking(&f, 0, 2);
	end_page(&f, early, 0);
	set_ring(&f, table, 0, late);
	READ(&f);

	CHECK_INT(r.events.count, 2);
	CHECK_INT(r.events.items[1].time, 500);
}
