/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"
#include "event/syscall.h"
#include "read/raw/kernel_formats.h"
#include "test.h"

#define COMMON \
	"format:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELD(decl, offset, size, sign) \
	"\tfield:" decl ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #sign ";\n"

static const struct kernel_abi here = { .long_size = 8 };

static struct kernel_format *format_of(const char *text, struct kernel_abi abi)
{
	return kernel_format_new("sys", text, strlen(text), abi);
}

static const char sched_switch[] =
	"name: sched_switch\nID: 372\n" COMMON FIELD("char prev_comm[16]", 8, 16, 0)
		FIELD("pid_t prev_pid", 24, 4, 1) FIELD("int prev_prio", 28, 4, 1)
			FIELD("long prev_state", 32, 8, 1) FIELD("char next_comm[16]", 40, 16, 0)
				FIELD("pid_t next_pid", 56, 4, 1) FIELD("int next_prio", 60, 4, 1);

static const struct switch_data {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
	char prev_comm[16];
	int32_t prev_pid, prev_prio;
	int64_t state;
	char next_comm[16];
	int32_t next_pid, next_prio;
} switch_data = { 372, 16, 0, 41, "nginx", 41, 120, 2, "sixteen letters!", 42, 120 };

TEST(fields_are_decoded)
{
	_cleanup_(kernel_format_freep) struct kernel_format *f = format_of(sched_switch, here);
	struct raw_event e;

	kernel_format_decode(f, &switch_data, sizeof(switch_data), &e);
	CHECK_STR(f->full_name, "sys:sched_switch");
	CHECK_STR(f->text, sched_switch);
	CHECK_INT(e.kind, RAW_SWITCH);
	CHECK_INT(e.type, 372);
	CHECK_INT(e.tid, 41);
	CHECK(e.pid == RAW_UNKNOWN);
	CHECK_INT(e.context, RAW_IN_SOFTIRQ);
	CHECK_INT(e.sched_switch.prev, 41);
	CHECK_INT(e.sched_switch.next, 42);
	CHECK_INT(e.sched_switch.state, 2);
	CHECK_INT(e.sched_switch.prev_comm.len, 5);
	CHECK(memcmp(e.sched_switch.prev_comm.s, "nginx", 5) == 0);
	CHECK_INT(e.sched_switch.next_comm.len, 16);
}

TEST(fields_beyond_the_end_of_an_event_stay_unknown)
{
	_cleanup_(kernel_format_freep) struct kernel_format *f = format_of(sched_switch, here);

	for (size_t size = 0; size <= sizeof(switch_data); size++) {
		_cleanup_(freep) void *cut = must_alloc(size + 1);
		struct raw_event e;

		memcpy(cut, &switch_data, size);
		cut = must_realloc(cut,
				   size ? size
					: 1); /* so that a sanitizer detects reads beyond the end */
		kernel_format_decode(f, cut, size, &e);
		CHECK_INT(e.kind, RAW_SWITCH);
		CHECK_INT(e.context, size > 2 ? RAW_IN_SOFTIRQ : RAW_CONTEXT_UNKNOWN);
		CHECK(e.tid == (size >= 8 ? 41 : RAW_UNKNOWN));
		CHECK_INT(e.sched_switch.prev, size >= 28 ? 41 : 0);
		CHECK(size >= 24 || !e.sched_switch.prev_comm.s);
		CHECK_INT(e.sched_switch.next, size >= 60 ? 42 : 0);
	}
}

TEST(events_of_the_other_byte_order_are_decoded)
{
	struct kernel_abi other = { .swap = true, .long_size = 8 };
	_cleanup_(kernel_format_freep) struct kernel_format *f = format_of(sched_switch, other);
	struct switch_data data = switch_data;
	struct raw_event e;

	data.pid = data.prev_pid = __builtin_bswap32(41);
	data.next_pid = __builtin_bswap32(42);
	data.state = __builtin_bswap64(2);
	kernel_format_decode(f, &data, sizeof(data), &e);
	CHECK_INT(e.tid, 41);
	CHECK_INT(e.sched_switch.prev, 41);
	CHECK_INT(e.sched_switch.next, 42);
	CHECK_INT(e.sched_switch.state, 2);
	CHECK_INT(e.sched_switch.prev_comm.len, 5);
}

