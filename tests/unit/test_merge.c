/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "build.h"
#include "bytes.h"
#include "read/merge.h"
#include "test.h"

/* A capture with on-CPU slices of one thread that end at these times; the list ends with 0. */
static char *write_capture(const char *name, const struct capture_meta *meta, uint32_t tid,
			   const nsec_t *times)
{
	_cleanup_(capture_writer_freep) struct capture_writer *w = NULL;
	char *path = must_strdup(scratch(name));
	struct err err;

	CHECK_INT(capture_create(path, meta, &w, &err), 0);
	for (; *times; times++)
		build_add(w, REC(RUN, run, *times, tid, .start = *times - 1));
	build_close(w);
	return path;
}

/* A Jaeger trace with one span of 1 µs; host: NULL to omit it. */
static char *write_trace(const char *name, const char *start, const char *host)
{
	_cleanup_(freep) char *tags =
		must_printf("{\"key\":\"hostname\",\"value\":\"%s\"}", host ?: "");
	_cleanup_(freep) char *text = must_printf("{\"traceID\":\"1\",\"processes\":{\"p\":{"
						  "\"serviceName\":\"front\",\"tags\":[%s]}},"
						  "\"spans\":[{\"spanID\":\"1\",\"startTime\":%s,"
						  "\"duration\":1,\"processID\":\"p\"}]}",
						  host ? tags : "", start);
	char *path = must_strdup(scratch(name));

	bytes_write(&(struct bytes){ (unsigned char *)text, strlen(text) }, path);
	return path;
}

static struct merge *open_all(char **paths)
{
	struct merge *merge = NULL;
	struct err err = { "" };

	CHECK_INT(merge_open(paths, NULL, &merge, &err), 0);
	CHECK_STR(err.text, "");
	return merge;
}

/* Checks thread, host and time of the next record; 0, 0, 0 for the end. */
static void check_next(struct merge *merge, uint32_t tid, uint16_t host, nsec_t time)
{
	const struct source *source = NULL;
	const struct record *r;
	struct err err;

	if (merge_next(merge, &r, &source, &err) <= 0) {
		CHECK_INT(0, time);
		return;
	}
	CHECK_INT(r->tid, tid);
	CHECK_INT(source->host, host);
	CHECK_INT(source_time(source, r->time), time);
}

TEST(captures_of_one_host_share_its_clock_and_threads)
{
	struct capture_meta later = build_meta;

	/* CLOCK_REALTIME was set by 100 ms between the two */
	later.realtime_offset += NSEC_PER_SEC / 10;
	_cleanup_(freep) char *a = write_capture("a", &build_meta, 1, (nsec_t[]){ 10, 30, 50, 0 });
	_cleanup_(freep) char *b = write_capture("b", &later, 2, (nsec_t[]){ 20, 30, 40, 0 });
	_cleanup_(merge_freep) struct merge *merge = open_all((char *[]){ a, b, NULL });

	check_next(merge, 1, 0, 10);
	check_next(merge, 2, 0, 20);
	check_next(merge, 1, 0, 30);
	check_next(merge, 2, 0, 30);
	check_next(merge, 2, 0, 40);
	check_next(merge, 1, 0, 50);
	check_next(merge, 0, 0, 0);
	check_next(merge, 0, 0, 0);
	CHECK(!merge_warning(merge, 0));
}

TEST(other_hosts_and_other_boots_are_shifted_and_separate)
{
	struct capture_meta other = build_meta, again = build_meta;

	other.host = "otherhost";
	other.realtime_offset += 1000;
	again.realtime_offset += 2 * NSEC_PER_SEC;
	_cleanup_(freep) char *a = write_capture("a", &build_meta, 1, (nsec_t[]){ 500, 1500, 0 });
	_cleanup_(freep) char *b = write_capture("b", &other, 2, (nsec_t[]){ 100, 600, 0 });
	_cleanup_(freep) char *c = write_capture("c", &again, 3, (nsec_t[]){ 1, 0 });
	_cleanup_(freep) char *d = write_capture("d", &other, 4, (nsec_t[]){ 300, 0 });
	_cleanup_(merge_freep) struct merge *merge = open_all((char *[]){ a, b, c, d, NULL });

	check_next(merge, 1, 0, 500);
	check_next(merge, 2, 1, 1100);
	check_next(merge, 4, 1, 1300);
	check_next(merge, 1, 0, 1500);
	check_next(merge, 2, 1, 1600);
	check_next(merge, 3, 2, 2 * NSEC_PER_SEC + 1);
	check_next(merge, 0, 0, 0);
}

