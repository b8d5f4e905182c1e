/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of all formats: each is detected by its content and read to the end, or gets the
 * message in the .txt file beside it.  SONDE_BLESS=1 writes the messages; read the diff
 * before committing it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "build.h"
#include "bytes.h"
#include "read/input.h"
#include "test.h"

/* Changes to the directory, so that messages contain names instead of paths. */
static DIR *enter(const char *name)
{
	_cleanup_(freep) char *path = must_printf("%s/%s", getenv("SONDE_TEST_DATA") ?: "", name);
	DIR *dir = opendir(path);

	CHECK(dir && fchdir(dirfd(dir)) == 0); /* meson sets SONDE_TEST_DATA */
	return dir;
}

static const char *next_file(DIR *dir, const char *suffix)
{
	for (struct dirent *e; (e = readdir(dir));) {
		const char *dot = strrchr(e->d_name, '.');

		if (dot && strcmp(dot, suffix) == 0)
			return e->d_name;
	}
	return NULL;
}

/* Reads a file; returns the error message, or "". */
static const char *read_error(const char *path, const char *format, uint64_t *ret_records)
{
	static struct err err;
	_cleanup_(input_freep) struct input *input = NULL;
	const struct record *record;

	err.text[0] = 0;
	*ret_records = 0;
	if (input_open(path, format, &input, &err) < 0)
		return err.text;
	while (input_next(input, &record, &err) > 0)
		*ret_records += record->kind != RECORD_ATTRIBUTE;
	return err.text;
}

TEST(good_files_are_detected_and_read)
{
	static const char *const suffixes[] = { ".sonde",  ".json", ".otlp",
						".ftrace", ".psv",  ".data" };
	DIR *dir = enter("good");
	uint64_t records;

	if (!dir)
		return;
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++, rewinddir(dir))
		for (const char *name; (name = next_file(dir, suffixes[i]));)
			CHECK_STR(read_error(name, NULL, &records), "");
	CHECK_STR(read_error("jaeger-small.json", NULL, &records), "");
	CHECK_INT(records, 3);
	CHECK_STR(read_error("jaeger-strange.json", NULL, &records), "");
	CHECK_INT(records, 3);
	CHECK_STR(read_error("small.sonde", "sonde", &records), "");
	CHECK_INT(records, 5);
	closedir(dir);
}

/* Returns the number of files. */
static int check_messages(const char *suffix)
{
	DIR *dir = enter("bad");
	uint64_t records;
	int n = 0;

	if (!dir)
		return 0;
	for (const char *name; (name = next_file(dir, suffix)); n++) {
		_cleanup_(freep) char *path =
			must_printf("%.*s.txt", (int)(strlen(name) - strlen(suffix)), name);
		_cleanup_(freep) char *got = must_printf("%s\n", read_error(name, NULL, &records));

		if (getenv("SONDE_BLESS"))
			bytes_write(&(struct bytes){ (unsigned char *)got, strlen(got) }, path);
		_cleanup_(bytes_done) struct bytes want = bytes_read(path);
		want.data[want.size] = 0;
		CHECK_STR(got, (const char *)want.data);
		CHECK(strchr(got, '\''));
	}
	closedir(dir);
	return n;
}

TEST(bad_files_get_their_message)
{
	CHECK(check_messages(".json") >= 9);
	CHECK(check_messages(".otlp") >= 3);
	CHECK(check_messages(".data") >= 4);
}

TEST(skipped_parts_of_a_file_are_reported)
{
	DIR *dir = enter("good");
	_cleanup_(input_freep) struct input *partial = NULL, *cut = NULL, *small = NULL;
	struct err err;

	if (!dir)
		return;
	CHECK_INT(input_open("jaeger-strange.json", NULL, &partial, &err), 0);
	CHECK_STR(input_warning(partial) ?: "", "'jaeger-strange.json': skipped 8 of 11 spans: "
						"span 4 has no valid startTime");
	CHECK_INT(input_open("cut.sonde", NULL, &cut, &err), 0);
	CHECK_STR(input_warning(cut) ?: "",
		  "'cut.sonde' is truncated: reading it up to offset 640");
	CHECK_INT(input_open("small.sonde", NULL, &small, &err), 0);
	CHECK(!input_warning(small));
	closedir(dir);
}

