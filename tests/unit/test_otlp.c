/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "bytes.h"
#include "otlp/trace.h"
#include "spans.h"

#define VIEW(text) ((struct view){ text, sizeof(text) - 1 })
#define TRACE_ID VIEW("\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20")

static struct view text(const char *s)
{
	return (struct view){ s, strlen(s) };
}

static void put_text(struct otlp_writer *w, const char *key, const char *value)
{
	otlp_put_attribute(w, text(key), &(struct otlp_value){ OTLP_STRING, .text = text(value) });
}

static void put_number(struct otlp_writer *w, const char *key, int64_t value)
{
	otlp_put_attribute(w, text(key), &(struct otlp_value){ OTLP_INT, .number = value });
}

/* Begins a resource and a scope. */
static void begin(struct otlp_writer *w, const char *service)
{
	otlp_begin_resource(w, &(struct otlp_resource){ 0 });
	put_text(w, "service.name", service);
	otlp_begin_scope(w, &(struct otlp_scope){ 0 });
}

static struct otlp_span some_span(const char *id, uint64_t start, uint64_t end)
{
	return (struct otlp_span){
		.trace_id = TRACE_ID,
		.span_id = text(id),
		.name = text("GET /"),
		.start = start,
		.end = end,
	};
}

static void put_span(struct otlp_writer *w, const char *id, uint64_t start, uint64_t end)
{
	struct otlp_span span = some_span(id, start, end);

	otlp_begin_span(w, &span);
}

static struct result read_written(struct otlp_writer *w)
{
	struct view bytes = otlp_end(w);

	return read_bytes(otlp_open_memory, bytes.s, bytes.len);
}

static bool is_request(struct view bytes)
{
	return otlp_format.matches_file(bytes.s, bytes.len < 4096 ? bytes.len : 4096);
}

TEST(all_fields_of_a_span_are_read)
{
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
	struct otlp_span span = some_span("abcdefgh", 1700000000000000001, 1700000000000000009);

	otlp_begin_resource(&w, &(struct otlp_resource){ 0 });
	put_text(&w, "host.name", "node-7");
	put_number(&w, "process.pid", 4127);
	put_text(&w, "service.name", "front");
	otlp_begin_scope(&w, &(struct otlp_scope){ .name = VIEW("lib") });
	span.parent_span_id = VIEW("ABCDEFGH");
	span.status = OTLP_STATUS_ERROR;
	otlp_begin_span(&w, &span);
	put_number(&w, "thread.id", 1);
	put_number(&w, "thread.native_id", 4130);
	CHECK(is_request(otlp_end(&w)));

	_cleanup_(result_done) struct result r = read_written(&w);
	const struct record_span *got = r.spans.items;

	CHECK_INT(r.spans.count, 1);
	if (r.spans.count != 1)
		return;
	CHECK_INT(got->start, 1700000000000000001);
	CHECK_INT(got->head.time, 1700000000000000009);
	CHECK(memcmp(got->trace, TRACE_ID.s, 16) == 0);
	CHECK_INT(id_of(got->span), 0x6162636465666768);
	CHECK_INT(id_of(got->parent), 0x4142434445464748);
	CHECK_STR(input_string(r.input, got->service), "front");
	CHECK_STR(input_string(r.input, got->operation), "GET /");
	CHECK_STR(input_record_host(r.input), "node-7");
	CHECK_INT(got->pid, 4127);
	CHECK_INT(got->head.tid, 4130);
	CHECK_INT(got->flags, SPAN_ERROR);
	CHECK(!input_warning(r.input));
	CHECK_STR(input_format_name(r.input), "otlp");
}

