/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_sample FILE [COUNT] - a hand-made capture, always the same to the byte.
 *
 * Without COUNT it is tests/data/good/every-kind.sonde, which is kept so that
 * today's reader is held to yesterday's files: a few records of every kind,
 * each state, context, object and flag, hostile names and a reused tid.  With
 * COUNT it has as many records, roughly in the mix that a busy server gives, to
 * time the readers on.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "event/capture.h"
#include "event/syscall.h"

#define START (1000 * NSEC_PER_SEC)
#define AT(sec) (START + (uint64_t)((sec) * 1e9 + 0.5))

#define HEAD(type, kind_, sec, tid_, cpu_) \
	.head = { \
		.time = AT(sec), \
		.tid = (tid_), \
		.cpu = (cpu_), \
		.kind = RECORD_##kind_, \
		.words = sizeof(struct type) / 8, \
	}

/* A record at so many seconds since the start, about a thread, on a CPU. */
#define PUT(w, type, kind, sec, tid, cpu, ...) \
	put(w, &(struct type){ HEAD(type, kind, sec, tid, cpu), __VA_ARGS__ })

enum { REDIS = 4127, BIO = 4128, NGINX = 5000, HOG = 5120, EVIL = 6666, REUSED = 7000 };
enum { WAL = 77, CLIENT = 9001, SERVER6 = 9002, LOCAL = 9003, DISK = 254 << 20 };

static void need(int r, const struct err *err)
{
	if (r < 0) {
		fprintf(stderr, "%s\n", err->text);
		exit(1);
	}
}

static struct capture_writer *create(const char *path)
{
	const struct capture_meta meta = {
		.host = "testhost",
		.kernel = "6.1.0-18-amd64",
		.machine = "x86_64",
		.command = "sonde record -o every-kind.sonde -p 4127",
		.tool = "sonde 0.1.0",
		.cpu_count = 2,
		.start = START,
		.realtime_offset = 1700000000 * (int64_t)NSEC_PER_SEC,
		.boottime_offset = 7 * (int64_t)NSEC_PER_SEC,
	};
	struct capture_writer *w;
	struct err err;

	need(capture_create(path, &meta, &w, &err), &err);
	return w;
}

static void put(struct capture_writer *w, const void *record)
{
	struct err err;

	need(capture_write(w, record, &err), &err);
}

static struct socket_address inet4(const char *local, unsigned local_port, const char *peer,
				   unsigned peer_port)
{
	struct socket_address a = { AF_INET, IPPROTO_TCP, local_port, peer_port, { 0 }, { 0 } };

	inet_pton(AF_INET, local, a.local);
	inet_pton(AF_INET, peer, a.peer);
	return a;
}

static void put_tasks(struct capture_writer *w)
{
	PUT(w, record_clock, CLOCK, 0, 0, 0, .realtime = 1700000000 * (int64_t)NSEC_PER_SEC,
	    .boottime = 7 * (int64_t)NSEC_PER_SEC);
	PUT(w, record_task, TASK, 0.0001, REDIS, 0, .pid = REDIS, .parent = 1, .cgroup = 42,
	    .comm = capture_add_string(w, "redis-server"), .event = TASK_EXISTING);
	PUT(w, record_process, PROCESS, 0.0001, REDIS, 0, .pid = REDIS,
	    .cmdline = capture_add_string(w, "redis-server *:6379"),
	    .cgroup = capture_add_string(w, "/system.slice/redis.service"));
	PUT(w, record_task, TASK, 0.0002, BIO, 0, .pid = REDIS, .parent = 1, .cgroup = 42,
	    .comm = capture_add_string(w, "redis-server"), .event = TASK_EXISTING);
	PUT(w, record_task, TASK, 0.0003, BIO, 1, .pid = REDIS, .parent = 1, .cgroup = 42,
	    .comm = capture_add_string(w, "bio_aof"), .event = TASK_RENAMED);
	PUT(w, record_task, TASK, 0.0004, NGINX, 1, .pid = NGINX, .parent = 1, .cgroup = 43,
	    .comm = capture_add_string(w, "sh"), .event = TASK_EXISTING);
	PUT(w, record_task, TASK, 0.0005, NGINX, 1, .pid = NGINX, .parent = 1, .cgroup = 43,
	    .comm = capture_add_string(w, "nginx"), .event = TASK_EXEC);
	PUT(w, record_task, TASK, 0.0006, HOG, 1, .pid = HOG, .cgroup = 44,
	    .comm = capture_add_string(w, "stress-ng"), .event = TASK_OUT_OF_SCOPE);
	PUT(w, record_task, TASK, 0.0007, 13, 1, .pid = 13, .cgroup = 1,
	    .comm = capture_add_string(w, "ksoftirqd/0"), .event = TASK_OUT_OF_SCOPE,
	    .flags = TASK_KERNEL);
	PUT(w, record_task, TASK, 0.0008, EVIL, 1, .pid = NGINX, .parent = NGINX, .cgroup = 43,
	    .comm = capture_add_string(w, "\x1b[31m\"\\\n\xff\xc3"), .event = TASK_NEW);
}