TEST(other_files_get_a_message)
{
	_cleanup_(freep) char *empty = must_strdup(scratch("empty"));
	_cleanup_(freep) char *text = must_strdup(scratch("text"));
	_cleanup_(freep) char *json = must_strdup(scratch("json"));
	_cleanup_(freep) char *pipe = must_strdup(scratch("pipe"));
	_cleanup_(freep) char *none = must_strdup(scratch("none"));
	uint64_t records;

	bytes_write(&(struct bytes){ (unsigned char *)"", 0 }, empty);
	bytes_write(&(struct bytes){ (unsigned char *)"pid,state\n", 10 }, text);
	bytes_write(&(struct bytes){ (unsigned char *)"{\"logs\": []}\n", 13 }, json);
	CHECK_INT(mkfifo(pipe, 0600), 0);
	CHECK(strstr(read_error(empty, NULL, &records), "/empty' is empty"));
	CHECK(strstr(read_error(text, NULL, &records),
		     "/text': not in one of the formats sonde, "));
	CHECK(strstr(read_error(pipe, NULL, &records), "/pipe': not a regular file"));
	CHECK(strstr(read_error(none, NULL, &records), "/none': No such file or directory"));
	CHECK(strstr(read_error(none, "jaeger", &records), "/none': No such file or directory"));
	CHECK(strstr(read_error("/", NULL, &records),
		     "cannot read '/': not in one of the formats "));
	CHECK_STR(read_error("/", "jaeger", &records), "cannot open '/': not a regular file");
	CHECK(strstr(read_error(json, NULL, &records),
		     "/json': not in one of the formats sonde, "));
	CHECK(strstr(read_error(text, "excel", &records),
		     "unknown format 'excel'; the formats are sonde, "));
	CHECK(strstr(read_error(text, "sonde", &records), "is not a sonde capture"));
	CHECK(strstr(read_error(text, "jaeger", &records), "is not valid JSON"));
}

TEST(a_capture_contains_its_host_and_clock)
{
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(scratch("x"));
	_cleanup_(input_freep) struct input *input = NULL;
	const struct record *record;
	struct err err;

	build_all_kinds(w);
	build_close(w);
	CHECK_INT(input_open(scratch("x"), NULL, &input, &err), 0);
	CHECK_STR(input_format_name(input), "sonde");
	CHECK_STR(input_host(input)->name, "testhost");
	CHECK_INT(input_host(input)->boot, 1700000000000000005);
	CHECK_INT(input_realtime_offset(input), 1700000000000000000);
	CHECK_INT(input_next(input, &record, &err), 1);
	CHECK_INT(record->kind, RECORD_CLOCK);
	CHECK_STR(input_string(input, 1), "redis-server");
	CHECK_STR(input_string(input, 1000), "");
	CHECK_STR(input_record_host(input), "");
}

/* Put the content of a file into a new pipe, of which fd becomes the end to read from. */
static void fill_pipe(int fd, const char *path, size_t size)
{
	_cleanup_(freep) char *bytes = must_alloc(size);
	int from = open(path, O_RDONLY), ends[2];

	CHECK_INT(pipe(ends), 0);
	size = read(from, bytes, size);
	CHECK_INT(write(ends[1], bytes, size), size);
	dup2(ends[0], fd);
	close(from);
	close(ends[0]);
	close(ends[1]);
}

static void read_pipes(void)
{
	_cleanup_(freep) char *path = must_strdup(scratch("piped"));
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	static const char *const names[] = { "-", "/dev/stdin", "/dev/fd/77", "/proc/self/fd/77" };
	uint64_t records;

	build_all_kinds(w);
	build_close(w);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		fill_pipe(i < 2 ? 0 : 77, path, 60000);
		for (int again = 0; again < 2; again++) {
			CHECK_STR(read_error(names[i], NULL, &records), "");
			CHECK_INT(records, RECORD_KIND_COUNT - 2); /* without ATTRIBUTE */
		}
	}
	fill_pipe(0, path, 200);
	CHECK(strstr(read_error("-", NULL, &records), "'-' is truncated: "));
	fill_pipe(0, "/dev/null", 1);
	CHECK_STR(read_error("-", NULL, &records), "'-' is empty");
	dup2(open(path, O_RDONLY), 0);
	CHECK_STR(read_error("-", NULL, &records), "");
	close(0);
	CHECK_STR(read_error("-", NULL, &records), "cannot read '-': Bad file descriptor");
}

TEST(a_pipe_is_an_input_and_can_be_opened_again)
{
	CHECK_INT(in_child(read_pipes), 0);
}
