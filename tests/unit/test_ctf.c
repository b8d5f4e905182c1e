/* SPDX-License-Identifier: Apache-2.0 */
#include "ctf_bytes.h"

#define SWITCH \
	"event { name = \"sched_switch\"; id = 7; stream_id = 0; fields := struct {\n" \
	"	letter _prev_comm[16]; integer { size = 32; signed = 1; } _prev_tid; u32 " \
	"_prev_prio;\n" \
	"	integer { size = 64; signed = 1; } _prev_state; letter _next_comm[16];\n" \
	"	integer { size = 32; signed = 1; } _next_tid; u32 _next_prio; }; };\n"
#define TICK "event { name = \"tick\"; id = 1; stream_id = 0; fields := struct { u8 n; }; };\n"

static void put_tick(struct writer *w, uint64_t time, uint8_t n)
{
	put_header(w, 1, time);
	put(w, 8, 8, n);
}

static void put_switch(struct writer *w)
{
	put_header(w, 7, 1000);
	put_text(w, "redis-server\0\0\0\0", 16);
	put_bytes(w, 4, 153);
	put_bytes(w, 4, 20);
	put_bytes(w, 8, 1);
	put_text(w, "sixteen-letters!", 16);
	put_bytes(w, 4, 77);
	put_bytes(w, 4, 20);
}

static bool text_is(struct raw_text text, const char *s)
{
	return text.s && text.len == strlen(s) && memcmp(text.s, s, text.len) == 0;
}

static void check_switch(const char *metadata, bool is_big)
{
	struct writer w = { .is_big = is_big };
	struct raw_event e;

	begin_packet(&w, 3, 900, 1100, 0, 0);
	put_switch(&w);
	end_packet(&w, 5);

	_cleanup_(trace_done) struct trace t = open_trace(metadata, &w);

	CHECK_STR(t.err.text, "");
	CHECK(next_event(&t, &e));
	if (!t.source)
		return;
	CHECK_INT(e.kind, RAW_SWITCH);
	CHECK_INT(e.time, 1000);
	CHECK_INT(e.cpu, 3);
	CHECK_INT(e.tid, RAW_UNKNOWN);
	CHECK_INT(e.sched_switch.prev, 153);
	CHECK_INT(e.sched_switch.next, 77);
	CHECK_INT(e.sched_switch.state, 1);
	CHECK(text_is(e.sched_switch.prev_comm, "redis-server"));
	CHECK(text_is(e.sched_switch.next_comm, "sixteen-letters!"));
	CHECK_STR(t.source->name(t.source), "sched_switch");
	CHECK(!next_event(&t, &e));
	CHECK(!t.source->warning);
}

TEST(a_context_switch_is_decoded_in_both_byte_orders)
{
	check_switch(PREAMBLE("le") SWITCH, false);
	check_switch(PREAMBLE("be") SWITCH, true);
}

TEST(metadata_contains_host_clock_and_kinds)
{
	struct writer w = { 0 };

	begin_packet(&w, 0, 900, 1100, 0, 0);
	end_packet(&w, 0);

	_cleanup_(trace_done) struct trace t = open_trace(PREAMBLE("le") SWITCH, &w);

	CHECK_STR(t.source->host, "web1");
	CHECK(t.source->has_realtime);
	CHECK(t.source->is_monotonic);
	CHECK_INT(t.source->realtime_offset, 1700000000000000005);
	CHECK(t.source->has_kinds);
	CHECK_INT(t.source->kinds, 1u << RAW_SWITCH);
}

TEST(contexts_contain_the_thread)
{
	static const char metadata[] = HEAD("le") ENV CLOCK CONTEXT
		"stream { id = 0; packet.context := struct context;\n"
		"	event.header := struct { u16 id; time64 timestamp; };\n"
		"	event.context := struct { u32 _pid; u32 _tid; letter _procname[16]; }; };\n"
		"event { name = \"x\"; id = 1; stream_id = 0; fields := struct { }; };\n";
	struct writer w = { 0 };
	struct raw_event e;

	begin_packet(&w, 0, 900, 1100, 0, 0);
	put_header(&w, 1, 1000);
	put_bytes(&w, 4, 12);
	put_bytes(&w, 4, 13);
	put_text(&w, "svc\0garbage\0\0\0\0\0", 16);
	end_packet(&w, 0);

	_cleanup_(trace_done) struct trace t = open_trace(metadata, &w);

	CHECK(next_event(&t, &e));
	CHECK_INT(e.kind, RAW_OTHER);
	CHECK_STR(t.source->type_name(t.source, e.type), "x");
	CHECK_INT(e.pid, 12);
	CHECK_INT(e.tid, 13);
	CHECK(text_is(e.comm, "svc"));
}