TEST(each_span_gets_its_own_resource)
{
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
	static const char *const services[] = { "a", "b", "", "d" };

	begin(&w, "a");
	put_span(&w, "11111111", 1, 2);
	otlp_begin_scope(&w, &(struct otlp_scope){ 0 });
	begin(&w, "b");
	otlp_begin_scope(&w, &(struct otlp_scope){ 0 });
	put_span(&w, "22222222", 1, 3);
	otlp_begin_resource(&w, &(struct otlp_resource){ 0 });
	otlp_begin_scope(&w, &(struct otlp_scope){ 0 });
	put_span(&w, "33333333", 1, 4);
	begin(&w, "c");
	begin(&w, "d");
	put_span(&w, "44444444", 1, 5);

	_cleanup_(result_done) struct result r = read_written(&w);

	CHECK_INT(r.spans.count, 4);
	for (size_t i = 0; i < r.spans.count; i++)
		CHECK_STR(input_string(r.input, r.spans.items[i].service), services[i]);
}

/* The times differ in every digit of the radix sort. */
TEST(spans_are_sorted_by_end_and_ties_keep_file_order)
{
	enum { MANY = 5000 };
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
	uint64_t seed = 7, last_id = 0, last = 0;

	begin(&w, "a");
	for (int i = 0; i < MANY; i++) {
		char id[9];

		seed = seed * 6364136223846793005 + 1442695040888963407;
		snprintf(id, sizeof(id), "%08d", i);
		put_span(&w, id, 1, (seed >> 33) % 3 ? 5 : 1 + (seed >> 1 >> seed % 61));
	}
	_cleanup_(result_done) struct result r = read_written(&w);

	CHECK_INT(r.spans.count, MANY);
	for (size_t i = 0; i < r.spans.count; i++) {
		const struct record_span *span = &r.spans.items[i];

		CHECK(span->head.time > last ||
		      (span->head.time == last && id_of(span->span) > last_id));
		last = span->head.time;
		last_id = id_of(span->span);
	}
}

TEST(an_incomplete_span_is_skipped_and_reported)
{
	static const struct {
		struct otlp_span span;
		const char *why;
	} cases[] = {
		{ { .trace_id = VIEW("short"), .span_id = VIEW("12345678"), .start = 1, .end = 2 },
		  "has no trace_id of 16 bytes" },
		{ { .trace_id = VIEW("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
		    .span_id = VIEW("12345678"),
		    .start = 1,
		    .end = 2 },
		  "has no trace_id of 16 bytes" },
		{ { .trace_id = TRACE_ID, .start = 1, .end = 2 }, "has no span_id of 8 bytes" },
		{ { .trace_id = TRACE_ID,
		    .span_id = VIEW("\0\0\0\0\0\0\0\0"),
		    .start = 1,
		    .end = 2 },
		  "has no span_id of 8 bytes" },
		{ { .trace_id = TRACE_ID, .span_id = VIEW("12345678"), .end = 2 },
		  "has no start_time_unix_nano" },
		{ { .trace_id = TRACE_ID, .span_id = VIEW("12345678"), .start = 2, .end = 1 },
		  "ends before it starts" },
		{ { .trace_id = TRACE_ID,
		    .span_id = VIEW("12345678"),
		    .start = 2,
		    .end = 1ull << 63 },
		  "has an invalid end time" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
		_cleanup_(freep) char *want =
			must_printf("'x.json': skipped 1 of 2 spans: span 2 %s", cases[i].why);

		begin(&w, "a");
		put_span(&w, "12345678", 1, 2);
		otlp_begin_span(&w, &cases[i].span);

		_cleanup_(result_done) struct result r = read_written(&w);

		CHECK_INT(r.spans.count, 1);
		CHECK_STR(r.input ? input_warning(r.input) ?: "" : "", want);
		CHECK_INT(r.input ? input_events(r.input) : 0, 2);
	}
}

TEST(a_span_without_an_end_is_kept_as_unfinished)
{
	static const struct otlp_span unfinished = { .trace_id = TRACE_ID,
						     .span_id = VIEW("12345678"),
						     .start = 2 };
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };

	begin(&w, "a");
	otlp_begin_span(&w, &unfinished);

	_cleanup_(result_done) struct result r = read_written(&w);

	CHECK_INT(r.spans.count, 1);
	CHECK_INT(r.spans.count ? r.spans.items[0].flags : 0, SPAN_OPEN);
	CHECK_INT(r.spans.count ? r.spans.items[0].head.time : 0, 2);
}

TEST(a_parent_id_has_eight_bytes_and_is_not_zero)
{
	static const struct view parents[] = { VIEW(""), VIEW("\0\0\0\0\0\0\0\0"), VIEW("1234") };

	for (size_t i = 0; i < ARRAY_LEN(parents); i++) {
		_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
		struct otlp_span span = some_span("12345678", 1, 2);

		begin(&w, "a");
		span.parent_span_id = parents[i];
		otlp_begin_span(&w, &span);

		_cleanup_(result_done) struct result r = read_written(&w);

		CHECK_INT(r.spans.count, 1);
		CHECK(r.spans.count && id_of(r.spans.items[0].parent) == 0);
	}
}

TEST(the_name_of_the_node_has_priority_over_the_container)
{
	for (int order = 0; order < 2; order++) {
		_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };

		otlp_begin_resource(&w, &(struct otlp_resource){ 0 });
		put_text(&w, order ? "host.name" : "k8s.node.name", order ? "pod-1" : "node-7");
		put_text(&w, order ? "k8s.node.name" : "host.name", order ? "node-7" : "pod-1");
		otlp_begin_scope(&w, &(struct otlp_scope){ 0 });
		put_span(&w, "12345678", 1, 2);

		_cleanup_(result_done) struct result r = read_written(&w);

		CHECK_STR(r.input ? input_record_host(r.input) : "", "node-7");
	}
}

