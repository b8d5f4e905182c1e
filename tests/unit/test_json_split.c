/* SPDX-License-Identifier: Apache-2.0 */
/* In texts, ' stands for " to make them readable. */
#include <errno.h>

#include "read/span/json_split.h"
#include "spans.h"

static const struct json_shape lists;
static const struct json_shape jaeger = { .names = { { "data", "spans" }, { "spans" } } };
static const struct json_shape otlp = { .names = { { "resourceSpans", "resource_spans" },
						   { "scopeSpans", "scope_spans" },
						   { "spans" } } };

static void swap(char *text, size_t len, char from, char to)
{
	for (size_t i = 0; i < len; i++)
		text[i] = text[i] == from ? to : text[i];
}

/* All documents, separated by blanks; "whole" if the text is not split. */
static const char *split_text(const char *given, const struct json_shape *shape, size_t size)
{
	static char all[4096];
	_cleanup_(freep) char *text = must_strdup(given);
	struct json_split split;
	struct view part;

	swap(text, strlen(text), '\'', '"');
	all[0] = 0;
	if (!json_split_begin(&split, (struct view){ text, strlen(text) }, shape))
		return "whole";
	while (json_split_next(&split, size, &part)) {
		size_t used = strlen(all);

		snprintf(all + used, sizeof(all) - used, "%s%.*s", used ? " " : "", (int)part.len,
			 part.s);
		for (size_t i = 0; i < part.len; i++) /* each byte is at its offset */
			CHECK_INT(part.s[i], text[json_split_offset(&split, i)]);
	}
	json_split_done(&split);
	swap(all, strlen(all), '"', '\'');
	return all;
}

