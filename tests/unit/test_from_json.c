/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "otlp/from_json.h"
#include "otlp/trace.h"
#include "test.h"

#define IN_SPAN(fields) "{'resourceSpans':[{'scopeSpans':[{'spans':[{" fields "}]}]}]}"
#define IN_VALUE(value) IN_SPAN("'attributes':[{'key':'k','value':{" value "}}]")
#define IN_POINT(fields) \
	"{'resourceMetrics':[{'scopeMetrics':[{'metrics':[{'histogram':{'dataPoints':[{" fields \
	"}]}}]}]}]}"

struct converted {
	int code;
	struct pb_buffer out;
	struct err err;
};

static void converted_done(struct converted *c)
{
	pb_buffer_done(&c->out);
}

/* With ' for ", so that tests are readable. */
static struct converted convert(enum otlp_signal signal, const char *text)
{
	_cleanup_(freep) char *json = must_strdup(text);
	struct converted c = { .err = { "" } };

	for (char *at = json; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	c.code = otlp_from_json(signal, (struct view){ json, strlen(json) }, &c.out, &c.err);
	CHECK_INT(c.code, c.err.text[0] ? -EBADMSG : 0);
	if (c.code < 0)
		CHECK_INT(c.out.size, 0);
	return c;
}

/* The fields of the only message below these numbers, in hexadecimal. */
static const char *hex_below(const struct converted *c, const uint32_t *numbers, size_t count)
{
	static char text[512];
	struct pb_reader pb = { c->out.data, c->out.data + c->out.size };
	struct pb_field f;
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (pb_next(&pb, &f) <= 0 || f.tag != PB_TAG(numbers[i], PB_BYTES))
			return c->err.text[0] ? c->err.text : "missing";
		pb = pb_reader_of(f.bytes);
	}
	text[0] = '\0';
	for (; pb.at < pb.end && used < sizeof(text) - 3; pb.at++)
		used += snprintf(text + used, sizeof(text) - used, "%02x", *pb.at);
	return text;
}

static void check_span(const char *json, const char *want)
{
	static const uint32_t in_span[] = { 1, 2, 2 };
	_cleanup_(converted_done) struct converted c = convert(OTLP_TRACES, json);

	CHECK_STR(hex_below(&c, in_span, ARRAY_LEN(in_span)), want);
}

static void check_point(const char *json, const char *want)
{
	static const uint32_t in_point[] = { 1, 2, 2, 9, 1 };
	_cleanup_(converted_done) struct converted c = convert(OTLP_METRICS, json);

	CHECK_STR(hex_below(&c, in_point, ARRAY_LEN(in_point)), want);
}

/* The AnyValue of the only attribute. */
static void check_value(const char *json, const char *want)
{
	static const uint32_t in_attribute[] = { 1, 2, 2, 9 };
	_cleanup_(converted_done) struct converted c = convert(OTLP_TRACES, json);
	const char *got = hex_below(&c, in_attribute, ARRAY_LEN(in_attribute));

	/* key k, and a value of less than 128 bytes */
	CHECK_STR(strncmp(got, "0a016b12", 8) == 0 ? got + 10 : got, want);
}

static void check_error(enum otlp_signal signal, const char *json, const char *want)
{
	_cleanup_(converted_done) struct converted c = convert(signal, json);

	CHECK_STR(c.err.text, want);
}

TEST(ids_are_hexadecimal)
{
	check_span(IN_SPAN("'traceId':'5B8EFFF798038103D269B633813FC60c'"),
		   "0a105b8efff798038103d269b633813fc60c");
	check_span(IN_SPAN("'spanId':'eee19b7ec3c1b174'"), "1208eee19b7ec3c1b174");
	check_span(IN_SPAN("'traceId':'','parentSpanId':''"), "");
	check_error(OTLP_TRACES, IN_SPAN("'spanId':'eee19b7ec3c1b1'"),
		    "invalid 'resourceSpans[0].scopeSpans[0].spans[0].spanId': expected 16 "
		    "hexadecimal digits");
	check_error(OTLP_TRACES,
		    "{'resourceSpans':[{'scopeSpans':[{},{'spans':[{},{},{},{'traceId':"
		    "'5b8efff798038103d269b633813fc6g0'}]}]}]}",
		    "invalid 'resourceSpans[0].scopeSpans[1].spans[3].traceId': expected 32 "
		    "hexadecimal digits");
	check_error(OTLP_TRACES, IN_SPAN("'traceId':7"),
		    "invalid 'resourceSpans[0].scopeSpans[0].spans[0].traceId': expected 32 "
		    "hexadecimal digits");
}

