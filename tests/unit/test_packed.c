/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/stat.h>

#include "read/input.h"
#include "read/file/packed.h"
#include "test.h"

static char *data_path(const char *name)
{
	return must_printf("%s/%s", getenv("SONDE_TEST_DATA") ?: "tests/data", name);
}

static char scratch_dir[] = "/tmp/sonde-packed-XXXXXX";

/* Runs a shell command in a temporary directory; $D is the directory of the test data. */
static bool shell(const char *command)
{
	_cleanup_(freep) char *data = data_path("");
	_cleanup_(freep) char *line = NULL;

	if (strstr(scratch_dir, "XXXXXX") && !mkdtemp(scratch_dir))
		return false;
	line = must_printf("cd %s && D=%s && { %s; } 2>/dev/null", scratch_dir, data, command);
	return system(line) == 0;
}

static char *scratch_path(const char *name)
{
	return must_printf("%s/%s", scratch_dir, name);
}

struct result {
	struct input *input;
	int code;
	struct err err;
	uint64_t records, spans;
};

static struct result read_all(const char *path, const char *format)
{
	struct result r = { 0 };
	const struct record *record;

	r.code = input_open(path, format, &r.input, &r.err);
	while (r.code == 0 && input_next(r.input, &record, &r.err) > 0) {
		r.records++;
		r.spans += record->kind == RECORD_SPAN;
	}
	return r;
}

static void result_done(struct result *r)
{
	input_free(r->input);
}

TEST(an_archive_of_a_trace_is_read_like_its_directory)
{
	_cleanup_(freep) char *path = data_path("ctf/lttng-kernel.tar.zst");
	_cleanup_(result_done) struct result packed = read_all(path, NULL);

	if (!shell("tar --zstd -xf $D/ctf/lttng-kernel.tar.zst"))
		SKIP("no tar with zstd here");

	_cleanup_(freep) char *directory = scratch_path("lttng-kernel");
	_cleanup_(result_done) struct result plain = read_all(directory, NULL);

	CHECK_STR(packed.err.text, "");
	CHECK_INT(packed.code, 0);
	CHECK_INT(plain.code, 0);
	if (packed.code || plain.code)
		return;
	CHECK_STR(input_format_name(packed.input), "ctf");
	CHECK_INT(input_events(packed.input), 124003);
	CHECK_INT(input_events(plain.input), 124003);
	CHECK(packed.records > 0);
	CHECK_INT(packed.records, plain.records);
}

TEST(the_spans_of_a_program_are_spans)
{
	_cleanup_(freep) char *path = data_path("ctf/ust-spans");
	_cleanup_(result_done) struct result r = read_all(path, NULL);

	CHECK_STR(r.err.text, "");
	CHECK_INT(r.code, 0);
	if (r.code)
		return;
	CHECK_INT(input_events(r.input), 118);
	CHECK_INT(r.spans, 42);
}

static void check_compressed(const char *command, const char *name)
{
	_cleanup_(freep) char *whole = data_path("good/jaeger-small.json");
	_cleanup_(result_done) struct result plain = read_all(whole, NULL);

	if (!shell(command))
		SKIP("a program that packs is not here");

	_cleanup_(freep) char *path = scratch_path(name);
	_cleanup_(result_done) struct result r = read_all(path, NULL);

	CHECK_STR(r.err.text, "");
	CHECK_INT(r.code, 0);
	if (r.code)
		return;
	CHECK_STR(input_format_name(r.input), "jaeger");
	CHECK(r.spans > 0);
	CHECK_INT(r.spans, plain.spans);
}

TEST(a_single_file_can_be_compressed)
{
	check_compressed("gzip -c $D/good/jaeger-small.json >a.json.gz", "a.json.gz");
	check_compressed("xz -c $D/good/jaeger-small.json >a.json.xz", "a.json.xz");
	check_compressed("zstd -qc $D/good/jaeger-small.json >a.json.zst", "a.json.zst");
	check_compressed("tar -czf a.tgz -C $D/good jaeger-small.json", "a.tgz");
}

static void check_refused(const char *command, const char *name, const char *message)
{
	if (!shell(command))
		SKIP("a program that packs is not here");

	_cleanup_(freep) char *path = scratch_path(name);
	_cleanup_(result_done) struct result r = read_all(path, NULL);

	CHECK(r.code < 0);
	if (!strstr(r.err.text, message))
		CHECK_STR(r.err.text, message);
}

/* Two requests as the collector compresses them, complete and without the last byte. */
static void check_frames(const char *request, unsigned spans, const char *warning)
{
	_cleanup_(freep) char *command = must_printf(
		"%s | zstd -qc >z && n=$(stat -c %%s z) && for i in 1 2; do "
		"printf '\\0\\0'\"\\\\$(printf %%o $((n / 256)))\\\\$(printf %%o $((n %% 256)))\"; "
		"cat z; done >frames && head -c -1 frames >frames.cut",
		request);

	if (!shell(command))
		SKIP("no zstd here");

	_cleanup_(freep) char *all = scratch_path("frames"), *cut = scratch_path("frames.cut");
	_cleanup_(result_done) struct result a = read_all(all, NULL), b = read_all(cut, NULL);

	CHECK_INT(a.code, 0);
	CHECK_INT(a.spans, 2 * spans);
	CHECK(a.input && !input_warning(a.input));
	CHECK_INT(b.spans, spans);
	CHECK(b.input && strstr(input_warning(b.input) ?: "", warning));
}