TEST(attributes_of_unexpected_types_are_ignored)
{
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };

	otlp_begin_resource(&w, &(struct otlp_resource){ 0 });
	put_number(&w, "service.name", 7);
	put_text(&w, "process.pid", "4127");
	otlp_begin_scope(&w, &(struct otlp_scope){ 0 });
	put_span(&w, "12345678", 1, 2);
	otlp_put_attribute(&w, VIEW("sonde.tid"), &(struct otlp_value){ OTLP_DOUBLE, .real = 7 });
	otlp_put_attribute(&w, VIEW("error"), &(struct otlp_value){ OTLP_BOOL, .boolean = true });
	put_number(&w, "thread.native_id", -7);

	_cleanup_(result_done) struct result r = read_written(&w);

	CHECK_INT(r.spans.count, 1);
	if (r.spans.count != 1)
		return;
	CHECK_INT(r.spans.items[0].service, 0);
	CHECK_INT(r.spans.items[0].pid, 4127); /* a number in a string */
	CHECK_INT(r.spans.items[0].head.tid, 0);
	CHECK_INT(r.spans.items[0].flags, SPAN_ERROR);
}

/* Several requests, each preceded by its length. */
static struct pb_buffer frames(unsigned count)
{
	struct pb_buffer out = { 0 };

	for (unsigned i = 0; i < count; i++) {
		_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
		char id[16];

		snprintf(id, sizeof(id), "%08u", i + 1);
		begin(&w, "a");
		put_span(&w, id, 1, 2 + i);

		struct view bytes = otlp_end(&w);
		uint8_t length[4] = { bytes.len >> 24, bytes.len >> 16, bytes.len >> 8, bytes.len };

		out.data = must_realloc(out.data, out.size + 4 + bytes.len);
		memcpy(out.data + out.size, length, 4);
		memcpy(out.data + out.size + 4, bytes.s, bytes.len);
		out.size += 4 + bytes.len;
	}
	return out;
}

TEST(requests_with_lengths_are_read)
{
	_cleanup_(pb_buffer_done) struct pb_buffer out = frames(3);
	_cleanup_(result_done) struct result r = read_bytes(otlp_open_memory, out.data, out.size);

	CHECK(is_request((struct view){ (char *)out.data, out.size }));
	CHECK_INT(r.spans.count, 3);
	CHECK(r.input && !input_warning(r.input));
}

TEST(an_incomplete_last_request_is_reported)
{
	_cleanup_(pb_buffer_done) struct pb_buffer out = frames(3);
	size_t first = 4 + out.data[3];

	for (size_t size = first + 1; size < out.size; size++) {
		_cleanup_(result_done) struct result r =
			read_bytes(otlp_open_memory, out.data, size);
		size_t whole = size / first;

		CHECK_INT(r.code, 0);
		CHECK_INT(r.spans.count, whole);
		CHECK_STR(r.input ? input_warning(r.input) ?: "" : "none",
			  size % first ? "'x.json' is truncated: the last request is incomplete"
				       : "");
	}
}