/* perf data convert writes the CPU into the packet context or into the event. */
#define PERF_STREAM(context) \
	HEAD("le") \
	"env { host = \"web1\"; release = \"6.1.0\"; tracer_name = \"perf\"; };\n" CLOCK \
	"struct context { u64 timestamp_begin; u64 timestamp_end; u64 content_size;\n" \
	"	u64 packet_size; u64 packet_seq_num; u64 events_discarded; u32 " context \
	"; };\n" STREAM
#define PERF_SWITCH(cpu) \
	"event { name = \"sched:sched_switch\"; id = 7; stream_id = 0; fields := struct {\n" \
	"	u64 perf_ip; u32 perf_tid; u32 perf_pid; u32 " cpu "; u64 perf_period;\n" \
	"	u32 common_type; u32 common_pid; string prev_comm; u32 prev_pid;\n" \
	"	u32 prev_prio; u64 prev_state; string next_comm; u32 next_pid; }; };\n"

static void put_perf_switch(struct writer *w, uint64_t time, uint32_t cpu)
{
	put_header(w, 7, time);
	put_bytes(w, 8, 0xffffffff81000000);
	put_bytes(w, 4, 12);
	put_bytes(w, 4, 11);
	put_bytes(w, 4, cpu);
	put_bytes(w, 8, 1);
	put_bytes(w, 4, 300);
	put_bytes(w, 4, 12);
	put_text(w, "svc", 4);
	put_bytes(w, 4, 12);
	put_bytes(w, 4, 120);
	put_bytes(w, 8, 1);
	put_text(w, "swapper/5", 10);
	put_bytes(w, 4, 0);
}

static void check_perf(const char *metadata, int cpu, bool missing_cpus)
{
	struct writer w = { 0 };
	struct raw_event e;

	begin_packet(&w, 3, 900, 1100, 0, 0);
	put_perf_switch(&w, 1000, 5);
	end_packet(&w, 0);

	_cleanup_(trace_done) struct trace t = open_trace(metadata, &w);

	CHECK_STR(t.err.text, "");
	CHECK(next_event(&t, &e));
	if (!t.source)
		return;
	CHECK_INT(e.kind, RAW_SWITCH);
	CHECK_INT(e.cpu, cpu);
	CHECK_INT(e.tid, 12);
	CHECK_INT(e.pid, 11);
	CHECK_INT(e.sched_switch.prev, 12);
	CHECK_INT(e.sched_switch.next, 0);
	CHECK_INT(e.sched_switch.state, 1);
	CHECK(text_is(e.sched_switch.prev_comm, "svc"));
	CHECK_INT(t.source->missing_cpus, missing_cpus);
}

TEST(perf_writes_the_cpu_into_the_packet_or_the_event)
{
	check_perf(PERF_STREAM("cpu_id") PERF_SWITCH("other"), 3, false);
	check_perf(PERF_STREAM("other") PERF_SWITCH("perf_cpu"), 5, false);
	check_perf(PERF_STREAM("cpu_id") PERF_SWITCH("perf_cpu"), 5, false);
	check_perf(PERF_STREAM("other") PERF_SWITCH("another"), 0, true);
}

#define COMPACT \
	"stream { id = 0; packet.context := struct context; event.header := struct {\n" \
	"	enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } " \
	"id;\n" \
	"	variant <id> { struct { time27 timestamp; } compact;\n" \
	"		struct { u32 id; time64 timestamp; } extended; } v; } align(8); };\n"

static void put_compact(struct writer *w, unsigned id, uint64_t time)
{
	put(w, 5, 8, id);
	put(w, 27, 1, time & ((1 << 27) - 1));
}

