/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of ftrace text as the kernel, trace-cmd and perf print them, and their raw events. */
#include <errno.h>
#include <netinet/in.h>

#include "base/vec.h"
#include "read/input_internal.h"
#include "read/raw/raw.h"
#include "test.h"

struct result {
	struct input *input;
	VEC(struct raw_event) events;
	char **names; /* of the events */
	struct err err;
	int code;
};

static void result_done(struct result *r)
{
	for (size_t i = 0; i < r->events.count; i++)
		free(r->names[i]);
	free(r->names);
	vec_done(&r->events);
	input_free(r->input);
}

static struct result read_bytes(const char *text, size_t size)
{
	struct result r = { 0 };
	struct raw_event e;
	nsec_t last = 0;

	r.code = ftrace_open_memory("x.txt", text, size, &r.input, &r.err);
	if (r.code < 0)
		return r;

	struct raw_source *source = input_raw(r.input);

	while (source->next(source, &e, &r.err) > 0) {
		CHECK(e.time >= last);
		last = e.time;
		*vec_push(&r.events) = e;
		r.names = must_realloc(r.names, r.events.count * sizeof(char *));
		r.names[r.events.count - 1] = must_strdup(source->name(source));
	}
	return r;
}

static struct result read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

static struct raw_event none;

/* The i-th event, after checking its kind and name. */
static const struct raw_event *event(const struct result *r, size_t i, enum raw_kind kind,
				     const char *name)
{
	if (i >= r->events.count) {
		test_failures++;
		printf("# there are only %zu events: no %s\n", r->events.count, name);
		return &none;
	}
	CHECK_INT(r->events.items[i].kind, kind);
	CHECK_STR(r->names[i], name);
	return &r->events.items[i];
}

#define CHECK_TEXT(text, want) \
	do { \
		char t_[64] = ""; \
		memcpy(t_, (text).s ?: "", (text).len < 63 ? (text).len : 63); \
		CHECK_STR(t_, want); \
	} while (0)

static void check_head(const struct raw_event *e, nsec_t time, uint32_t tid, const char *comm,
		       uint16_t cpu)
{
	CHECK_INT(e->time, time);
	CHECK_INT(e->tid, tid);
	CHECK_TEXT(e->comm, comm);
	CHECK_INT(e->cpu, cpu);
}

TEST(heads_of_all_tools_are_parsed)
{
	static const char *const lines[] = {
		"            bash-16348   [003] d..2.    11.295055: sys_exit: NR 1 = 1\n",
		"            bash-16348 [003] d..2    11.295055: sys_exit: NR 1 = 1\n",
		"            bash-16348   (  16340) [003] d..2. 11.295055: sys_exit: NR 1 = 1\n",
		"            bash-16348   (-------) [003] d..2. 11.295055: sys_exit: NR 1 = 1\n",
		"            bash-16348 [003]    11.295055000: sys_exit:             NR 1 = 1\n",
		"            bash-16348   [003]    11.295055: sys_exit: NR 1 = 1\n",
		"    bash-16348     3d..2. 11295055us!: sys_exit: NR 1 = 1\n",
		"    bash-16348   3d..2    11.295055: sys_exit:             NR 1 = 1\n",
		"            bash 16348 [003]    11.295055:    raw_syscalls:sys_exit: NR 1 = 1\n",
		"            bash 16340/16348   [003] 11.295055: raw_syscalls:sys_exit: NR 1 = 1\n",
		"bash-16348 [003] d..2. 11.295055: sys_exit: NR 1 = 1\n",
		"  bash-16348 (16340) [003] 11.295055: sys_exit: NR 1 = 1\r\n",
		"bash 16348 [003] 11.295055: raw_syscalls:sys_exit: NR 1 = 1",
		"            bash-16348 [003]    11.295055: (+6)     sys_exit:    NR 1 = 1\n",
		"bash 16348 [003] 11.295055: raw_syscalls:sys_exit: NR 1 = 1\n"
		"\tffffffff821ec94e do_syscall_64+0x22e ([kernel.kallsyms])\n"
		"\t           fdd6b __GI___ioctl+0x3b (/usr/lib/libc.so.6)\n\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		_cleanup_(result_done) struct result r = read_text(lines[i]);
		const char *name =
			strstr(lines[i], "raw_sys") ? "raw_syscalls:sys_exit" : "sys_exit";
		const struct raw_event *e = event(&r, 0, RAW_SYSCALL_EXIT, name);

		CHECK_INT(r.events.count, 1);
		check_head(e, 11295055000, 16348, "bash", 3);
		CHECK_INT(e->pid, strstr(lines[i], "16340") ? 16340 : RAW_UNKNOWN);
		CHECK_INT(e->context, strstr(lines[i], "d..2") ? RAW_IN_TASK : RAW_CONTEXT_UNKNOWN);
		CHECK_INT(e->syscall.nr, 1);
		CHECK_INT(e->syscall.result, 1);
		CHECK(!input_warning(r.input));
	}
}