TEST(enums_are_numbers_or_names)
{
	check_span(IN_SPAN("'kind':2"), "3002");
	check_span(IN_SPAN("'kind':'SPAN_KIND_CONSUMER'"), "3005");
	check_span(IN_SPAN("'kind':77"), "304d");
	check_span(IN_SPAN("'kind':-1"), "30ffffffffffffffffff01");
	check_span(IN_SPAN("'kind':'3'"), "3003");
	check_span(IN_SPAN("'kind':0,'status':{'code':'STATUS_CODE_UNSET'}"), "7a00");
	check_span(IN_SPAN("'status':{'code':2,'message':'no'}"), "7a06180212026e6f");
	check_error(
		OTLP_TRACES, IN_SPAN("'kind':'SERVER'"),
		"invalid 'resourceSpans[0].scopeSpans[0].spans[0].kind': expected a number or a "
		"name of this enum");
	check_error(
		OTLP_TRACES, IN_SPAN("'kind':2147483648"),
		"invalid 'resourceSpans[0].scopeSpans[0].spans[0].kind': expected a number or a "
		"name of this enum");
}

TEST(integers_are_numbers_or_strings_within_their_limits)
{
	check_span(IN_SPAN("'startTimeUnixNano':'1700000000000000001'"), "3901002a36fe9c9717");
	check_span(IN_SPAN("'startTimeUnixNano':1700000000000000001"), "3901002a36fe9c9717");
	check_span(IN_SPAN("'endTimeUnixNano':'18446744073709551615'"), "41ffffffffffffffff");
	check_span(IN_SPAN("'endTimeUnixNano':1e3"), "41e803000000000000");
	check_span(IN_SPAN("'endTimeUnixNano':'1000.0'"), "41e803000000000000");
	check_span(IN_SPAN("'droppedEventsCount':4294967295,'flags':257"), "60ffffffff0f85010101"
									   "0000");
	check_value(IN_VALUE("'intValue':'-9223372036854775808'"), "1880808080808080808001");
	check_value(IN_VALUE("'intValue':9223372036854775807"), "18ffffffffffffffff7f");
	check_value(IN_VALUE("'intValue':0"), "1800");
	check_error(
		OTLP_TRACES, IN_SPAN("'endTimeUnixNano':'18446744073709551616'"),
		"invalid 'resourceSpans[0].scopeSpans[0].spans[0].endTimeUnixNano': expected an "
		"unsigned 64-bit integer");
	check_error(
		OTLP_TRACES, IN_SPAN("'droppedLinksCount':4294967296"),
		"invalid 'resourceSpans[0].scopeSpans[0].spans[0].droppedLinksCount': expected an "
		"unsigned 32-bit integer");
}

TEST(texts_that_are_no_integers_are_refused)
{
	static const char *const texts[] = { "'12a'", "''", "' 1'", "'1 '", "1.5",   "-1",
					     "true",  "{}", "[1]",  "1e30", "'0x10'" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_(freep) char *json = must_printf(
			"{'resourceSpans':[{'scopeSpans':[{'spans':[{'startTimeUnixNano':%s}]}]}]}",
			texts[i]);

		check_error(OTLP_TRACES, json,
			    "invalid 'resourceSpans[0].scopeSpans[0].spans[0].startTimeUnixNano': "
			    "expected an unsigned 64-bit integer");
	}
}

TEST(doubles_are_numbers_or_names)
{
	check_value(IN_VALUE("'doubleValue':1.5"), "21000000000000f83f");
	check_value(IN_VALUE("'doubleValue':'1.5'"), "21000000000000f83f");
	check_value(IN_VALUE("'doubleValue':-0"), "210000000000000080");
	check_value(IN_VALUE("'doubleValue':3"), "210000000000000840");
	check_value(IN_VALUE("'doubleValue':'NaN'"), "21000000000000f87f");
	check_value(IN_VALUE("'doubleValue':'-Infinity'"), "21000000000000f0ff");
	check_error(
		OTLP_TRACES, IN_VALUE("'doubleValue':'inf'"),
		"invalid 'resourceSpans[0].scopeSpans[0].spans[0].attributes[0].value.doubleValue':"
		" expected a number");
}

