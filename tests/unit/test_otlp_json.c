/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "spans.h"

#define TRACE "'traceId':'0123456789abcdef0123456789ABCDEF'"
#define IDS TRACE ",'spanId':'00000000000051c0'"
#define TIMES "'startTimeUnixNano':'1700000000000000001','endTimeUnixNano':'1700000000000000009'"

static struct result read_text(const char *text)
{
	return read_json(otlp_json_open_memory, text);
}

/* A request with one resource and these spans. */
static struct result read_spans(const char *spans)
{
	_cleanup_(freep) char *text =
		must_printf("{'resourceSpans':[{'resource':{'attributes':["
			    "{'key':'service.name','value':{'stringValue':'front'}},"
			    "{'key':'process.pid','value':{'intValue':'4127'}},"
			    "{'key':'host.name','value':{'stringValue':'node-7'}}]},"
			    "'scopeSpans':[{'scope':{'name':'lib'},'spans':[%s]}]}]}",
			    spans);

	return read_text(text);
}

static bool is_one(const struct input_format *format, const char *text)
{
	_cleanup_(freep) char *json = must_strdup(text);

	for (char *c = json; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return format->matches_file(json, strlen(json));
}

static void check_span(const struct result *r)
{
	static const uint8_t trace[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
					   0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
	const struct record_span *span = r->spans.items;

	CHECK_INT(r->code, 0);
	CHECK_INT(r->spans.count, 1);
	if (r->spans.count != 1)
		return;
	CHECK_INT(span->start, 1700000000000000001);
	CHECK_INT(span->head.time, 1700000000000000009);
	CHECK(memcmp(span->trace, trace, sizeof(trace)) == 0);
	CHECK_INT(id_of(span->span), 0x51c0);
	CHECK_INT(id_of(span->parent), 0xa1);
	CHECK_STR(input_string(r->input, span->service), "front");
	CHECK_STR(input_string(r->input, span->operation), "GET /");
	CHECK_STR(input_record_host(r->input), "node-7");
	CHECK_INT(span->pid, 4127);
	CHECK_INT(span->head.tid, 4130);
	CHECK_INT(span->flags, SPAN_ERROR);
	CHECK(!input_warning(r->input));
	CHECK_STR(input_format_name(r->input), "otlp-json");
}

TEST(all_fields_of_a_span_are_read)
{
	_cleanup_(result_done) struct result r = read_spans(
		"{" IDS ",'parentSpanId':'00000000000000a1','name':'GET /','kind':2," TIMES ","
		"'attributes':[{'key':'thread.id','value':{'intValue':'1'}},"
		"{'key':'thread.native_id','value':{'intValue':'4130'}}],'droppedEventsCount':0,"
		"'events':[{'name':'x'}],'status':{'message':'no','code':2},'flags':257}");

	check_span(&r);
}

TEST(names_can_be_those_of_the_message_definition)
{
	_cleanup_(result_done) struct result r = read_text(
		"{'resource_spans':[{'resource':{'attributes':["
		"{'key':'service.name','value':{'string_value':'front'}},"
		"{'key':'process.pid','value':{'int_value':4127}},"
		"{'key':'host.name','value':{'string_value':'node-7'}}]},"
		"'scope_spans':[{'spans':[{'trace_id':'0123456789abcdef0123456789abcdef',"
		"'span_id':'51c0','parent_span_id':'a1','name':'GET /','kind':'SPAN_KIND_SERVER',"
		"'start_time_unix_nano':1700000000000000001,'end_time_unix_nano':"
		"1700000000000000009,"
		"'attributes':[{'key':'sonde.tid','value':{'int_value':4130}}],"
		"'status':{'code':'STATUS_CODE_ERROR'}}]}]}]}");

	check_span(&r);
}

TEST(scopes_can_have_their_old_name)
{
	_cleanup_(result_done) struct result r =
		read_text("{'resourceSpans':[{'instrumentationLibrarySpans':[{'spans':[{" IDS
			  "," TIMES "}]}]}]}");

	CHECK_INT(r.spans.count, 1);
}

TEST(a_request_can_be_the_reply_of_an_api)
{
	_cleanup_(result_done) struct result r = read_text(
		"{'result':{'resourceSpans':[{'scopeSpans':[{'spans':[{" IDS "," TIMES "}]}]}]}}");

	CHECK_INT(r.spans.count, 1);
}

TEST(replies_of_tempo_are_requests)
{
	static const char *const texts[] = {
		"{'batches':[{'instrumentationLibrarySpans':[{'spans':[{" IDS "," TIMES "}]}]}]}",
		"{'batches':[{'scopeSpans':[{'spans':[{" IDS "," TIMES "}]}]}]}",
		"{'trace':{'resourceSpans':[{'scopeSpans':[{'spans':[{" IDS "," TIMES "}]}]}]},"
		"'metrics':{}}",
		"{'trace':{'batches':[{'scopeSpans':[{'spans':[{" IDS "," TIMES "}]}]}]}}",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_(result_done) struct result r = read_text(texts[i]);

		CHECK(is_one(&otlp_json_format, texts[i]));
		CHECK_INT(r.spans.count, 1);
		CHECK(!r.input || !input_warning(r.input));
	}
}

/* The same ids in all forms. */
static void check_ids(const char *trace, const char *span, const char *parent)
{
	static const uint8_t want[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
					  0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
	_cleanup_(freep) char *text =
		must_printf("{'traceId':'%s','spanId':'%s','parentSpanId':'%s'," TIMES "}", trace,
			    span, parent);
	_cleanup_(result_done) struct result r = read_spans(text);

	CHECK_INT(r.spans.count, 1);
	if (r.spans.count != 1)
		return;
	CHECK(memcmp(r.spans.items[0].trace, want, sizeof(want)) == 0);
	CHECK_INT(id_of(r.spans.items[0].span), 0xfedcba9876543210);
	CHECK_INT(id_of(r.spans.items[0].parent), 0);
}

TEST(ids_can_be_hexadecimal_or_base64)
{
	check_ids("0123456789abcdef0123456789abcdef", "fedcba9876543210", "");
	check_ids("0123456789ABCDEF0123456789ABCDEF", "FEDCBA9876543210", "0000000000000000");
	check_ids("123456789abcdef0123456789abcdef", "000000fedcba9876543210", "00");
	check_ids("ASNFZ4mrze8BI0VniavN7w==", "/ty6mHZUMhA=", "AAAAAAAAAAA=");
	check_ids("ASNFZ4mrze8BI0VniavN7w", "_ty6mHZUMhA", "AAAAAAAAAAA");
}

TEST(other_ids_are_hashed)
{
	/* too short, too long, unused bits set, not a digit */
	static const char *const ids[] = { "/ty6mHZUMh==", "/ty6mHZUMhAA=", "/ty6mHZUMhB=",
					   "/ty6mHZUMh!=", "span-1" };

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		_cleanup_(freep) char *text =
			must_printf("{" TRACE ",'spanId':'%s'," TIMES "}", ids[i]);
		_cleanup_(result_done) struct result r = read_spans(text);

		CHECK_INT(r.spans.count, 1);
		if (r.spans.count == 1)
			CHECK(id_of(r.spans.items[0].span) >> 8 != 0xfedcba98765432);
	}
}

TEST(each_line_can_be_a_request)
{
#define LINE(service, id, end) \
	"{'resourceSpans':[{'resource':{'attributes':[{'key':'service.name','value':" \
	"{'stringValue':'" service "'}}]},'scopeSpans':[{'spans':[{" TRACE ",'spanId':'" id "'," \
	"'startTimeUnixNano':'1','endTimeUnixNano':'" end "'}]}]}]}\n"
	static const char lines[] =
		LINE("a", "1", "9") "\r\n" LINE("b", "2", "8") LINE("c", "3", "7");
	static const char *const services[] = { "c", "b", "a" };
	_cleanup_(result_done) struct result r = read_text(lines);

	CHECK_INT(r.spans.count, 3);
	for (size_t i = 0; i < r.spans.count; i++)
		CHECK_STR(input_string(r.input, r.spans.items[i].service), services[i]);

	/* the last line can end anywhere; the others are read */
	size_t last = sizeof(LINE("c", "3", "7")) - 1;

	for (size_t cut = 2; cut < last; cut++) {
		_cleanup_(freep) char *text =
			must_printf("%.*s", (int)(sizeof(lines) - 1 - cut), lines);
		_cleanup_(result_done) struct result part = read_text(text);

		CHECK_INT(part.code, 0);
		CHECK_INT(part.spans.count, 2);
		CHECK_STR(part.input ? input_warning(part.input) ?: "" : "",
			  "'x.json' is truncated: the last line is incomplete");
	}
}

TEST(an_incomplete_span_is_skipped_and_reported)
{
	static const struct {
		const char *span, *why;
	} cases[] = {
		{ "'spanId':'51c0'," TIMES, "has no traceId" },
		{ "'traceId':'','spanId':'51c0'," TIMES, "has no traceId" },
		{ "'traceId':'00','spanId':'51c0'," TIMES, "has no traceId" },
		{ TRACE "," TIMES, "has no spanId" },
		{ TRACE ",'spanId':'0000000000000000'," TIMES, "has no spanId" },
		{ TRACE ",'spanId':[1]," TIMES, "has no spanId" },
		{ IDS ",'endTimeUnixNano':'9'", "has no valid startTimeUnixNano" },
		{ IDS ",'startTimeUnixNano':'0','endTimeUnixNano':'9'",
		  "has no valid startTimeUnixNano" },
		{ IDS ",'startTimeUnixNano':'-1','endTimeUnixNano':'9'",
		  "has no valid startTimeUnixNano" },
		{ IDS ",'startTimeUnixNano':'9','endTimeUnixNano':'x'",
		  "has an invalid endTimeUnixNano" },
		{ IDS ",'startTimeUnixNano':'9','endTimeUnixNano':'9223372036854775808'",
		  "has an invalid endTimeUnixNano" },
		{ IDS ",'startTimeUnixNano':'9','endTimeUnixNano':'8'", "ends before it starts" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(freep) char *text =
			must_printf("{" IDS "," TIMES "},{%s}", cases[i].span);
		_cleanup_(freep) char *want =
			must_printf("'x.json': skipped 1 of 2 spans: span 2 %s", cases[i].why);
		_cleanup_(result_done) struct result r = read_spans(text);

		CHECK_INT(r.spans.count, 1);
		CHECK_STR(r.input ? input_warning(r.input) ?: "" : "", want);
	}
}

TEST(a_span_without_an_end_is_kept_as_unfinished)
{
	static const char *const ends[] = { "", ",'endTimeUnixNano':'0'",
					    ",'endTimeUnixNano':null" };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		_cleanup_(freep) char *text =
			must_printf("{" IDS ",'startTimeUnixNano':'9'%s}", ends[i]);
		_cleanup_(result_done) struct result r = read_spans(text);

		CHECK_INT(r.spans.count, 1);
		CHECK_INT(r.spans.count ? r.spans.items[0].flags : 0, SPAN_OPEN);
		CHECK_INT(r.spans.count ? r.spans.items[0].head.time : 0, 9);
	}
}

TEST(a_span_that_is_not_an_object_is_skipped_and_reported)
{
	_cleanup_(result_done) struct result r = read_spans("{" IDS "," TIMES "},[7]");

	CHECK_INT(r.spans.count, 1);
	CHECK_STR(r.input ? input_warning(r.input) ?: "" : "",
		  "'x.json': skipped 1 of 2 spans: span 2 is not an object");
}

TEST(values_of_wrong_types_are_treated_as_missing)
{
	static const char *const texts[] = {
		"{}",
		"{'resourceSpans':[]}",
		"{'resourceSpans':[7,null,[],{}]}",
		"{'resourceSpans':[{'resource':7,'scopeSpans':{}}]}",
		"{'resourceSpans':[{'resource':{'attributes':{}},'scopeSpans':[7,{'spans':7}]}]}",
		("{'resourceSpans':[{'resource':{'attributes':[7,{},{'key':7},{'key':'pid'},"
		 "{'key':'pid','value':7},{'key':'pid','value':{}}]}}]}"),
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_(result_done) struct result r = read_text(texts[i]);

		CHECK_INT(r.code, 0);
		CHECK_INT(r.spans.count, 0);
	}
}

TEST(other_documents_get_a_message)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "7", "'x.json' is not OTLP JSON: expected an array \"resourceSpans\"" },
		{ "[]", "'x.json' is not OTLP JSON: expected an array \"resourceSpans\"" },
		{ "{'resourceSpans':{}}",
		  "'x.json' is not OTLP JSON: expected an array \"resourceSpans\"" },
		{ "{'resourceSpans':[]}\n7\n",
		  "'x.json' is not OTLP JSON: expected an array \"resourceSpans\"" },
		{ "{'resourceSpans':[",
		  "'x.json' is not valid JSON: unexpected end of data at offset 18" },
		{ "{'resourceSpans':[]}\n{]\n{'resourceSpans':[]}\n",
		  "'x.json' is not valid JSON: unexpected character, expected a string for object "
		  "key "
		  "at offset 22" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(result_done) struct result r = read_text(cases[i].text);

		CHECK_INT(r.code, -EBADMSG);
		CHECK_STR(r.err.text, cases[i].want);
	}
}