TEST(requests_can_be_compressed_one_by_one)
{
	check_frames("cat $D/good/otlp-sdk.otlp", 3, "the last request is incomplete");
	check_frames("head -n 1 $D/good/otlp-lines.json", 1, "the last line is incomplete");
	check_refused("{ printf '\\0\\0\\0\\7\\050\\265\\057\\375'; echo nonsense; } >nonsense",
		      "nonsense", "damaged zstd data");
	check_refused(
		"yes sonde | head -c 80000000 | zstd -qc >z && n=$(stat -c %s z) && "
		"{ printf '\\0\\0'\"\\\\$(printf %o $((n / 256)))\\\\$(printf %o $((n % 256)))\"; "
		"cat z; } >bomb",
		"bomb", "unpacks to more than 64 MiB");
}

TEST(messages_contain_the_name_of_the_packed_file)
{
	if (!shell("echo nonsense | gzip >no.gz && gzip -c $D/bad/jaeger-cut.json >cut.gz"))
		SKIP("no gzip here");

	_cleanup_(freep) char *no = scratch_path("no.gz"), *cut = scratch_path("cut.gz");
	_cleanup_(result_done) struct result a = read_all(no, NULL), b = read_all(cut, NULL);

	CHECK(a.code < 0 && b.code < 0);
	CHECK(strstr(a.err.text, no) != NULL);
	CHECK(strstr(b.err.text, cut) != NULL);
	CHECK(!strstr(a.err.text, "/proc/") && !strstr(b.err.text, "/proc/"));
}

TEST(files_that_cannot_be_unpacked_get_a_message)
{
	check_refused("yes sonde | head -c 80000000 | gzip >bomb.gz", "bomb.gz",
		      "unpacks to more than 64 MiB");
	check_refused("gzip -c $D/good/jaeger-small.json | head -c 100 >cut2.gz", "cut2.gz",
		      "cannot unpack");
	check_refused(
		"gzip -c $D/good/jaeger-small.json | gzip >twice.gz && zip -q twice.zip twice.gz",
		"twice.zip", "is compressed more than once: decompress it first");
	check_refused("tar -czf two.tgz -C $D/good jaeger-small.json jaeger-flush.json", "two.tgz",
		      "contains 2 files and no CTF trace: unpack it and pass the files");
}

/* First bytes of formats for which libarchive runs external programs. */
static const struct {
	const char *name, *bytes;
} foreign[] = {
	{ "lrzip", "LRZI\\0\\006" },
	{ "lzop", "\\211LZO\\0\\r\\n\\032\\n\\020\\020" },
	{ "grzip", "GRZipII\\0\\002\\004:)" },
};

/* The file has the size and the magic number of a tar header, too. */
static bool make_foreign(const char *name, const char *bytes)
{
	_cleanup_(freep) char *command = must_printf(
		"mkdir -p bin && printf '#!/bin/sh\\n: >%s/started\\ncat\\n' >bin/%s && "
		"chmod +x bin/%s && { printf '%s'; head -c 300 /dev/zero; } | head -c 257 >%s && "
		"{ printf ustar; head -c 800 /dev/zero; } >>%s && gzip -c %s >%s.gz",
		scratch_dir, name, name, bytes, name, name, name, name);

	return shell(command);
}

TEST(no_file_runs_an_external_program)
{
	_cleanup_(freep) char *before = must_strdup(getenv("PATH") ?: "");

	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		_cleanup_(freep) char *gz = must_printf("%s.gz", foreign[i].name);
		_cleanup_(freep) char *path = NULL, *message = NULL;

		if (!shell("true") || !make_foreign(foreign[i].name, foreign[i].bytes))
			SKIP("no gzip here");
		path = must_printf("%s/bin:%s", scratch_dir, before);
		message = must_printf("is compressed with %s", foreign[i].name);
		setenv("PATH", path, 1);
		check_refused("rm -f started", foreign[i].name, message);
		CHECK(shell("! test -e started"));
		check_refused("rm -f started", gz, "is compressed more than once");
		CHECK(shell("! test -e started"));
		setenv("PATH", before, 1);
	}
}

/* 40 MB of gzip that decompress to 20 GB of empty gzip members. */
TEST(nested_compression_is_rejected)
{
	check_refused(": | gzip -n >e0 && for i in $(seq 18); do "
		      "cat e$((i - 1)) e$((i - 1)) >e$i; done && gzip -cn e18 >f0 && "
		      "for i in $(seq 12); do cat f$((i - 1)) f$((i - 1)) >f$i; done && "
		      "gzip -cn f12 >nested.gz && rm e[0-9]* f[0-9]*",
		      "nested.gz", "is compressed more than once: decompress it first");
}

TEST(archives_of_many_or_sparse_files_are_limited)
{
	check_refused("mkdir -p s && truncate -s 10G s/sparse && echo >>s/sparse && tar -Scf "
		      "sparse.tar s",
		      "sparse.tar", "unpacks to more than 64 MiB");
	check_refused(": >none && tar -cf none.tar none && head -c 512 none.tar >n0 && "
		      "for i in $(seq 16); do cat n$((i - 1)) n$((i - 1)) >n$i; done && "
		      "zstd -qc n16 >many.tar.zst && rm n[0-9]*",
		      "many.tar.zst", "more than 50000 files");
}

TEST(temporary_files_are_removed)
{
	if (strstr(scratch_dir, "XXXXXX"))
		return;

	_cleanup_(freep) char *line = must_printf("rm -r %s", scratch_dir);

	CHECK_INT(system(line), 0);
}