static void check_compact(const char *metadata, bool is_big)
{
	const uint64_t wrap = 1 << 27, begin = 5 * wrap - 10;
	struct writer w = { .is_big = is_big };
	struct raw_event e;

	begin_packet(&w, 0, begin, 8 * wrap, 0, 0);
	put_compact(&w, 1, begin + 4);
	put(&w, 8, 8, 1);
	put_compact(&w, 1, begin + 20); /* the low bits of the clock have wrapped */
	put(&w, 8, 8, 2);
	put(&w, 5, 8, 31);
	put_bytes(&w, 4, 700);
	put_bytes(&w, 8, 7 * wrap + 5);
	put_compact(&w, 1, 7 * wrap + 6);
	put(&w, 8, 8, 3);
	end_packet(&w, 0);

	_cleanup_(trace_done) struct trace t = open_trace(metadata, &w);

	CHECK_STR(t.err.text, "");
	CHECK(next_event(&t, &e));
	CHECK_INT(e.time, begin + 4);
	CHECK(next_event(&t, &e));
	CHECK_INT(e.time, begin + 20);
	CHECK(next_event(&t, &e));
	CHECK_INT(e.time, 7 * wrap + 5);
	CHECK_INT(e.kind, RAW_HRTIMER_EXIT);
	CHECK(next_event(&t, &e));
	CHECK_INT(e.time, 7 * wrap + 6);
	CHECK(!next_event(&t, &e));
}

TEST(a_compact_header_contains_the_low_bits_of_the_clock)
{
#define EXIT "event { name = \"timer_hrtimer_expire_exit\"; id = 700; stream_id = 0; };\n"
	check_compact(HEAD("le") ENV CLOCK CONTEXT COMPACT TICK EXIT, false);
	check_compact(HEAD("be") ENV CLOCK CONTEXT COMPACT TICK EXIT, true);
}

#define PACKET \
	"event { name = \"net_dev_queue\"; id = 1; stream_id = 0; fields := struct {\n" \
	"	string _name; enum : u8 { \"_unknown\" = 0, \"_ipv4\" = 1, \"_ipv6\" = 2 } " \
	"_type;\n" \
	"	variant <_type> { struct { } _unknown;\n" \
	"		struct { integer { size = 4; align = 4; byte_order = be; } _version;\n" \
	"			integer { size = 4; align = 4; byte_order = be; } _ihl;\n" \
	"			integer { size = 16; byte_order = be; } _tot_len;\n" \
	"			u8 _saddr[4]; u8 _daddr[4];\n" \
	"			enum : u8 { \"_tcp\" = 1 } _kind;\n" \
	"			variant <_kind> { struct { integer { size = 16; byte_order = be; " \
	"}\n" \
	"				_source_port; } _tcp; } _transport_header; } _ipv4;\n" \
	"		struct { integer { size = 16; byte_order = be; } _saddr[8]; } _ipv6;\n" \
	"	} _network_header; u8 _last; }; };\n"

static void put_packets(struct writer *w)
{
	begin_packet(w, 0, 900, 1100, 0, 0);
	put_header(w, 1, 1000);
	put_text(w, "lo\0\1\x45\0\x3c\x7f\0\0\1\x0a\0\0\2\1\x1f\x90\x63", 19);
	put_header(w, 1, 1001);
	put_text(w, "eth0\0\2\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\7\x63", 23);
	put_header(w, 1, 1002);
	put_text(w, "\0\0\x63", 3);
	end_packet(w, 0);
}

TEST(field_paths_pass_through_variants)
{
	static const uint8_t from[4] = { 127, 0, 0, 1 }, to[4] = { 10, 0, 0, 2 };
	static const uint8_t from6[16] = { 0xfe, 0x80, [15] = 7 };
	struct writer w = { 0 };
	struct raw_event e;

	put_packets(&w);

	_cleanup_(trace_done) struct trace t = open_trace(PREAMBLE("le") PACKET, &w);

	CHECK_STR(t.err.text, "");
	CHECK(next_event(&t, &e));
	CHECK_INT(e.kind, RAW_PACKET_SEND);
	CHECK_INT(e.packet.ip_words, 5);
	CHECK_INT(e.packet.bytes, 60);
	CHECK_INT(e.packet.address.local_port, 8080);
	CHECK(memcmp(e.packet.address.local, from, 4) == 0);
	CHECK(memcmp(e.packet.address.peer, to, 4) == 0);
	CHECK(next_event(&t, &e));
	CHECK(memcmp(e.packet.address.local, from6, 16) == 0);
	CHECK_INT(e.packet.ip_words, 0);
	CHECK(next_event(&t, &e));
	CHECK_INT(e.time, 1002);
	CHECK(!next_event(&t, &e));
	CHECK(!t.source->warning);
}

