/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <time.h>

#include "read/ctf/lexer.h"
#include "ctf_bytes.h"

#define EVENT(fields) \
	"event { name = \"x\"; id = 0; stream_id = 0; fields := struct { " fields " }; };"

TEST(invalid_metadata_is_refused_with_a_reason)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ HEAD("le") "trace {", "line 9: expected '}'" },
		{ HEAD("le") "\n\nnonsense;",
		  "line 11: expected trace, env, clock, stream, event" },
		{ "/* CTF 1.8 */ env { };", "the metadata declares no byte order" },
		{ HEAD("middle"), "byte order of a trace must be le or be" },
		{ HEAD("le"), "the metadata declares no stream" },
		{ HEAD("le") CLOCK CONTEXT "stream { event.header := struct { u8 id; }; };",
		  "events have no timestamps" },
		{ HEAD("le") "typealias integer { size = 65; } := wide;", "must be 1 to 64 bits" },
		{ HEAD("le") "typealias integer { align = 3; size = 3; } := odd;",
		  "a power of two" },
		{ HEAD("le") "typealias integer { align = 8; } := none;", "has no size" },
		{ HEAD("le") "typealias floating_point { mant_dig = 11; exp_dig = 5; } := half;",
		  "must have 32 or 64 bits" },
		{ HEAD("le") "typealias missing := other;", "undeclared type 'missing'" },
		{ HEAD("le") "struct a { struct b c; };", "undeclared type 'struct b'" },
		{ HEAD("le") "struct a { u8 c[\"", "expected a name" },
		{ HEAD("le") "typealias string := text; enum e : text { a };",
		  "is not an integer" },
		{ HEAD("le") "stream { event.header := string; };",
		  "'event.header' must be a struct" },
		{ HEAD("le") "clock { freq = 0; };", "frequency" },
		{ HEAD("le") "typealias integer { size = 99999999999999999999; } := huge;",
		  "line 9" },
		{ PREAMBLE("le") EVENT("u8 a[b];"),
		  "field 'a' refers to 'b', which is not a preceding number" },
		{ PREAMBLE("le") EVENT("u8 a[b]; u8 b;"), "is not a preceding number" },
		{ PREAMBLE("le") EVENT("u8 b; variant <b> { u8 x; } v;"),
		  "is not a preceding enumeration" },
		{ PREAMBLE("le") EVENT("u64 a[4000000000];"), "a field that is too large" },
		{ PREAMBLE("le") "event { stream_id = 3; };", "belongs to an undeclared stream" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(trace_done) struct trace t = open_trace(bad[i].text, NULL);

		CHECK_INT(t.code, -EBADMSG);
		CHECK(strstr(t.err.text, "'t/metadata'") == t.err.text);
		if (!strstr(t.err.text, bad[i].message))
			CHECK_STR(t.err.text, bad[i].message);
	}
}

TEST(unsupported_metadata_is_distinguished_from_invalid_metadata)
{
	static const char *const texts[] = {
		HEAD("le") "typealias integer { size = 64; } := unsigned long *;",
		PREAMBLE("le") EVENT("u8 a[stream.packet.context.cpu_id];"),
		PREAMBLE("le") EVENT("time64 a;"),
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_(trace_done) struct trace t = open_trace(texts[i], NULL);

		CHECK_INT(t.code, -ENOTSUP);
	}
}

TEST(ctf_2_is_refused_with_a_hint)
{
	static const char *const texts[] = {
		"\x1e{\"type\": \"preamble\", \"version\": 2}",
		"\x1e \n{\"type\": \"preamble\"}\n\x1e{\"type\": \"trace-class\"}",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_(file_set_done) struct file_set files = { 0 };
		struct input *input;
		struct err err;

		add_file(&files, "t/metadata", texts[i], strlen(texts[i]));
		CHECK(ctf_has_trace(&files));
		CHECK(ctf_open_files("t", &files, &input, &err) < 0);
		CHECK(strstr(err.text,
			     "'t' is a CTF 2 trace, which sonde cannot read: convert it"));
	}
}

TEST(type_names_are_resolved_in_their_scope)
{
	static const char metadata[] = PREAMBLE(
		"le") "typedef u16 number, numbers[2]; typealias u8 := unsigned const char;\n"
		      "event { name = \"irq_handler_entry\"; id = 1; stream_id = 0; "
		      "typealias u64 := number;\n"
		      "	fields := struct { struct { typealias u8 := number; number a; } "
		      "in; number irq; }; };\n"
		      "event { name = \"irq_handler_exit\"; id = 2; stream_id = 0; fields := "
		      "struct {\n"
		      "	unsigned char a; numbers b; number irq; }; };\n"
		      "callsite { name = \"x\"; func = main; ip = 0x40096c; };\n";
	struct writer w = { 0 };
	struct raw_event e;

	begin_packet(&w, 0, 0, 100, 0, 0);
	put_header(&w, 1, 10);
	put_bytes(&w, 1, 1);
	put_bytes(&w, 8, 17);
	put_header(&w, 2, 20);
	put_bytes(&w, 1, 1);
	put_bytes(&w, 4, 1);
	put_bytes(&w, 2, 18);
	end_packet(&w, 0);

	_cleanup_(trace_done) struct trace t = open_trace(metadata, &w);

	CHECK_STR(t.err.text, "");
	CHECK(next_event(&t, &e));
	CHECK_INT(e.irq.number, 17);
	CHECK(next_event(&t, &e));
	CHECK_INT(e.irq.number, 18);
	CHECK(!next_event(&t, &e));
}

