/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "spans.h"

static struct result read_text(const char *text)
{
	return read_json(jaeger_open_memory, text);
}

/* A trace with one process and these spans. */
static struct result read_spans(const char *spans)
{
	_cleanup_(freep) char *text =
		must_printf("{'data':[{'traceID':'7f','processes':{'p1':{'serviceName':'front',"
			    "'tags':[{'key':'pid','value':4127}]}},'spans':[%s]}]}",
			    spans);

	return read_text(text);
}

#define SPAN(id, start, length, more) \
	"{'spanID':'" id "','startTime':" start ",'duration':" length more "}"

TEST(all_fields_of_a_span_are_read)
{
	_cleanup_(result_done) struct result r = read_spans(
		"{'traceID':'0123456789abcdef0123456789abcdef','spanID':'51c0','flags':1,"
		"'operationName':'GET /','references':[],'startTime':1700000000000000,"
		"'duration':212400,'processID':'p1','warnings':null,"
		"'tags':[{'key':'error','type':'bool','value':true},"
		"{'key':'thread.native_id','type':'int64','value':4130}]}");
	static const uint8_t trace[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
					   0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };

	CHECK_INT(r.code, 0);
	CHECK_INT(r.spans.count, 1);
	if (r.spans.count != 1)
		return;

	const struct record_span *span = &r.spans.items[0];

	CHECK_INT(span->start, 1700000000000000000);
	CHECK_INT(span->head.time, 1700000000212400000);
	CHECK(memcmp(span->trace, trace, sizeof(trace)) == 0);
	CHECK_INT(id_of(span->span), 0x51c0);
	CHECK_INT(id_of(span->parent), 0);
	CHECK_STR(input_string(r.input, span->service), "front");
	CHECK_STR(input_string(r.input, span->operation), "GET /");
	CHECK_INT(span->pid, 4127);
	CHECK_INT(span->head.tid, 4130);
	CHECK_INT(span->flags, SPAN_ERROR);
	CHECK_INT(span->source, SPAN_SDK);
	CHECK(!input_warning(r.input));
	CHECK(!input_host(r.input));
	CHECK_INT(input_realtime_offset(r.input), 0);
	CHECK_STR(input_format_name(r.input), "jaeger");
}

TEST(spans_are_sorted_by_end_and_ties_keep_file_order)
{
	_cleanup_(result_done) struct result r = read_spans(SPAN("1", "1", "9", "") "," SPAN(
		"2", "2", "3", "") "," SPAN("3", "8", "2", "") "," SPAN("4", "4", "1", ""));
	const uint64_t order[] = { 2, 4, 1, 3 };

	CHECK_INT(r.spans.count, 4);
	for (size_t i = 0; i < r.spans.count; i++)
		CHECK_INT(id_of(r.spans.items[i].span), order[i]);
}

TEST(times_keep_every_digit)
{
	static const struct {
		const char *text;
		nsec_t want;
	} cases[] = {
		{ "1700000000000000.123", 1700000000000000123 },
		{ "1700000000000000.9999", 1700000000000000999 },
		{ "'1700000000000001'", 1700000000000001000 },
		{ "1.7e15", 1700000000000000000 },
		{ "17E+14", 1700000000000000000 },
		{ "0.5", 500 },
		{ "5e-1", 500 },
		{ "0", 0 },
		{ "-0", 0 },
		{ "0e999999999", 0 },
		{ "1e-999999999", 0 },
		{ "9223372036854775.807", INT64_MAX },
		{ "9223372036854775.80700000000000000000000000000000000000009", INT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(freep) char *text =
			must_printf("{'spanID':'1','startTime':%s,'duration':0}", cases[i].text);
		_cleanup_(result_done) struct result r = read_spans(text);

		CHECK_INT(r.spans.count, 1);
		if (r.spans.count)
			CHECK_INT(r.spans.items[0].start, cases[i].want);
	}
}

TEST(a_span_with_invalid_times_is_skipped_and_reported)
{
	static const char *const times[] = {
		"'startTime':1,'duration':[]",
		"'duration':1",
		"'startTime':-1,'duration':1",
		"'startTime':1,'duration':-1",
		"'startTime':1,'duration':-0.001",
		"'startTime':'x','duration':1",
		"'startTime':'','duration':1",
		"'startTime':'1e','duration':1",
		"'startTime':'1.5.5','duration':1",
		"'startTime':'-','duration':1",
		"'startTime':' 1','duration':1",
		"'startTime':[1],'duration':1",
		"'startTime':true,'duration':1",
		"'startTime':null,'duration':1",
		"'startTime':9223372036854775.808,'duration':0",
		"'startTime':9223372036854775,'duration':1",
		"'startTime':123456789012345678901234567890,'duration':1",
		"'startTime':1e999999999,'duration':1",
	};

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		_cleanup_(freep) char *text = must_printf("{'spanID':'1',%s}", times[i]);
		_cleanup_(result_done) struct result r = read_spans(text);

		CHECK_INT(r.code, 0);
		CHECK_INT(r.spans.count, 0);
		CHECK(r.code == 0 && input_warning(r.input));
	}
}