TEST(a_truncated_request_gets_a_message)
{
	_cleanup_(pb_buffer_done) struct pb_buffer out = frames(1);

	for (size_t size = 1; size < out.size - 4; size++) {
		_cleanup_(result_done) struct result r =
			read_bytes(otlp_open_memory, out.data + 4, size);

		CHECK_INT(r.code, -EBADMSG);
		CHECK_STR(r.err.text, "'x.json' is damaged: invalid field of "
				      "ExportTraceServiceRequest at offset 0");
		CHECK(!is_request((struct view){ (char *)out.data + 4, size }));
	}
}

TEST(a_damaged_attribute_gets_a_message)
{
	static const struct {
		struct view bytes;
		const char *want;
	} cases[] = {
		{ VIEW("\x0a\x2a\x0a\x04\x0a\x02\x0a\x05\x12\x22\x12\x20"),
		  "'x.json' is damaged: invalid field of KeyValue at offset 6" },
		{ VIEW("\x0a\x36\x0a\x10\x0a\x0e\x0a\x08hostname\x12\x02\x0a\x05\x12\x22\x12\x20"),
		  "'x.json' is damaged: invalid field of AnyValue at offset 18" },
		{ VIEW("\x0a\x28\x0a\x02\x0a\x05\x12\x22\x12\x20"),
		  "'x.json' is damaged: invalid field of Resource at offset 4" },
	};
	static const struct view span = VIEW("\x0a\x10trace id trace i\x12\x08span id."
					     "\x39\1\0\0\0\0\0\0\0\x41\2\0\0\0\0\0\0\0");

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(freep) char *bytes = must_alloc(cases[i].bytes.len + span.len);

		memcpy(bytes, cases[i].bytes.s, cases[i].bytes.len);
		memcpy(bytes + cases[i].bytes.len, span.s, span.len);
		bytes[1] = cases[i].bytes.len + span.len - 2;
		bytes[cases[i].bytes.len - 1] = span.len;
		bytes[cases[i].bytes.len - 3] = span.len + 2;
		_cleanup_(result_done) struct result r =
			read_bytes(otlp_open_memory, bytes, cases[i].bytes.len + span.len);
		CHECK_INT(r.code, -EBADMSG);
		CHECK_STR(r.err.text, cases[i].want);
	}
}

TEST(other_files_are_not_detected_as_requests)
{
	static const struct view others[] = {
		VIEW(""),
		VIEW("\n"),
		VIEW("\n\n\n\n\n\n\n\n\n\n\n\n"),
		VIEW("\n\x10some text or else"),
		VIEW("{\"resourceSpans\":[]}"),
		VIEW("\x7f"
		     "ELF\2\1\1\0\0\0\0\0\0\0\0\0"),
		VIEW("\0\0\0\0\0\0\0\0"),
		VIEW("\0\0\0\4\n\2\n\0"),
		/* a metric of a resource with one attribute */
		VIEW("\x0a\x1b\x0a\x08\x0a\x06\x0a\x01k\x12\x01\x00\x12\x0f\x12\x0d\x0a\x08requests"
		     "\x12\x01x"),
		/* a log, which starts with its time */
		VIEW("\x0a\x17\x0a\x06\x0a\x04\x0a\x01k\x12\x0d\x12\x0b\x09\1\2\3\4\5\6\7\10\x10"
		     "\1"),
	};
	uint8_t noise[512];
	uint64_t seed = 1;

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		CHECK(!is_request(others[i]));
	for (int i = 0; i < 200000; i++) {
		for (size_t k = 0; k < sizeof(noise); k += 8) {
			seed = seed * 6364136223846793005 + 1442695040888963407;
			memcpy(noise + k, &seed, 8);
		}
		noise[0] = i % 2 ? 0x0a : 0;
		CHECK(!is_request((struct view){ (char *)noise, sizeof(noise) }));
	}
}