/* A capture of one end of a connection: count messages each way, the n-th at n * 1000 + lead. */
static char *write_connection(const char *name, const struct capture_meta *meta, bool is_server,
			      uint32_t count, nsec_t lead)
{
	_cleanup_(capture_writer_freep) struct capture_writer *w = NULL;
	struct socket_address address = { .family = 2,
					  .protocol = 6,
					  .local_port = is_server ? 80 : 4000,
					  .peer_port = is_server ? 4000 : 80,
					  .local = { 10, 0, 0, is_server },
					  .peer = { 10, 0, 0, !is_server } };
	char *path = must_strdup(scratch(name));
	struct err err;

	CHECK_INT(capture_create(path, meta, &w, &err), 0);
	build_add(w, REC(SOCKET, socket, lead, 1, .object = 9, .address = address));
	for (uint32_t n = 1; n <= count; n++)
		for (uint8_t back = 0; back < 2; back++) {
			bool sends = back == is_server;
			nsec_t time = n * 1000 + back * 500 + (sends ? 0 : 100);

			build_add(w, REC(MESSAGE, message, time + lead, is_server + 1u, .object = 9,
					 .object_kind = OBJECT_INET, .bytes = 10,
					 .position = 10 * n + back,
					 .direction = sends ? MESSAGE_SEND : MESSAGE_RECEIVE));
		}
	build_close(w);
	return path;
}

/* Captures of both ends; the error of CLOCK_REALTIME between the two hosts is 50,000 ns. */
static struct merge *open_connection(uint32_t count)
{
	struct capture_meta other = build_meta;

	other.host = "otherhost";
	other.realtime_offset -= 250000;

	_cleanup_(freep) char *a = write_connection("client", &build_meta, false, count, 0);
	_cleanup_(freep) char *b = write_connection("server", &other, true, count, 300000);

	return open_all((char *[]){ a, b, NULL });
}

TEST(hosts_that_exchange_messages_are_aligned)
{
	_cleanup_(merge_freep) struct merge *merge = open_connection(20);
	struct merge_clock clock = merge_clock(merge, 1);
	const struct source *source;
	const struct record *r;
	nsec_t sent = 0;
	struct err err;

	CHECK_INT(merge_host_count(merge), 2);
	CHECK_STR(merge_host_name(merge, 1), "otherhost");
	CHECK_INT(merge_clock(merge, 0).alignment, MERGE_REFERENCE);
	CHECK_INT(clock.alignment, MERGE_ALIGNED);
	CHECK_STR(clock.reference, "testhost");
	CHECK_STR(clock.via, "testhost");
	CHECK_INT(clock.from, 20);
	CHECK_INT(clock.to, 20);
	CHECK(clock.bound <= 120);
	CHECK(clock.offset <= -50000 + (int64_t)clock.bound &&
	      clock.offset >= -50000 - (int64_t)clock.bound);
	while (merge_next(merge, &r, &source, &err) > 0) {
		CHECK_INT(source->group, 0);
		if (r->kind != RECORD_MESSAGE)
			continue;
		if (((const struct record_message *)r)->direction == MESSAGE_SEND)
			sent = source_time(source, r->time);
		else
			CHECK(source_time(source, r->time) >= sent &&
			      source_time(source, r->time) < sent + 220);
	}
	CHECK(!merge_warning(merge, 0));
}

TEST(hosts_with_few_messages_are_in_different_groups)
{
	_cleanup_(merge_freep) struct merge *merge = open_connection(2);
	const struct source *source;
	const struct record *r;
	struct err err;

	CHECK_INT(merge_clock(merge, 1).alignment, MERGE_TOO_FEW_MESSAGES);
	CHECK_INT(merge_clock(merge, 1).from, 2);
	CHECK_INT(merge_clock(merge, 1).to, 2);
	CHECK_INT(merge_clock(merge, 1).offset, 0);
	CHECK(merge_clock(merge, 1).bound == UINT64_MAX);
	while (merge_next(merge, &r, &source, &err) > 0)
		CHECK_INT(source->group, source->host);
	CHECK(merge_warning(merge, 0) &&
	      strstr(merge_warning(merge, 0), "the clocks of 'otherhost' and 'testhost': "));
}