TEST(a_span_without_duration_is_kept_as_unfinished)
{
	_cleanup_(result_done) struct result r = read_spans("{'spanID':'1','startTime':1}," SPAN(
		"2", "5", "7", ",'references':[{'refType':'CHILD_OF','spanID':'1'}]"));

	CHECK_INT(r.spans.count, 2);
	for (size_t i = 0; i < r.spans.count; i++) {
		bool is_root = !id_of(r.spans.items[i].parent);

		CHECK_INT(r.spans.items[i].flags, is_root ? SPAN_OPEN : 0);
		CHECK_INT(r.spans.items[i].head.time, 12000);
	}
}

TEST(the_warning_contains_the_number_and_the_first_reason)
{
	_cleanup_(result_done) struct result r = read_text("[{'traceID':'1','spans':[" SPAN(
		"1", "1", "1",
		"") "]},"
		    "{'spans':[" SPAN("1", "1", "1",
				      ",'traceID':'2'") ",{'spanID':'3'},{},7,"
							"{'spanID':'3','traceID':'2','startTime':1,"
							"'duration':''}]}]");

	CHECK_INT(r.spans.count, 2);
	CHECK_STR(input_warning(r.input) ?: "",
		  "'x.json': skipped 4 of 6 spans: span 3 has no traceID");
}

TEST(any_text_is_an_id)
{
	_cleanup_(result_done) struct result r =
		read_spans(SPAN("00ABcd", "1", "1", "") "," SPAN("span-1", "1", "2", "") "," SPAN(
			"0123456789abcdef0", "1", "3",
			"") "," SPAN("0", "1", "4", "") ","
							"{'spanID':12,'startTime':1,'duration':5},"
							"{'spanID':'','startTime':1,'duration':6}");

	CHECK_INT(r.spans.count, 5);
	if (r.spans.count != 5)
		return;
	CHECK_INT(id_of(r.spans.items[0].span), 0xabcd);
	CHECK_INT(id_of(r.spans.items[4].span), 0x12); /* a number that should be a string */
	for (size_t i = 1; i < 4; i++) {
		CHECK(id_of(r.spans.items[i].span) > UINT32_MAX); /* a hash */
		CHECK(id_of(r.spans.items[i].span) != id_of(r.spans.items[i - 1].span));
	}
	CHECK_INT(r.spans.items[0].trace[15], 0x7f); /* the id of the trace */
	CHECK_STR(input_warning(r.input) ?: "",
		  "'x.json': skipped 1 of 6 spans: span 6 has no spanID");
}

TEST(the_same_text_is_the_same_id)
{
	_cleanup_(result_done) struct result r = read_spans(SPAN("the root", "1", "9", "") "," SPAN(
		"child", "2", "1",
		",'references':[{'refType':'CHILD_OF','traceID':'7F','spanID':'the root'}]"));

	CHECK_INT(r.spans.count, 2);
	if (r.spans.count == 2)
		CHECK(id_of(r.spans.items[0].parent) == id_of(r.spans.items[1].span));
}