/* Detection uses only the head, which can end anywhere. */
TEST(a_large_request_is_detected_by_its_head)
{
	_cleanup_(freep) char *long_text = must_alloc(6001);

	memset(long_text, 'x', 6000);
	for (size_t len = 3000; len < 6000; len += 7) {
		_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };

		otlp_begin_resource(&w, &(struct otlp_resource){ 0 });
		otlp_put_attribute(&w, VIEW("process.command_line"),
				   &(struct otlp_value){ OTLP_STRING, .text = { long_text, len } });
		otlp_begin_scope(&w, &(struct otlp_scope){ 0 });
		for (int i = 0; i < 100; i++)
			put_span(&w, "12345678", 1, 2);
		CHECK(is_request(otlp_end(&w)));
	}
}

static void put_bytes(struct otlp_writer *w, const char *key, enum otlp_type type,
		      struct view bytes)
{
	otlp_put_attribute(w, text(key), &(struct otlp_value){ type, .text = bytes });
}

/* All types; keys that the record contains are not repeated as attributes. */
TEST(attributes_precede_their_span)
{
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
	struct otlp_span span = some_span("11111111", 1, 2);

	begin(&w, "a");
	span.kind = OTLP_KIND_CLIENT;
	otlp_begin_span(&w, &span);
	put_text(&w, "text", "GET");
	put_text(&w, "empty", "");
	put_number(&w, "least", INT64_MIN);
	put_number(&w, "sonde.tid", 7);
	otlp_put_attribute(&w, text("real"), &(struct otlp_value){ OTLP_DOUBLE, .real = 0.5 });
	otlp_put_attribute(&w, text("truth"), &(struct otlp_value){ OTLP_BOOL, .boolean = true });
	otlp_put_attribute(&w, text("nothing"), &(struct otlp_value){ .type = OTLP_EMPTY });
	put_text(&w, "", "without a key");

	_cleanup_(result_done) struct result r = read_written(&w);
	_cleanup_(freep) char *got = attributes_of(&r);

	CHECK_STR(got, "text=GET empty= least=-9223372036854775808 real=0.500000000 truth=true "
		       "nothing=");
	CHECK_INT(r.spans.count, 1);
	CHECK_INT(r.spans.items[0].kind, SPAN_CLIENT);
	CHECK_INT(r.spans.items[0].head.tid, 7);
	CHECK_INT(input_events(r.input), 1);
}

TEST(repeated_attributes_are_kept_for_each_span)
{
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
	static const struct {
		const char *method;
		int64_t code;
	} spans[] = { { "GET", 200 }, { "GET", 200 }, { "PUT", 200 }, { "PUT", 404 } };

	begin(&w, "front");
	for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
		put_span(&w, "abcdefgh", 1, 2 + i);
		put_text(&w, "", "");
		put_text(&w, "method", spans[i].method);
		put_number(&w, "thread.native_id", 7);
		put_number(&w, "code", spans[i].code);
	}

	_cleanup_(result_done) struct result r = read_written(&w);
	_cleanup_(freep) char *got = attributes_of(&r);

	CHECK_STR(got, "method=GET thread.native_id=7 code=200 "
		       "method=GET thread.native_id=7 code=200 "
		       "method=PUT thread.native_id=7 code=200 "
		       "method=PUT thread.native_id=7 code=404");
	CHECK_INT(r.spans.count, ARRAY_LEN(spans));
	for (size_t i = 0; i < r.spans.count; i++)
		CHECK_INT(r.spans.items[i].head.tid, 7);
}

TEST(attributes_are_in_the_order_of_their_spans)
{
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };

	begin(&w, "a");
	for (int i = 9; i > 0; i--) {
		char id[9];

		snprintf(id, sizeof(id), "%08d", i);
		put_span(&w, id, 1, 1 + i);
		for (int k = 0; k < i % 3; k++)
			put_number(&w, k ? "second" : "first", i);
	}

	_cleanup_(result_done) struct result r = read_written(&w);
	_cleanup_(freep) char *got = attributes_of(&r);

	CHECK_INT(r.spans.count, 9);
	CHECK_STR(got,
		  "first=1 first=2 second=2 first=4 first=5 second=5 first=7 first=8 second=8");
}