TEST(flags_contain_the_interrupt_context)
{
	_cleanup_(result_done) struct result r =
		read_text("               a-1   [000] d.h4. 1.000001: x: \n"
			  "               a-1   [000] ..s1. 1.000002: x: \n"
			  "               a-1   [000] dNH3  1.000003: x: \n"
			  "               a-1   [000] d.Z3  1.000004: x: \n"
			  "               a-1   [000] .N.2. 1.000005: x: \n"
			  "               a-1   [000] 1.000006: x: \n");
	static const uint8_t want[] = { RAW_IN_IRQ, RAW_IN_SOFTIRQ, RAW_IN_IRQ,
					RAW_IN_IRQ, RAW_IN_TASK,    RAW_CONTEXT_UNKNOWN };

	CHECK_INT(r.events.count, 6);
	for (size_t i = 0; i < r.events.count; i++)
		CHECK_INT(event(&r, i, RAW_OTHER, "x")->context, want[i]);
}

TEST(a_name_can_contain_anything)
{
	static const char *const names[] = { "a-b c=d",         "a-1 [000] 1.5:", "[001] d..2. 1.0",
					     "IntentService[E", "Binder:2030_3",  "-",
					     "a pid=1 prio=2",  "x prev_pid=1 y", "a:1 [2] S ==> b",
					     "a==>b",           "(123)",          "#a" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *n = names[i];
		_cleanup_(freep) char *text = must_printf(
			"%16s-7       [000] d..2. 1.000001: sched_switch: prev_comm=%s prev_pid=7 "
			"prev_prio=120 prev_state=S ==> next_comm=%s next_pid=8 next_prio=120\n"
			"%16s-8       [000] d..2. 1.000002: sched_waking: comm=%s pid=9 prio=120 "
			"target_cpu=001\n"
			"%16s-8       [000] ..... 1.000003: task_rename: pid=8 oldcomm=%s "
			"newcomm=%s oom_score_adj=0\n"
			"%16s-8       [000] ..... 1.000004: sched_process_fork: comm=%s pid=8 "
			"child_comm=%s child_pid=10\n",
			n, n, n, n, n, n, n, n, n, n, n);
		_cleanup_(result_done) struct result r = read_text(text);
		const struct raw_event *e = event(&r, 0, RAW_SWITCH, "sched_switch");

		check_head(e, 1000001000, 7, n, 0);
		CHECK_TEXT(e->sched_switch.prev_comm, n);
		CHECK_TEXT(e->sched_switch.next_comm, n);
		CHECK_INT(e->sched_switch.prev, 7);
		CHECK_INT(e->sched_switch.next, 8);
		CHECK_INT(e->sched_switch.state, RAW_STATE_SLEEP);
		e = event(&r, 1, RAW_WAKING, "sched_waking");
		CHECK_TEXT(e->wake.comm, n);
		CHECK_INT(e->wake.tid, 9);
		e = event(&r, 2, RAW_RENAME, "task_rename");
		CHECK_TEXT(e->wake.comm, n);
		e = event(&r, 3, RAW_FORK, "sched_process_fork");
		CHECK_TEXT(e->fork.comm, n);
		CHECK_INT(e->fork.parent, 8);
		CHECK_INT(e->fork.child, 10);
	}
}

