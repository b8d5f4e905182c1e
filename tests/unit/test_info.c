/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"
#include "test.h"
#include "capture_stream.h"
#include "event/counter.h"

static struct capture_writer *begin(void)
{
	return build_capture(scratch("x"));
}

#define ADD(w, ...) build_add(w, REC(__VA_ARGS__))

/* Count the records of the scratch file "x"; set *text, if not NULL, to the text output. */
static void count(struct capture_writer *w, struct info *info, char **text)
{
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct err err;
	size_t size;

	build_close(w);
	capture_writer_free(w);
	CHECK_INT(capture_open(scratch("x"), &cap, &err), 0);
	CHECK_INT(capture_stream_info(cap, info, &err), 0);
	if (!text)
		return;
	FILE *file = open_memstream(text, &size);
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	out_init(out, file);
	info_text(info, out);
	CHECK_INT(out_flush(out), 0);
	fclose(file);
}

TEST(a_reused_thread_id_is_another_thread)
{
	_cleanup_(info_done) struct info info;
	struct capture_writer *w = begin();

	ADD(w, TASK, task, 1000, 10, .pid = 10, .event = TASK_EXISTING);
	ADD(w, TASK, task, 1001, 11, .pid = 10, .event = TASK_NEW);
	ADD(w, TASK, task, 1002, 10, .pid = 10, .event = TASK_EXEC);
	ADD(w, TASK, task, 1002, 10, .pid = 10, .event = TASK_RENAMED);
	ADD(w, EXIT, exit, 1003, 11, .pid = 10);
	ADD(w, TASK, task, 1004, 11, .pid = 10, .event = TASK_NEW); /* the same thread ID */
	ADD(w, EXIT, exit, 1005, 10, .pid = 10);
	ADD(w, TASK, task, 1006, 10, .pid = 10, .event = TASK_NEW); /* the same process ID */
	count(w, &info, NULL);
	CHECK_INT(info.counts.threads, 4);
	CHECK_INT(info.counts.processes, 2);
	CHECK_INT(info.counts.out_of_scope, 0);
}

TEST(a_process_that_becomes_known_later_is_counted_once)
{
	_cleanup_(info_done) struct info info;
	struct capture_writer *w = begin();

	/* a trace contains switches of threads 11 and 12 before it names their process */
	ADD(w, TASK, task, 1000, 11, .pid = 11, .event = TASK_EXISTING);
	ADD(w, TASK, task, 1001, 12, .pid = 12, .event = TASK_EXISTING);
	ADD(w, TASK, task, 1002, 13, .pid = 13, .event = TASK_EXISTING);
	ADD(w, TASK, task, 1003, 11, .pid = 10, .event = TASK_RENAMED);
	ADD(w, TASK, task, 1004, 12, .pid = 10, .event = TASK_RENAMED);
	ADD(w, TASK, task, 1005, 12, .pid = 10, .event = TASK_RENAMED);
	ADD(w, TASK, task, 1006, 10, .pid = 10, .event = TASK_EXISTING);
	count(w, &info, NULL);
	CHECK_INT(info.counts.threads, 4);
	CHECK_INT(info.counts.processes, 2);
}

TEST(a_thread_that_comes_into_scope_is_no_longer_out_of_scope)
{
	_cleanup_(info_done) struct info info;
	struct capture_writer *w = begin();

	ADD(w, TASK, task, 1000, 10, .pid = 10, .event = TASK_OUT_OF_SCOPE);
	ADD(w, TASK, task, 1001, 20, .pid = 20, .event = TASK_OUT_OF_SCOPE);
	ADD(w, TASK, task, 1002, 20, .pid = 20, .event = TASK_OUT_OF_SCOPE);
	ADD(w, TASK, task, 1003, 10, .pid = 10, .event = TASK_EXISTING);
	count(w, &info, NULL);
	CHECK_INT(info.counts.threads, 1);
	CHECK_INT(info.counts.processes, 1);
	CHECK_INT(info.counts.out_of_scope, 1);
}

TEST(time_is_counted_by_state_and_in_scope_only)
{
	_cleanup_(info_done) struct info info;
	struct capture_writer *w = begin();

	ADD(w, RUN, run, 1100, 10, .start = 1000, .irq = 7);
	ADD(w, RUN, run, 1200, 20, .start = 1000, .flags = INTERVAL_OUT_OF_SCOPE);
	ADD(w, WAIT, wait, 1300, 10, .start = 1100, .woken = 1250, .state = STATE_DISK,
	    .ready = STATE_READY);
	ADD(w, WAIT, wait, 1400, 10, .start = 1300, .woken = 1300, .state = STATE_DISK,
	    .ready = STATE_READY);
	count(w, &info, NULL);
	CHECK_INT(info.states['R'].count, 1);
	CHECK_INT(info.states['R'].time, 100);
	CHECK_INT(info.irq, 7);
	CHECK_INT(info.states['D'].count, 1);
	CHECK_INT(info.states['D'].time, 150);
	CHECK_INT(info.states['C'].count, 2);
	CHECK_INT(info.states['C'].time, 150);
	CHECK_INT(info.end, 1400);
	CHECK_INT(info.total, 4);
	CHECK(!info.origin.cut);
}

#define MS(n) ((n) * NSEC_PER_MSEC)