TEST(lists_and_bytes_become_texts)
{
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };

	begin(&w, "a");
	put_span(&w, "11111111", 1, 2);
	put_bytes(&w, "list", OTLP_ARRAY, VIEW("\x0a\x04\x0a\x02\"a\x0a\x02\x18\x05\x0a\x00"));
	put_bytes(&w, "map", OTLP_MAP, VIEW("\x0a\x07\x0a\x01k\x12\x02\x10\x01"));
	put_bytes(&w, "long", OTLP_ARRAY, VIEW(""));
	put_bytes(&w, "bytes", OTLP_BYTES, VIEW("\xff\0z!"));
	put_bytes(&w, "two", OTLP_BYTES, VIEW("ab"));
	put_bytes(&w, "in", OTLP_ARRAY, VIEW("\x0a\x03\x3a\x01z"));

	_cleanup_(result_done) struct result r = read_written(&w);
	_cleanup_(freep) char *got = attributes_of(&r);

	CHECK_STR(got, "list=[\"\\\"a\",5,null] map={\"k\":true} long=[] bytes=/wB6IQ== two=YWI= "
		       "in=[\"eg==\"]");
}

/* Values can be nested up to the end of the file. */
TEST(deeply_nested_lists_become_null)
{
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
	struct pb_buffer out = { 0 };
	size_t begins[400];

	for (size_t i = 0; i < ARRAY_LEN(begins); i += 2) {
		begins[i] = pb_begin_message(&out, 1);
		begins[i + 1] = pb_begin_message(&out, OTLP_ARRAY);
	}
	for (size_t i = ARRAY_LEN(begins); i-- > 0;)
		pb_end_message(&out, begins[i]);
	begin(&w, "a");
	put_span(&w, "11111111", 1, 2);
	put_bytes(&w, "deep", OTLP_ARRAY, (struct view){ (const char *)out.data, out.size });
	pb_buffer_done(&out);

	_cleanup_(result_done) struct result r = read_written(&w);
	_cleanup_(freep) char *got = attributes_of(&r);

	CHECK_STR(got, "deep=[[[[[[[[[[[[[[[[null]]]]]]]]]]]]]]]]");
}

TEST(an_invalid_value_of_any_attribute_is_an_error)
{
	static const struct view bad[] = { VIEW("\x0a\x09x"), VIEW("\x0a\x03\x0a\x09x") };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };

		begin(&w, "a");
		put_span(&w, "11111111", 1, 2);
		put_bytes(&w, "list", OTLP_ARRAY, bad[i]);

		_cleanup_(result_done) struct result r = read_written(&w);

		CHECK_INT(r.code, -EBADMSG);
		CHECK(strstr(r.err.text, "invalid field of AnyValue"));
	}
}

TEST(the_status_of_a_span_is_kept)
{
	static const struct {
		enum otlp_status status;
		const char *message;
		int flags;
		const char *attributes;
	} cases[] = {
		{ OTLP_STATUS_UNSET, "", 0, "" },
		{ OTLP_STATUS_OK, "", 0, "otel.status_code=OK" },
		{ OTLP_STATUS_ERROR, "", SPAN_ERROR, "" },
		{ OTLP_STATUS_ERROR, "no", SPAN_ERROR, "otel.status_description=no" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
		struct otlp_span span = some_span("11111111", 1, 2);

		begin(&w, "a");
		span.status = cases[i].status;
		span.status_message = text(cases[i].message);
		span.kind = 6 + i; /* undefined */
		otlp_begin_span(&w, &span);

		_cleanup_(result_done) struct result r = read_written(&w);
		_cleanup_(freep) char *got = attributes_of(&r);

		CHECK_STR(got, cases[i].attributes);
		CHECK_INT(r.spans.count, 1);
		CHECK_INT(r.spans.items[0].flags, cases[i].flags);
		CHECK_INT(r.spans.items[0].kind, SPAN_UNSPECIFIED);
	}
}