TEST(scheduling_events_of_trace_cmd_are_parsed)
{
	_cleanup_(result_done) struct result r =
		read_text("cpus=2\n"
			  "   memfd:sealed-9-3198  [001]  1.000000001: sched_switch:         "
			  "memfd:sealed-9:3198 "
			  "[120] S ==> a:1 [0]\n"
			  "               a-1     [001]  1.000000002: sched_switch:         a:1 "
			  "[0] D ==> b:2 [1]\n"
			  "               a-1     [001]  1.000000003: sched_wakeup:         "
			  "x:y-z:55 [120] CPU:000\n"
			  "               a-1     [001]  1.000000004: sched_wakeup:         a:5 "
			  "[120] success=1 CPU:000\n"
			  "               a-1     [001]  1.000000005: sched_switch:         a:1 "
			  "[120] R ==> b:2 [120]\n"
			  "               a-1     [001]  1.000000006: sched_switch:         a:1 "
			  "[120] X ==> b:2 [120]\n");
	const struct raw_event *e = event(&r, 0, RAW_SWITCH, "sched_switch");

	CHECK_TEXT(e->sched_switch.prev_comm, "memfd:sealed-9");
	CHECK_INT(e->sched_switch.prev, 3198);
	CHECK_TEXT(e->sched_switch.next_comm, "a");
	CHECK_INT(e->sched_switch.next, 1);
	e = event(&r, 1, RAW_SWITCH, "sched_switch");
	CHECK_TEXT(e->sched_switch.prev_comm, "a");
	CHECK_INT(e->sched_switch.prev, 1);
	CHECK_INT(e->sched_switch.state, RAW_STATE_DISK);
	e = event(&r, 2, RAW_WAKEUP, "sched_wakeup");
	CHECK_TEXT(e->wake.comm, "x:y-z");
	CHECK_INT(e->wake.tid, 55);
	CHECK_INT(event(&r, 3, RAW_WAKEUP, "sched_wakeup")->wake.tid, 5);
	CHECK_INT(event(&r, 4, RAW_SWITCH, "sched_switch")->sched_switch.state, 0);
	CHECK_INT(event(&r, 5, RAW_SWITCH, "sched_switch")->sched_switch.state, RAW_STATE_ZOMBIE);
	CHECK_INT(r.events.count, 6);
	CHECK(!input_warning(r.input));
}