TEST(each_document_has_a_part_of_the_list)
{
	static const struct {
		const char *text;
		const struct json_shape *shape;
		const char *want;
	} cases[] = {
		{ "[{},[],{'a':[1,2]}]", &lists, "[{}] [[]] [{'a':[1,2]}]" },
		{ " [ {} , {} ] ", &lists, " [ {}]   [ {} ] " },
		{ "[[{},{}]]", &lists, "[[{}]] [[{}]]" },
		{ "[[{}],[{}]]", &lists, "[[{}]] [[{}]]" },
		{ "[{'id':'}]\\'['},{}]", &lists, "[{'id':'}]\\'['}] [{}]" },
		{ "[]", &lists, "[]" },
		{ "[{}]", &lists, "[{}]" },
		{ "[{},7,{}]", &lists, "[{}] [7,{}]" },
		{ "{'data':[{},{}],'total':0}", &jaeger,
		  "{'data':[{}],'total':0} {'data':[{}],'total':0}" },
		{ "{'data':[{'traceID':'1','spans':[{},{}],'processes':{'p':{}}}]}", &jaeger,
		  "{'data':[{'traceID':'1','spans':[{}],'processes':{'p':{}}}]} "
		  "{'data':[{'traceID':'1','spans':[{}],'processes':{'p':{}}}]}" },
		{ "{'spans':[{'spans':[{},{}]}]}", &jaeger, "{'spans':[{'spans':[{},{}]}]}" },
		{ "[{'data':[{},{}]}]", &jaeger, "[{'data':[{},{}]}]" },
		{ "{'resourceSpans':[{'resource':{},'scopeSpans':[{'spans':[{},{}]}]}]}", &otlp,
		  "{'resourceSpans':[{'resource':{},'scopeSpans':[{'spans':[{}]}]}]} "
		  "{'resourceSpans':[{'resource':{},'scopeSpans':[{'spans':[{}]}]}]}" },
		{ "{'resourceSpans':[{'scopeSpans':[{'spans':[1,2]},{'spans':[3]}]}]}", &otlp,
		  "{'resourceSpans':[{'scopeSpans':[{'spans':[1,2]}]}]} "
		  "{'resourceSpans':[{'scopeSpans':[{'spans':[3]}]}]}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(split_text(cases[i].text, cases[i].shape, 1), cases[i].want);
	CHECK_STR(split_text("[{},{},{},{},{}]", &lists, 5), "[{},{}] [{},{}] [{}]");
	CHECK_STR(split_text("[{},{},{},{},{}]", &lists, 100), "[{},{},{},{},{}]");
}

/* The parser must see errors, and no span must be read twice. */
TEST(splitting_does_not_hide_errors)
{
	CHECK_STR(split_text("[{},]", &lists, 1), "[{}] [,]");
	CHECK_STR(split_text("[,{}]", &lists, 1), "[,{}]");
	CHECK_STR(split_text("[{} {}]", &lists, 1), "[{} {}]");
	CHECK_STR(split_text("[{},{}]]", &lists, 1), "[{}]] [{}]]");
	CHECK_STR(split_text("[{},{]]", &lists, 1), "[{}] [{]]");
	CHECK_STR(split_text("[{},{'a':[}]}]", &lists, 1), "[{}}] [{'a':[}]}]");
	CHECK_STR(split_text("[{},{}", &lists, 1), "[{} [{}");
	CHECK_STR(split_text("[{},{'a':[1", &lists, 1), "[{} [{'a':[1");
	CHECK_STR(split_text("{'data':[{'spans':[{},{'a", &jaeger, 1), "{'data':[{'spans':[{},{'a");
	CHECK_STR(split_text("", &lists, 1), "whole");
	CHECK_STR(split_text("7", &lists, 1), "whole");
	CHECK_STR(split_text("{}", &jaeger, 1), "whole");
	CHECK_STR(split_text("{'data':7}", &jaeger, 1), "whole");
	CHECK_STR(split_text("{'data':[{},{}],'spans':[]}", &jaeger, 1), "whole");
	CHECK_STR(split_text("{'data':[{},{}],'data':[]}", &jaeger, 1), "whole");
	CHECK_STR(split_text("{'d\\u0061ta':[],'data':[{},{}]}", &jaeger, 1), "whole");
	CHECK_STR(split_text("{'data':[{},{}],'x'}", &jaeger, 1), "whole");
	CHECK_STR(split_text("{'data':[{},{}]", &jaeger, 1), "whole");
	CHECK_STR(split_text("{'data':[{},{}", &jaeger, 1), "{'data':[{} {'data':[{}");
}

/* Strings, escapes and brackets at every position of a block of 64 bytes. */
TEST(ends_are_found_at_any_position)
{
	for (int before = 0; before < 140; before++)
		for (int length = 0; length < 140; length++) {
			_cleanup_(freep) char *one = must_printf("{'%*s':[{'%*s}]\\'{','k':{}}]}",
								 before, "", length, "");
			_cleanup_(freep) char *text = must_printf("[%s,%s]", one, one);
			_cleanup_(freep) char *want = must_printf("[%s] [%s]", one, one);

			CHECK_STR(split_text(text, &lists, 1), want);
		}
}

enum { MANY = 60000 }; /* spans, more than 4 MiB */

/* A text of spans, each written by print(), with a separator. */
static char *write_spans(const char *begin, const char *format, const char *between,
			 const char *end)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	fputs(begin, file);
	for (int i = 1; i <= MANY; i++) {
		fprintf(file, format, i, i % 997 + 1, MANY - i + 1);
		fputs(i < MANY ? between : end, file);
	}
	fclose(file);
	return text;
}

static void check_same(open_memory_fn *read, const char *large, const char *lines)
{
	_cleanup_(result_done) struct result a = read_json(read, large), b = read_json(read, lines);
	int different = 0;

	CHECK_INT(a.code, 0);
	CHECK_INT(a.spans.count, MANY);
	CHECK_INT(b.spans.count, MANY);
	for (size_t i = 0; i < a.spans.count && i < b.spans.count; i++)
		different +=
			memcmp(&a.spans.items[i], &b.spans.items[i], sizeof(a.spans.items[i])) != 0;
	CHECK_INT(different, 0);
}

TEST(a_large_document_is_read_like_small_ones)
{
#define ZIPKIN "{'traceId':'7f','id':'%x','parentId':'%x','timestamp':1,'duration':%d}"
#define JAEGER "{'spanID':'%x','parentSpanID':'%x','startTime':1,'duration':%d,'processID':'p'}"
#define OTLP \
	"{'traceId':'7f','spanId':'%x','parentSpanId':'%x','startTimeUnixNano':'1'," \
	"'endTimeUnixNano':'%d'}"
#define JAEGER_END "],'processes':{'p':{'serviceName':'front'}}}"
	_cleanup_(freep) char *zipkin_list = write_spans("[", ZIPKIN, ",\n ", "]\n");
	_cleanup_(freep) char *zipkin_lines = write_spans("", ZIPKIN, "\n", "\n");
	_cleanup_(freep) char *jaeger_trace =
		write_spans("{'data':[{'traceID':'7f','spans':[", JAEGER, ",", JAEGER_END "]}");
	_cleanup_(freep) char *jaeger_lines =
		write_spans("{'traceID':'7f','spans':[", JAEGER,
			    JAEGER_END "\n{'traceID':'7f','spans':[", JAEGER_END);
	_cleanup_(freep) char *otlp_one =
		write_spans("{'resourceSpans':[{'scopeSpans':[{'spans':[", OTLP, " , ", "]}]}]}");
	_cleanup_(freep) char *otlp_lines =
		write_spans("{'resourceSpans':[{'scopeSpans':[{'spans':[", OTLP,
			    "]}]}]}\n{'resourceSpans':[{'scopeSpans':[{'spans':[", "]}]}]}\n");

	CHECK(strlen(zipkin_list) > 4 << 20 && strlen(otlp_one) > 4 << 20);
	check_same(zipkin_open_memory, zipkin_list, zipkin_lines);
	check_same(jaeger_open_memory, jaeger_trace, jaeger_lines);
	check_same(otlp_json_open_memory, otlp_one, otlp_lines);
}

TEST(errors_in_a_large_document_have_the_right_offset)
{
	static const char *const ends[] = { ",]", ",{'a':}]", "]]", ",7", "" };
	static const size_t behind[] = { 0, 6, 1, 2, 0 };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		_cleanup_(freep) char *text = write_spans("[", ZIPKIN, ",", ends[i]);
		_cleanup_(freep) char *want =
			must_printf("at offset %zu", strlen(text) - strlen(ends[i]) + behind[i]);
		_cleanup_(result_done) struct result r = read_json(zipkin_open_memory, text);

		CHECK_INT(r.code, -EBADMSG);
		CHECK_STR(strstr(r.err.text, "at offset") ?: r.err.text, want);
	}
}