TEST(losses_of_one_burst_are_merged)
{
	_cleanup_(info_done) struct info info;
	_cleanup_(freep) char *text = NULL;
	struct capture_writer *w = begin();

	/* two bursts on CPU 0, with one on CPU 1 between their records */
	ADD(w, LOSS, loss, MS(10), 0, .start = MS(1), .end = MS(2), .count = 3);
	build_add(w, &(struct record_loss){ { .time = MS(10),
					      .cpu = 1,
					      .kind = RECORD_LOSS,
					      .words = sizeof(struct record_loss) / 8 },
					    .start = MS(1),
					    .end = MS(9),
					    .count = 40 }
			      .head);
	ADD(w, LOSS, loss, MS(20), 0, .start = MS(2), .end = MS(4), .count = 4);
	ADD(w, LOSS, loss, MS(90), 0, .start = MS(80), .end = MS(85), .count = 100);
	count(w, &info, &text);
	CHECK_INT(info.lost, 147);
	CHECK_INT(info.losses.count, 4);
	CHECK(strstr(text, "lost       147 records\n"
			   "             7  on CPU 0 between 0.000999 and 0.003999 s\n"
			   "           100  on CPU 0 between 0.079999 and 0.084999 s\n"
			   "            40  on CPU 1 between 0.000999 and 0.008999 s\n"));
}

TEST(lost_packets_are_not_records)
{
	_cleanup_(info_done) struct info info;
	_cleanup_(freep) char *text = NULL;
	struct capture_writer *w = begin();

	ADD(w, LOSS, loss, MS(10), 0, .start = MS(1), .end = MS(2), .packets = 3);
	ADD(w, LOSS, loss, MS(90), 0, .start = MS(80), .end = MS(85), .count = 5, .packets = 1);
	count(w, &info, &text);
	CHECK_INT(info.lost, 5);
	CHECK_INT(info.lost_packets, 4);
	CHECK(strstr(text,
		     "lost       5 records and 4 packets of records\n"
		     "       3 packets  on CPU 0 between 0.000999 and 0.001999 s\n"
		     "             5 and 1 packet  on CPU 0 between 0.079999 and 0.084999 s\n"));
}

TEST(many_losses_are_limited_to_ten_lines)
{
	_cleanup_(info_done) struct info info;
	_cleanup_(freep) char *text = NULL;
	struct capture_writer *w = begin();

	for (unsigned i = 1; i <= 17; i++)
		ADD(w, LOSS, loss, MS(100) * i, 0, .start = MS(100) * i - 5, .end = MS(100) * i - 1,
		    .count = 1);
	count(w, &info, &text);
	CHECK_INT(info.lost, 17);
	CHECK(strstr(text, "between 0.999999 and 0.999999 s\n                and 7 more ranges\n"));
}

TEST(a_capture_without_losses_reports_nothing_lost)
{
	_cleanup_(info_done) struct info info;
	_cleanup_(freep) char *text = NULL;

	count(begin(), &info, &text);
	CHECK(strstr(text, "lost       nothing\n"));
}

/* Two spans were recorded, and one is in the capture. */
TEST(a_span_that_disappeared_is_a_mismatch)
{
	_cleanup_(info_done) struct info info;
	_cleanup_(freep) char *text = NULL;
	struct capture_writer *w = begin();

	ADD(w, SPAN, span, 1000, 10, .start = 900);
	ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_WRITTEN, .count = 1);
	ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_AGENT_RECORDS, .count = 1);
	ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_EVENTS_DRAINED, .count = 5);
	ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_EVENTS_DAMAGED, .count = 1);
	ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_BEGINS, .count = 2);
	ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_ENDS, .count = 2);
	ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_SPANS_PAIRED, .count = 2);
	ADD(w, COUNTER, counter, 1001, 0, .counter = 4711, .count = 2); /* of a later version */
	count(w, &info, &text);
	CHECK(strstr(text, "dropped    1 malformed span events\n"
			   "MISMATCH   spans: 2 recorded, but 1 read\n"));
	CHECK(counters_agree(&info.counters, false));
	CHECK(!counters_agree(&info.counters, true));
}

TEST(a_piece_of_a_stream_has_no_discrepancies)
{
	for (int whole = 0; whole < 2; whole++) {
		_cleanup_(info_done) struct info info;
		_cleanup_(freep) char *text = NULL;
		struct capture_writer *w = begin();

		if (!whole)
			ADD(w, EPOCH, epoch, 1000, 0, .number = 7);
		ADD(w, TASK, task, 1000, 10, .pid = 10, .event = TASK_AGAIN);
		ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_WRITTEN, .count = 1000);
		ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_ADDED, .count = 1000);
		count(w, &info, &text);
		CHECK_INT(info.counts.threads, 1);
		CHECK_INT(!strstr(text, "MISMATCH"), !whole);
	}
}

TEST(records_that_a_stream_dropped_are_no_discrepancy)
{
	_cleanup_(info_done) struct info info;
	_cleanup_(freep) char *text = NULL;
	struct capture_writer *w = begin();

	ADD(w, TASK, task, 1000, 10, .pid = 10, .event = TASK_EXISTING);
	ADD(w, LOSS, loss, 1000, 0, .start = 900, .end = 1000, .count = 999);
	ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_WRITTEN, .count = 1000);
	ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_ADDED, .count = 1000);
	ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_STREAM_ADDED, .count = 1);
	ADD(w, COUNTER, counter, 1001, 0, .counter = COUNTER_STREAM_DROPPED, .count = 999);
	count(w, &info, &text);
	CHECK(!strstr(text, "MISMATCH"));
	CHECK(strstr(text, "999 records that the reader of the stream was too slow for"));
}
