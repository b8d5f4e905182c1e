/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are truncated while they are read.
 *
 * This program overrides mmap(), which all readers and libraries call.  It can truncate a
 * file right after it is mapped, so that each reader touches missing pages at once;
 * otherwise the test truncates the file between two records.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/base.h"
#include "base/mapping.h"
#include "read/ctf/babeltrace.h"
#include "read/input.h"
#include "read/raw/raw.h"
#include "test.h"

static char folder[64]; /* directory of the files */
static int maps_to_cut; /* truncate at this call, counted down; 0 for never */

static bool is_ours(int fd, char path[256])
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);

	ssize_t n = readlink(link, path, 255);

	path[n < 0 ? 0 : n] = '\0';
	return folder[0] && strncmp(path, folder, strlen(folder)) == 0;
}

/* In the object file this is mmap64(); libraries call either. */
__attribute__((visibility("default"))) void *mmap(void *start, size_t size, int protection,
						  int flags, int fd, off_t offset)
{
	void *result = (void *)syscall(SYS_mmap, start, size, protection, flags, fd, offset);
	char path[256];

	if (fd >= 0 && maps_to_cut && is_ours(fd, path) && --maps_to_cut == 0 &&
	    truncate(path, 0) < 0)
		abort();
	return result;
}

void *mmap_of_libraries(void *start, size_t size, int protection, int flags, int fd,
			off_t offset) __asm__("mmap");

__attribute__((visibility("default"))) void *
mmap_of_libraries(void *start, size_t size, int protection, int flags, int fd, off_t offset)
{
	return mmap(start, size, protection, flags, fd, offset);
}

static void copy_file(const char *from, const char *to)
{
	_cleanup_(freep) char *command = must_printf("cp -rL '%s' '%s'", from, to);

	if (system(command) != 0)
		abort();
}

static int cut_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	return type == FTW_F ? truncate(path, 0) : 0;
}

/* When to truncate. */
enum moment { NEVER, AT_MAP, AFTER_OPEN, AFTER_RECORD };

/* Reads a new copy of a sample to its end; returns the result and the number of records. */
static int read_copy(const char *sample, enum moment moment, size_t *ret_records, struct err *err)
{
	_cleanup_(freep) char *from = must_printf("%s/%s", getenv("SONDE_TEST_DATA"), sample);
	_cleanup_(freep) char *to = must_printf("%s/%s", folder, strrchr(sample, '/') + 1);
	_cleanup_(input_freep) struct input *input = NULL;
	const struct record *record;
	size_t records = 0;

	copy_file(from, to);
	maps_to_cut = moment == AT_MAP;

	int r = input_open(to, NULL, &input, err);

	if (moment == AFTER_OPEN && nftw(to, cut_file, 8, FTW_PHYS) != 0)
		abort();
	while (r >= 0 && (r = input_next(input, &record, err)) > 0)
		if (++records == 1 && moment == AFTER_RECORD &&
		    nftw(to, cut_file, 8, FTW_PHYS) != 0)
			abort();
	*ret_records = records;
	maps_to_cut = 0;
	return r;
}

static void make_folder(void)
{
	strcpy(folder, "/tmp/sonde-truncated-XXXXXX");
	if (!mkdtemp(folder))
		abort();
}

static void remove_folder(void)
{
	_cleanup_(freep) char *command = must_printf("rm -rf '%s'", folder);

	CHECK_INT(system(command), 0);
	folder[0] = '\0';
}

/* The loss is reported, or happened after all records were read. */
static void check_moment(const char *sample, enum moment moment, size_t whole)
{
	size_t records;
	struct err err = { "" };
	unsigned int losses = mapping_losses();
	int r = read_copy(sample, moment, &records, &err);
	bool is_reported = r < 0 && strstr(err.text, "was truncated while sonde read it");
	bool is_whole = r == 0 && records == whole && mapping_losses() == losses;

	if (!is_reported && (moment == AT_MAP || !is_whole)) {
		test_failures++;
		printf("# %s, moment %d: %d after %zu of %zu records: %s\n", sample, moment, r,
		       records, whole, err.text);
	}
}

TEST(every_reader_reports_a_truncated_file)
{
	static const char *const samples[] = {
		"good/small.sonde",     "good/flush.sonde",       "good/otlp-sdk.otlp",
		"good/otlp-small.json", "good/zipkin-small.json", "good/jaeger-small.json",
		"good/kernel.ftrace",   "good/report.ftrace",     "good/small.psv",
		"good/small.psv.meta",  "good/trace-cmd-v6.dat",  "good/trace-cmd-v7.dat",
		"good/perf-calls.data", "good/perf-packed.data",  "good/perf-pipe.data",
		"good/otlp-frames.zst", "ctf/ust-spans",
	};

	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		size_t whole;
		struct err err = { "" };

		make_folder();
		CHECK_INT(read_copy(samples[i], NEVER, &whole, &err), 0);
		CHECK(whole > 0);
		remove_folder();
		for (enum moment moment = AT_MAP; moment <= AFTER_RECORD; moment++) {
			make_folder();
			check_moment(samples[i], moment, whole);
			remove_folder();
		}
	}
}

/* The number of events that the library reads, or a negative errno. */
static int read_by_library(const char *path)
{
	struct raw_source *source;
	struct raw_event event;
	struct err err = { "" };
	int events = 0, r = ctf_babeltrace_new(path, &source, &err);

	if (r < 0)
		return r;
	while ((r = source->next(source, &event, &err)) > 0)
		events++;
	source->free(source);
	return r < 0 ? r : events;
}

TEST(files_mapped_by_a_library_are_guarded_too)
{
	unsigned int lost = 0;

	for (int cut = 0; cut < 12; cut++) {
		make_folder();

		_cleanup_(freep) char *from =
			must_printf("%s/ctf/ust-spans", getenv("SONDE_TEST_DATA"));
		unsigned int losses = mapping_losses();

		copy_file(from, folder);
		maps_to_cut = cut;

		int events = read_by_library(folder);

		if (cut == 0 && events == -ENOTSUP)
			SKIP("sonde was built without libbabeltrace2");
		CHECK(cut > 0 || events > 0);
		lost += mapping_losses() - losses;
		maps_to_cut = 0;
		remove_folder();
	}
	CHECK(lost > 0);
}