TEST(unknown_attributes_of_a_type_are_ignored)
{
	_cleanup_(trace_done) struct trace t = open_trace(
		PREAMBLE("le") "typealias integer { size = 8; exp_dig = 3; mant_dig = 4; } := x;"
			       "typealias string { encoding = UTF8; align = 3; size = 1; } := y;",
		NULL);

	CHECK_STR(t.err.text, "");
}

/* Each type contains two of the previous one. */
TEST(nested_types_cannot_create_too_many_fields)
{
	_cleanup_(freep) char *text = must_strdup(PREAMBLE("le") "struct s0 { u8 a; };\n");
	clock_t begin = clock();

	for (int i = 1; i < 60; i++) {
		_cleanup_(freep) char *before = text;

		text = must_printf("%sstruct s%d { struct s%d a; struct s%d b; };\n", before, i,
				   i - 1, i - 1);
	}
	for (int depth = 20; depth < 60; depth += 20) {
		_cleanup_(freep) char *all = must_printf(
			"%sevent { name = \"x\"; fields := struct s%d; };", text, depth);
		_cleanup_(trace_done) struct trace t = open_trace(all, NULL);

		CHECK_INT(t.code, -EBADMSG);
	}
	CHECK(clock() - begin < CLOCKS_PER_SEC);
}

TEST(the_nesting_of_types_is_limited)
{
	char *text = must_printf("%s%0*d", PREAMBLE("le") "struct a ", 0, 0);

	for (int i = 0; i < 5000; i++) {
		_cleanup_(freep) char *before = text;

		text = must_printf("%s{ struct ", before);
	}

	_cleanup_(freep) char *all = text;
	_cleanup_(trace_done) struct trace t = open_trace(all, NULL);

	CHECK_INT(t.code, -EBADMSG);
}

static size_t put_metadata_packet(uint8_t *to, bool is_swapped, const char *text, size_t len)
{
	uint32_t magic = 0x75d11d57, content = 8 * (37 + len), packet = content + 80;

	if (is_swapped) {
		magic = __builtin_bswap32(magic);
		content = __builtin_bswap32(content);
		packet = __builtin_bswap32(packet);
	}
	memset(to, 0, 37 + len + 10);
	memcpy(to, &magic, 4);
	memcpy(to + 24, &content, 4);
	memcpy(to + 28, &packet, 4);
	to[35] = 1;
	to[36] = 8;
	memcpy(to + 37, text, len);
	return 37 + len + 10;
}

TEST(metadata_packets_of_either_byte_order_are_read)
{
	static const char text[] = PREAMBLE("le");
	uint8_t data[2 * sizeof(text) + 200];

	for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
		struct file_set files = { 0 };
		size_t size = put_metadata_packet(data, is_swapped, text, 100);

		size += put_metadata_packet(data + size, is_swapped, text + 100,
					    sizeof(text) - 1 - 100);
		CHECK(ctf_is_metadata(data, size));
		add_file(&files, "t/metadata", data, size);

		_cleanup_(trace_done) struct trace t = open_files(&files);

		CHECK_STR(t.err.text, "");
		CHECK_INT(t.code, 0);

		add_file(&files, "t/metadata", data, size - 11);

		_cleanup_(trace_done) struct trace cut = open_files(&files);

		CHECK_INT(cut.code, -EBADMSG);
		CHECK(strstr(cut.err.text, "is damaged: invalid packet size at byte 147"));
	}
}

TEST(traces_of_one_host_are_merged_and_those_of_two_are_refused)
{
	static const char here[] = PREAMBLE("le"), none[] = HEAD("le") CLOCK CONTEXT STREAM,
			  there[] = HEAD("le") "env { hostname = \"web2\"; };" CLOCK CONTEXT STREAM;
	struct file_set files = { 0 };

	add_file(&files, "a/metadata", here, sizeof(here) - 1);
	add_file(&files, "b/metadata", none, sizeof(none) - 1);

	_cleanup_(trace_done) struct trace good = open_files(&files);

	CHECK_INT(good.code, 0);
	add_file(&files, "a/metadata", here, sizeof(here) - 1);
	add_file(&files, "b/metadata", there, sizeof(there) - 1);

	_cleanup_(trace_done) struct trace bad = open_files(&files);

	CHECK_INT(bad.code, -EINVAL);
	CHECK_STR(bad.err.text,
		  "'trace' contains traces of two hosts, 'web1' and 'web2'; pass their "
		  "directories separately");
}
