/* SPDX-License-Identifier: Apache-2.0 */
/* The order of records in perf.data, and damaged files. */
#include <errno.h>

#include "perf_fixture.h"
#include "read/perf/stream.h"

static uint64_t random_state = 88172645463325252;

static uint64_t random_number(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

/* The record pointers are the original positions. */
static void check_sort(struct perf_entry *e, size_t count)
{
	_cleanup_(freep) struct perf_entry *spare = must_alloc((count + 1) * sizeof(*spare));
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		e[i].record = (const uint8_t *)(i + 1);
		sum += e[i].time;
	}
	perf_sort(e, count, spare);
	for (size_t i = 0; i < count; i++) {
		sum -= e[i].time;
		CHECK(i == 0 || e[i - 1].time < e[i].time ||
		      (e[i - 1].time == e[i].time && e[i - 1].record < e[i].record));
	}
	CHECK_INT(sum, 0);
}

TEST(sorting_is_stable)
{
	for (unsigned n = 0; n < 2000; n++) {
		struct perf_entry e[300];
		size_t count = random_number(ARRAY_LEN(e) + 1), run = 1 + random_number(60);
		uint64_t time = 0, step = 1 + random_number(5);

		/* runs that overlap, with a few entries that are late in their run */
		for (size_t i = 0; i < count; i++) {
			if (i % run == 0)
				time = random_number(200);
			time += random_number(step);
			e[i].time = time - (random_number(10) ? 0 : random_number(1 + time));
		}
		check_sort(e, count);
	}
}

TEST(a_batch_is_sorted_across_rings)
{
	enum { RINGS = 5, ROUNDS = 400, EACH = 20 };
	struct perf_build b = { 0 };
	struct raw_event event;
	uint64_t count = 0, last = 0;

	begin_default(&b);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned ring = 0; ring < RINGS; ring++)
			for (unsigned i = 0; i < EACH; i++)
				waking(&b, ring, 11, 1 + 1000 * round + 10 * i + ring, 1);
		round_ends(&b);
	}

	_cleanup_(result_done) struct result r = { .file = perf_build_finish(&b) };

	CHECK_INT(perf_open_memory("x", (char *)r.file.data, r.file.size, &r.input, &r.err), 0);
	r.raw = input_raw(r.input);
	while (r.raw->next(r.raw, &event, &r.err) > 0) {
		CHECK(event.time > last && event.time % 10 == event.cpu + 1u);
		last = event.time;
		count++;
	}
	CHECK_INT(count, RINGS * ROUNDS * EACH);
	CHECK(!r.raw->warning);
}

TEST(records_of_equal_time_keep_the_order_of_the_file)
{
	struct perf_build b = { 0 };

	begin_default(&b);
	for (unsigned i = 0; i < 4; i++)
		waking(&b, 3 - i, 11, 100, i);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_STR(r.text, "11@3 100 waking:0\n11@2 100 waking:1\n11@1 100 waking:2\n"
			  "11@0 100 waking:3\n");
}

TEST(records_out_of_order_are_moved_and_counted)
{
	enum { BATCHES = 4, EACH = 8192 };
	struct perf_build b = { 0 };
	struct raw_event event;
	uint64_t last = 0, count = 0;

	begin_default(&b);
	for (unsigned batch = 0; batch < BATCHES; batch++) {
		for (unsigned i = 0; i < EACH; i++)
			waking(&b, 0, 11, 1000 + EACH * batch + i, 1);
		round_ends(&b);
	}
	waking(&b, 1, 11, 500, 2);

	_cleanup_(result_done) struct result r = { .file = perf_build_finish(&b) };

	CHECK_INT(perf_open_memory("x", (char *)r.file.data, r.file.size, &r.input, &r.err), 0);
	r.raw = input_raw(r.input);
	while (r.raw->next(r.raw, &event, &r.err) > 0) {
		CHECK(event.time >= last);
		last = event.time;
		count++;
	}
	CHECK_INT(count, BATCHES * EACH + 1);
	CHECK_HAS(r.raw->warning, "contains 1 record out of order");
}

static void put(struct bytes *file, size_t at, size_t size, uint64_t n)
{
	memcpy(file->data + at, &n, size);
}

/* A file with two events, and the offset of the second. */
static struct bytes two_events(struct perf_build *b, size_t *ret_second)
{
	begin_default(b);
	waking(b, 1, 11, 100, 12);
	waking(b, 1, 11, 200, 13);

	size_t size = b->records.count / 2;
	struct bytes file = perf_build_finish(b);

	*ret_second = b->pipe ? file.size - size : perf_u64(file.data + 40, false) + size;
	return file;
}

TEST(a_record_of_size_zero_ends_the_trace)
{
	struct perf_build b = { 0 };
	size_t second;
	struct bytes file = two_events(&b, &second);

	put(&file, second + 6, 2, 0);

	_cleanup_(result_done) struct result r = read_bytes(file);

	CHECK_STR(r.text, "11@1 100 waking:12\n");
	CHECK_HAS(r.raw->warning, "invalid record size");
}

TEST(a_truncated_pipe_is_read_up_to_its_end)
{
	for (size_t left = 0; left < 40; left++) {
		struct perf_build b = { .pipe = true };
		size_t second;
		struct bytes file = two_events(&b, &second);

		file.size = second + left;

		_cleanup_(result_done) struct result r = read_bytes(file);

		CHECK_INT(r.code, 0);
		CHECK_STR(r.text, "11@1 100 waking:12\n");
		CHECK(left == 0 ? !r.raw->warning : r.raw->warning != NULL);
	}
}