static void put_objects(struct capture_writer *w)
{
	struct socket_address six = {
		AF_INET6, IPPROTO_TCP, 80, 40001, { [15] = 1 }, { [15] = 1 }
	};
	struct socket_address here = { .family = AF_UNIX };

	PUT(w, record_device, DEVICE, 0.001, 0, 0, .device = DISK,
	    .name = capture_add_string(w, "vda"));
	PUT(w, record_file, FILE, 0.001, BIO, 0, .object = WAL, .inode = 1234, .device = DISK,
	    .name = capture_add_string(w, "redis/appendonly.aof"));
	PUT(w, record_socket, SOCKET, 0.001, REDIS, 0, .object = CLIENT,
	    .address = inet4("127.0.0.1", 6379, "127.0.0.1", 40000), .netns = 4026531840);
	PUT(w, record_socket, SOCKET, 0.001, NGINX, 1, .object = SERVER6, .address = six,
	    .netns = 4026531840);
	PUT(w, record_socket, SOCKET, 0.001, NGINX, 1, .object = LOCAL, .peer_object = LOCAL + 1,
	    .address = here, .peer_pid = REDIS, .netns = 4026531840);
	PUT(w, record_socket_state, SOCKET_STATE, 0.001, 0, 0,
	    .address = inet4("127.0.0.1", 6379, "127.0.0.1", 40000), .netns = 4026531840,
	    .from = TCP_SYN_RECV, .to = TCP_ESTABLISHED);
	PUT(w, record_socket_state, SOCKET_STATE, 0.001, NGINX, 1, .object = SERVER6,
	    .address = six, .netns = 4026531840, .from = TCP_CLOSE, .to = TCP_LISTEN);
}

static void put_stacks(struct capture_writer *w)
{
	const char *kernel = "[kernel]", *redis = "/usr/bin/redis-server";
	struct {
		struct record_stack stack;
		uint32_t frames[3];
		uint32_t pad;
	} s = { .stack = { HEAD(record_stack, STACK, 0.002, REDIS, 0), .stack = 1,
			   .kernel_count = 1, .user_count = 2 },
		.frames = { 1, 2, 3 } };

	PUT(w, record_frame, FRAME, 0.002, 0, 0, .frame = 1,
	    .module = capture_add_string(w, kernel), .address = 0xffffffff81000010);
	PUT(w, record_frame, FRAME, 0.002, 0, 0, .frame = 2, .module = capture_add_string(w, redis),
	    .address = 0x55d0c0001234, .offset = 0x1234);
	PUT(w, record_frame, FRAME, 0.002, 0, 0, .frame = 3, .module = capture_add_string(w, redis),
	    .address = 0x55d0c0005678, .offset = 0x5678);
	s.stack.head.words = sizeof(s) / 8;
	put(w, &s);
	/* this one is used by redis alone */
	s.stack.stack = 2;
	s.stack.kernel_count = 0;
	s.stack.user_count = 1;
	s.frames[0] = 3;
	put(w, &s);
}

