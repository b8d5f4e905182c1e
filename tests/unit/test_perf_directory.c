/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of perf record --threads. */
#include <sys/stat.h>
#include <unistd.h>

#include "perf_fixture.h"

enum { PARTS = 3, EACH = 20000 }; /* more records than one batch */

struct directory {
	char path[32];
	struct input *input;
	struct err err;
	int code;
	uint64_t events;
	bool sorted;
};

static void write_file(const struct directory *s, const char *name, const void *data, size_t size)
{
	_cleanup_(freep) char *path = must_printf("%s/%s", s->path, name);
	FILE *file = fopen(path, "w");

	CHECK(file && fwrite(data, 1, size, file) == size);
	if (file)
		fclose(file);
}

/* Writes the file that describes the events, with one record without a time. */
static void write_first(struct directory *s)
{
	struct perf_build b = { .in_directory = true };

	strcpy(s->path, "/tmp/sonde-perf-XXXXXX");
	CHECK(mkdtemp(s->path) != NULL);
	begin_default(&b);
	comm(&b, 11, "worker", 0);
	_cleanup_(bytes_done) struct bytes file = perf_build_finish(&b);
	write_file(s, "data", file.data, file.size);
}

/* The last digit of each time is the number of the part. */
static void write_part(struct directory *s, unsigned number, size_t cut)
{
	_cleanup_(freep) char *name = must_printf("data.%u", number);
	struct perf_build b = { 0 };

	for (unsigned i = 0; i < EACH; i++)
		waking(&b, number, 11, 1000 + 10 * i + number, 1);
	write_file(s, name, b.records.items, b.records.count - cut);
	vec_done(&b.records);
}

static void read_directory(struct directory *s)
{
	struct raw_event event;
	nsec_t last = 0;

	s->sorted = true;
	s->code = input_open(s->path, NULL, &s->input, &s->err);
	if (s->code < 0)
		return;

	struct raw_source *raw = input_raw(s->input);

	while (raw->next(raw, &event, &s->err) > 0) {
		s->sorted = s->sorted && event.time >= last && event.time >= 1000;
		s->events += event.kind == RAW_WAKING && event.time % 10 == event.cpu;
		last = event.time;
	}
}

static void directory_done(struct directory *s)
{
	_cleanup_(freep) char *line = must_printf("rm -r %s", s->path);

	input_free(s->input);
	CHECK_INT(system(line), 0);
}

TEST(the_files_of_a_directory_are_merged)
{
	_cleanup_(directory_done) struct directory s = { 0 };

	write_first(&s);
	for (unsigned i = 0; i < PARTS; i++)
		write_part(&s, i, 0);
	write_file(&s, "data.old", "no part", 7);
	read_directory(&s);
	CHECK_INT(s.code, 0);
	CHECK_INT(s.events, PARTS * EACH);
	CHECK(s.sorted);
	CHECK(s.input && !input_raw(s.input)->warning);
}

TEST(a_truncated_part_causes_a_warning)
{
	_cleanup_(directory_done) struct directory s = { 0 };

	write_first(&s);
	write_part(&s, 0, 0);
	write_part(&s, 1, 1);
	read_directory(&s);
	CHECK_INT(s.events, 2 * EACH - 1);
	CHECK_HAS(input_raw(s.input)->warning, "/data.1' that cannot be read beyond offset");
}

TEST(a_directory_without_parts_is_refused)
{
	_cleanup_(directory_done) struct directory s = { 0 };

	write_first(&s);
	read_directory(&s);
	CHECK(s.code < 0);
	CHECK_HAS(s.err.text, "files data.0, ... are missing");
}

TEST(an_attribute_in_a_part_is_ignored)
{
	_cleanup_(directory_done) struct directory s = { 0 };
	struct perf_build b = { .pipe = true };

	write_first(&s);
	begin_default(&b);
	waking(&b, 0, 11, 1000, 1);
	_cleanup_(bytes_done) struct bytes file = perf_build_finish(&b);
	write_file(&s, "data.0", file.data + PERF_PIPE_HEADER, file.size - PERF_PIPE_HEADER);
	read_directory(&s);
	CHECK_INT(s.code, 0);
}
