/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No reader reads beyond the end of its bytes.  Each sample is truncated at many offsets and
 * placed before an inaccessible page, so that reading one byte too many crashes the test.
 */
#include <stdlib.h>

#include "base/file.h"
#include "guard.h"
#include "read/raw/input.h"
#include "read/tracedat/tracedat.h"
#include "test.h"

enum { CUTS = 100 };

static int open_tracedat(const char *name, const char *data, size_t size, struct input **ret,
			 struct err *err)
{
	struct raw_source *source;
	int r = tracedat_open_memory(name, (struct view){ data, size }, &source, err);

	if (r == 0)
		*ret = raw_input_new(&tracedat_format, source);
	return r;
}

static int open_bpftrace(const char *name, const char *data, size_t size, struct input **ret,
			 struct err *err)
{
	return bpftrace_open_memory(name, data, size, (struct view){ 0 }, ret, err);
}

static unsigned read_all(struct input *input)
{
	const struct record *record;
	struct err err;
	unsigned count = 0;

	while (input_next(input, &record, &err) > 0)
		count++;
	return count;
}

static void check_bytes(const char *name, open_memory_fn *open, const char *data, size_t size)
{
	unsigned step = size / CUTS + 1, count = 0;

	for (size_t cut = 0; cut < size; cut += cut < CUTS / 2 ? 1 : step) {
		struct input *input;
		struct err err;

		if (open(name, guard(data, size - cut), size - cut, &input, &err) < 0)
			continue;
		count += read_all(input);
		input_free(input);
	}
	if (!count)
		printf("# nothing was read of %s\n", name);
	CHECK(count > 0);
}

static void check_file(const char *name, open_memory_fn *open)
{
	_cleanup_(freep) char *path =
		must_printf("%s/good/%s", getenv("SONDE_TEST_DATA") ?: "tests/data", name);
	_cleanup_(file_unmap) struct view file = { 0 };
	struct err err;

	CHECK_INT(file_map(path, &file, &err), 0);
	check_bytes(name, open, file.s, file.len);
}

TEST(readers_of_kernel_traces_stay_within_their_bytes)
{
	check_file("trace-cmd-v6.dat", open_tracedat);
	check_file("trace-cmd-v7.dat", open_tracedat);
	check_file("perf-file.data", perf_open_memory);
	check_file("perf-pipe.data", perf_open_memory);
	check_file("perf-swapped.data", perf_open_memory);
	check_file("kernel.ftrace", ftrace_open_memory);
	check_file("report.ftrace", ftrace_open_memory);
	check_file("strange.ftrace", ftrace_open_memory);
	check_file("small.psv", open_bpftrace);
	check_file("strange.psv", open_bpftrace);
	check_file("small.psv.meta", bpftrace_meta_open_memory);
}

TEST(readers_of_spans_stay_within_their_bytes)
{
	check_file("jaeger-small.json", jaeger_open_memory);
	check_file("jaeger-strange.json", jaeger_open_memory);
	check_file("zipkin-small.json", zipkin_open_memory);
	check_file("zipkin-list.json", zipkin_open_memory);
	check_file("otlp-small.json", otlp_json_open_memory);
	check_file("otlp-lines.json", otlp_json_open_memory);
	check_file("otlp-frames.otlp", otlp_open_memory);
	check_file("otlp-sdk.otlp", otlp_open_memory);
}