static void put_symbols(struct capture_writer *w)
{
	PUT(w, record_symbol, SYMBOL, 1.5, 0, 0, .frame = 1,
	    .name = capture_add_string(w, "futex_wait_queue"), .offset = 16);
	PUT(w, record_symbol, SYMBOL, 1.5, 0, 0, .frame = 2,
	    .name = capture_add_string(w, "lock_wait"),
	    .source = capture_add_string(w, "src/lock.h"), .line = 17, .offset = 4);
	PUT(w, record_symbol, SYMBOL, 1.5, 0, 0, .frame = 2, .depth = 1,
	    .name = capture_add_string(w, "save_contact"),
	    .source = capture_add_string(w, "src/server.c"), .line = 812, .offset = 52);
}

static void put_waits(struct capture_writer *w)
{
	PUT(w, record_run, RUN, 0.003, REDIS, 0, .start = AT(0.0025), .irq = 12000);
	PUT(w, record_wait, WAIT, 0.0065, BIO, 0, .start = AT(0.0031), .woken = AT(0.006),
	    .object = WAL, .waker = REDIS, .syscall = syscall_number("fdatasync"),
	    .state = STATE_DISK, .ready = STATE_READY, .context = WAKE_IRQ, .vector = 24,
	    .object_kind = OBJECT_FILE, .flags = INTERVAL_IOWAIT | INTERVAL_UNINTERRUPTIBLE);
	PUT(w, record_wait, WAIT, 0.007, REDIS, 0, .start = AT(0.003), .woken = AT(0.0069),
	    .object = CLIENT, .syscall = syscall_number("read"), .state = STATE_NETWORK,
	    .ready = STATE_READY, .context = WAKE_SOFTIRQ, .vector = VECTOR_NET_RX,
	    .object_kind = OBJECT_INET);
	PUT(w, record_wait, WAIT, 0.008, NGINX, 1, .start = AT(0.0071), .woken = AT(0.008),
	    .waker = HOG, .syscall = syscall_number("clock_nanosleep"), .state = STATE_TIMER,
	    .ready = STATE_READY, .context = WAKE_HRTIMER);
	PUT(w, record_wait, WAIT, 0.0091, REDIS, 0, .start = AT(0.008), .woken = AT(0.009),
	    .object = 0x7f0000001000, .waker = BIO, .syscall = syscall_number("futex"),
	    .state = STATE_LOCK, .ready = STATE_READY, .context = WAKE_TASK,
	    .object_kind = OBJECT_FUTEX, .stack = 1, .waker_stack = 2);
	PUT(w, record_wait, WAIT, 0.0101, NGINX, 1, .start = AT(0.009), .woken = AT(0.01),
	    .object = LOCAL, .waker = REDIS, .syscall = syscall_number("recvmsg"),
	    .state = STATE_PROCESS, .ready = STATE_READY, .context = WAKE_TASK,
	    .object_kind = OBJECT_UNIX);
	PUT(w, record_wait, WAIT, 0.011, NGINX, 1, .start = AT(0.0102), .woken = AT(0.011),
	    .object = 136 << 20 | 3, .waker = 13, .syscall = syscall_number("read"),
	    .state = STATE_USER, .ready = STATE_READY, .context = WAKE_TASK,
	    .object_kind = OBJECT_TTY);
	PUT(w, record_wait, WAIT, 0.0115, NGINX, 1, .start = AT(0.011), .woken = AT(0.0115),
	    .object = DISK, .syscall = SYSCALL_NONE, .state = STATE_DISK, .ready = STATE_READY,
	    .context = WAKE_SOFTIRQ, .vector = VECTOR_BLOCK, .object_kind = OBJECT_BLOCK_DEVICE,
	    .flags = INTERVAL_UNINTERRUPTIBLE);
	PUT(w, record_wait, WAIT, 0.012, REDIS, 1, .start = AT(0.0116), .woken = AT(0.0116),
	    .syscall = SYSCALL_NONE, .state = STATE_UNKNOWN, .ready = STATE_READY,
	    .flags = INTERVAL_PREEMPTED);
	PUT(w, record_wait, WAIT, 0.013, EVIL, 1, .start = AT(0.0121), .woken = AT(0.0121),
	    .syscall = SYSCALL_NONE, .state = STATE_UNKNOWN, .ready = STATE_THROTTLED);
	PUT(w, record_run, RUN, 0.014, HOG, 1, .start = AT(0.013), .flags = INTERVAL_OUT_OF_SCOPE);
}

