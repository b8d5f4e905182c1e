/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "spans.h"

static struct result read_text(const char *text)
{
	return read_json(zipkin_open_memory, text);
}

#define SPAN(id, start, length, more) \
	"{'traceId':'7f','id':'" id "','timestamp':" start ",'duration':" length more "}"
#define AT(service) ",'localEndpoint':{'serviceName':'" service "'}"
#define CHILD(id) ",'parentId':'" id "'"
#define CLIENT ",'kind':'CLIENT'"
#define SERVER ",'kind':'SERVER'"
#define SHARED SERVER ",'shared':true"

/* The span with this name; the test fails if it is missing. */
static const struct record_span *named(const struct result *r, const char *name)
{
	static const struct record_span none;

	for (size_t i = 0; i < r->spans.count; i++)
		if (strcmp(input_string(r->input, r->spans.items[i].operation), name) == 0)
			return &r->spans.items[i];
	CHECK(!name);
	return &none;
}

TEST(all_fields_of_a_span_are_read)
{
	_cleanup_(result_done) struct result r = read_text(
		"[{'traceId':'0123456789abcdef0123456789abcdef','parentId':'a1','id':'51c0',"
		"'kind':'SERVER','name':'get /','timestamp':1700000000000000,'duration':212400,"
		"'localEndpoint':{'serviceName':'front','ipv4':'10.0.0.7','port':80},"
		"'remoteEndpoint':{'serviceName':'other'},'annotations':[{'timestamp':1,'value':'x'"
		"}],"
		"'tags':{'error':'','host.name':'node-7','process.pid':'4127',"
		"'thread.native_id':'4130'}}]");
	const struct record_span *span = r.spans.items;

	CHECK_INT(r.code, 0);
	CHECK_INT(r.spans.count, 1);
	if (r.spans.count != 1)
		return;
	CHECK_INT(span->start, 1700000000000000000);
	CHECK_INT(span->head.time, 1700000000212400000);
	CHECK_INT(span->trace[0], 0x01);
	CHECK_INT(id_of(span->trace + 8), 0x0123456789abcdef);
	CHECK_INT(id_of(span->span), 0x51c0);
	CHECK_INT(id_of(span->parent), 0xa1);
	CHECK_STR(input_string(r.input, span->service), "front");
	CHECK_STR(input_string(r.input, span->operation), "get /");
	CHECK_STR(input_record_host(r.input), "node-7");
	CHECK_INT(span->pid, 4127);
	CHECK_INT(span->head.tid, 4130);
	CHECK_INT(span->flags, SPAN_ERROR);
	CHECK(!input_warning(r.input));
	CHECK_STR(input_format_name(r.input), "zipkin");
}

