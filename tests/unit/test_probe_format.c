/* SPDX-License-Identifier: Apache-2.0 */
#include "report/probe_format.h"
#include "test.h"

static const char common[] = "name: x\nID: 1\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

static struct probe_format *format_of(const char *fields)
{
	_cleanup_(freep) char *text = must_printf("%s%s\nprint fmt: \"x\"\n", common, fields);

	return probe_format_new(text);
}

/* Read the only field of a format; returns its type, or -1 if it is missing. */
static int read_one(const char *field, const void *data, size_t size, struct probe_value *value)
{
	static struct probe_format
		*last; /* keeps the name of the value valid until the next call */

	probe_format_free(last);
	last = format_of(field);
	CHECK_INT(probe_format_count(last), 1);
	if (probe_format_count(last) != 1 || !probe_format_value(last, 0, data, size, value))
		return -1;
	return value->type;
}

TEST(numbers_have_their_size_and_sign)
{
	const unsigned char data[16] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					 0x80, 0x81, 0,    0,    0,    0,    0,    0x80 };
	struct probe_value v;

	CHECK_INT(read_one("\tfield:s8 a;\toffset:0;\tsize:1;\tsigned:1;", data, 16, &v),
		  PROBE_SIGNED);
	CHECK_INT((int64_t)v.number, -2);
	CHECK_STR(v.name, "a");
	CHECK_INT(read_one("\tfield:bool a;\toffset:8;\tsize:1;\tsigned:0;", data, 16, &v),
		  PROBE_UNSIGNED);
	CHECK_INT(v.number, 0x80);
	CHECK_INT(read_one("\tfield:short a;\toffset:8;\tsize:2;\tsigned:1;", data, 16, &v),
		  PROBE_SIGNED);
	CHECK_INT((int64_t)v.number, (int16_t)0x8180);
	CHECK_INT(read_one("\tfield:pid_t pid;\toffset:0;\tsize:4;\tsigned:1;", data, 16, &v),
		  PROBE_SIGNED);
	CHECK_INT((int64_t)v.number, -2);
	CHECK_INT(read_one("\tfield:unsigned int a;\toffset:0;\tsize:4;\tsigned:0;", data, 16, &v),
		  PROBE_UNSIGNED);
	CHECK_INT(v.number, 0xfffffffe);
	CHECK_INT(read_one("\tfield:long a;\toffset:0;\tsize:8;\tsigned:1;", data, 16, &v),
		  PROBE_SIGNED);
	CHECK_INT((int64_t)v.number, -2);
	CHECK_INT(read_one("\tfield:const void * ip;\toffset:8;\tsize:8;\tsigned:0;", data, 16, &v),
		  PROBE_POINTER);
	CHECK(v.number == 0x8000000000008180);
}

TEST(char_arrays_are_strings_and_other_arrays_bytes)
{
	const char data[24] = "........nginx\0\0\0.......";
	struct probe_value v;

	CHECK_INT(read_one("\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;", data, 24, &v),
		  PROBE_STRING);
	CHECK_STR(v.name, "comm");
	CHECK_INT(v.len, 5);
	CHECK_INT(read_one("\tfield:char comm[TASK_COMM_LEN];\toffset:8;\tsize:3;\tsigned:0;", data,
			   24, &v),
		  PROBE_STRING);
	CHECK_INT(v.len, 3);
	CHECK_INT(read_one("\tfield:__u8 saddr[sizeof(struct sockaddr_in6)];\toffset:8;\tsize:4;"
			   "\tsigned:0;",
			   data, 24, &v),
		  PROBE_BYTES);
	CHECK_STR(v.name, "saddr");
	CHECK_INT(v.len, 4);
	CHECK_INT(read_one("\tfield:unsigned char a[2][2];\toffset:8;\tsize:4;\tsigned:0;", data,
			   24, &v),
		  PROBE_BYTES);
	CHECK_STR(v.name, "a");
	CHECK_INT(read_one("\tfield:struct timespec64 ts;\toffset:0;\tsize:16;\tsigned:0;", data,
			   24, &v),
		  PROBE_BYTES);
	CHECK_INT(v.len, 16);
}

TEST(a_data_location_points_to_the_value)
{
	/* at 8: 5 bytes at 16; at 12: relative, 3 bytes, 1 byte after this field */
	const char data[24] = "........\x10\0\x05\0\1\0\3\0hello.";
	struct probe_value v;

	CHECK_INT(read_one("\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;", data,
			   24, &v),
		  PROBE_STRING);
	CHECK_STR(v.name, "name");
	CHECK_INT(v.len, 5);
	CHECK(memcmp(v.bytes, "hello", 5) == 0);
	CHECK_INT(read_one("\tfield:__rel_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;", data,
			   24, &v),
		  PROBE_STRING);
	CHECK_INT(v.len, 3);
	CHECK(memcmp(v.bytes, "ell", 3) == 0);
	CHECK_INT(read_one("\tfield:__data_loc cpumask_t[] mask;\toffset:8;\tsize:4;\tsigned:0;",
			   data, 24, &v),
		  PROBE_BYTES);
	CHECK_INT(v.len, 5);
}

TEST(common_fields_and_other_lines_are_ignored)
{
	_cleanup_(probe_format_freep) struct probe_format *f =
		format_of("\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
			  "\tfield:int b;\toffset:12;\tsize:4;\tsigned:1;");

	CHECK_INT(probe_format_count(f), 2);
}

TEST(incomplete_values_are_omitted_or_shortened)
{
	const char data[12] = "........\x0a\0\xff\xff";
	struct probe_value v;

	CHECK_INT(read_one("field:int a; offset:10; size:4; signed:1;", data, 12, &v), -1);
	CHECK_INT(read_one("field:int a; offset:4294967295; size:4; signed:1;", data, 12, &v), -1);
	CHECK_INT(read_one("field:__data_loc char[] a; offset:9; size:4; signed:0;", data, 12, &v),
		  -1);
	CHECK_INT(read_one("field:__data_loc u8[] a; offset:8; size:4; signed:0;", data, 12, &v),
		  PROBE_BYTES);
	CHECK_INT(v.len, 2);
	CHECK_INT(read_one("field:char a[4]; offset:10; size:4; signed:0;", data, 12, &v),
		  PROBE_STRING);
	CHECK_INT(v.len, 2);
}

TEST(malformed_lines_are_ignored)
{
	static const char *const bad[] = {
		"",
		"field:",
		"field:;",
		"field:int a",
		"field:int a;",
		"field:int a; offset:x; size:4;",
		"field:int a; offset:0; size:99999999999999;",
		"field:a; offset:0; size:4;",
		"field:]; offset:0; size:4;",
		"field:[]; offset:0; size:4;",
		"field:int [4]; offset:0; size:4;",
		"field:__data_loc; offset:0; size:4;",
		"field:__data_loc a; offset:0; size:4;",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(probe_format_freep) struct probe_format *f = probe_format_new(bad[i]);
		CHECK_INT(probe_format_count(f), 0);
	}
}
