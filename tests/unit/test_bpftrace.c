/* SPDX-License-Identifier: Apache-2.0 */
/* Logs and lists of MiSeRTrace; ' stands for " to make them readable. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "read/input_internal.h"
#include "read/merge.h"
#include "read/raw/raw.h"
#include "test.h"

struct result {
	struct input *input;
	char *text, *list;
	VEC(struct raw_event) events;
	struct err err;
	int code;
};

static void result_done(struct result *r)
{
	input_free(r->input);
	free(r->text);
	free(r->list);
	vec_done(&r->events);
}

static char *quoted(const char *text)
{
	char *copy = must_strdup(text);

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return copy;
}

static void take_events(struct result *r)
{
	struct raw_source *source = input_raw(r->input);
	struct raw_event e;
	nsec_t last = 0;

	while (source->next(source, &e, &r->err) > 0) {
		CHECK(e.time >= last);
		last = e.time;
		*vec_push(&r->events) = e;
	}
}

static struct result read_log(const char *log, const char *list)
{
	struct result r = { .text = quoted(log), .list = quoted(list) };

	r.code = bpftrace_open_memory("x.psv", r.text, strlen(r.text),
				      (struct view){ r.list, strlen(r.list) }, &r.input, &r.err);
	if (r.code == 0)
		take_events(&r);
	return r;
}

static struct raw_event none;

static const struct raw_event *event(const struct result *r, size_t i, enum raw_kind kind)
{
	if (i >= r->events.count) {
		test_failures++;
		printf("# there are only %zu events\n", r->events.count);
		return &none;
	}
	CHECK_INT(r->events.items[i].kind, kind);
	return &r->events.items[i];
}

#define CHECK_TEXT(text, want) \
	do { \
		char t_[64] = ""; \
		memcpy(t_, (text).s ?: "", (text).len < 63 ? (text).len : 63); \
		CHECK_STR(t_, want); \
	} while (0)

static const char *type_name(const struct result *r, const struct raw_event *e)
{
	return input_raw(r->input)->type_name(input_raw(r->input), e->type);
}

TEST(probes_of_the_script_become_events)
{
	_cleanup_(result_done) struct result r = read_log(
		"Attaching 21 probes...\n"
		"'nginx'|'10'|'1001'|'2'|'MT:tracepoint:syscalls:sys_enter_recvfrom'\n"
		"'nginx'|'10'|'1002'|'2'|'MT:tracepoint:tcp:tcp_rcv_space_adjust'|"
		"'sport=8080 dport=40000 saddr=172.18.0.2 daddr=172.18.0.1'\n"
		"'nginx'|'10'|'1003'|'2'|'MT:tcp_send'|"
		"'sport=50000 dport=9090 saddr=172.18.0.2 daddr=::ffff:172.18.0.3'\n"
		"'nginx'|'10'|'1004'|'2'|'MT:tcp_send'|'sport=1 dport=2 saddr=fe80::1 "
		"daddr=fe80::2'\n"
		"'nginx'|'10'|'1005'|'2'|'MT:tracepoint:sched:sched_process_fork'|"
		"'parent_pid=10 child_pid=11'\n"
		"'nginx'|'11'|'1006'|'2'|'MT:tracepoint:sched:sched_process_exit'|'pid=11'\n"
		"'nginx'|'10'|'1007'|'2'|'MT:tracepoint:tcp:tcp_probe'|'sport=1 dport=2'\n"
		"\n@pids[10]: 1\n",
		"");
	const struct raw_event *e = event(&r, 0, RAW_SYSCALL_ENTER);

	CHECK_INT(r.events.count, 7);
	CHECK_INT(e->syscall.nr, 45);
	CHECK_INT(e->time, 1001);
	CHECK_INT(e->tid, 10);
	CHECK_INT(e->cpu, 2);
	CHECK_TEXT(e->comm, "nginx");
	e = event(&r, 1, RAW_TCP_RECEIVE);
	CHECK_INT(e->socket.address.family, AF_INET);
	CHECK_INT(e->socket.address.local_port, 8080);
	CHECK_INT(e->socket.address.peer[3], 1);
	e = event(&r, 2, RAW_SOCKET_SEND);
	CHECK_INT(e->socket.address.family, AF_INET);
	CHECK_INT(e->socket.address.peer[0], 172);
	CHECK_INT(e->socket.address.peer_port, 9090);
	e = event(&r, 3, RAW_SOCKET_SEND);
	CHECK_INT(e->socket.address.family, AF_INET6);
	CHECK_INT(e->socket.address.peer[15], 2);
	e = event(&r, 4, RAW_FORK);
	CHECK_INT(e->fork.parent, 10);
	CHECK_INT(e->fork.child, 11);
	CHECK_INT(event(&r, 5, RAW_EXIT)->wake.tid, 11);
	CHECK_STR(type_name(&r, event(&r, 6, RAW_OTHER)), "tcp:tcp_probe");
	CHECK(!input_warning(r.input));
}

TEST(events_of_user_probes_keep_their_text)
{
	_cleanup_(result_done) struct result r =
		read_log("'a'|'1'|'1'|'0'|'tracepoint:sched:sched_switch'| prev_pid=3 any|thing \n"
			 "'a'|'1'|'2'|'0'|'kprobe:vfs_read'\n",
			 "");

	CHECK_STR(type_name(&r, event(&r, 0, RAW_OTHER)), "sched:sched_switch");
	CHECK_STR(type_name(&r, event(&r, 1, RAW_OTHER)), "kprobe:vfs_read");

	_cleanup_(input_freep) struct input *input = NULL;
	struct raw_event e;
	size_t size;

	CHECK_INT(bpftrace_open_memory("x", r.text, strlen(r.text), (struct view){ 0 }, &input,
				       &r.err),
		  0);
	input_raw(input)->next(input_raw(input), &e, &r.err);

	const char *data = input_raw(input)->data(input_raw(input), &size);

	CHECK_INT(size, strlen(" prev_pid=3 any|thing "));
	CHECK(memcmp(data, " prev_pid=3 any|thing ", size) == 0);
}

TEST(quotes_are_optional)
{
	_cleanup_(result_done) struct result r = read_log(
		"nginx|10|1001|2|MT:tracepoint:syscalls:sys_exit_read\r\n"
		"nginx|10|1002|2|MT:tcp_send|sport=1 dport=2 saddr=1.2.3.4 daddr=5.6.7.8\r\n"
		"'a|b'|10|1003|2|MT:tcp_send|'sport=1 dport=2'\r\n",
		"");

	CHECK_INT(event(&r, 0, RAW_SYSCALL_EXIT)->syscall.nr, 0);
	CHECK_INT(event(&r, 1, RAW_SOCKET_SEND)->socket.address.peer[3], 8);
	CHECK_TEXT(event(&r, 2, RAW_SOCKET_SEND)->comm, "a|b");
	CHECK_INT(event(&r, 2, RAW_SOCKET_SEND)->socket.address.peer_port, 2);
}

TEST(a_name_can_contain_bars_and_quotes)
{
	static const char *const names[] = { "a'|'b", "'", "|", "", "1|2|3", "'|'1'|'2'|'3'" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(freep) char *log =
			must_printf("'%s'|'10'|'1001'|'2'|'MT:tcp_send'|'sport=7'\n", names[i]);
		_cleanup_(freep) char *name = quoted(names[i]);
		_cleanup_(result_done) struct result r = read_log(log, "");
		const struct raw_event *e = event(&r, 0, RAW_SOCKET_SEND);

		CHECK_TEXT(e->comm, name);
		CHECK_INT(e->tid, 10);
		CHECK_INT(e->socket.address.local_port, 7);
	}
}

TEST(buffers_of_several_cpus_are_sorted_by_time)
{
	_cleanup_(result_done) struct result r = read_log("'a'|'1'|'10'|'0'|'x'\n"
							  "'a'|'1'|'30'|'0'|'x'\n"
							  "Lost 5 events\n"
							  "'a'|'1'|'20'|'1'|'x'\n"
							  "'a'|'1'|'30'|'1'|'x'\n"
							  "'a'|'1'|'5'|'2'|'x'\n",
							  "");
	static const nsec_t times[] = { 5, 10, 20, 20, 30, 30 };

	CHECK_INT(r.events.count, 6);
	for (size_t i = 0; i < r.events.count; i++)
		CHECK_INT(r.events.items[i].time, times[i]);
	CHECK_INT(event(&r, 2, RAW_LOST)->lost.count, 5);
	CHECK_INT(event(&r, 2, RAW_LOST)->cpu, 1);
	CHECK_INT(event(&r, 4, RAW_OTHER)->cpu, 0);
}

TEST(children_belong_to_the_containers_of_their_parents)
{
	_cleanup_(result_done) struct result r =
		read_log("'a'|'10'|'7'|'0'|'MT:tracepoint:sched:sched_process_fork'|'parent_pid=10 "
			 "child_pid=11'\n"
			 "'b'|'99'|'8'|'0'|'MT:tracepoint:sched:sched_process_fork'|'parent_pid=99 "
			 "child_pid=98'\n",
			 "10|nginx-thrift|172.18.0.2|h1\r\n'20'|'svc-a'||'h2'\nnonsense\n");
	const struct raw_event *e = event(&r, 0, RAW_PROCESS);

	CHECK_INT(r.events.count, 5);
	CHECK_INT(e->time, 7);
	CHECK_INT(e->process.pid, 10);
	CHECK_TEXT(e->process.cgroup, "container/nginx-thrift/172.18.0.2");
	CHECK_TEXT(event(&r, 1, RAW_PROCESS)->process.cgroup, "container/svc-a");
	CHECK_INT(event(&r, 2, RAW_FORK)->fork.child, 11);
	e = event(&r, 3, RAW_PROCESS);
	CHECK_INT(e->process.pid, 11);
	CHECK_TEXT(e->process.cgroup, "container/nginx-thrift/172.18.0.2");
	CHECK_INT(event(&r, 4, RAW_FORK)->fork.child, 98);
}

TEST(a_list_is_an_input_of_its_own)
{
	static const char list[] = "10|nginx|172.18.0.2|h1\n11|nginx|172.18.0.2|h1\n";
	_cleanup_(input_freep) struct input *input = NULL;
	const struct record *record;
	struct err err;

	CHECK(bpftrace_meta_format.matches_file(list, sizeof(list) - 1));
	CHECK(!bpftrace_meta_format.matches_file("10|nginx|172.18.0.2\n", 20));
	CHECK_INT(bpftrace_meta_open_memory("x", list, sizeof(list) - 1, &input, &err), 0);
	for (uint32_t pid = 10; pid < 12; pid++) {
		CHECK_INT(input_next(input, &record, &err), 1);
		CHECK_INT(record->kind, RECORD_PROCESS);

		const struct record_process *p = (const void *)record;

		CHECK_INT(p->pid, pid);
		CHECK_STR(input_string(input, p->cgroup), "container/nginx/172.18.0.2");
	}
	CHECK_INT(input_next(input, &record, &err), 0);
	input_free(TAKE(input));
	CHECK_INT(bpftrace_meta_open_memory("x", "a\n", 2, &input, &err), -EBADMSG);
	CHECK_STR(err.text, "'x' is not a MiSeRTrace list: no row 'tid|container|address|id'");
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

TEST(a_list_from_another_directory_is_merged_with_its_log)
{
	char log[] = "/tmp/sonde-test-log-XXXXXX", list[] = "/tmp/sonde-test-list-XXXXXX";
	char *paths[] = { log, list, NULL };
	_cleanup_(merge_freep) struct merge *merge = NULL;
	const struct source *source;
	const struct record *record;
	struct err err;
	int processes = 0;

	close(mkstemp(log));
	close(mkstemp(list));
	write_file(log, "a|10|7000|0|MT:tracepoint:syscalls:sys_enter_read\n");
	write_file(list, "10|nginx|172.18.0.2|h1\n");
	CHECK_INT(merge_open(paths, NULL, &merge, &err), 0);
	while (merge_next(merge, &record, &source, &err) > 0) {
		CHECK_INT(source_time(source, record->time), 7000);
		CHECK_INT(source->host, 0);
		processes += record->kind == RECORD_PROCESS;
	}
	CHECK_INT(processes, 1);
	unlink(log);
	unlink(list);
}

TEST(unknown_lines_are_reported)
{
	_cleanup_(result_done) struct result some =
		read_log("'a'|'1'|'1'|'0'|'x'\n'a'|'1'|'1'\n'a'|'1'|'1'|'70000'|'x'\n", "");
	_cleanup_(result_done) struct result nothing = read_log("nothing\n", "1|a|1.2.3.4|b\n");

	CHECK_STR(input_warning(some.input),
		  "'x.psv': skipped 2 of 3 lines: line 2 is not an event");
	CHECK_INT(nothing.code, -EBADMSG);
	CHECK_STR(nothing.err.text, "'x.psv' is not a log of MiSeRTrace: no line is an event");
}

/* The sample of MiSeRTrace's authors: a log in order, with the list beside it. */
TEST(the_sample_of_the_authors_is_read_completely)
{
	_cleanup_(freep) char *path =
		must_printf("%s/requests/fork.psv", getenv("SONDE_TEST_DATA"));
	_cleanup_(result_done) struct result r = { 0 };
	size_t kinds[RAW_KIND_COUNT] = { 0 };

	CHECK_INT(input_open(path, NULL, &r.input, &r.err), 0);
	CHECK_STR(input_format_name(r.input), "bpftrace");
	take_events(&r);
	for (size_t i = 0; i < r.events.count; i++)
		kinds[r.events.items[i].kind]++;
	CHECK_INT(r.events.count, 96 + 3 + 3); /* lines, rows of the list, forks */
	CHECK_INT(kinds[RAW_PROCESS], 6);
	CHECK_INT(kinds[RAW_SYSCALL_ENTER], 30);
	CHECK_INT(kinds[RAW_SYSCALL_EXIT], 30);
	CHECK_INT(kinds[RAW_TCP_RECEIVE], 15);
	CHECK_INT(kinds[RAW_SOCKET_SEND], 15);
	CHECK_INT(kinds[RAW_FORK], 3);
	CHECK_INT(kinds[RAW_EXIT], 3);
}