TEST(values_have_all_types)
{
	check_value(IN_VALUE("'stringValue':'a\\u00e4\\n'"), "0a0461c3a40a");
	check_value(IN_VALUE("'stringValue':''"), "0a00");
	check_value(IN_VALUE("'boolValue':true"), "1001");
	check_value(IN_VALUE("'boolValue':false"), "1000");
	check_value(IN_VALUE("'bytesValue':'AQID'"), "3a03010203");
	check_value(IN_VALUE("'bytesValue':'-_8='"), "3a02fbff");
	check_value(IN_VALUE("'bytesValue':'+/8'"), "3a02fbff");
	check_value(IN_VALUE("'bytesValue':'AA=='"), "3a0100");
	check_value(IN_VALUE("'bytesValue':''"), "3a00");
	check_value(IN_VALUE("'arrayValue':{'values':[{'intValue':1},{}]}"), "2a060a0218010a00");
	check_value(IN_VALUE("'kvlistValue':{'values':[{'key':'x','value':{'boolValue':true}}]}"),
		    "32090a070a017812021001");
	check_value(IN_VALUE(""), "");
	check_value(IN_VALUE("'intValue':null,'boolValue':true"), "1001");
	check_error(
		OTLP_TRACES, IN_VALUE("'boolValue':1"),
		"invalid 'resourceSpans[0].scopeSpans[0].spans[0].attributes[0].value.boolValue': "
		"expected true or false");
	check_error(
		OTLP_TRACES, IN_VALUE("'stringValue':1"),
		"invalid 'resourceSpans[0].scopeSpans[0].spans[0].attributes[0].value.stringValue':"
		" expected a string");
}

TEST(bytes_that_are_not_base64_are_refused)
{
	static const char *const texts[] = { "'A'",    "'A==='", "'AB=C'", "'A B='",
					     "'===='", "7",      "'AQID='" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_(freep) char *json =
			must_printf("{'resourceLogs':[{'scopeLogs':[{'logRecords':[{'body':"
				    "{'bytesValue':%s}}]}]}]}",
				    texts[i]);

		check_error(OTLP_LOGS, json,
			    "invalid 'resourceLogs[0].scopeLogs[0].logRecords[0].body.bytesValue': "
			    "expected a string in base64");
	}
}

TEST(lists_of_numbers_are_packed)
{
	check_point(IN_POINT("'bucketCounts':['1',2]"), "321001000000000000000200000000000000");
	check_point(IN_POINT("'bucketCounts':[]"), "");
	check_point(IN_POINT("'explicitBounds':[0]"), "3a080000000000000000");
	check_error(
		OTLP_METRICS, IN_POINT("'bucketCounts':[1,null]"),
		"invalid 'resourceMetrics[0].scopeMetrics[0].metrics[0].histogram.dataPoints[0]."
		"bucketCounts[1]': expected an unsigned 64-bit integer");
	check_error(
		OTLP_METRICS, IN_POINT("'bucketCounts':1"),
		"invalid 'resourceMetrics[0].scopeMetrics[0].metrics[0].histogram.dataPoints[0]."
		"bucketCounts': expected an array");
}

TEST(optional_zeros_are_written)
{
	check_point(IN_POINT("'sum':0,'count':0"), "290000000000000000");
}

TEST(signed_numbers_are_in_zigzag)
{
	static const uint32_t in_point[] = { 1, 2, 2, 10, 1 };
	static const char *const want[] = { "3003", "3004", "30ffffffff0f", "30feffffff0f" };
	static const int64_t scales[] = { -2, 2, INT32_MIN, INT32_MAX };

	for (size_t i = 0; i < ARRAY_LEN(scales); i++) {
		_cleanup_(freep) char *json = must_printf(
			"{'resourceMetrics':[{'scopeMetrics':[{'metrics':[{'exponentialHistogram':"
			"{'dataPoints':[{'scale':%" PRId64 "}]}}]}]}]}",
			scales[i]);
		_cleanup_(converted_done) struct converted c = convert(OTLP_METRICS, json);

		CHECK_STR(hex_below(&c, in_point, ARRAY_LEN(in_point)), want[i]);
	}
}

