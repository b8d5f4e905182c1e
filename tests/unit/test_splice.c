/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by hand; test_splice_oracle.c has random ones. */
#include "otlp/splice.h"
#include "otlp/trace.h"
#include "test.h"

#define VIEW(text) ((struct view){ text, sizeof(text) - 1 })
#define ATTRIBUTE VIEW("\x4a\3\x0a\1k")
#define SPAN VIEW("\x12\3\x2a\1n")
#define SCOPE VIEW("\x0a\1s")
#define NEW_SCOPE "\x12\x0a\x0a\3\x0a\1s" /* with one span, which follows */

/* The offset of the n-th span. */
static size_t offset_of(struct view request, int n)
{
	struct otlp_reader reader;
	struct otlp_span span;

	otlp_reader_init(&reader, request);
	do
		CHECK_INT(otlp_next_span(&reader, &span), 1);
	while (n--);
	return otlp_span_offset(&reader);
}

/* The result of one insert at the n-th span. */
static void check(struct view request, int n, struct view attributes, struct view spans,
		  struct view want)
{
	_cleanup_(pb_buffer_done) struct pb_buffer out = { 0 };
	struct otlp_insert insert = { offset_of(request, n), attributes, spans };

	otlp_splice(request, &(struct otlp_inserts){ &insert, 1, SCOPE }, &out);
	CHECK_INT(out.size, want.len);
	CHECK(out.size == want.len && memcmp(out.data, want.s, want.len) == 0);
}

TEST(an_attribute_is_appended_to_its_span)
{
	check(VIEW("\x0a\7\x12\5\x12\3\x2a\1a"), 0, ATTRIBUTE, VIEW(""),
	      VIEW("\x0a\x0c\x12\x0a\x12\x08\x2a\1a\x4a\3\x0a\1k"));
}

TEST(a_span_is_put_into_a_scope_at_the_end_of_the_resource)
{
	check(VIEW("\x0a\x0a\x12\5\x12\3\x2a\1a\x1a\1u"), 0, VIEW(""), SPAN,
	      VIEW("\x0a\x16\x12\5\x12\3\x2a\1a\x1a\1u" NEW_SCOPE "\x12\3\x2a\1n"));
}

TEST(an_empty_span_at_the_end_gains_an_attribute)
{
	check(VIEW("\x0a\4\x12\2\x12\0\x0a\4\x12\2\x12\0"), 0, ATTRIBUTE, VIEW(""),
	      VIEW("\x0a\x09\x12\7\x12\5\x4a\3\x0a\1k\x0a\4\x12\2\x12\0"));
	check(VIEW("\x0a\4\x12\2\x12\0\x0a\4\x12\2\x12\0"), 1, ATTRIBUTE, VIEW(""),
	      VIEW("\x0a\4\x12\2\x12\0\x0a\x09\x12\7\x12\5\x4a\3\x0a\1k"));
}

/* Lengths with more bytes than needed stay, except around the insertion. */
TEST(other_messages_stay_as_they_are)
{
	check(VIEW("\x0a\x85\0\x12\x82\0\x12\0"
		   "\x0a\x8f\0\x12\x82\0\x12\0\x12\x87\0\x12\x80\0\x12\x81\0\x08"
		   "\x0a\x85\0\x12\x82\0\x12\0"),
	      1, ATTRIBUTE, VIEW(""),
	      VIEW("\x0a\x85\0\x12\x82\0\x12\0"
		   "\x0a\x13\x12\7\x12\5\x4a\3\x0a\1k\x12\x87\0\x12\x80\0\x12\x81\0\x08"
		   "\x0a\x85\0\x12\x82\0\x12\0"));
}

TEST(several_inserts_share_a_scope_per_resource)
{
	static const struct view request = VIEW("\x0a\6\x12\4\x12\0\x12\0\x0a\4\x12\2\x12\0");
	_cleanup_(pb_buffer_done) struct pb_buffer out = { 0 };
	struct otlp_insert inserts[] = { { offset_of(request, 0), VIEW(""), SPAN },
					 { offset_of(request, 1), VIEW(""), SPAN },
					 { offset_of(request, 2), VIEW(""), SPAN } };
	static const struct view want =
		VIEW("\x0a\x17\x12\4\x12\0\x12\0\x12\x0f\x0a\3\x0a\1s\x12\3\x2a\1n\x12\3\x2a\1n"
		     "\x0a\x10\x12\2\x12\0" NEW_SCOPE "\x12\3\x2a\1n");

	otlp_splice(request, &(struct otlp_inserts){ inserts, 3, SCOPE }, &out);
	CHECK_INT(out.size, want.len);
	CHECK(out.size == want.len && memcmp(out.data, want.s, want.len) == 0);
}

TEST(a_span_can_have_several_inserts)
{
	static const struct view request = VIEW("\x0a\4\x12\2\x12\0");
	_cleanup_(pb_buffer_done) struct pb_buffer out = { 0 };
	struct otlp_insert inserts[] = { { 6, ATTRIBUTE, VIEW("") }, { 6, ATTRIBUTE, VIEW("") } };

	otlp_splice(request, &(struct otlp_inserts){ inserts, 2, SCOPE }, &out);
	CHECK_INT(out.size, request.len + 2 * ATTRIBUTE.len);
}

TEST(what_follows_a_damage_is_copied)
{
	check(VIEW("\x0a\4\x12\2\x12\0\xff\xff"), 0, ATTRIBUTE, VIEW(""),
	      VIEW("\x0a\x09\x12\7\x12\5\x4a\3\x0a\1k\xff\xff"));
}