TEST(conversion_by_a_line_is_exact_and_keeps_order)
{
	struct source s = { .shift = -1000,
			    .drift = ((int64_t)1 << SOURCE_DRIFT_BITS) / 8,
			    .origin = 4000 };

	CHECK_INT(source_time(&s, 4000), 3000);
	CHECK_INT(source_time(&s, 12000), 12000);
	CHECK_INT(source_time(&s, 3999), 2998); /* an eighth less, rounded down */
	s.drift = -SOURCE_DRIFT_MAX;
	for (nsec_t t = 1000; t < 12000; t++)
		CHECK(source_time(&s, t) <= source_time(&s, t + 1));
	/* also after half a year */
	s.drift = -((int64_t)1 << SOURCE_DRIFT_BITS) / 1024;
	CHECK_INT(source_time(&s, 4000 + (1ull << 54)), 3000 + (1ull << 54) - (1ull << 44));
}

TEST(spans_alone_keep_realtime)
{
	_cleanup_(freep) char *a = write_trace("a", "1700000000000001", NULL);
	_cleanup_(merge_freep) struct merge *merge = open_all((char *[]){ a, NULL });
	const struct source *source;
	const struct record *r;
	struct err err;

	CHECK_INT(merge_next(merge, &r, &source, &err), 1);
	CHECK_INT(r->time, 1700000000000002000);
	CHECK_INT(source->shift, 0);
	CHECK_STR(source->get_string(source->arg, ((const struct record_span *)r)->service),
		  "front");
	CHECK_INT(merge_next(merge, &r, &source, &err), 0);
}

TEST(spans_are_converted_to_the_clock_of_the_first_capture)
{
	_cleanup_(freep) char *t = write_trace("t", "1700000000000004", NULL);
	_cleanup_(freep) char *a = write_capture("a", &build_meta, 1, (nsec_t[]){ 4999, 5001, 0 });
	_cleanup_(merge_freep) struct merge *merge = open_all((char *[]){ t, a, NULL });

	check_next(merge, 1, 0, 4999);
	check_next(merge, 0, 0, 5000);
	check_next(merge, 1, 0, 5001);
	check_next(merge, 0, 0, 0);
}

TEST(spans_belong_to_the_host_that_they_name)
{
	struct capture_meta other = build_meta;

	other.host = "otherhost";
	_cleanup_(freep) char *a = write_capture("a", &build_meta, 1, (nsec_t[]){ 1, 0 });
	_cleanup_(freep) char *b = write_capture("b", &other, 2, (nsec_t[]){ 2, 0 });
	_cleanup_(freep) char *t1 = write_trace("t1", "1700000000000001", "testhost");
	_cleanup_(freep) char *t2 = write_trace("t2", "1700000000000002", "otherhost.example");
	_cleanup_(freep) char *t3 = write_trace("t3", "1700000000000003", "other");
	_cleanup_(freep) char *t4 = write_trace("t4", "1700000000000004", NULL);
	_cleanup_(merge_freep) struct merge *merge =
		open_all((char *[]){ t1, t2, t3, t4, a, b, NULL });

	check_next(merge, 1, 0, 1);
	check_next(merge, 2, 1, 2);
	check_next(merge, 0, 0, 2000);
	check_next(merge, 0, 1, 3000);
	check_next(merge, 0, 2, 4000); /* a host without a kernel trace */
	check_next(merge, 0, 2, 5000); /* no host */
	check_next(merge, 0, 0, 0);
}

/* Checks whether spans with this host, merged with a capture, use a recorded clock. */
static void check_clock(const char *host, bool has_host_clock)
{
	_cleanup_(freep) char *a = write_capture("a", &build_meta, 1, (nsec_t[]){ 10, 0 });
	_cleanup_(freep) char *b = write_trace("b", "1700000000000000", host);
	_cleanup_(merge_freep) struct merge *merge = open_all((char *[]){ a, b, NULL });
	const struct source *source = NULL;
	const struct record *r;
	struct err err;
	bool found = false;

	while (merge_next(merge, &r, &source, &err) > 0) {
		CHECK_INT(source->has_host_clock, r->kind == RECORD_SPAN ? has_host_clock : true);
		if (r->kind == RECORD_SPAN)
			CHECK_STR(source->host_name, host ?: "");
		found |= r->kind == RECORD_SPAN;
	}
	CHECK(found);
}

TEST(spans_use_the_clock_of_the_recorded_host_that_they_name)
{
	check_clock(build_meta.host, true);
	check_clock("elsewhere", false);
	check_clock(NULL, false);
}