TEST(references_name_the_parent)
{
#define CHILD "'refType':'CHILD_OF'"
#define FOLLOWS "'refType':'FOLLOWS_FROM'"
	static const struct {
		const char *text;
		uint64_t parent;
		int flags;
	} cases[] = {
		{ "'references':[{" CHILD ",'traceID':'7f','spanID':'a'}]", 0xa, 0 },
		{ "'references':[{" FOLLOWS ",'traceID':'7f','spanID':'a'}]", 0xa, SPAN_FOLLOWS },
		{ "'references':[{" FOLLOWS ",'spanID':'a'},{" CHILD ",'spanID':'b'}]", 0xb, 0 },
		{ "'references':[{" CHILD ",'spanID':'b'},{" FOLLOWS ",'spanID':'a'}]", 0xb, 0 },
		{ "'references':[{" CHILD ",'traceID':'80','spanID':'a'}]", 0, 0 },
		{ "'references':[{'refType':'LIKES','spanID':'a'}]", 0, 0 },
		{ "'references':[{" CHILD "}]", 0, 0 },
		{ "'references':{" CHILD ",'spanID':'a'}", 0, 0 },
		{ "'references':[7,null,[]]", 0, 0 },
		{ "'parentSpanID':'a'", 0xa, 0 },
		{ "'parentSpanID':'0000000000000000'", 0, 0 },
		{ "'parentSpanID':'a','references':[]", 0xa, 0 },
		{ "'parentSpanID':'a','references':[{" FOLLOWS ",'spanID':'b'}]", 0xb,
		  SPAN_FOLLOWS },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(freep) char *text =
			must_printf("{'spanID':'1','startTime':1,'duration':1,%s}", cases[i].text);
		_cleanup_(result_done) struct result r = read_spans(text);

		CHECK_INT(r.spans.count, 1);
		if (!r.spans.count)
			continue;
		CHECK_INT(id_of(r.spans.items[0].parent), cases[i].parent);
		CHECK_INT(r.spans.items[0].flags, cases[i].flags);
	}
}

