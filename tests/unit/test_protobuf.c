/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"
#include "otlp/trace.h"
#include "test.h"

#define VIEW(text) ((struct view){ text, sizeof(text) - 1 })

/* A copy of exact size, so that a sanitizer detects reads beyond the end. */
static struct bytes copy(struct view view)
{
	return bytes_copy(&(struct bytes){ (unsigned char *)view.s, view.len }, view.len);
}

static int read_all(struct view view)
{
	_cleanup_(bytes_done) struct bytes bytes = copy(view);
	struct pb_reader pb = pb_reader_of((struct view){ (const char *)bytes.data, bytes.size });
	struct pb_field f = { 0 };
	int n = 0, r;

	while ((r = pb_next(&pb, &f)) > 0)
		n++;
	return r < 0 ? r : n;
}

TEST(fields_of_all_types_are_read)
{
	struct pb_reader pb = pb_reader_of(VIEW("\x08\x96\x01"
						"\x11\x01\x02\x03\x04\x05\x06\x07\x88"
						"\x1a\x03xyz"
						"\xa5\x06\x01\x02\x03\x84"));
	struct pb_field f = { 0 };

	CHECK_INT(pb_next(&pb, &f), 1);
	CHECK_INT(f.tag, PB_TAG(1, PB_VARINT));
	CHECK_INT(f.number, 150);
	CHECK_INT(pb_next(&pb, &f), 1);
	CHECK_INT(f.tag, PB_TAG(2, PB_FIXED64));
	CHECK(f.number == 0x8807060504030201);
	CHECK_INT(pb_next(&pb, &f), 1);
	CHECK_INT(f.tag, PB_TAG(3, PB_BYTES));
	CHECK(view_is(f.bytes, "xyz"));
	CHECK_INT(pb_next(&pb, &f), 1);
	CHECK_INT(f.tag, PB_TAG(100, PB_FIXED32));
	CHECK(f.number == 0x84030201);
	CHECK_INT(pb_next(&pb, &f), 0);
}