TEST(a_context_from_before_the_timeline_is_dropped)
{
	struct capture_meta later = build_meta; /* a clock that is 1000 ns ahead */
	char *b = must_strdup(scratch("b"));
	_cleanup_(freep) char *a = write_capture("a", &build_meta, 1, (nsec_t[]){ 7000, 0 });
	_cleanup_(capture_writer_freep) struct capture_writer *w = NULL;
	struct err err;

	later.host = "otherhost";
	later.realtime_offset -= 1000;
	CHECK_INT(capture_create(b, &later, &w, &err), 0);
	build_add(w, REC(CONTEXT, context, 1500, 2, .since = 900, .flags = CONTEXT_OBSERVED));
	build_add(w, REC(CONTEXT, context, 1600, 2, .since = 1000, .flags = CONTEXT_OBSERVED));
	build_close(w);

	_cleanup_(merge_freep) struct merge *merge = open_all((char *[]){ a, b, NULL });

	check_next(merge, 2, 1, 600);
	check_next(merge, 1, 0, 7000);
	check_next(merge, 0, 0, 0);
	free(b);
}

TEST(records_from_before_the_timeline_are_dropped_and_counted)
{
	_cleanup_(freep) char *a = write_capture("a", &build_meta, 1, (nsec_t[]){ 7000, 0 });
	_cleanup_(freep) char *old = write_trace("old", "1600000000000000", NULL);
	/* starts before the timeline and ends on it */
	_cleanup_(freep) char *across = write_trace("across", "1699999999999999.5", NULL);
	_cleanup_(freep) char *good = write_trace("good", "1700000000000000", NULL);
	_cleanup_(merge_freep) struct merge *merge =
		open_all((char *[]){ a, old, across, good, NULL });

	check_next(merge, 0, 0, 1000);
	check_next(merge, 1, 0, 7000);
	check_next(merge, 0, 0, 0);
	CHECK(merge_warning(merge, 0) &&
	      strstr(merge_warning(merge, 0), "/old': dropped 1 record from before 'testhost' "
					      "booted"));
	CHECK(merge_warning(merge, 1) && strstr(merge_warning(merge, 1), "/across': dropped 1"));
	CHECK(!merge_warning(merge, 2));
}

TEST(a_damaged_input_does_not_hide_the_others)
{
	_cleanup_(freep) char *a =
		write_capture("a", &build_meta, 1, (nsec_t[]){ 10, 20, 30, 40, 0 });
	_cleanup_(freep) char *b = write_capture("b", &build_meta, 2, (nsec_t[]){ 15, 35, 0 });
	_cleanup_(bytes_done) struct bytes bytes = bytes_read(a);
	const struct source *source;
	const struct record *r;
	struct err err = { "" };

	bytes.data[bytes_block(&bytes, 0) + 70] ^= 1;
	bytes_write(&bytes, a);
	_cleanup_(merge_freep) struct merge *merge = open_all((char *[]){ a, b, NULL });

	check_next(merge, 2, 0, 15);
	check_next(merge, 2, 0, 35);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(merge_next(merge, &r, &source, &err), -EBADMSG);
		CHECK(strstr(err.text, "is damaged: the block at offset "));
	}
}

TEST(opening_fails_if_one_input_cannot_be_opened)
{
	_cleanup_(freep) char *a = write_capture("a", &build_meta, 1, (nsec_t[]){ 10, 0 });
	_cleanup_(freep) char *none = must_strdup(scratch("none"));
	struct merge *merge = NULL;
	struct err err = { "" };

	CHECK_INT(merge_open((char *[]){ a, none, NULL }, NULL, &merge, &err), -ENOENT);
	CHECK(!merge && strstr(err.text, "/none': No such file"));
}

TEST(many_inputs_are_merged_in_order)
{
	enum { INPUTS = 30, EACH = 500 };
	char *paths[INPUTS + 1] = { 0 };
	const struct source *source;
	const struct record *r;
	nsec_t last = 0;
	size_t count = 0;
	struct err err;

	srandom(1);
	for (int i = 0; i < INPUTS; i++) {
		struct capture_meta meta = build_meta;
		nsec_t times[EACH + 1] = { 0 }, t = 1;
		_cleanup_(freep) char *name = must_printf("many%d", i);

		for (int k = 0; k < EACH; k++)
			times[k] = t += random() % 1000;
		meta.host = name;
		meta.realtime_offset += i ? random() % 100000 : 0;
		paths[i] = write_capture(name, &meta, i + 1, times);
	}
	_cleanup_(merge_freep) struct merge *merge = open_all(paths);

	for (; merge_next(merge, &r, &source, &err) > 0; count++) {
		CHECK(source_time(source, r->time) >= last);
		CHECK_INT(source->host, r->tid - 1);
		last = source_time(source, r->time);
	}
	CHECK_INT(count, INPUTS * EACH);
	for (int i = 0; i < INPUTS; i++)
		free(paths[i]);
}