TEST(tags_contain_errors_and_threads)
{
	static const struct {
		const char *key, *value;
		int flags;
		uint32_t tid;
	} cases[] = {
		{ "error", "true", SPAN_ERROR, 0 },
		{ "error", "false", 0, 0 },
		{ "error", "'true'", SPAN_ERROR, 0 },
		{ "error", "'false'", 0, 0 },
		{ "error", "''", 0, 0 },
		{ "error", "'connection refused'", SPAN_ERROR, 0 },
		{ "error", "1", SPAN_ERROR, 0 },
		{ "error", "0", 0, 0 },
		{ "error", "null", 0, 0 },
		{ "otel.status_code", "'ERROR'", SPAN_ERROR, 0 },
		{ "otel.status_code", "'OK'", 0, 0 },
		{ "thread.native_id", "17", 0, 17 },
		{ "thread.native_id", "'17'", 0, 17 },
		{ "sonde.tid", "17", 0, 17 },
		{ "sonde.tid", "'main'", 0, 0 },
		{ "sonde.tid", "-17", 0, 0 },
		{ "sonde.tid", "4294967296", 0, 0 },
		{ "thread.id", "17", 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(freep) char *text =
			must_printf("{'spanID':'1','startTime':1,'duration':1,"
				    "'tags':[null,{},{'key':'%s','type':'x','value':%s}]}",
				    cases[i].key, cases[i].value);
		_cleanup_(result_done) struct result r = read_spans(text);

		CHECK_INT(r.spans.count, 1);
		if (!r.spans.count)
			continue;
		CHECK_INT(r.spans.items[0].flags, cases[i].flags);
		CHECK_INT(r.spans.items[0].head.tid, cases[i].tid);
	}
}

TEST(a_span_can_contain_its_process)
{
	_cleanup_(result_done) struct result r =
		read_spans(SPAN("1", "1", "1",
				",'process':{'serviceName':'back','tags':"
				"[{'key':'process.pid','value':'99'},"
				"{'key':'hostname','value':'node-7'}]}") "," SPAN("2", "1", "2",
										  ",'processID'"
										  ":'p2'"));

	CHECK_INT(r.spans.count, 2);
	if (r.spans.count != 2)
		return;
	CHECK_STR(input_string(r.input, r.spans.items[0].service), "back");
	CHECK_INT(r.spans.items[0].pid, 99);
	CHECK_STR(input_string(r.input, r.spans.items[1].service), "");
}

TEST(a_record_has_a_host)
{
	_cleanup_(result_done) struct result r = { 0 };
	const char *json = "{\"traceID\":\"1\",\"processes\":{\"a\":{\"tags\":["
			   "{\"key\":\"host.name\",\"value\":\"node-7\"}]}},\"spans\":["
			   "{\"spanID\":\"1\",\"processID\":\"a\",\"startTime\":1,\"duration\":1},"
			   "{\"spanID\":\"2\",\"startTime\":1,\"duration\":2}]}";
	const struct record *record;

	CHECK_INT(jaeger_open_memory("x", json, strlen(json), &r.input, &r.err), 0);
	CHECK_INT(input_next(r.input, &record, &r.err), 1);
	CHECK_STR(input_record_host(r.input), "node-7");
	CHECK_INT(input_next(r.input, &record, &r.err), 1);
	CHECK_STR(input_record_host(r.input), "");
	CHECK_INT(input_next(r.input, &record, &r.err), 0);
	CHECK_INT(input_next(r.input, &record, &r.err), 0);
}

TEST(traces_are_in_data_or_in_an_array_or_alone)
{
	static const struct {
		const char *text;
		int code;
		size_t spans;
		const char *err;
	} cases[] = {
		{ "{'data':[{'traceID':'1','spans':[" SPAN("1", "1", "1", "") "]}]}", 0, 1, "" },
		{ "[{'traceID':'1','spans':[" SPAN("1", "1", "1", "") "]}]", 0, 1, "" },
		{ "{'traceID':'1','spans':[" SPAN("1", "1", "1", "") "]}", 0, 1, "" },
		{ "{'data':[]}", 0, 0, "" },
		{ "[]", 0, 0, "" },
		{ "{'data':[{'spans':[]}],'errors':null}", 0, 0, "" },
		{ "{}", -EBADMSG, 0,
		  "'x.json' is not a Jaeger trace: expected an array \"data\" or \"spans\"" },
		{ "{'data':null}", -EBADMSG, 0,
		  "'x.json' is not a Jaeger trace: expected an array \"data\" or \"spans\"" },
		{ "{'spans':{}}", -EBADMSG, 0,
		  "'x.json' is not a Jaeger trace: expected an array \"data\" or \"spans\"" },
		{ "7", -EBADMSG, 0,
		  "'x.json' is not a Jaeger trace: expected an array \"data\" or \"spans\"" },
		{ "[{'spans':[]},7]", -EBADMSG, 0,
		  "'x.json' is not a Jaeger trace: a trace has no array \"spans\"" },
		{ "{'data':[{}]}", -EBADMSG, 0,
		  "'x.json' is not a Jaeger trace: a trace has no array \"spans\"" },
		{ "{'data':[", -EBADMSG, 0,
		  "'x.json' is not valid JSON: unexpected end of data at offset 9" },
		{ "", -EBADMSG, 0, "'x.json' is not valid JSON: input length is 0 at offset 0" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(result_done) struct result r = read_text(cases[i].text);

		CHECK_INT(r.code, cases[i].code);
		CHECK_INT(r.spans.count, cases[i].spans);
		CHECK_STR(r.err.text, cases[i].err);
	}
}

TEST(lines_of_traces_and_of_spans_are_read)
{
	_cleanup_(result_done) struct result r = read_text("{'data':[{'traceID':'1','spans':[" SPAN(
		"1", "1", "1",
		"") "]}]}\n"
		    "{'traceID':'1','spans':[" SPAN(
			    "2", "1", "2",
			    "") "]}\n\n"
				"{'traceID':'1','spanID':'3','startTime':1,'duration':3,"
				"'process':{'serviceName':'back'}}\n"
				"[{'traceID':'1','spanID':'4','startTime':1,'duration':4}]\n");

	CHECK_INT(r.code, 0);
	CHECK_INT(r.spans.count, 4);
	if (r.spans.count != 4)
		return;
	for (size_t i = 0; i < 4; i++)
		CHECK_INT(id_of(r.spans.items[i].span), i + 1);
	CHECK_STR(input_string(r.input, r.spans.items[2].service), "back");
}

TEST(an_incomplete_last_line_is_reported)
{
	_cleanup_(result_done) struct result r =
		read_text("{'traceID':'1','spanID':'1','startTime':1,'duration':3}\n"
			  "{'traceID':'1','spanID':'2','startTime':1,'duration':''}\n"
			  "{'traceID':'1','spanID':'3','startTi");

	CHECK_INT(r.spans.count, 1);
	CHECK_STR(r.input ? input_warning(r.input) ?: "" : "",
		  "'x.json': skipped 1 of 2 spans: span 2 has an invalid duration; "
		  "the file is truncated: the last line is incomplete");
}

/* Neither the parser nor our code uses recursion. */
TEST(nesting_does_not_use_the_stack)
{
	enum { DEPTH = 5000000 };
	_cleanup_(freep) char *text = must_alloc(2 * DEPTH + 1);
	_cleanup_(result_done) struct result open = { 0 }, closed = { 0 };

	memset(text, '[', DEPTH);
	open = read_text(text);
	CHECK_INT(open.code, -EBADMSG);
	memset(text + DEPTH, ']', DEPTH);
	closed = read_text(text);
	CHECK_INT(closed.code, -EBADMSG);
}

/* Each of many spans looks up its process among many. */
TEST(reading_is_fast_with_many_processes)
{
	enum { MANY = 50000 };
	_cleanup_(freep) char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	fprintf(file, "{'traceID':'1','processes':{");
	for (int i = 0; i < MANY; i++)
		fprintf(file, "%s'p%d':{'serviceName':'s%d'}", i ? "," : "", i, i);
	fprintf(file, "},'spans':[");
	for (int i = 0; i < MANY; i++)
		fprintf(file, "%s{'spanID':'%x','startTime':%d,'duration':1,'processID':'p%d'}",
			i ? "," : "", i + 1, i, i);
	fprintf(file, "]}");
	fclose(file);

	_cleanup_(result_done) struct result r = read_text(text);

	CHECK_INT(r.spans.count, MANY);
	if (r.spans.count == MANY)
		CHECK_STR(input_string(r.input, r.spans.items[MANY - 1].service), "s49999");
}

#define TAG(key, type, value) "{'key':'" key "','type':'" type "','value':" value "}"

TEST(tags_precede_their_span)
{
	_cleanup_(result_done) struct result r = read_spans(SPAN(
		"1", "1", "1",
		",'tags':[" TAG("span.kind", "string", "'server'") "," TAG("text", "string", "'GET'") "," TAG("int", "int64", "'7'") "," TAG("number", "int64", "7") "," TAG("large", "int64", "9223372036854775808") "," TAG(
			"real", "float64",
			"7") "," TAG("yes", "bool",
				     "true") "," TAG("no", "bool",
						     "'false'") "," TAG("bytes", "binary",
									"'/wA='") "," TAG("odd",
											  "int64",
											  "'x'") ","
												 "{"
												 "'"
												 "k"
												 "e"
												 "y"
												 "'"
												 ":"
												 "'"
												 "u"
												 "n"
												 "t"
												 "y"
												 "p"
												 "e"
												 "d"
												 "'"
												 ","
												 "'"
												 "v"
												 "a"
												 "l"
												 "u"
												 "e"
												 "'"
												 ":"
												 "-"
												 "7"
												 "}"
												 ","
												 "{"
												 "'"
												 "k"
												 "e"
												 "y"
												 "'"
												 ":"
												 "'"
												 "h"
												 "a"
												 "l"
												 "f"
												 "'"
												 ","
												 "'"
												 "v"
												 "a"
												 "l"
												 "u"
												 "e"
												 "'"
												 ":"
												 "0"
												 "."
												 "5"
												 "}"
												 ","
												 "{"
												 "'"
												 "k"
												 "e"
												 "y"
												 "'"
												 ":"
												 "'"
												 "n"
												 "u"
												 "l"
												 "l"
												 "'"
												 "}"
												 ","
												 "{"
												 "'"
												 "k"
												 "e"
												 "y"
												 "'"
												 ":"
												 "'"
												 "l"
												 "i"
												 "s"
												 "t"
												 "'"
												 ","
												 "'"
												 "v"
												 "a"
												 "l"
												 "u"
												 "e"
												 "'"
												 ":"
												 "["
												 "1"
												 ","
												 "'"
												 "a"
												 "'"
												 ","
												 "{"
												 "'"
												 "b"
												 "'"
												 ":"
												 "["
												 "]"
												 "}"
												 "]"
												 "}"
												 "," TAG("span.kind", "string", "'other'") "," TAG(
													 "error",
													 "bool",
													 "true") "]"));
	_cleanup_(freep) char *got = attributes_of(&r);

	CHECK_STR(got, "text=GET int=7 number=7 large=9.22337204e+18 real=7.00000000 yes=true "
		       "no=false bytes=/wA= odd=x untyped=-7 half=0.500000000 null= "
		       "list=[1,\"a\",{\"b\":[]}] span.kind=other error=true");
	CHECK_INT(r.spans.count, 1);
	CHECK_INT(r.spans.items[0].kind, SPAN_SERVER);
	CHECK_INT(r.spans.items[0].flags, SPAN_ERROR);
}

TEST(deeply_nested_tags_become_null)
{
	char deep[2 * 500 + 1];

	memset(deep, '[', 500);
	memset(deep + 500, ']', 500);
	deep[1000] = '\0';

	_cleanup_(freep) char *span =
		must_printf(SPAN("1", "1", "1", ",'tags':[{'key':'deep','value':%s}]"), deep);
	_cleanup_(result_done) struct result r = read_spans(span);
	_cleanup_(freep) char *got = attributes_of(&r);

	CHECK_STR(got, "deep=[[[[[[[[[[[[[[[[null]]]]]]]]]]]]]]]]");
}
