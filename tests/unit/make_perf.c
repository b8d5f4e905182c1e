/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_perf DIRECTORY - writes perf-FORM.data: one small recording in all variants of
 * the format.  The results are in tests/data/good, as seeds of the fuzzers.
 */
#include <stdio.h>

#include "perf_fixture.h"

static void make(const char *directory, const char *form, struct perf_build b)
{
	_cleanup_(freep) char *path = must_printf("%s/perf-%s.data", directory, form);

	b.host = "box";
	b.machine = "x86_64";
	b.day = 1700000000000000000;
	b.clock_now = 3000;
	begin_default(&b);
	perf_build_attr(&b, &(struct build_attr){ 1, 0, DEFAULT_SAMPLE & ~PERF_HAS_RAW, 0,
						  DEFAULT_FLAGS, 0, 90, "cpu-clock" });
	fork_or_exit(&b, PERF_FORK, 11, 10, 0);
	comm(&b, 11, "early", 0);
	waking(&b, 1, 11, 1000, 21);
	perf_begin(&b, PERF_LOST, 0);
	perf_u(&b, 8, 70);
	perf_u(&b, 8, 123);
	end_other(&b, 1, 11, 1500);
	round_ends(&b);
	fork_or_exit(&b, PERF_FORK, 12, 11, 1700);
	begin_sample(&b, 90, 1, 11, 1800);
	perf_end(&b);
	waking(&b, 0, 12, 1600, 23);
	fork_or_exit(&b, PERF_EXIT, 12, 12, 2500);
	perf_begin(&b, PERF_SWITCH_CPU_WIDE, PERF_MISC_SWITCH_OUT);
	perf_u(&b, 4, 20);
	perf_u(&b, 4, 22);
	end_other(&b, 1, 11, 2600);
	round_ends(&b);

	_cleanup_(bytes_done) struct bytes file = perf_build_finish(&b);

	bytes_write(&file, path);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_perf DIRECTORY\n");
		return 2;
	}
	make(argv[1], "file", (struct perf_build){ 0 });
	make(argv[1], "swapped", (struct perf_build){ .swap = true });
	make(argv[1], "pipe", (struct perf_build){ .pipe = true });
#ifdef HAVE_ZSTD
	make(argv[1], "packed", (struct perf_build){ .compress = true, .chunk = 50 });
	make(argv[1], "packed-pipe",
	     (struct perf_build){ .compress = true, .pipe = true, .aligned = true });
#endif
	return 0;
}