static void put_messages(struct capture_writer *w)
{
	PUT(w, record_message, MESSAGE, 0.0141, REDIS, 0, .object = CLIENT, .bytes = 512,
	    .position = 4000000000u, .direction = MESSAGE_SEND, .object_kind = OBJECT_INET);
	PUT(w, record_message, MESSAGE, 0.0142, NGINX, 1, .object = SERVER6, .bytes = 31,
	    .position = 32, .direction = MESSAGE_RECEIVE, .object_kind = OBJECT_INET);
	PUT(w, record_message, MESSAGE, 0.0143, NGINX, 1, .object = 1, .bytes = 7,
	    .direction = MESSAGE_RECEIVE, .object_kind = OBJECT_UNIX);
}

static void put_calls(struct capture_writer *w)
{
	PUT(w, record_syscall, SYSCALL, 0.0151, BIO, 0, .start = AT(0.0149), .args = { 5, 0, 0 },
	    .nr = syscall_number("fdatasync"));
	PUT(w, record_syscall, SYSCALL, 0.0152, NGINX, 1, .start = AT(0.01519),
	    .args = { 0xffffff9c, 0x7ffc00001000, 0 }, .result = -2,
	    .nr = syscall_number("openat"));
	PUT(w, record_syscall, SYSCALL, 0.0153, NGINX, 1, .start = AT(0.01529), .nr = 9999,
	    .result = -38);
	PUT(w, record_block, BLOCK, 0.016, BIO, 0, .start = AT(0.0155), .sector = 2048,
	    .bytes = 4096, .device = DISK, .op = 'W');
	PUT(w, record_block, BLOCK, 0.0161, BIO, 0, .start = AT(0.016), .sector = 4096,
	    .bytes = 8192, .device = (8 << 20) + 1, .error = -5, .op = 'R');
	PUT(w, record_sample, SAMPLE, 0.017, REDIS, 0, .stack = 1);
	PUT(w, record_loss, LOSS, 0.0175, 0, 1, .start = AT(0.0171), .end = AT(0.0175),
	    .count = 17);
	PUT(w, record_loss, LOSS, 0.0179, 0, 1, .start = AT(0.0175), .end = AT(0.0179), .count = 3);
}

static void put_probe_events(struct capture_writer *w)
{
	static const char format[] =
		"name: probe\nID: 1\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:u8 flag;\toffset:28;\tsize:1;\tsigned:0;\n"
		"\tfield:__u8 addr[4];\toffset:29;\tsize:4;\tsigned:0;\n"
		"\tfield:__data_loc char[] path;\toffset:36;\tsize:4;\tsigned:0;\n"
		"\tfield:void * caller;\toffset:40;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n";
	struct {
		struct record_probe_event probe_event;
		uint8_t data[64];
	} h = { .probe_event = { HEAD(record_probe_event, PROBE_EVENT, 0.018, NGINX, 1), .type = 3,
				 .size = 58 },
		.data = { [8] = 'n',   'g', 'i', 'n',  'x',  [24] = 0xfe, 0xff, 0xff, 0xff,
			  [28] = 200,  127, 0,   0,    1,    [36] = 48,   0,    10,   0,
			  [40] = 0x10, 0,   0,   0x81, 0xff, 0xff,        0xff, 0xff, [48] = '/',
			  'e',         't', 'c', '/',  'm',  'o',         't',  'd' } };

	PUT(w, record_probe_type, PROBE_TYPE, 0.018, 0, 0, .type = 3,
	    .name = capture_add_string(w, "test:probe"), .format = capture_add_string(w, format));
	h.probe_event.head.words = sizeof(h) / 8;
	put(w, &h);
	h.probe_event.head.tid = 0;
	h.probe_event.type = 4; /* a type without a description */
	put(w, &h);
}