TEST(spans_are_in_a_list_in_lists_or_on_lines)
{
	static const struct {
		const char *text;
		size_t spans;
	} cases[] = {
		{ "[" SPAN("1", "1", "1", "") "," SPAN("2", "1", "1", "") "]", 2 },
		{ "[[" SPAN("1", "1", "1", "") "],[],[" SPAN("2", "1", "1", "") "]]", 2 },
		{ SPAN("1", "1", "1", "") "\n" SPAN("2", "1", "1", "") "\n", 2 },
		{ "[" SPAN("1", "1", "1", "") "]\n[" SPAN("2", "1", "1", "") "]", 2 },
		{ "[\n  " SPAN("1", "1", "1", "") ",\n  " SPAN("2", "1", "1", "") "\n]\n", 2 },
		{ SPAN("1", "1", "1", ""), 1 },
		{ "[]", 0 },
		{ "[[],[[]]]", 0 },
		{ "[7,null,'x',true]", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(result_done) struct result r = read_text(cases[i].text);

		CHECK_INT(r.code, 0);
		CHECK_INT(r.spans.count, cases[i].spans);
	}
}

TEST(tags_contain_errors)
{
	static const struct {
		const char *tags;
		int flags;
	} cases[] = {
		{ "{'error':'500'}", SPAN_ERROR },
		{ "{'error':''}", SPAN_ERROR },
		{ "{'error':true}", SPAN_ERROR },
		{ "{'error':'false'}", 0 },
		{ "{'otel.status_code':'ERROR'}", SPAN_ERROR },
		{ "{'otel.status_code':'OK'}", 0 },
		{ "{'errors':'x'}", 0 },
		{ "[{'key':'error','value':'x'}]", 0 },
		{ "'error'", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(freep) char *text = must_printf(
			"[{'traceId':'7f','id':'1','timestamp':1,'duration':1,'tags':%s}]",
			cases[i].tags);
		_cleanup_(result_done) struct result r = read_text(text);

		CHECK_INT(r.spans.count, 1);
		CHECK_INT(r.spans.count ? r.spans.items[0].flags : -1, cases[i].flags);
	}
}

TEST(an_incomplete_span_is_skipped_and_reported)
{
	static const struct {
		const char *span, *why;
	} cases[] = {
		{ "'id':'1','timestamp':1,'duration':1", "has no traceId" },
		{ "'traceId':'0000','id':'1','timestamp':1,'duration':1", "has no traceId" },
		{ "'traceId':'1','timestamp':1,'duration':1", "has no id" },
		{ "'traceId':'1','id':'1','duration':1", "has no valid timestamp" },
		{ "'traceId':'1','id':'1','timestamp':0,'duration':1", "has no valid timestamp" },
		{ "'traceId':'1','id':'1','timestamp':1,'duration':'x'",
		  "has an invalid duration" },
		{ "'traceId':'1','id':'1','timestamp':1,'duration':-1", "has an invalid duration" },
		{ "'traceId':'1','id':'1','timestamp':9223372036854775,'duration':9223372036854775",
		  "has an invalid end time" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(freep) char *text =
			must_printf("[" SPAN("1", "1", "1", "") ",{%s}]", cases[i].span);
		_cleanup_(freep) char *want =
			must_printf("'x.json': skipped 1 of 2 spans: span 2 %s", cases[i].why);
		_cleanup_(result_done) struct result r = read_text(text);

		CHECK_INT(r.spans.count, 1);
		CHECK_STR(r.input ? input_warning(r.input) ?: "" : "", want);
	}
}

/* The root and its child have no durations; the grandchild has one. */
TEST(a_span_without_duration_ends_with_its_last_child)
{
	_cleanup_(result_done) struct result r = read_text(
		"[{'traceId':'7f','id':'1','timestamp':100,'name':'root'},"
		"{'traceId':'7f','id':'2','parentId':'1','timestamp':110,'name':'child'},"
		"{'traceId':'7f','id':'4','parentId':'1','timestamp':105,'name':'leaf'}," SPAN(
			"3", "120", "30", ",'name':'inner'" CHILD("2")) "]");

	CHECK_INT(r.spans.count, 4);
	CHECK_INT(named(&r, "root")->start, 100000);
	CHECK_INT(named(&r, "root")->head.time, 150000);
	CHECK_INT(named(&r, "root")->flags, SPAN_OPEN);
	CHECK_INT(named(&r, "child")->head.time, 150000);
	CHECK_INT(named(&r, "child")->flags, SPAN_OPEN);
	CHECK_INT(id_of(named(&r, "child")->parent), 1);
	CHECK_INT(named(&r, "leaf")->head.time, 105000);
	CHECK_INT(named(&r, "inner")->flags, 0);
	CHECK_STR(input_warning(r.input) ?: "", "'x.json': 3 of 4 spans are unfinished and shown "
						"up to the end of their last child");
}

TEST(unfinished_spans_in_a_cycle_keep_their_starts)
{
	_cleanup_(result_done) struct result r =
		read_text("[{'traceId':'7f','id':'1','parentId':'2','timestamp':100,'name':'a'},"
			  "{'traceId':'7f','id':'2','parentId':'1','timestamp':110,'name':'b'},"
			  "{'traceId':'7f','id':'3','parentId':'3','timestamp':7,'name':'own'}]");

	CHECK_INT(r.spans.count, 3);
	CHECK_INT(named(&r, "a")->start, 100000);
	CHECK_INT(named(&r, "b")->start, 110000);
	CHECK_INT(named(&r, "own")->head.time, 7000);
}

#define V1(name, time, service) \
	"{'timestamp':" time ",'value':'" name "','endpoint':{'serviceName':'" service "'}}"

TEST(spans_of_version_1_have_both_sides_of_a_call)
{
	_cleanup_(result_done) struct result r = read_text(
		"[{'traceId':'7f','id':'1','name':'get','timestamp':100,'duration':50,"
		"'annotations':[" V1("cs", "100", "front") "," V1("sr", "110", "back") "," V1(
			"ss", "140",
			"back") "," V1("cr", "150",
				       "front") "],'binaryAnnotations':["
						"{'key':'http.path','value':'/"
						"a','endpoint':{'serviceName':'front'}},"
						"{'key':'db','value':'x','endpoint':{'serviceName':"
						"'back'}},"
						"{'key':'sa','value':true,'endpoint':{'serviceName'"
						":'back'}}]},"
						"{'traceId':'7f','id':'2','parentId':'1','name':'"
						"work','timestamp':120,"
						"'duration':5,'binaryAnnotations':[{'key':'lc','"
						"value':'w','endpoint':"
						"{'serviceName':'back'}}]}]");
	_cleanup_(freep) char *attributes = attributes_of(&r);

	CHECK_INT(r.spans.count, 3);
	if (r.spans.count != 3)
		return;

	const struct record_span *work = &r.spans.items[0], *server = work + 1, *client = work + 2;

	CHECK_INT(client->kind, SPAN_CLIENT);
	CHECK_INT(client->start, 100000);
	CHECK_INT(client->head.time, 150000);
	CHECK_STR(input_string(r.input, client->service), "front");
	CHECK_INT(server->kind, SPAN_SERVER);
	CHECK_INT(server->start, 110000);
	CHECK_INT(server->head.time, 140000);
	CHECK_STR(input_string(r.input, server->service), "back");
	CHECK(id_of(server->parent) == id_of(client->span));
	CHECK(id_of(work->parent) == id_of(server->span));
	CHECK_STR(input_string(r.input, work->service), "back");
	CHECK_STR(attributes, "lc=w db=x http.path=/a");
}

TEST(annotations_of_version_1_can_contain_the_only_times)
{
	_cleanup_(result_done) struct result r =
		read_text("[{'traceId':'7f','id':'1','name':'all','annotations':[" V1(
			"sr", "110",
			"back") "," V1("ss", "140",
				       "back") "]},"
					       "{'traceId':'7f','id':'2','name':'half','"
					       "annotations':[" V1(
						       "cs", "120",
						       "back") "]},"
							       "{'traceId':'7f','id':'3','name':'"
							       "none','annotations':[" V1(
								       "x", "1", "back") "]}]");

	CHECK_INT(r.spans.count, 2);
	CHECK_INT(named(&r, "all")->start, 110000);
	CHECK_INT(named(&r, "all")->head.time, 140000);
	CHECK_INT(named(&r, "half")->start, 120000);
	CHECK_INT(named(&r, "half")->flags, SPAN_OPEN);
	CHECK_STR(input_warning(r.input) ?: "",
		  "'x.json': skipped 1 of 3 spans: span 3 has no valid timestamp; 1 of 2 "
		  "spans are unfinished and shown up to the end of their last child");
}

/* A call from front to back with one id, with children of back and of front. */
TEST(both_sides_of_a_call_under_one_id_are_two_spans)
{
	_cleanup_(result_done) struct result r = read_text(
		"[" SPAN("1", "1", "100", ",'name':'root'" AT("front")) "," SPAN("3", "22", "10", ",'name':'inside'" CHILD("2") AT("back")) "," SPAN(
			"2", "20", "30",
			",'name':'served'" CHILD("1") SHARED
				AT("back")) "," SPAN("2", "10", "50",
						     ",'name':'called'" CHILD("1") CLIENT
							     AT("front")) "," SPAN("4", "12", "2",
										   ",'name':'"
										   "beside'" CHILD("2") AT(
											   "fron"
											   "t")) "," SPAN("5",
													  "30",
													  "5",
													  ",'name':'behind'" CHILD(
														  "2") SERVER
														  AT("database")) ","
																  "{'traceId':'80','id':'6','parentId':'2','timestamp':1,'duration':1,"
																  "'name':'elsewhere'}]");
	const struct record_span *served = named(&r, "served");

	CHECK_INT(r.spans.count, 7);
	CHECK_INT(id_of(named(&r, "called")->span), 2);
	CHECK_INT(id_of(named(&r, "called")->parent), 1);
	CHECK(id_of(served->span) > 6);
	CHECK_INT(id_of(served->parent), 2);
	CHECK(id_of(named(&r, "inside")->parent) == id_of(served->span));
	CHECK(id_of(named(&r, "behind")->parent) == id_of(served->span));
	CHECK_INT(id_of(named(&r, "beside")->parent), 2);
	CHECK_INT(id_of(named(&r, "elsewhere")->parent), 2); /* in another trace */
	CHECK_INT(id_of(named(&r, "root")->span), 1);
}

TEST(children_of_a_call_within_a_service_belong_to_the_server)
{
	_cleanup_(result_done) struct result r =
		read_text("[" SPAN("2", "10", "50", CLIENT ",'name':'called'" AT("a")) "," SPAN(
			"2", "20", "30",
			SERVER ",'name':'served'" AT("a")) "," SPAN("3", "22", "10",
								    ",'name':'inside'" CHILD("2")
									    AT("a")) "]");

	CHECK(id_of(named(&r, "inside")->parent) == id_of(named(&r, "served")->span));
}

TEST(a_server_without_its_client_keeps_its_id)
{
	_cleanup_(result_done) struct result r = read_text(
		"[" SPAN("2", "20", "30", SHARED CHILD("1") ",'name':'served'" AT("b")) "," SPAN(
			"2", "20", "30",
			SHARED CHILD("1") ",'name':'again'" AT(
				"b")) "," SPAN("3", "22", "10",
					       ",'name':'inside'" CHILD("2") AT("b")) "]");

	CHECK_INT(id_of(named(&r, "served")->span), 2);
	CHECK_INT(id_of(named(&r, "served")->parent), 1);
	CHECK_INT(id_of(named(&r, "again")->span), 2);
	CHECK_INT(id_of(named(&r, "inside")->parent), 2);
}

/* Nested calls in the worst order: each parent follows its children. */
TEST(a_chain_of_calls_remains_a_chain)
{
	enum { DEPTH = 1000 };
	_cleanup_(freep) char *text = NULL;
	size_t size, found = 0;
	FILE *file = open_memstream(&text, &size);
	uint64_t at = 0;

	for (int i = DEPTH; i > 0; i--)
		for (int side = 0; side < 2; side++) {
			fprintf(file, "%s{'traceId':'7f','id':'%x','timestamp':%d,'duration':%d,",
				i == DEPTH && !side ? "[" : ",", i, i, 10 * DEPTH - 3 * i + side);
			if (i > 1)
				fprintf(file, "'parentId':'%x',", i - 1);
			fprintf(file, "'kind':'%s','localEndpoint':{'serviceName':'s%d'}}",
				side ? "CLIENT" : "SERVER", side ? i - 1 : i);
		}
	fprintf(file, "]");
	fclose(file);

	_cleanup_(result_done) struct result r = read_text(text);

	/* from the innermost outwards: each is a child of the next */
	for (size_t i = 0; i < r.spans.count; i++) {
		found += i == 0 || id_of(r.spans.items[i].span) == at;
		at = id_of(r.spans.items[i].parent);
	}
	CHECK_INT(r.spans.count, 2 * DEPTH);
	CHECK_INT(found, 2 * DEPTH);
	CHECK(at == 0);
}

TEST(other_documents_get_a_message)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "7", "'x.json' is not a Zipkin trace: expected a list of spans" },
		{ "'x'", "'x.json' is not a Zipkin trace: expected a list of spans" },
		{ "[", "'x.json' is not valid JSON: unexpected end of data at offset 1" },
		{ "", "'x.json' is not valid JSON: input length is 0 at offset 0" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(result_done) struct result r = read_text(cases[i].text);

		CHECK_INT(r.code, -EBADMSG);
		CHECK_STR(r.err.text, cases[i].want);
	}
}

/* The server's span gets another id, and its tags get that id, too. */
TEST(tags_precede_their_span)
{
	_cleanup_(result_done) struct result r = read_text(
		"[" SPAN("2", "1", "9", CLIENT ",'tags':{'side':'client','n':'7'}") "," SPAN(
			"2", "2", "1",
			SHARED
			",'tags':{'side':'server','error':'500'}") "," SPAN("3", "1", "1",
									    ",'kind':'PRODUCER','"
									    "tags':{}") "]");
	_cleanup_(freep) char *got = attributes_of(&r);

	CHECK_STR(got, "side=server error=500 side=client n=7");
	CHECK_INT(r.spans.count, 3);
	CHECK_INT(r.spans.items[0].kind, SPAN_PRODUCER);
	CHECK_INT(r.spans.items[1].kind, SPAN_SERVER);
	CHECK_INT(r.spans.items[2].kind, SPAN_CLIENT);
}