TEST(a_system_call_has_its_number_and_three_arguments)
{
	static const char text[] = "name: sys_enter\nID: 443\n" COMMON FIELD("long id", 8, 8, 1)
		FIELD("unsigned long args[6]", 16, 48, 0);
	struct kernel_abi arm = { .foreign_syscalls = true, .long_size = 8 };
	const uint64_t data[8] = { 443, 232, 1, 2, 3, 4, 5, 6 };
	struct raw_event e;

	_cleanup_(kernel_format_freep) struct kernel_format *f = format_of(text, here);
	kernel_format_decode(f, data, sizeof(data), &e);
	CHECK_INT(e.kind, RAW_SYSCALL_ENTER);
	CHECK_INT(e.syscall.nr, 232);
	for (size_t i = 0; i < 3; i++)
		CHECK_INT(e.syscall.args[i], i + 1);

	_cleanup_(kernel_format_freep) struct kernel_format *g = format_of(text, arm);
	kernel_format_decode(g, data, sizeof(data), &e);
	CHECK_INT(e.syscall.nr, SYSCALL_UNKNOWN);
	CHECK_INT(e.syscall.args[2], 3);
}

TEST(arguments_of_32_bits_are_widened)
{
	static const char text[] = "name: sys_enter\nID: 443\n" COMMON FIELD("long id", 8, 4, 1)
		FIELD("unsigned long args[6]", 12, 24, 0);
	const uint32_t data[9] = { 443, 0, 3, 1, UINT32_MAX, 3, 4, 5, 6 };
	struct raw_event e;

	_cleanup_(kernel_format_freep) struct kernel_format *f = format_of(text, here);
	kernel_format_decode(f, data, sizeof(data), &e);
	CHECK_INT(e.syscall.nr, 3);
	CHECK_INT(e.syscall.args[0], 1);
	CHECK_INT(e.syscall.args[1], UINT32_MAX);
	CHECK_INT(e.syscall.args[2], 3);
}

TEST(a_system_call_with_its_own_tracepoint_is_identified_by_name)
{
	static const char enter[] =
		"name: sys_enter_openat\nID: 782\n" COMMON FIELD("int __syscall_nr", 8, 4, 1)
			FIELD("int dfd", 16, 8, 0) FIELD("const char * filename", 24, 8, 0)
				FIELD("int flags", 32, 8, 0) FIELD("umode_t mode", 40, 8, 0);
	static const char leave[] =
		"name: sys_exit_openat\nID: 781\n" COMMON FIELD("int __syscall_nr", 8, 4, 1)
			FIELD("long ret", 16, 8, 1);
	const uint64_t data[6] = { 0, 257, 11, 12, 13, 14 };
	struct raw_event e;

	_cleanup_(kernel_format_freep) struct kernel_format *f = format_of(enter, here);
	kernel_format_decode(f, data, sizeof(data), &e);
	CHECK_INT(e.kind, RAW_SYSCALL_ENTER);
	CHECK_INT(e.syscall.nr, syscall_number("openat"));
	for (size_t i = 0; i < 3; i++)
		CHECK_INT(e.syscall.args[i], 11 + i);

	_cleanup_(kernel_format_freep) struct kernel_format *g = format_of(leave, here);
	kernel_format_decode(g, data, sizeof(data), &e);
	CHECK_INT(e.kind, RAW_SYSCALL_EXIT);
	CHECK_INT(e.syscall.nr, syscall_number("openat"));
	CHECK_INT(e.syscall.result, 11);
}

TEST(a_text_at_an_offset_is_decoded)
{
	static const char text[] =
		"name: sched_process_exec\nID: 363\n" COMMON FIELD("__data_loc char[] filename", 8,
								   4, 0)
			FIELD("pid_t pid", 12, 4, 1) FIELD("pid_t old_pid", 16, 4, 1);
	char data[32] = "\0\0\0\0\0\0\0\0\x14\0\x08\0\x07\0\0\0\x07\0\0\0/bin/ls";
	struct raw_event e;

	_cleanup_(kernel_format_freep) struct kernel_format *f = format_of(text, here);
	kernel_format_decode(f, data, sizeof(data), &e);
	CHECK_INT(e.kind, RAW_EXEC);
	CHECK_INT(e.exec.tid, 7);
	CHECK_INT(e.exec.path.len, 7);
	CHECK(memcmp(e.exec.path.s, "/bin/ls", 7) == 0);
	data[8] = 127; /* starts beyond the end */
	kernel_format_decode(f, data, sizeof(data), &e);
	CHECK(!e.exec.path.s);
	data[8] = 24; /* extends beyond the end */
	data[10] = 127;
	kernel_format_decode(f, data, sizeof(data), &e);
	CHECK(e.exec.path.s == data + 24 && e.exec.path.len <= 8);
}

