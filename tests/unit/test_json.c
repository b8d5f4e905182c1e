/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/json.h"
#include "test.h"

/* A JSON writer into memory. */
struct page {
	struct out out;
	struct json json;
	char *text;
	size_t size;
};

static void page_init(struct page *p)
{
	out_init(&p->out, open_memstream(&p->text, &p->size));
	json_init(&p->json, &p->out);
}

static const char *page_text(struct page *p)
{
	CHECK_INT(out_flush(&p->out), 0);
	return p->text;
}

static void page_done(struct page *p)
{
	fclose(p->out.file);
	free(p->text);
}

static void check_string(const char *s, size_t len, const char *want)
{
	_cleanup_(page_done) struct page p;

	page_init(&p);
	json_string_n(&p.json, s, len);
	CHECK_STR(page_text(&p), want);
}

TEST(commas_are_written_between_items_only)
{
	_cleanup_(page_done) struct page p;
	struct json *j = &p.json;

	page_init(&p);
	json_object(j);
	json_key(j, "a");
	json_u64(j, 1);
	json_key(j, "b");
	json_array(j);
	json_array(j);
	json_end(j);
	json_object(j);
	json_end(j);
	json_bool(j, true);
	json_bool(j, false);
	json_end(j);
	json_key(j, "c");
	json_string(j, "d");
	json_end(j);
	json_newline(j);
	json_object(j);
	json_end(j);
	CHECK_STR(page_text(&p), "{\"a\":1,\"b\":[[],{},true,false],\"c\":\"d\"}\n{}");
}

TEST(numbers_keep_all_their_digits)
{
	_cleanup_(page_done) struct page p;

	page_init(&p);
	json_array(&p.json);
	json_u64(&p.json, 0);
	json_u64(&p.json, UINT64_MAX);
	json_i64(&p.json, INT64_MIN);
	json_i64(&p.json, -1);
	json_i64(&p.json, INT64_MAX);
	json_end(&p.json);
	CHECK_STR(page_text(&p),
		  "[0,18446744073709551615,-9223372036854775808,-1,9223372036854775807]");
}

TEST(quotes_and_control_characters_are_escaped)
{
	check_string("say \"hi\" \\", 10, "\"say \\\"hi\\\" \\\\\"");
	check_string("a\nb\tc\r\b\f", 8, "\"a\\nb\\tc\\r\\b\\f\"");
	check_string("\x1b[31m", 5, "\"\\u001b[31m\"");
	check_string("a\0b\x7f", 4, "\"a\\u0000b\\u007f\"");
	check_string("\xc2\x9b", 2, "\"\\u009b\"");
	check_string("\xd8\x9c", 2, "\"\\u061c\"");
	check_string("\xe2\x80\x8e\xe2\x80\x8f", 6, "\"\\u200e\\u200f\"");
	check_string("\xe2\x80\xa8\xe2\x80\xa9", 6, "\"\\u2028\\u2029\"");
	check_string("\xe2\x80\xaa\xe2\x80\xae", 6, "\"\\u202a\\u202e\"");
	check_string("\xe2\x81\xa6\xe2\x81\xa9", 6, "\"\\u2066\\u2069\"");
	check_string("\xef\xbb\xbf", 3, "\"\\ufeff\"");
}

TEST(valid_utf8_is_unchanged)
{
	check_string("ü", 2, "\"ü\"");
	check_string("µs €", 7, "\"µs €\"");
	check_string("\xc2\xa0\xe2\x80\x8d\xe2\x80\xaf", 8, "\"\xc2\xa0\xe2\x80\x8d\xe2\x80\xaf\"");
	check_string("\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\"");
	check_string("\xf4\x8f\xbf\xbf", 4, "\"\xf4\x8f\xbf\xbf\"");
}

#define BAD "\xef\xbf\xbd"

TEST(invalid_utf8_becomes_the_replacement_character)
{
	check_string("a\xff"
		     "b",
		     3, "\"a" BAD "b\"");
	check_string("\xc3", 1, "\"" BAD "\"");                         /* truncated */
	check_string("\xc0\xaf", 2, "\"" BAD BAD "\"");                 /* overlong */
	check_string("\xe0\x80\xaf", 3, "\"" BAD BAD BAD "\"");         /* overlong */
	check_string("\xed\xa0\x80", 3, "\"" BAD BAD BAD "\"");         /* a surrogate */
	check_string("\xf4\x90\x80\x80", 4, "\"" BAD BAD BAD BAD "\""); /* beyond the last */
	check_string("\xe2\x82\"", 3, "\"" BAD BAD "\\\"\"");           /* the quote is escaped */
}

TEST(output_larger_than_the_buffer_is_complete)
{
	_cleanup_(page_done) struct page p;
	_cleanup_(freep) char *big = must_alloc(300001);

	memset(big, 'x', 300000);
	page_init(&p);
	json_array(&p.json);
	json_string(&p.json, big);
	for (int i = 0; i < 50000; i++)
		json_u64(&p.json, 12345);
	json_end(&p.json);
	page_text(&p);
	CHECK_INT(p.size, 300004 + 6 * 50000);
	CHECK(memcmp(p.text + 2, big, 300000) == 0);
	CHECK(memcmp(p.text + p.size - 13, ",12345,12345]", 13) == 0);
}

TEST(a_full_disk_is_reported_at_the_end)
{
	struct out out;
	FILE *full = fopen("/dev/full", "w");

	out_init(&out, full);
	for (int i = 0; i < 100000; i++)
		out_u64(&out, i);
	CHECK_INT(out_flush(&out), -ENOSPC);
	fclose(full);
}

static void check_escaped(const char *s, const char *want, size_t want_width)
{
	_cleanup_(page_done) struct page p;

	page_init(&p);
	CHECK_INT(out_escaped(&p.out, s, strlen(s)), want_width);
	CHECK_STR(page_text(&p), want);
}

TEST(escaped_text_cannot_control_a_terminal)
{
	check_escaped("nginx: worker", "nginx: worker", 13);
	check_escaped("a\nb\\", "a\\nb\\\\", 6);
	check_escaped("\x1b]0;evil\x07", "\\x1b]0;evil\\x07", 15);
	check_escaped("\xff\xc3", "\\xff\\xc3", 8);
	check_escaped("\xc2\x9b"
		      "2J",
		      "\\xc2\\x9b2J", 10);
	check_escaped("\xe2\x80\xae"
		      "abc",
		      "\\xe2\\x80\\xaeabc", 15);              /* right-to-left override */
	check_escaped("\xef\xbb\xbf", "\\xef\\xbb\\xbf", 12); /* byte order mark */
	check_escaped("größe", "größe", 5);
}