TEST(letters_are_parsed_as_states)
{
	static const struct {
		const char *letters;
		uint64_t state;
	} states[] = {
		{ "R", 0 },
		{ "R+", 0 },
		{ "S", RAW_STATE_SLEEP },
		{ "D", RAW_STATE_DISK },
		{ "D|K", RAW_STATE_DISK },
		{ "T", RAW_STATE_STOPPED },
		{ "t", RAW_STATE_TRACED },
		{ "X", RAW_STATE_DEAD },
		{ "x", RAW_STATE_DEAD },
		{ "Z", RAW_STATE_ZOMBIE },
		{ "P", RAW_STATE_PARKED },
		{ "I", RAW_STATE_IDLE },
		{ "S|D", RAW_STATE_SLEEP | RAW_STATE_DISK },
		{ "2", RAW_STATE_DISK },
		{ "256", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		_cleanup_(freep) char *text = must_printf(
			"a-1 [000] 1.5: sched_switch: prev_comm=a prev_pid=1 prev_prio=1 "
			"prev_state=%s ==> next_comm=b next_pid=2 next_prio=1\n",
			states[i].letters);
		_cleanup_(result_done) struct result r = read_text(text);
		const struct raw_event *e = event(&r, 0, RAW_SWITCH, "sched_switch");

		CHECK_INT(e->sched_switch.state, states[i].state);
		CHECK_INT(e->sched_switch.next, 2);
	}
}

TEST(all_four_forms_of_system_calls_are_parsed)
{
	_cleanup_(result_done) struct result r = read_text(
		"a-1 [000] .... 1.000001: sys_enter: NR 0 (29, c350, 805, ffffffff, 81, a508c6e8)\n"
		"a-1 [000] .... 1.000002: sys_exit: NR 0 = -11\n"
		"a-1 [000] .... 1.000003: sys_read(fd: 3, buf: 7ffe3ce41670, count: 10)\n"
		"a-1 [000] .... 1.000004: sys_read -> 0xfffffffffffffff5\n"
		"a-1 [000]  1.000005: sys_enter_openat:     dfd: 0xffffff9c, filename: "
		"0x7ffe6f218390 \"/etc/a, b)\", flags: 0x00000000\n"
		"a-1 [000]  1.000006: sys_exit_openat:      0x3\n"
		"a-1 [000]  1.000007: syscalls:sys_exit_close: 0x0\n"
		"a-1 [000] .... 1.000008: sys_getpid()\n"
		"a-1 [000] .... 1.000009: sys_nosuchcall(a: 1)\n");
	const struct raw_event *e = event(&r, 0, RAW_SYSCALL_ENTER, "sys_enter");

	CHECK_INT(e->syscall.nr, 0);
	CHECK_INT(e->syscall.args[0], 0x29);
	CHECK_INT(e->syscall.args[2], 0x805);
	CHECK_INT(event(&r, 1, RAW_SYSCALL_EXIT, "sys_exit")->syscall.result, -11);
	e = event(&r, 2, RAW_SYSCALL_ENTER, "sys_enter_read");
	CHECK_INT(e->syscall.nr, 0);
	CHECK_INT(e->syscall.args[1], 0x7ffe3ce41670);
	CHECK_INT(e->syscall.args[2], 0x10);
	e = event(&r, 3, RAW_SYSCALL_EXIT, "sys_exit_read");
	CHECK_INT(e->syscall.nr, 0);
	CHECK_INT(e->syscall.result, -11);
	e = event(&r, 4, RAW_SYSCALL_ENTER, "sys_enter_openat");
	CHECK_INT(e->syscall.nr, 257);
	CHECK_INT(e->syscall.args[0], 0xffffff9c);
	CHECK_TEXT(e->syscall.path, "/etc/a, b)");
	CHECK_INT(event(&r, 5, RAW_SYSCALL_EXIT, "sys_exit_openat")->syscall.result, 3);
	CHECK_INT(event(&r, 6, RAW_SYSCALL_EXIT, "syscalls:sys_exit_close")->syscall.nr, 3);
	CHECK_INT(event(&r, 7, RAW_SYSCALL_ENTER, "sys_enter_getpid")->syscall.nr, 39);
	CHECK_INT(event(&r, 8, RAW_SYSCALL_ENTER, "sys_enter_nosuchcall")->syscall.nr,
		  SYSCALL_UNKNOWN);
}

TEST(block_and_socket_events_are_parsed)
{
	_cleanup_(result_done) struct result r = read_text(
		"a-1 [000] 1.1: block_rq_issue: 254,1 WS 4096 () 51711800 + 8 be,0,4 [back w0]\n"
		"a-1 [000] 1.2: block_rq_complete: 254,1 WS () 51711800 + 8 be,0,4 [-5]\n"
		"a-1 [000] 1.3: block_rq_complete: 8,0 R () 7 + 16 [0]\n"
		"a-1 [000] 1.4: sock_send_length: sk address = 000000001234abcd, family = AF_INET "
		"protocol = IPPROTO_TCP, length = 64, error = 0, flags = 0x0\n"
		"a-1 [000] 1.5: sock_recv_length: sk address = 0xffff888266ef1280, family = "
		"AF_INET6 "
		"protocol = IPPROTO_TCP, length = 0, error = -11, flags = 0x40\n"
		"a-1 [000] 1.6: inet_sock_set_state: family=AF_INET protocol=IPPROTO_TCP sport=0 "
		"dport=7001 saddr=127.0.0.1 daddr=10.1.2.3 saddrv6=::ffff:127.0.0.1 "
		"daddrv6=::ffff:10.1.2.3 oldstate=TCP_CLOSE newstate=TCP_SYN_SENT\n");
	const struct raw_event *e = event(&r, 0, RAW_BLOCK_ISSUE, "block_rq_issue");

	CHECK_INT(e->block.device, 254 << 20 | 1);
	CHECK_INT(e->block.sector, 51711800);
	CHECK_INT(e->block.bytes, 4096);
	CHECK_TEXT(e->block.op, "WS");
	e = event(&r, 1, RAW_BLOCK_COMPLETE, "block_rq_complete");
	CHECK_INT(e->block.sectors, 8);
	CHECK_INT(e->block.error, -5);
	CHECK_INT(event(&r, 2, RAW_BLOCK_COMPLETE, "block_rq_complete")->block.sectors, 16);
	e = event(&r, 3, RAW_SOCKET_SEND, "sock_send_length");
	CHECK_INT(e->socket.object, 0x1234abcd);
	CHECK_INT(e->socket.bytes, 64);
	CHECK_INT(e->socket.address.family, AF_INET);
	CHECK_INT(e->socket.address.protocol, IPPROTO_TCP);
	e = event(&r, 4, RAW_SOCKET_RECEIVE, "sock_recv_length");
	CHECK_INT(e->socket.bytes, -11);
	CHECK_INT(e->socket.address.family, AF_INET6);
	CHECK_INT(e->socket.flags, 0x40);
	e = event(&r, 5, RAW_SOCKET_STATE, "inet_sock_set_state");
	CHECK_INT(e->socket.from, 7);
	CHECK_INT(e->socket.to, 2);
	CHECK_INT(e->socket.address.peer_port, 7001);
	CHECK_INT(e->socket.address.peer[3], 3);
	CHECK_INT(e->socket.peer6[15], 3);
}

static void join_text(void *arg, const char *name, const char *s, size_t len)
{
	char **text = arg, *before = *text;

	*text = must_printf("%s%s{%.*s}", before, name, (int)len, s);
	free(before);
}

#define VIEWER(size) \
	"<!DOCTYPE html>\n<html>\n<script>\n%*svar a = '[000] 1.0: x: y';\n</script>\n", size, ""

static char *page(int viewer, const char *rest)
{
	_cleanup_(freep) char *head = must_printf(VIEWER(viewer));

	return must_printf("%s%s", head, rest);
}

static void check_page(int viewer, const char *rest, size_t events)
{
	_cleanup_(freep) char *text = page(viewer, rest);
	_cleanup_(result_done) struct result r = read_text(text);

	CHECK_INT(r.code, 0);
	CHECK_STR(r.err.text, "");
	CHECK_INT(r.events.count, events);
	CHECK(r.events.count && r.events.items[0].kind == RAW_WAKING);
	CHECK(ftrace_format.matches_file(text, 4096));
}

#define DATA "<!-- BEGIN TRACE -->\n<script class=\"trace-data\" type=\"application/text\">\n"
#define LINE(time) \
	"          <idle>-0     [000] d.h. " time ": sched_waking: comm=a pid=7 prio=120 " \
	"target_cpu=000\n"

TEST(a_systrace_page_contains_a_trace)
{
	check_page(100000,
		   DATA "# tracer: nop\n#\n" LINE("1.000001") LINE("1.000002") "</script>\n", 2);
	check_page(5000,
		   DATA "USER PID PPID\nroot 1 0\n</script>\n" DATA
			   LINE("1.000001") "  </script>\n<!-- END TRACE -->\n" DATA LINE(
				   "1.000002") "</script></html>",
		   2);
	check_page(9999, DATA LINE("1.000001"), 1); /* truncated */
	check_page(9000,
		   "<script>\n  var linuxPerfData = \"# tracer: nop\\n\\\n"
		   "          a-7     [000] d.h. 1.000001: sched_waking: comm=a pid=7 prio=120 "
		   "target_cpu=000\\n\\\n\";\n</script>\n",
		   1);
}

TEST(a_page_without_a_trace_gets_a_message)
{
	_cleanup_(freep) char *packed = page(
		5000, "<script id=\"viewer-data\" type=\"application/json\">H4sIAAAA</script>");
	_cleanup_(freep) char *empty = page(5000, "</html>");
	_cleanup_(result_done) struct result p = read_text(packed), n = read_text(empty);

	CHECK_STR(p.err.text, "cannot read 'x.txt': the compressed trace of a catapult page is not "
			      "supported; pass the original trace");
	CHECK_STR(n.err.text, "cannot read 'x.txt': HTML without a systrace trace");
}

/* The fields of the first event, concatenated; the caller frees the text. */
static char *fields_of(const char *text)
{
	static const struct raw_visitor visitor = { .text = join_text };
	_cleanup_(input_freep) struct input *input = NULL;
	char *fields = must_strdup("");
	struct raw_event e;
	struct err err;

	CHECK_INT(ftrace_open_memory("x", text, strlen(text), &input, &err), 0);
	CHECK_INT(input_raw(input)->next(input_raw(input), &e, &err), 1);
	input_raw(input)->fields(input_raw(input), &visitor, &fields);
	return fields;
}

TEST(other_events_keep_their_fields_and_text)
{
	static const struct {
		const char *line, *fields;
	} cases[] = {
		{ "hrtimer_start: hrtimer=ffff function=a b expires=1",
		  "hrtimer{ffff}function{a b}expires{1}" },
		{ "softirq_raise: vec=6 [action=TASKLET]", "vec{6}action{TASKLET}" },
		{ "tracing_mark_write: B|12|x", "text{B|12|x}" },
		{ "do_idle <-cpu_startup_entry", "text{do_idle <-cpu_startup_entry}" },
		{ "x: a==b c= d=e=f", "a{=b}c{}d{e=f}" },
		{ "sys_enter: NR 0 (1, 2)", "id{0}args{1, 2}" },
		{ "sys_read(fd: 3, count: 10)", "fd{3}count{10}" },
		{ "x:", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(freep) char *line = must_printf("a-1 [000] 1.5: %s\n", cases[i].line);
		_cleanup_(freep) char *fields = fields_of(line);

		CHECK_STR(fields, cases[i].fields);
	}
}

TEST(lines_are_sorted_by_time_and_ties_keep_their_order)
{
	_cleanup_(result_done) struct result r = read_text("a-1 [000] 1.000002: a: \n"
							   "a-1 [000] 1.000005: b: \n"
							   "CPU:1 [LOST 7 EVENTS]\n"
							   "a-1 [001] 1.000001: c: \n"
							   "a-1 [001] 1.000002: d: \n"
							   "a-1 [001] 1.000005: e: \n"
							   "a-1 [002] 0.000001: f: \n");
	static const char *const names[] = { "f", "lost", "c", "a", "d", "b", "e" };

	CHECK_INT(r.events.count, 7);
	for (size_t i = 0; i < r.events.count; i++)
		CHECK_STR(r.names[i], names[i]);
}

TEST(a_loss_is_an_event)
{
	_cleanup_(result_done) struct result r = read_text("a-1 [003] 1.000001: a: \n"
							   "a-1 [001] 1.000002: a: \n"
							   "CPU:3 [LOST 5 EVENTS]\n"
							   "a-1 [003] 1.000003: a: \n"
							   "CPU:1 [EVENTS DROPPED]\n"
							   "a-1 [003] 1.000004: a: \n"
							   "CPU:1 [4 EVENTS DROPPED]\n"
							   "a-1 [001] 1.000005: a: \n");
	const struct raw_event *e = event(&r, 2, RAW_LOST, "lost");

	CHECK_INT(r.events.count, 7);
	CHECK_INT(e->cpu, 3);
	CHECK_INT(e->lost.start, 1000001000);
	CHECK_INT(e->time, 1000003000);
	CHECK_INT(e->lost.count, 5);
	e = event(&r, 5, RAW_LOST, "lost");
	CHECK_INT(e->cpu, 1);
	CHECK_INT(e->lost.start, 1000002000);
	CHECK_INT(e->lost.count, 5);
}

TEST(skipped_lines_are_reported)
{
	_cleanup_(result_done) struct result unknown = read_text(
		"# tracer: nop\n#\n# entries-in-buffer/entries-written: 10/25   #P:2\n"
		"a-1 [000] 1.5: a: \nno event\n##### CPU 2 buffer started ####\n\nnor this\n");
	_cleanup_(result_done) struct result counted = read_text("a-1 [000] ..... 17: a: \n");
	_cleanup_(result_done) struct result empty = read_text("# tracer: nop\n#\n");
	_cleanup_(result_done) struct result bad = read_text("no event\n");
	_cleanup_(result_done) struct result raw =
		read_text("# tracer: nop\n#\n25021 1 37480871892975 type: 442\n");

	CHECK_INT(unknown.events.count, 1);
	CHECK_STR(
		input_warning(unknown.input),
		"'x.txt': the kernel overwrote the oldest 15 of 25 events before they were saved; "
		"'x.txt': skipped 2 of 3 lines: line 5 is not an event");
	CHECK_INT(event(&counted, 0, RAW_OTHER, "a")->time, 17);
	CHECK_STR(input_warning(counted.input),
		  "'x.txt': the trace clock is a counter (counter, uptime or x86-tsc); "
		  "treating counts as nanoseconds");
	CHECK_INT(empty.code, 0);
	CHECK_INT(empty.events.count, 0);
	CHECK_INT(bad.code, -EBADMSG);
	CHECK_STR(bad.err.text, "'x.txt' contains no event of ftrace");
	CHECK_STR(raw.err.text,
		  "'x.txt' contains no event of ftrace: in tracefs, turn off the options "
		  "raw, hex, bin and verbose, and turn on context-info");
}

TEST(numbers_that_do_not_fit_are_rejected)
{
	static const char *const lines[] = {
		"a-99999999999 [000] 1.5: a: \n",
		"a-1 [65536] 1.5: a: \n",
		"a-1 [000] 99999999999999999999.5: a: \n",
		"a-1 [000] 9999999999999.5: a: \n",
		"a-1 [000] 1.1234567890: a: \n",
		"a-1 [000] 1.: a: \n",
		"a-1 (99999999999) [000] 1.5: a: \n",
		"a-1 [000] toolongflags 1.5: a: \n",
		"a-1 [000",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		_cleanup_(result_done) struct result r = read_text(lines[i]);

		CHECK_INT(r.code, -EBADMSG);
	}

	_cleanup_(result_done) struct result r = read_text(
		"a-1 [000] 1.5: sched_waking: comm=x pid=99999999999999999999999 prio=1\n");

	CHECK_INT(event(&r, 0, RAW_WAKING, "sched_waking")->wake.tid, 0);
}

TEST(a_nul_is_an_ordinary_byte)
{
	static const char text[] =
		"             a\0b-1 [000] 1.5: sched_waking: comm=a\0b pid=3 prio=1\n"
		"             a\0b-1 [000] 1.6: \0: \0\n\0\0\n";
	_cleanup_(result_done) struct result r = read_bytes(text, sizeof(text) - 1);

	CHECK_INT(r.events.count, 2);
	CHECK_INT(event(&r, 0, RAW_WAKING, "sched_waking")->wake.tid, 3);
	CHECK_INT(event(&r, 0, RAW_WAKING, "sched_waking")->wake.comm.len, 3);
}