TEST(json_formats_are_distinguished)
{
	static const struct {
		const char *text;
		const struct input_format *format;
	} cases[] = {
		{ "{'resourceSpans':[]}", &otlp_json_format },
		{ " \n{ 'resource_spans' : [ ] }", &otlp_json_format },
		{ "{'resourceSpans':[{'scopeSpans':[{'spans':[{'traceId':'1','spanId':'2'}]}]}]}",
		  &otlp_json_format },
		{ "{'batches':[]}", &otlp_json_format },
		{ "{'trace':{'resourceSpans':[]}}", &otlp_json_format },
		{ "[{'traceId':'1','id':'2','tags':{'data':'spans'}}]", &zipkin_format },
		{ "[{'traceId':'1','id':'2','tags':{'batches':'7'}}]", &zipkin_format },
		{ "[[{'id':'2','traceId':'1','name':'resourceSpans'}]]", &zipkin_format },
		{ "{'traceId':'1','id':'2'}\n{'traceId':'1','id':'3'}", &zipkin_format },
		{ "{'data':[]}", &jaeger_format },
		{ "[{'traceID':'1','spans':[{'tags':[{'key':'traceId','value':'id'}]}]}]",
		  &jaeger_format },
		{ "{'traceID':'1','spanID':'2'}\n", &jaeger_format },
		{ "{'resourceLogs':[]}", NULL },
		{ "{'traceId':'1','spanId':'2'}", NULL },
		{ "'resourceSpans':[]", NULL },
		{ "{'x':'resourceSpans'}", NULL },
		{ "{'resourceSpans'", NULL },
		{ "{", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool otlp = is_one(&otlp_json_format, cases[i].text);
		bool zipkin = is_one(&zipkin_format, cases[i].text);
		bool jaeger = is_one(&jaeger_format, cases[i].text);

		/* in the order of detection */
		CHECK((otlp     ? &otlp_json_format
		       : zipkin ? &zipkin_format
		       : jaeger ? &jaeger_format
				: NULL) == cases[i].format);
	}
}

#define ATTRIBUTE(key, value) "{'key':'" key "','value':{" value "}}"

TEST(attributes_precede_their_span)
{
	_cleanup_(result_done) struct
		result
			r =
				read_spans(
					"{" IDS ",'name':'GET /','kind':'SPAN_KIND_CONSUMER'," TIMES
					",'attributes':[" ATTRIBUTE("text", "'stringValue':'5'") "," ATTRIBUTE(
						"int", "'intValue':'-7'") "," ATTRIBUTE("number", "'intValue':7") "," ATTRIBUTE("least",
																"'int_value':'-9223372036854775808'") "," ATTRIBUTE("real", "'doubleValue':5") "," ATTRIBUTE("nan", "'doubleValue':'NaN'") "," ATTRIBUTE("no", "'boolValue':false") "," ATTRIBUTE("yes", "'bool_value':true") "," ATTRIBUTE("bytes",
																																											    "'bytesValue':'/wA='") "," ATTRIBUTE("nothing",
																																																 "") "," ATTRIBUTE("list",
																																																		   "'arrayValue':{'values':[{'stringValue':'a'},{'intValue':'5'},"
																																																		   "{'arrayValue':{}},{}]}") "," ATTRIBUTE("map",
																																																							   "'kvlistValue':{'values':[" ATTRIBUTE("k",
																																																												 "'doubleValue':0.5") "]}") ",7,{}]}");
	_cleanup_(freep) char *got = attributes_of(&r);

	CHECK_STR(got, "text=5 int=-7 number=7 least=-9223372036854775808 real=5.00000000 nan=nan "
		       "no=false yes=true bytes=/wA= nothing= list=[\"a\",5,[],null] "
		       "map={\"k\":0.5}");
	CHECK_INT(r.spans.count, 1);
	CHECK_INT(r.spans.items[0].kind, SPAN_CONSUMER);
}

TEST(the_status_of_a_span_is_kept)
{
	static const struct {
		const char *status;
		int flags;
		const char *attributes;
	} cases[] = {
		{ "{}", 0, "" },
		{ "{'code':1}", 0, "otel.status_code=OK" },
		{ "{'code':'STATUS_CODE_OK'}", 0, "otel.status_code=OK" },
		{ "{'code':2,'message':'no'}", SPAN_ERROR, "otel.status_description=no" },
		{ "7", 0, "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(freep) char *span = must_printf(
			"{" IDS "," TIMES ",'kind':%zu,'status':%s}", i + 3, cases[i].status);
		_cleanup_(result_done) struct result r = read_spans(span);
		_cleanup_(freep) char *got = attributes_of(&r);

		CHECK_STR(got, cases[i].attributes);
		CHECK_INT(r.spans.count, 1);
		CHECK_INT(r.spans.items[0].flags, cases[i].flags);
		CHECK_INT(r.spans.items[0].kind, i < 3 ? i + 3 : 0);
	}
}