#define TRACE { 0x7f, 0x3a, [15] = 1 }

static void put_contexts(struct capture_writer *w)
{
	PUT(w, record_context, CONTEXT, 0.02, REDIS, 0, .since = AT(0.02), .trace = TRACE,
	    .span = { [7] = 2 });
	PUT(w, record_context, CONTEXT, 0.03, NGINX, 1, .since = AT(0.0296), .trace = TRACE,
	    .span = { [7] = 1 }, .flags = CONTEXT_OBSERVED);
	PUT(w, record_context, CONTEXT, 0.04, REDIS, 0, .since = AT(0.04), .trace = TRACE,
	    .span = { [7] = 3 }, .flags = CONTEXT_UNKNOWN);
	PUT(w, record_context, CONTEXT, 0.049, REDIS, 0, .since = AT(0.049));
}

static void put_attribute(struct capture_writer *w, const char *key, enum attribute_type type,
			  uint64_t value)
{
	PUT(w, record_attribute, ATTRIBUTE, 0.049, REDIS, 0, .value = value, .trace = TRACE,
	    .span = { [7] = 2 }, .key = capture_add_string(w, key), .type = type);
}

static void put_attributes(struct capture_writer *w)
{
	double share = 0.1;
	uint64_t bits;

	memcpy(&bits, &share, sizeof(bits));
	put_attribute(w, "http.request.method", ATTRIBUTE_STRING, capture_add_string(w, "GET"));
	put_attribute(w, "\x1b[31m\"\n\xff", ATTRIBUTE_STRING,
		      capture_add_string(w, "\x1b[0m\"\n\xff"));
	put_attribute(w, "cached", ATTRIBUTE_BOOL, false);
	put_attribute(w, "http.response.status_code", ATTRIBUTE_INT, 500);
	put_attribute(w, "balance", ATTRIBUTE_INT, -7);
	put_attribute(w, "share", ATTRIBUTE_DOUBLE, bits);
	put_attribute(w, "later", 200, 1); /* of a type that is not there yet */
	put_attribute(w, "nowhere", ATTRIBUTE_STRING, UINT64_MAX);
}

static void put_spans(struct capture_writer *w)
{
	const char *contacts = "contacts";

	put_contexts(w);
	put_attributes(w);
	PUT(w, record_span, SPAN, 0.049, REDIS, 0, .start = AT(0.02), .trace = TRACE,
	    .span = { [7] = 2 }, .parent = { [7] = 1 }, .service = capture_add_string(w, contacts),
	    .operation = capture_add_string(w, "GET /contacts"), .pid = REDIS, .flags = SPAN_ERROR,
	    .kind = SPAN_SERVER);
	PUT(w, record_span, SPAN, 0.05, REDIS, 0, .start = AT(0.045), .trace = TRACE,
	    .span = { [7] = 3 }, .parent = { [7] = 2 }, .service = capture_add_string(w, contacts),
	    .operation = capture_add_string(w, "flush"), .pid = REDIS, .flags = SPAN_OPEN,
	    .kind = 77);
}