TEST(fields_after_strings_and_sequences_are_aligned)
{
	static const char metadata[] = PREAMBLE(
		"le") "event { name = \"syscall_entry_read\"; id = 1; stream_id = 0; fields "
		      ":= struct {\n"
		      "	integer { size = 32; align = 32; } fd; string s;\n"
		      "	integer { size = 16; align = 32; } __list_length; integer { size = "
		      "24; align = 32; }\n"
		      "	list[__list_length]; integer { size = 8; } count;\n"
		      "	struct { string a; u8 n; } pairs[2]; integer { size = 64; align = "
		      "64; } third; }; };\n";
	struct writer w = { 0 };
	struct raw_event e;

	begin_packet(&w, 0, 900, 1100, 0, 0);
	put_header(&w, 1, 1000);
	put(&w, 32, 32, 5);
	put_text(&w, "ab", 3);
	put(&w, 16, 32, 2);
	put(&w, 24, 32, 1);
	put(&w, 24, 32, 2);
	put(&w, 8, 8, 99); /* directly after the 24 bits */
	put_text(&w, "x\0\1yz\0\2", 7);
	put(&w, 64, 64, 1234567890123);
	end_packet(&w, 0);

	_cleanup_(trace_done) struct trace t = open_trace(metadata, &w);

	CHECK_STR(t.err.text, "");
	CHECK(next_event(&t, &e));
	CHECK_INT(e.kind, RAW_SYSCALL_ENTER);
	CHECK_INT(e.syscall.nr, 0);
	CHECK_INT(e.syscall.args[0], 5);
	CHECK_INT(e.syscall.args[1], 99);
	CHECK_INT(e.syscall.args[2], 1234567890123);
	CHECK(!next_event(&t, &e));
	CHECK(!t.source->warning);
}

TEST(streams_are_merged_by_time)
{
	struct file_set files = { 0 };
	struct writer a = { 0 }, b = { 0 };
	struct raw_event e;
	static const struct {
		nsec_t time;
		uint16_t cpu;
	} want[] = { { 10, 1 }, { 20, 0 }, { 20, 1 }, { 30, 0 }, { 40, 1 }, { 41, 1 } };

	begin_packet(&a, 0, 0, 100, 0, 0);
	put_tick(&a, 20, 1);
	put_tick(&a, 30, 2);
	end_packet(&a, 0);
	begin_packet(&b, 1, 0, 30, 0, 0);
	put_tick(&b, 10, 3);
	put_tick(&b, 20, 4);
	end_packet(&b, 3);
	begin_packet(&b, 1, 35, 100, 1, 0);
	put_tick(&b, 40, 5);
	put_tick(&b, 41, 6);
	end_packet(&b, 0);
	add_file(&files, "t/metadata", PREAMBLE("le") TICK, strlen(PREAMBLE("le") TICK));
	add_stream(&files, "t/z", &a);
	add_stream(&files, "t/a", &b);

	_cleanup_(trace_done) struct trace t = open_files(&files);

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		CHECK(next_event(&t, &e));
		CHECK_INT(e.time, want[i].time);
		CHECK_INT(e.cpu, want[i].cpu);
	}
	CHECK(!next_event(&t, &e));
}