TEST(an_invalid_field_is_an_error_at_its_start)
{
	static const struct view bad[] = {
		VIEW("\x08"),                                             /* missing value */
		VIEW("\x08\x80"),                                         /* incomplete value */
		VIEW("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* too long */
		VIEW("\x80"),                                             /* incomplete tag */
		VIEW("\x00\x01"),                                         /* field number 0 */
		VIEW("\x80\x80\x80\x80\x10\x01"), /* tag of more than 32 bits */
		VIEW("\x11\x01\x02\x03\x04\x05\x06\x07"),
		VIEW("\x15\x01\x02\x03"),
		VIEW("\x1a\x04xyz"),
		VIEW("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01xyz"),
		VIEW("\x0b\x0c"), /* a group */
		VIEW("\x0e"),     /* undefined types */
		VIEW("\x0f"),
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(bytes_done) struct bytes bytes = copy(bad[i]);
		struct pb_reader pb =
			pb_reader_of((struct view){ (const char *)bytes.data, bytes.size });
		struct pb_field f = { 0 };

		CHECK_INT(pb_next(&pb, &f), -EBADMSG);
		CHECK(pb.at == bytes.data);
	}
	CHECK_INT(read_all(VIEW("")), 0);
	CHECK_INT(read_all(VIEW("\x08\x01\x08\x81\x00")), 2); /* longer than necessary, but valid */
}

TEST(numbers_are_written_as_they_are_read)
{
	_cleanup_(pb_buffer_done) struct pb_buffer out = { 0 };
	struct pb_field f = { 0 };

	for (unsigned bit = 0; bit < 64; bit++) {
		pb_put_varint(&out, bit + 1, (uint64_t)1 << bit);
		pb_put_varint(&out, bit + 1, UINT64_MAX >> bit);
		pb_put_fixed64(&out, bit + 1, UINT64_MAX >> bit);
	}
	struct pb_reader pb = pb_reader_of((struct view){ (const char *)out.data, out.size });
	for (unsigned bit = 0; bit < 64; bit++) {
		CHECK(pb_next(&pb, &f) > 0 && f.tag == PB_TAG(bit + 1, PB_VARINT));
		CHECK(f.number == (uint64_t)1 << bit);
		CHECK(pb_next(&pb, &f) > 0 && f.number == UINT64_MAX >> bit);
		CHECK(pb_next(&pb, &f) > 0 && f.tag == PB_TAG(bit + 1, PB_FIXED64));
		CHECK(f.number == UINT64_MAX >> bit);
	}
	CHECK_INT(pb_next(&pb, &f), 0);
}

TEST(zeros_and_empty_strings_are_not_written)
{
	_cleanup_(pb_buffer_done) struct pb_buffer out = { 0 };

	pb_put_varint(&out, 1, 0);
	pb_put_fixed64(&out, 2, 0);
	pb_put_fixed32(&out, 3, 0);
	pb_put_bytes(&out, 4, VIEW(""));
	CHECK_INT(out.size, 0);
}

TEST(messages_of_any_length_are_written)
{
	static const size_t sizes[] = { 0, 1, 127, 128, 129, 16383, 16384, 2097151, 2097152 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		_cleanup_(pb_buffer_done) struct pb_buffer out = { 0 };
		size_t outer = pb_begin_message(&out, 1), inner = pb_begin_message(&out, 2);
		_cleanup_(freep) char *text = must_alloc(sizes[i] + 1);
		struct pb_field f = { .tag = PB_TAG(3, PB_BYTES),
				      .bytes = { memset(text, 'x', sizes[i]), sizes[i] } };

		pb_put_field(&out, &f);
		pb_end_message(&out, inner);
		pb_put_varint(&out, 4, 7);
		pb_end_message(&out, outer);

		struct pb_reader pb =
			pb_reader_of((struct view){ (const char *)out.data, out.size });
		CHECK(pb_next(&pb, &f) > 0 && pb.at == pb.end);
		pb = pb_reader_of(f.bytes);
		CHECK(pb_next(&pb, &f) > 0 && f.tag == PB_TAG(2, PB_BYTES));
		struct pb_reader in = pb_reader_of(f.bytes);
		CHECK(pb_next(&in, &f) > 0 && f.bytes.len == sizes[i] && in.at == in.end);
		CHECK(pb_next(&pb, &f) > 0 && f.number == 7 && pb.at == pb.end);
	}
}

/* The resource can follow its spans, and unknown fields can be anywhere. */
TEST(fields_can_be_in_any_order)
{
	struct otlp_reader reader;
	struct otlp_resource resource;
	struct otlp_scope scope;
	struct otlp_span span;
	struct otlp_attribute a;

	otlp_reader_init(&reader,
			 VIEW("\x7a\x01x"
			      "\x0a\x1d"
			      "\x12\x0e"
			      "\x12\x06\xa0\x06\x01\x2a\x01n" /* a span with a field 100 */
			      "\x0a\x04\x12\x02"
			      "v1"
			      "\x1a\x01s"
			      "\x0a\x08"
			      "\x10\x03\x0a\x04\x08\x01\x0a\x00" /* a key that is a number */));
	CHECK_INT(otlp_next_span(&reader, &span), 1);
	CHECK(view_is(span.name, "n"));
	CHECK_INT(otlp_read_resource(&reader, &resource), 0);
	CHECK(view_is(resource.schema_url, "s"));
	CHECK_INT(resource.dropped_attributes, 3);
	CHECK_INT(otlp_attribute_next(&resource.attributes, &a), 1);
	CHECK_INT(a.key.len, 0);
	CHECK_INT(otlp_attribute_next(&resource.attributes, &a), 0);
	CHECK_INT(otlp_read_scope(&reader, &scope), 0);
	CHECK(view_is(scope.version, "v1"));
	CHECK_INT(otlp_next_span(&reader, &span), 0);
	CHECK_INT(otlp_next_span(&reader, &span), 0);
}

TEST(damage_is_reported_with_its_offset)
{
	static const struct {
		struct view bytes;
		size_t at;
		const char *expected;
	} cases[] = {
		{ VIEW("\x0a\x05xx"), 0, "ExportTraceServiceRequest" },
		{ VIEW("\x0a\x02\x12\x05"), 2, "ResourceSpans" },
		{ VIEW("\x0a\x04\x12\x02\x12\x05"), 4, "ScopeSpans" },
		{ VIEW("\x0a\x06\x12\x04\x12\x02\x2a\x05"), 6, "Span" },
		{ VIEW("\x0a\x08\x12\x06\x12\x04\x7a\x02\x12\x05"), 8, "Status" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct otlp_reader reader;
		struct otlp_span span;

		otlp_reader_init(&reader, cases[i].bytes);
		CHECK_INT(otlp_next_span(&reader, &span), -EBADMSG);
		CHECK_INT(reader.damage - (const uint8_t *)cases[i].bytes.s, cases[i].at);
		CHECK_STR(reader.expected, cases[i].expected);
	}
}

TEST(the_last_field_of_a_value_counts)
{
	struct otlp_value value;

	CHECK_INT(otlp_value_read(VIEW(""), &value), 0);
	CHECK_INT(value.type, OTLP_EMPTY);
	CHECK_INT(otlp_value_read(VIEW("\x0a\x01x\x18\x07"), &value), 0);
	CHECK_INT(value.type, OTLP_INT);
	CHECK_INT(value.number, 7);
	CHECK_INT(otlp_value_read(VIEW("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), &value), 0);
	CHECK_INT(value.number, -1);
	CHECK_INT(otlp_value_read(VIEW("\x10\x02"), &value), 0);
	CHECK(value.type == OTLP_BOOL && value.boolean);
	CHECK_INT(otlp_value_read(VIEW("\x08\x02"), &value), 0); /* a string that is a number */
	CHECK_INT(value.type, OTLP_EMPTY);
	CHECK_INT(otlp_value_read(VIEW("\x0a\x05x"), &value), -EBADMSG);
}