TEST(unknown_keys_and_null_are_ignored)
{
	check_span(IN_SPAN("'x':{'y':[{'z':1}]},'name':null,'attributes':null,'kind':1,"
			   "'trace_id':7,'':1,'Kind':'x'"),
		   "3001");
}

TEST(fields_can_be_in_any_order)
{
	check_span(IN_SPAN("'kind':1,'name':'n','spanId':'eee19b7ec3c1b174'"),
		   "30012a016e1208eee19b7ec3c1b174");
}

TEST(objects_and_arrays_are_expected)
{
	check_error(OTLP_TRACES, "[]",
		    "invalid ExportTraceServiceRequest in JSON: expected an object");
	check_error(OTLP_LOGS, "7", "invalid ExportLogsServiceRequest in JSON: expected an object");
	check_error(OTLP_TRACES, "{'resourceSpans':{}}",
		    "invalid 'resourceSpans': expected an array");
	check_error(OTLP_TRACES, "{'resourceSpans':[null]}",
		    "invalid 'resourceSpans[0]': expected an object");
	check_error(OTLP_TRACES, "{'resourceSpans':[{},{'resource':[]}]}",
		    "invalid 'resourceSpans[1].resource': expected an object");
}

TEST(invalid_json_is_refused)
{
	static const char *const texts[] = { "",
					     "{",
					     "{} x",
					     "{'resourceSpans':[}",
					     "{'a':1,}",
					     "{'a':'\xff'}",
					     "{'a':'\\ud800'}",
					     "{'a':01}" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_(converted_done) struct converted c = convert(OTLP_TRACES, texts[i]);

		CHECK(strstr(c.err.text, "invalid JSON: ") == c.err.text);
	}
}

/* Repeats of a text, around another one. */
static char *nest(unsigned int depth, const char *before, const char *inside, const char *after)
{
	char *text = must_alloc(depth * (strlen(before) + strlen(after)) + strlen(inside) + 1),
	     *end = text;

	for (unsigned int i = 0; i < depth; i++)
		end = stpcpy(end, before);
	end = stpcpy(end, inside);
	for (unsigned int i = 0; i < depth; i++)
		end = stpcpy(end, after);
	return text;
}

static int convert_nested(unsigned int depth)
{
	_cleanup_(freep) char *value =
		nest(depth - 1, "{'arrayValue':{'values':[", "{'intValue':1}", "]}}");
	_cleanup_(freep) char *json = must_printf(
		"{'resourceLogs':[{'scopeLogs':[{'logRecords':[{'body':%s}]}]}]}", value);
	_cleanup_(converted_done) struct converted c = convert(OTLP_LOGS, json);

	CHECK(c.code == 0 || strstr(c.err.text, "expected values that are nested less deeply"));
	return c.code;
}

TEST(values_are_nested_up_to_a_limit)
{
	CHECK_INT(convert_nested(64), 0);
	CHECK_INT(convert_nested(65), -EBADMSG);
	CHECK_INT(convert_nested(100000), -EBADMSG);
}

TEST(deep_unknown_values_are_ignored)
{
	_cleanup_(freep) char *value = nest(300000, "[", "", "]");
	_cleanup_(freep) char *json = must_printf("{'unknown':%s}", value);
	_cleanup_(converted_done) struct converted c = convert(OTLP_TRACES, json);

	CHECK_INT(c.code, 0);
}

TEST(a_failure_keeps_what_was_in_the_buffer)
{
	_cleanup_(pb_buffer_done) struct pb_buffer out = { 0 };
	struct view wrong = { "{\"resourceSpans\":[{},{},7]}", 26 },
		    right = { "{\"resourceSpans\":[{}]}", 22 };
	struct err err;

	CHECK_INT(otlp_from_json(OTLP_TRACES, right, &out, &err), 0);
	CHECK_INT(out.size, 2);
	CHECK_INT(otlp_from_json(OTLP_TRACES, wrong, &out, &err), -EBADMSG);
	CHECK_INT(out.size, 2);
	CHECK_INT(otlp_from_json(OTLP_TRACES, right, &out, &err), 0);
	CHECK_INT(out.size, 4);
}