static void put_ends(struct capture_writer *w)
{
	PUT(w, record_loss, LOSS, 0.9, 0, 0, .start = AT(0.89), .end = AT(0.895), .count = 1);
	PUT(w, record_task, TASK, 1, REUSED, 0, .pid = REUSED, .parent = NGINX, .cgroup = 43,
	    .comm = capture_add_string(w, "first"), .event = TASK_NEW);
	PUT(w, record_run, RUN, 1.1, REUSED, 0, .start = AT(1));
	PUT(w, record_exit, EXIT, 1.1, REUSED, 0, .pid = REUSED, .code = 3 << 8);
	PUT(w, record_task, TASK, 1.2, REUSED, 0, .pid = NGINX, .parent = NGINX, .cgroup = 43,
	    .comm = capture_add_string(w, "second"), .event = TASK_NEW);
	PUT(w, record_run, RUN, 1.3, REUSED, 0, .start = AT(1.2));
	PUT(w, record_exit, EXIT, 1.3, REUSED, 0, .pid = NGINX, .code = 9);
	PUT(w, record_run, RUN, 1.5, REDIS, 0, .start = AT(0.012), .flags = INTERVAL_OPEN);
	PUT(w, record_wait, WAIT, 1.5, BIO, 0, .start = AT(0.017), .woken = AT(1.5),
	    .syscall = syscall_number("futex"), .state = STATE_UNKNOWN, .ready = STATE_READY,
	    .flags = INTERVAL_OPEN);
	PUT(w, record_wait, WAIT, 1.5, NGINX, 1, .start = AT(0.02), .woken = AT(1.499999),
	    .waker = BIO, .syscall = SYSCALL_UNKNOWN, .state = STATE_UNKNOWN, .ready = STATE_READY,
	    .context = WAKE_TASK, .object = 0, .object_kind = OBJECT_EPOLL, .flags = INTERVAL_OPEN);
	PUT(w, record_syscall, SYSCALL, 1.5, BIO, 0, .start = AT(0.017),
	    .nr = syscall_number("futex"), .flags = SYSCALL_OPEN);
}

static void put_every_kind(struct capture_writer *w)
{
	put_tasks(w);
	put_objects(w);
	put_stacks(w);
	put_waits(w);
	put_messages(w);
	put_calls(w);
	put_probe_events(w);
	put_spans(w);
	put_ends(w);
	put_symbols(w);
}

static void put_many(struct capture_writer *w, uint64_t count)
{
	put_tasks(w);
	put_objects(w);
	for (uint64_t i = 0; i < count; i += 4) {
		double sec = 0.01 + i * 10e-6;
		uint32_t tid = i % 8 ? REDIS : NGINX;

		PUT(w, record_run, RUN, sec, tid, i % 2, .start = AT(sec - 20e-6));
		PUT(w, record_wait, WAIT, sec + 5e-6, tid, i % 2, .start = AT(sec),
		    .woken = AT(sec + 3e-6), .object = CLIENT, .waker = BIO, .syscall = 0,
		    .state = STATE_NETWORK, .ready = STATE_READY, .context = WAKE_SOFTIRQ,
		    .vector = VECTOR_NET_RX, .object_kind = OBJECT_INET);
		PUT(w, record_message, MESSAGE, sec + 6e-6, tid, i % 2, .object = CLIENT,
		    .bytes = i % 4096, .position = i, .object_kind = OBJECT_INET);
		PUT(w, record_run, RUN, sec + 7e-6, HOG, i % 2, .start = AT(sec - 7e-6),
		    .flags = INTERVAL_OUT_OF_SCOPE);
	}
}

int main(int argc, char **argv)
{
	struct err err;

	if (argc < 2) {
		fputs("usage: make_sample FILE [COUNT]\n", stderr);
		return 2;
	}
	_cleanup_(capture_writer_freep) struct capture_writer *w = create(argv[1]);

	if (argc > 2)
		put_many(w, strtoull(argv[2], NULL, 10));
	else
		put_every_kind(w);
	need(capture_close(w, &err), &err);
	return 0;
}