TEST(records_of_unknown_ids_are_counted)
{
	struct perf_build b = { 0 };

	begin_default(&b);
	perf_build_attr(&b, &(struct build_attr){ .type = 1, .sample = DEFAULT_SAMPLE, .id = 90 });
	begin_sample(&b, 4711, 1, 11, 100);
	put_waking(&b, 11, 12);
	perf_end(&b);
	waking(&b, 1, 11, 200, 13);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_STR(r.text, "11@1 200 waking:13\n");
	CHECK_HAS(r.raw->warning, "contains 1 record of unknown events");
}

TEST(a_sample_that_is_too_short_is_ignored)
{
	for (unsigned size = 0; size < 48; size += 8) {
		struct perf_build b = { 0 };

		begin_default(&b);
		perf_begin(&b, PERF_SAMPLE, 0);
		for (unsigned at = 0; at < size; at += 8)
			perf_u(&b, 8, at ? 70 : 1);
		perf_end(&b);

		_cleanup_(result_done) struct result r = read_built(&b);

		CHECK_STR(r.text, "");
		CHECK_HAS(r.raw->warning, "contains 1 record of unknown events");
	}
}

TEST(other_records_that_are_too_short_are_ignored)
{
	static const uint32_t types[] = { PERF_COMM, PERF_FORK,         PERF_EXIT,
					  PERF_LOST, PERF_LOST_SAMPLES, PERF_SWITCH_CPU_WIDE };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		for (unsigned size = 0; size < 64; size += 8) {
			struct perf_build b = { 0 };

			begin_default(&b);
			perf_begin(&b, types[i], 0);
			perf_text(&b, "", size);
			perf_end(&b);
			waking(&b, 1, 11, 200, 13);

			_cleanup_(result_done) struct result r = read_built(&b);

			CHECK_HAS(r.text, "11@1 200 waking:13\n");
		}
}

/* Reads a file after changing a number in its header. */
static struct result read_changed(size_t at, uint64_t n)
{
	struct perf_build b = { 0 };
	size_t second;
	struct bytes file = two_events(&b, &second);

	put(&file, at, 8, n);
	return read_bytes(file);
}

TEST(sections_beyond_the_end_are_refused_with_a_reason)
{
	static const struct {
		size_t at;
		uint64_t n;
		const char *message;
	} cases[] = {
		{ 0, 0, "is not a perf.data file (bad magic)" },
		{ 8, 15, "invalid header size 15" },
		{ 8, 1 << 30, "invalid header size" },
		{ 16, 0, "invalid attribute size 0" },
		{ 16, UINT64_MAX, "invalid attribute size" },
		{ 24, UINT64_MAX, "attributes at offset 18446744073709551615" },
		{ 32, UINT64_MAX, "attributes at offset" },
		{ 32, 0, "contains no events" },
		{ 40, UINT64_MAX - 7, "records at offset" },
		{ 48, 1 << 30, "records at offset" },
		{ 48, 0, "is incomplete" },
		{ 104 + 112, 1 << 30, "ids at offset" },
		{ 104 + 120, UINT64_MAX, "ids at offset" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(result_done) struct result r = read_changed(cases[i].at, cases[i].n);

		CHECK_INT(r.code, -EBADMSG);
		CHECK_HAS(r.err.text, cases[i].message);
	}
}

TEST(features_beyond_the_end_are_ignored)
{
	struct perf_build b = { 0 };
	size_t second;
	struct bytes file = two_events(&b, &second);
	size_t table = perf_u64(file.data + 40, false) + perf_u64(file.data + 48, false);

	put(&file, table, 8, UINT64_MAX);

	_cleanup_(result_done) struct result r = read_bytes(file);

	CHECK_INT(r.code, 0);
	CHECK_HAS(r.text, "11@1 100 other:sched:sched_waking\n");
	CHECK_HAS(input_warning(r.input), "does not contain the formats of 1 of its tracepoints");
}

TEST(a_file_without_timestamps_or_records_is_refused)
{
	struct perf_build timeless = { 0 }, directory = { .in_directory = true };

	perf_build_attr(&timeless, &(struct build_attr){ .sample = PERF_HAS_TID, .id = 70 });
	perf_begin(&timeless, PERF_SAMPLE, 0);
	perf_end(&timeless);
	begin_default(&directory);
	waking(&directory, 1, 11, 100, 12);

	_cleanup_(result_done) struct result first = read_built(&timeless);
	_cleanup_(result_done) struct result second = read_built(&directory);

	CHECK_HAS(first.err.text, "contains no timestamps");
	CHECK_HAS(second.err.text, "in other files of its directory; pass the directory");
}

#ifdef HAVE_ZSTD
TEST(damaged_compressed_data_does_not_crash_the_reader)
{
	for (unsigned n = 0; n < 200; n++) {
		struct perf_build b = { .compress = true, .chunk = 64 };
		size_t second;
		struct bytes file = two_events(&b, &second);
		size_t begin = perf_u64(file.data + 40, false);
		size_t size = perf_u64(file.data + 48, false);

		file.data[begin + random_number(size)] ^= 1 << random_number(8);

		_cleanup_(result_done) struct result r = read_bytes(file);

		CHECK_INT(r.code, 0);
	}
}

TEST(a_decompression_bomb_is_refused)
{
	struct perf_build b = { .compress = true };

	begin_default(&b);
	/* records of an unknown type, which compress to almost nothing */
	for (unsigned i = 0; i < 520; i++) {
		perf_begin(&b, 50, 0);
		perf_text(&b, "", 1 << 15);
		perf_end(&b);
	}
	waking(&b, 1, 11, 100, 12);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_INT(r.code, 0);
	CHECK_STR(r.text, "");
	CHECK_HAS(r.raw->warning, "invalid compressed data");
}
#endif
