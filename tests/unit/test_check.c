/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "otlp/check.h"
#include "otlp/schema.h"
#include "test.h"

#define VIEW(text) ((struct view){ text, sizeof(text) - 1 })
#define TRACE_ID VIEW("\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20")

static struct view view_of(const struct pb_buffer *b)
{
	return (struct view){ b->data ? (const char *)b->data : "", b->size };
}

/* Puts `inside` into a message field of each of these numbers, the innermost first. */
static struct pb_buffer wrap(struct view inside, const uint32_t *numbers, size_t count)
{
	struct pb_buffer now = { 0 };

	pb_append(&now, inside);
	for (size_t i = 0; i < count; i++) {
		struct pb_buffer outer = { 0 };

		pb_put_field(&outer, &(struct pb_field){ .tag = PB_TAG(numbers[i], PB_BYTES),
							 .bytes = view_of(&now) });
		pb_buffer_done(&now);
		now = outer;
	}
	return now;
}

static const uint32_t in_span[] = { 2, 2, 1 };

/* The error of a request with one span that contains these fields; "" if it is accepted. */
static struct err check_span(struct view fields, uint64_t *ret_items)
{
	struct pb_buffer request = wrap(fields, in_span, ARRAY_LEN(in_span));
	struct otlp_totals totals = { 0 };
	struct err err = { "" };
	int r = otlp_check(OTLP_TRACES, view_of(&request), &totals, &err);

	CHECK_INT(r, err.text[0] ? -EBADMSG : 0);
	pb_buffer_done(&request);
	*ret_items = totals.items;
	return err;
}

TEST(an_empty_request_is_valid)
{
	struct otlp_totals totals = { 7 };
	struct err err;

	for (int s = 0; s < OTLP_SIGNAL_COUNT; s++) {
		CHECK_INT(otlp_check(s, VIEW(""), &totals, &err), 0);
		CHECK_INT(totals.items, 0);
	}
}

TEST(fields_of_a_span_are_checked)
{
	static const struct {
		struct view fields;
		const char *want;
	} cases[] = {
		{ VIEW(""), "" },
		{ VIEW("\x2a\3abc"), "" },
		{ VIEW("\x2a\3\xe2\x82\xac"), "" },
		{ VIEW("\x2a\x0c abcdefgh\xe2\x82\xac"), "" },
		{ VIEW("\x2a\2\xe2\x82"), "malformed Span.name at offset 8: invalid UTF-8" },
		{ VIEW("\x2a\2\xc0\x80"), "malformed Span.name at offset 8: invalid UTF-8" },
		{ VIEW("\x2a\3\xed\xa0\x80"), "malformed Span.name at offset 8: invalid UTF-8" },
		{ VIEW("\x2a\x09 abcdefg\xff"), "malformed Span.name at offset 8: invalid UTF-8" },
		{ VIEW("\x12\x08 1234567"), "" },
		{ VIEW("\x12\0"), "" },
		{ VIEW("\x12\3abc"), "malformed Span.spanId at offset 8: wrong length of an id" },
		{ VIEW("\x0a\3abc"), "malformed Span.traceId at offset 8: wrong length of an id" },
		{ VIEW("\x30\1"), "" },
		{ VIEW("\x32\1x"), "malformed Span.kind at offset 6: wrong type" },
		{ VIEW("\x28\1"), "malformed Span.name at offset 6: wrong type" },
		{ VIEW("\x38\1"), "malformed Span.startTimeUnixNano at offset 6: wrong type" },
		{ VIEW("\x2a\4abc"), "malformed Span at offset 6: invalid or truncated field" },
		{ VIEW("\x2a"), "malformed Span at offset 6: invalid or truncated field" },
		{ VIEW("\x30\1\2"), "malformed Span at offset 8: invalid or truncated field" },
		{ VIEW("\x4b"), "malformed Span at offset 6: invalid or truncated field" },
		{ VIEW("\4\1"), "malformed Span at offset 6: invalid or truncated field" },
		{ VIEW("\xfa\x01\2\xff\xff"), "" }, /* field 31 */
		{ VIEW("\xc8\x3e\7"), "" },         /* field 1001 */
		{ VIEW("\x4a\5\x12\3\x0a\1\xff"),
		  "malformed AnyValue.stringValue at offset 12: invalid UTF-8" },
		{ VIEW("\x4a\5\x12\3\x3a\1\xff"), "" }, /* bytesValue */
		{ VIEW("\x4a\5\x12\4\x0a\1a"),
		  "malformed KeyValue at offset 8: invalid or truncated field" },
		{ VIEW("\x5a\3\x12\1\xff"),
		  "malformed Span.Event.name at offset 10: invalid UTF-8" },
		{ VIEW("\x6a\3\x0a\1x"),
		  "malformed Span.Link.traceId at offset 10: wrong length of an id" },
		{ VIEW("\x7a\3\x12\1\xff"),
		  "malformed Status.message at offset 10: invalid UTF-8" },
	};
	uint64_t items;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = check_span(cases[i].fields, &items);

		CHECK_STR(err.text, cases[i].want);
		CHECK_INT(items, !cases[i].want[0]);
	}
}