TEST(socket_addresses_are_decoded)
{
	static const char text[] =
		"name: inet_sock_set_state\nID: 2287\n" COMMON FIELD("const void * skaddr", 8, 8, 0)
			FIELD("int oldstate", 16, 4, 1) FIELD("int newstate", 20, 4, 1)
				FIELD("__u16 sport", 24, 2, 0) FIELD("__u16 family", 26, 2, 0)
					FIELD("__u8 saddr[4]", 28, 4, 0);
	const unsigned char data[32] = { 0, 0, 0, 0, 0, 0, 0, 0, 9,    0,    0, 0, 0,   0, 0, 0,
					 2, 0, 0, 0, 1, 0, 0, 0, 0x90, 0x1f, 2, 0, 127, 0, 0, 1 };
	struct raw_event e;

	_cleanup_(kernel_format_freep) struct kernel_format *f = format_of(text, here);
	kernel_format_decode(f, data, sizeof(data), &e);
	CHECK_INT(e.kind, RAW_SOCKET_STATE);
	CHECK_INT(e.socket.object, 9);
	CHECK_INT(e.socket.from, 2);
	CHECK_INT(e.socket.to, 1);
	CHECK_INT(e.socket.address.family, 2);
	CHECK_INT(e.socket.address.local_port, 8080);
	CHECK(memcmp(e.socket.address.local, "\x7f\0\0\1", 4) == 0);
}

static char visited[512];

static void append(const char *name, const char *value)
{
	size_t len = strlen(visited);

	if (name)
		snprintf(visited + len, sizeof(visited) - len, " %s=%s", name, value);
	else
		snprintf(visited + len, sizeof(visited) - len, ",%s", value);
}

static void on_number(void *arg, const char *name, int64_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, n);
	append(name, text);
}

static void on_unsigned(void *arg, const char *name, uint64_t n, int base)
{
	char text[32];

	snprintf(text, sizeof(text), base == 16 ? "0x%" PRIx64 : "%" PRIu64, n);
	append(name, text);
}

static void on_text(void *arg, const char *name, const char *s, size_t len)
{
	char text[64];

	snprintf(text, sizeof(text), "'%.*s'", (int)len, s);
	append(name, text);
}

static void on_begin(void *arg, const char *name, bool is_array)
{
	append(name, is_array ? "[" : "{");
}

static void on_end(void *arg)
{
	strcat(visited, "]");
}

TEST(all_fields_are_visited_in_order)
{
	static const char text[] = "name: thing\nID: 9\n" COMMON FIELD("s8 a", 8, 1, 1)
		FIELD("u8 b[3]", 9, 3, 0) FIELD("int c[2]", 12, 8, 1)
			FIELD("const void * d", 24, 8, 0) FIELD("struct x e", 20, 3, 0)
				FIELD("char f[4]", 32, 4, 0) FIELD("__data_loc u16[] g", 36, 4, 0)
					FIELD("int h", 100, 4, 0);
	const unsigned char data[44] = {
		9,    0,    0,   0,   7, 0, 0,  0, 0xff, 1, 2, 3, 0xfe, 0xff, 0xff,
		0xff, 5,    0,   0,   0, 6, 7,  8, 0,    9, 0, 0, 0,    0,    0,
		0,    0x80, 'o', 'k', 0, 0, 40, 0, 4,    0, 1, 1, 2,    0,
	};
	static const struct raw_visitor visitor = {
		.number = on_number,
		.unsigned_number = on_unsigned,
		.text = on_text,
		.begin = on_begin,
		.end = on_end,
	};

	_cleanup_(kernel_format_freep) struct kernel_format *f = format_of(text, here);
	visited[0] = '\0';
	kernel_format_visit(f, data, sizeof(data), &visitor, NULL);
	CHECK_STR(visited,
		  " common_type=9 common_flags=0 common_preempt_count=0 common_pid=7 a=-1"
		  " b=[,1,2,3] c=[,-2,5] d=0x8000000000000009 e=[,6,7,8] f='ok' g=[,257,2]");
}

TEST(formats_are_found_by_number)
{
	static const char texts[][32] = { "name: a\nID: 70000\n", "name: sched_waking\nID: 5\n" };
	char data[256] = "\1\0\0\0sched\0\2\0\0";
	size_t size = 14;
	struct kernel_formats formats;

	for (size_t i = 0; i < 2; i++) {
		data[size] = strlen(texts[i]);
		memcpy(data + size + 8, texts[i], strlen(texts[i]));
		size += 8 + strlen(texts[i]);
	}
	kernel_formats_init(&formats, here);
	CHECK_INT(kernel_formats_read_systems(&formats, data, size - 1), 0);
	CHECK(!kernel_formats_find(&formats, 5));
	CHECK_INT(kernel_formats_read_systems(&formats, data, size), size);
	CHECK_STR(kernel_formats_find(&formats, 5)->full_name, "sched:sched_waking");
	CHECK(kernel_formats_find(&formats, 5) == kernel_formats_find(&formats, 5));
	CHECK(!kernel_formats_find(&formats, 0));
	CHECK(!kernel_formats_find(&formats, 70000 - 65536));
	CHECK_INT(kernel_formats_kinds(&formats), 1 << RAW_WAKING);
	kernel_formats_done(&formats);
}