TEST(files_of_one_stream_are_ordered_by_time)
{
	struct file_set files = { 0 };
	struct writer a = { 0 }, b = { 0 };
	struct raw_event e;
	uint64_t times[2];

	begin_packet(&a, 0, 50, 60, 1, 3);
	put_tick(&a, 55, 1);
	end_packet(&a, 0);
	begin_packet(&b, 0, 0, 20, 0, 3);
	put_tick(&b, 10, 3);
	end_packet(&b, 3);
	add_file(&files, "t/metadata", PREAMBLE("le") TICK, strlen(PREAMBLE("le") TICK));
	add_stream(&files, "t/c_0_0", &a);
	add_stream(&files, "t/c_0_1", &b);

	_cleanup_(trace_done) struct trace t = open_files(&files);

	CHECK(next_event(&t, &e));
	times[0] = e.time;
	CHECK(next_event(&t, &e)); /* the first packet reports 3 discarded events */
	CHECK_INT(e.kind, RAW_LOST);
	CHECK_INT(e.lost.count, 3);
	CHECK(next_event(&t, &e));
	times[1] = e.time;
	CHECK_INT(times[0], 10);
	CHECK_INT(times[1], 55);
	CHECK(!next_event(&t, &e));
}

TEST(discarded_events_are_a_loss)
{
	struct writer w = { 0 };
	struct raw_event e;

	begin_packet(&w, 2, 0, 20, 0, 0);
	put_tick(&w, 10, 1);
	end_packet(&w, 0);
	begin_packet(&w, 2, 30, 50, 1, 17);
	put_tick(&w, 40, 2);
	end_packet(&w, 0);
	begin_packet(&w, 2, 60, 70, 5, 17); /* three packets are missing before it */
	end_packet(&w, 0);

	_cleanup_(trace_done) struct trace t = open_trace(PREAMBLE("le") TICK, &w);

	CHECK(next_event(&t, &e));
	CHECK(next_event(&t, &e));
	CHECK_INT(e.time, 40);
	CHECK(next_event(&t, &e));
	CHECK_INT(e.kind, RAW_LOST);
	CHECK_INT(e.cpu, 2);
	CHECK_INT(e.lost.start, 20);
	CHECK_INT(e.time, 50);
	CHECK_INT(e.lost.count, 17);
	CHECK(next_event(&t, &e));
	CHECK_INT(e.kind, RAW_LOST);
	CHECK_INT(e.lost.count, 0);
	CHECK_INT(e.lost.packets, 3);
	CHECK(!next_event(&t, &e));
}

TEST(a_damaged_event_hides_the_rest_of_its_packet)
{
	struct writer w = { 0 };
	struct raw_event e;

	begin_packet(&w, 0, 0, 20, 0, 0);
	put_tick(&w, 10, 1);
	put_header(&w, 99, 11); /* undeclared type */
	put_tick(&w, 12, 2);
	end_packet(&w, 0);
	begin_packet(&w, 0, 30, 50, 1, 0);
	put_tick(&w, 40, 3);
	end_packet(&w, 0);

	_cleanup_(trace_done) struct trace t = open_trace(PREAMBLE("le") TICK, &w);

	CHECK(next_event(&t, &e));
	CHECK_INT(e.time, 10);
	CHECK(next_event(&t, &e));
	CHECK_INT(e.kind, RAW_LOST);
	CHECK_INT(e.time, 20);
	CHECK(next_event(&t, &e));
	CHECK_INT(e.time, 40);
	CHECK(!next_event(&t, &e));
	CHECK_STR(
		t.source->warning ?: "",
		"'trace' is damaged (1 error), first in 't/s0' at byte 89: undeclared event type");
}

TEST(a_truncated_file_is_read_up_to_its_end)
{
	struct writer w = { 0 };
	struct raw_event e;

	begin_packet(&w, 0, 0, 20, 0, 0);
	put_tick(&w, 10, 1);
	put_tick(&w, 11, 1);
	end_packet(&w, 0);
	w.bit -= 8;

	_cleanup_(trace_done) struct trace t = open_trace(PREAMBLE("le") TICK, &w);

	CHECK(next_event(&t, &e));
	CHECK_INT(e.time, 10);
	CHECK(next_event(&t, &e));
	CHECK_INT(e.kind, RAW_LOST);
	CHECK(!next_event(&t, &e));
	CHECK(t.source->warning != NULL);
}