TEST(lists_of_numbers_can_be_packed_or_not)
{
	static const uint32_t in_histogram[] = { 1, 9, 2, 2, 1 };
	static const uint32_t in_buckets[] = { 8, 1, 10, 2, 2, 1 };
	static const struct {
		const uint32_t *around;
		size_t count;
		struct view fields;
		bool is_valid;
	} cases[] = {
		{ in_histogram, 5,
		  VIEW("\x32\x10"
		       "1234567812345678"),
		  true },
		{ in_histogram, 5,
		  VIEW("\x31"
		       "12345678"),
		  true },
		{ in_histogram, 5, VIEW("\x32\0"), true },
		{ in_histogram, 5,
		  VIEW("\x32\7"
		       "1234567"),
		  false },
		{ in_histogram, 5, VIEW("\x30\1"), false },
		{ in_buckets, 6, VIEW("\x12\3\1\x80\1"), true },
		{ in_buckets, 6, VIEW("\x10\1"), true },
		{ in_buckets, 6, VIEW("\x12\2\1\x80"), false },
		{ in_buckets, 6,
		  VIEW("\x11"
		       "12345678"),
		  false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pb_buffer request = wrap(cases[i].fields, cases[i].around, cases[i].count);
		struct otlp_totals totals = { 0 };
		struct err err;
		int r = otlp_check(OTLP_METRICS, view_of(&request), &totals, &err);

		CHECK_INT(r == 0, cases[i].is_valid);
		CHECK_INT(totals.items, cases[i].is_valid);
		pb_buffer_done(&request);
	}
}

/* Arrays in arrays, or maps in maps. */
static int check_nested(unsigned int depth, bool as_map, struct err *err)
{
	static const uint32_t array[] = { 1, 5 }, map[] = { 2, 1, 6 }, around[] = { 5, 2, 2, 1 };
	struct pb_buffer now = wrap(VIEW("\x0a\1x"), NULL, 0);
	struct otlp_totals totals;

	for (unsigned int i = 1; i < depth; i++) {
		struct pb_buffer outer = as_map ? wrap(view_of(&now), map, ARRAY_LEN(map))
						: wrap(view_of(&now), array, ARRAY_LEN(array));

		pb_buffer_done(&now);
		now = outer;
	}

	struct pb_buffer request = wrap(view_of(&now), around, ARRAY_LEN(around));
	int r = otlp_check(OTLP_LOGS, view_of(&request), &totals, err);

	pb_buffer_done(&now);
	pb_buffer_done(&request);
	return r;
}

TEST(values_are_nested_up_to_a_limit)
{
	struct err err;

	for (int as_map = 0; as_map < 2; as_map++) {
		CHECK_INT(check_nested(OTLP_VALUE_DEPTH, as_map, &err), 0);
		CHECK_INT(check_nested(OTLP_VALUE_DEPTH + 1, as_map, &err), -EBADMSG);
		CHECK(strstr(err.text, "nested too deeply"));
		CHECK_INT(check_nested(10000, as_map, &err), -EBADMSG);
	}
}

TEST(log_records_and_data_points_are_counted)
{
	static const uint32_t in_scope[] = { 2, 1 };
	struct pb_buffer logs = wrap(VIEW("\x12\0\x12\0\x12\0"), in_scope, ARRAY_LEN(in_scope));
	/* a gauge with two points, a summary with one */
	struct pb_buffer metrics = wrap(VIEW("\x12\6\x2a\4\x0a\0\x0a\0\x12\4\x5a\2\x0a\0"),
					in_scope, ARRAY_LEN(in_scope));
	struct otlp_totals totals;
	struct err err;

	CHECK_INT(otlp_check(OTLP_LOGS, view_of(&logs), &totals, &err), 0);
	CHECK_INT(totals.items, 3);
	CHECK_INT(otlp_check(OTLP_METRICS, view_of(&metrics), &totals, &err), 0);
	CHECK_INT(totals.items, 3);
	pb_buffer_done(&logs);
	pb_buffer_done(&metrics);
}