TEST(clock_ticks_are_converted_to_nanoseconds)
{
	static const char metadata[] =
		HEAD("le") ENV "clock { name = tsc; freq = 3000000; offset = 6; };\n"
			       "typealias integer { size = 64; align = 8; map = clock.tsc.value; } "
			       ":= time64;\n" CONTEXT STREAM TICK;
	struct writer w = { 0 };
	struct raw_event e;

	begin_packet(&w, 0, 0, 9000000000000, 0, 0);
	put_tick(&w, 3000000ull * 1000000 + 1, 1);
	end_packet(&w, 0);

	_cleanup_(trace_done) struct trace t = open_trace(metadata, &w);

	CHECK(next_event(&t, &e));
	CHECK_INT(e.time, 1000000 * NSEC_PER_SEC + 333);
	CHECK_INT(t.source->realtime_offset, 2000);
	CHECK(!t.source->is_monotonic);
}

/* Collects the visited fields in one line. */
struct line {
	char text[512];
};

static void add(struct line *line, const char *name, const char *value)
{
	size_t used = strlen(line->text);

	snprintf(line->text + used, sizeof(line->text) - used, "%s%s%s ", name ?: "",
		 name ? "=" : "", value);
}

static void on_number(void *arg, const char *name, int64_t n)
{
	add(arg, name, (char[24]){ 0 });
	snprintf(strchr(((struct line *)arg)->text, '\0') - 1, 24, "%" PRId64 " ", n);
}

static void on_unsigned(void *arg, const char *name, uint64_t n, int base)
{
	add(arg, name, "");
	snprintf(strchr(((struct line *)arg)->text, '\0') - 1, 24,
		 base == 16 ? "0x%" PRIx64 " " : "%" PRIu64 " ", n);
}

static void on_real(void *arg, const char *name, double n)
{
	add(arg, name, "");
	snprintf(strchr(((struct line *)arg)->text, '\0') - 1, 24, "%g ", n);
}

static void on_text(void *arg, const char *name, const char *s, size_t len)
{
	_cleanup_(freep) char *text = must_printf("\"%.*s\"", (int)len, s);

	add(arg, name, text);
}

static void on_label(void *arg, const char *name, int64_t n, bool is_signed, const char *label)
{
	_cleanup_(freep) char *text = must_printf("%s(%" PRId64 ")", label, n);

	add(arg, name, text);
}

static void on_begin(void *arg, const char *name, bool is_array)
{
	add(arg, name, is_array ? "[" : "{");
}

static void on_end(void *arg)
{
	add(arg, NULL, "}");
}

static const struct raw_visitor to_line = { on_number, on_unsigned, on_real, on_text,
					    on_label,  on_begin,    on_end };

TEST(all_fields_are_visited_in_order)
{
	static const char metadata[] = PREAMBLE(
		"le") "event { name = \"x\"; id = 1; stream_id = 0; context := struct { u8 _depth; "
		      "};\n"
		      "	fields := struct { integer { size = 16; signed = true; } _cold;\n"
		      "	integer { size = 8; base = hex; signed = true; } _hex; floating_point {\n"
		      "	exp_dig = 8; mant_dig = 24; } f; enum : integer { size = 8; signed = true; "
		      "}\n"
		      "	{ low = -3 ... -1, zero, one } _a, _b; u8 list[2][2]; string s; }; };\n";
	struct writer w = { 0 };
	struct line line = { "" };
	struct raw_event e;

	begin_packet(&w, 0, 900, 1100, 0, 0);
	put_header(&w, 1, 1000);
	put_text(&w, "\x09\xff\xff\xff\0\0\0\x3f\xfe\1\1\2\3\4hi", 17);
	end_packet(&w, 0);

	_cleanup_(trace_done) struct trace t = open_trace(metadata, &w);

	CHECK_STR(t.err.text, "");
	CHECK(next_event(&t, &e));
	CHECK(!next_event(&t, &(struct raw_event){ 0 }));
	t.source->fields(t.source, &to_line, &line);
	CHECK_STR(line.text,
		  "stream.packet.context={ cpu_id=0 } event.context={ depth=9 } event.fields={ "
		  "cold=-1 hex=0xff f=0.5 a=low(-2) b=one(1) list=[ [ 1 2 } [ 3 4 } } s=\"hi\" } ");
}
