/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_shape SHAPE N FILE - write a capture that is large in one dimension, with N items.
 *
 * Each shape stresses one way in which an analysis can be slower than linear: a long timeline, a
 * deep tree, a wide tree, a long queue, many threads, many requests.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/vec.h"
#include "event/capture.h"

#define START (1000 * NSEC_PER_SEC)
#define STEP (10 * NSEC_PER_USEC)

enum { DISK = 254 << 20, FILE_OBJECT = 77, LOCK = 0x7000, PROBE_TYPES = 7, SERVER_PORT = 80 };

struct shape_record {
	union {
		struct record head;
		struct record_run run;
		struct record_wait wait;
		struct record_task task;
		struct record_message message;
		struct record_socket socket;
		struct record_syscall syscall;
		struct record_block block;
		struct record_probe_event probe_event;
		struct record_sample sample;
		struct record_span span;
		struct record_context context;
		struct record_attribute attribute;
		struct record_loss loss;
		struct record_exit exit;
	};
	size_t order;
};

struct shape {
	struct capture_writer *w;
	VEC(struct shape_record) records;
};

#define ADD(shape, kind_, type, time_, tid_, ...) \
	add(shape, (struct shape_record){ \
			   .type = { .head = { .time = START + (time_), \
					       .tid = (tid_), \
					       .kind = RECORD_##kind_, \
					       .words = sizeof(struct record_##type) / 8 }, \
				     __VA_ARGS__ } })

static void add(struct shape *s, struct shape_record record)
{
	record.order = s->records.count;
	*vec_push(&s->records) = record;
}

static void need(int r, const struct err *err)
{
	if (r < 0) {
		fprintf(stderr, "%s\n", err->text);
		exit(1);
	}
}

static void put(struct shape *s, const void *record)
{
	struct err err;

	need(capture_write(s->w, record, &err), &err);
}

static uint32_t string_n(struct shape *s, const char *name, size_t n)
{
	char text[64];

	snprintf(text, sizeof(text), "%s-%zu", name, n);
	return capture_add_string(s->w, text);
}

static void add_thread(struct shape *s, uint32_t tid, uint32_t pid, nsec_t time)
{
	ADD(s, TASK, task, time, tid, .pid = pid, .comm = string_n(s, "comm", pid),
	    .event = TASK_EXISTING);
}

static void create_thread(struct shape *s, uint32_t tid, uint32_t pid, uint32_t parent, nsec_t time)
{
	ADD(s, TASK, task, time, tid, .pid = pid, .parent = parent,
	    .comm = string_n(s, "comm", pid), .event = TASK_NEW);
}

static void add_run(struct shape *s, uint32_t tid, nsec_t from, nsec_t to)
{
	ADD(s, RUN, run, to, tid, .start = START + from);
}

static void add_wait(struct shape *s, uint32_t tid, nsec_t from, nsec_t to, enum state state,
		     uint32_t waker)
{
	bool disk = state == STATE_DISK;

	ADD(s, WAIT, wait, to, tid, .start = START + from, .woken = START + to - 1,
	    .object = disk ? DISK : LOCK, .waker = waker, .syscall = disk ? 0 : 202, .state = state,
	    .ready = STATE_READY, .context = waker ? WAKE_TASK : WAKE_IRQ,
	    .object_kind = disk ? OBJECT_BLOCK_DEVICE : OBJECT_FUTEX);
}

/* A TCP connection to port: sockets n and n + 1 are the client's and the server's side. */
static void add_connection(struct shape *s, uint64_t n, uint32_t client, uint32_t server,
			   uint16_t port, nsec_t time)
{
	struct socket_address a = {
		.family = AF_INET,
		.protocol = IPPROTO_TCP,
		.local_port = 32768 + n % 30000,
		.peer_port = port,
		.local = { 10, n >> 40, n >> 32, n >> 24 },
		.peer = { 10, 1, 1, 1 },
	};
	struct socket_address b = a;

	a.local[1] = n / 30000;
	memcpy(b.local, a.peer, sizeof(b.local));
	memcpy(b.peer, a.local, sizeof(b.peer));
	b.local_port = a.peer_port;
	b.peer_port = a.local_port;
	ADD(s, SOCKET, socket, time, client, .object = n, .address = a, .netns = 1);
	ADD(s, SOCKET, socket, time, server, .object = n + 1, .address = b, .netns = 1);
}

static void add_message(struct shape *s, uint64_t socket, uint32_t tid, nsec_t time,
			uint8_t direction, uint32_t position)
{
	ADD(s, MESSAGE, message, time, tid, .object = socket, .bytes = 100, .position = position,
	    .direction = direction, .object_kind = OBJECT_INET);
}

static void add_exchange(struct shape *s, uint64_t socket, uint32_t from, uint32_t to, nsec_t time,
			 uint32_t position)
{
	add_message(s, socket, from, time, MESSAGE_SEND, position);
	add_message(s, socket ^ 1, to, time + 100, MESSAGE_RECEIVE, position);
}

static void put_id(uint8_t *id, size_t size, uint64_t n)
{
	for (size_t i = 0; i < 8; i++)
		id[size - 1 - i] = n >> 8 * i;
}

/* Spans are numbered from 1. */
static void add_span_of(struct shape *s, uint64_t service, uint64_t trace, uint64_t id,
			uint64_t parent, nsec_t from, nsec_t to, uint32_t tid)
{
	struct shape_record record = { .span = {
					       .head = { .time = START + to,
							 .tid = tid,
							 .kind = RECORD_SPAN,
							 .words = sizeof(struct record_span) / 8 },
					       .start = START + from,
					       .service = string_n(s, "service", service),
					       .operation = string_n(s, "operation", id % 100),
					       .kind = SPAN_SERVER } };

	put_id(record.span.trace, 16, trace);
	put_id(record.span.span, 8, id);
	put_id(record.span.parent, 8, parent);
	add(s, record);
	record = (struct shape_record){
		.attribute = { .head = { .time = START + to,
					 .kind = RECORD_ATTRIBUTE,
					 .words = sizeof(struct record_attribute) / 8 },
			       .key = capture_add_string(s->w, "http.route"),
			       .value = string_n(s, "/route", id),
			       .type = ATTRIBUTE_STRING }
	};
	put_id(record.attribute.trace, 16, trace);
	put_id(record.attribute.span, 8, id);
	add(s, record);
}

static void add_span(struct shape *s, uint64_t trace, uint64_t id, uint64_t parent, nsec_t from,
		     nsec_t to, uint32_t tid)
{
	add_span_of(s, trace, trace, id, parent, from, to, tid);
}

static void add_context(struct shape *s, uint32_t tid, nsec_t time, uint64_t trace, uint64_t id)
{
	struct shape_record record = {
		.context = { .head = { .time = START + time,
				       .tid = tid,
				       .kind = RECORD_CONTEXT,
				       .words = sizeof(struct record_context) / 8 },
			     .since = START + time }
	};

	put_id(record.context.trace, 16, trace);
	put_id(record.context.span, 8, id);
	add(s, record);
}

/* Each round: a call, a message, a preemption, waits for the disk and a timer, and a loss. */
static void add_round(struct shape *s, uint32_t tid, size_t i, nsec_t at)
{
	ADD(s, SYSCALL, syscall, at + 900, tid, .start = START + at + 100, .nr = i % 50);
	ADD(s, PROBE_EVENT, probe_event, at + 1000, tid, .type = 1 + i % PROBE_TYPES);
	ADD(s, SAMPLE, sample, at + 1100, tid, .stack = 1 + i % 10);
	add_exchange(s, 2, tid, 2, at + 1200, 100 * (i + 1));
	add_run(s, tid, at, at + 2000);
	ADD(s, WAIT, wait, at + 3000, tid, .start = START + at + 2000, .woken = START + at + 2000,
	    .ready = STATE_READY, .flags = INTERVAL_PREEMPTED);
	ADD(s, RUN, run, at + 3000, 3, .start = START + at + 2000, .flags = INTERVAL_OUT_OF_SCOPE);
	add_run(s, tid, at + 3000, at + 4000);
	ADD(s, BLOCK, block, at + 5000, 3, .start = START + at + 4100, .bytes = 4096,
	    .device = DISK, .op = 'W');
	add_wait(s, tid, at + 4000, at + 5500, STATE_DISK, 0);
	add_run(s, tid, at + 5500, at + 6000);
	add_wait(s, tid, at + 6000, at + STEP, STATE_TIMER, 0);
	ADD(s, LOSS, loss, at + 7000, 0, .start = START + at + 6000, .end = START + at + 6500,
	    .count = 1);
}

/* One thread, with a span around all that it does. */
static void shape_thread(struct shape *s, size_t n)
{
	add_thread(s, 1, 1, 0);
	add_thread(s, 2, 2, 0);
	add_connection(s, 2, 1, 2, SERVER_PORT, 0);
	for (size_t i = 0; i < n; i++)
		add_round(s, 1, i, i * STEP);
	add_span(s, 1, 1, 0, 0, n * STEP, 1);
	add_context(s, 1, 0, 1, 1);
}

/* Nested spans without a thread. */
static void shape_deep(struct shape *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_span(s, 1, i + 1, i, i * STEP, (4 * n - i) * STEP, 0);
}

/* Nested spans of one thread, with contexts and occasional waits. */
static void shape_nested(struct shape *s, size_t n)
{
	add_thread(s, 1, 1, 0);
	for (size_t i = 0; i < n; i++) {
		add_span(s, 1, i + 1, i, i * STEP, (2 * n - i) * STEP, 1);
		add_context(s, 1, i * STEP, 1, i + 1);
		add_context(s, 1, (2 * n - i) * STEP, 1, i);
	}
	for (size_t i = 0; i < 2 * n; i++) {
		add_run(s, 1, i * STEP, i * STEP + STEP / 2);
		add_wait(s, 1, i * STEP + STEP / 2, (i + 1) * STEP, STATE_TIMER, 0);
	}
}

/* A root with many children, each on its own thread, which works for the root before. */
static void shape_wide(struct shape *s, size_t n)
{
	add_span(s, 1, 1, 0, 0, n * STEP, 1);
	for (size_t i = 0; i < n; i++) {
		uint32_t tid = i + 1;
		nsec_t at = i * STEP;

		add_thread(s, tid, 1, at);
		add_context(s, tid, at, 1, 1);
		add_span(s, 1, i + 2, 1, at + 2000, at + 8000, tid);
		add_context(s, tid, at + 2000, 1, i + 2);
		add_context(s, tid, at + 8000, 1, 1);
		add_context(s, tid, at + STEP, 0, 0);
		add_run(s, tid, at, at + STEP);
	}
}

/* All threads queue for one lock, and each passes it to the next, twice. */
static void shape_lock(struct shape *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_thread(s, i + 1, 1, 0);
	for (size_t i = 0; i < n; i++) {
		uint32_t tid = i + 1, next = i ? i : n;

		if (i)
			add_wait(s, tid, 0, i * STEP, STATE_LOCK, next);
		add_run(s, tid, i * STEP, (i + 1) * STEP);
		add_wait(s, tid, (i + 1) * STEP, (n + i) * STEP, STATE_LOCK, next);
		add_run(s, tid, (n + i) * STEP, (n + i + 1) * STEP);
	}
}

/* A request over its own connection to a service that calls another one. */
static void request(struct shape *s, size_t i, nsec_t at)
{
	uint64_t front = 10 + 4 * i, back = front + 2;

	add_connection(s, front, 9, 1, SERVER_PORT, at);
	add_connection(s, back, 1, 2, SERVER_PORT + 1, at);
	add_exchange(s, front, 9, 1, at + 100, 100);
	add_exchange(s, back, 1, 2, at + 1000, 100);
	add_exchange(s, back ^ 1, 2, 1, at + 4000, 100);
	add_exchange(s, front ^ 1, 1, 9, at + 6000, 100);
	add_run(s, 1, at + 200, at + 1500);
	add_wait(s, 1, at + 1500, at + 4500, STATE_NETWORK, 0);
	add_run(s, 1, at + 4500, at + 6500);
	add_wait(s, 1, at + 6500, at + STEP + 200, STATE_NETWORK, 0);
}

static void shape_requests(struct shape *s, size_t n)
{
	add_thread(s, 1, 1, 0);
	add_thread(s, 2, 2, 0);
	for (size_t i = 0; i < n; i++)
		request(s, i, i * STEP);
}

/* The same, one in a millisecond: many seconds. */
static void shape_stream(struct shape *s, size_t n)
{
	add_thread(s, 1, 1, 0);
	add_thread(s, 2, 2, 0);
	for (size_t i = 0; i < n; i++)
		request(s, i, i * NSEC_PER_MSEC);
}

/* A part of an episode: a wait for the lock that a timer ends, and a look. */
static void add_part(struct shape *s, uint32_t tid, nsec_t at)
{
	ADD(s, WAIT, wait, at + STEP - 500, tid, .start = START + at,
	    .woken = START + at + STEP - 500, .object = LOCK, .syscall = 202, .state = STATE_TIMER,
	    .ready = STATE_READY, .context = WAKE_HRTIMER, .object_kind = OBJECT_FUTEX,
	    .flags = INTERVAL_CONDVAR);
	add_run(s, tid, at + STEP - 500, at + STEP);
}

/* A thread that is woken again and again by one whose only wait has many parts. */
static void shape_episodes(struct shape *s, size_t n)
{
	add_thread(s, 1, 1, 0);
	add_thread(s, 2, 1, 0);
	for (size_t i = 0; i < n; i++) {
		add_wait(s, 1, i * STEP, i * STEP + STEP - 100, STATE_LOCK, 2);
		add_run(s, 1, i * STEP + STEP - 100, (i + 1) * STEP);
		add_part(s, 2, i * STEP);
	}
}

/* A worker of a pool that calls a service again and again, for one request. */
static void shape_calls(struct shape *s, size_t n)
{
	nsec_t end = n * STEP;

	add_thread(s, 1, 1, 0);
	add_thread(s, 2, 1, 0);
	add_thread(s, 3, 3, 0);
	add_connection(s, 10, 9, 1, SERVER_PORT, 0);
	add_connection(s, 20, 2, 3, SERVER_PORT + 1, 0);
	add_exchange(s, 10, 9, 1, 100, 100);
	add_run(s, 1, 0, 1000);
	ADD(s, WAIT, wait, 1000, 2, .start = START, .woken = START + 900, .object = LOCK,
	    .waker = 1, .syscall = 202, .state = STATE_LOCK, .ready = STATE_READY,
	    .context = WAKE_TASK, .object_kind = OBJECT_FUTEX, .flags = INTERVAL_CONDVAR);
	for (size_t i = 0; i < n; i++) {
		add_exchange(s, 20, 2, 3, i * STEP + 2000, 100 * (i + 1));
		add_exchange(s, 21, 3, 2, i * STEP + 5000, 100 * (i + 1));
	}
	add_run(s, 2, 1000, end);
	add_message(s, 11, 2, end, MESSAGE_SEND, 100);
	add_message(s, 10, 9, end + 100, MESSAGE_RECEIVE, 100);
}

/* An event loop with two requests and calls that cannot be attributed to either. */
static void shape_loop(struct shape *s, size_t n)
{
	add_thread(s, 1, 1, 0);
	add_thread(s, 2, 2, 0);
	for (uint64_t i = 10; i < 16; i += 2)
		add_connection(s, i, i < 14 ? 9 : 1, i < 14 ? 1 : 2, i < 14 ? 80 : 81, 0);
	add_exchange(s, 10, 9, 1, 100, 100);
	add_exchange(s, 12, 9, 1, 300, 100);
	for (size_t i = 0; i < n; i++) {
		add_exchange(s, 14, 1, 2, i * STEP + 2000, 100 * (i + 1));
		add_exchange(s, 15, 2, 1, i * STEP + 5000, 100 * (i + 1));
	}
	add_exchange(s, 11, 1, 9, n * STEP, 100);
	add_exchange(s, 13, 1, 9, n * STEP + 300, 100);
	add_run(s, 1, 0, n * STEP + 1000);
}

/* Requests that arrive at once and wait for one thread, which serves one after the other. */
static void shape_queue(struct shape *s, size_t n)
{
	add_thread(s, 1, 1, 0);
	for (size_t i = 0; i < n; i++) {
		nsec_t at = (i + 1) * STEP;

		add_connection(s, 10 + 2 * i, 9, 1, SERVER_PORT, 0);
		ADD(s, MESSAGE, message, at, 1, .object = 11 + 2 * i, .bytes = 100, .position = 100,
		    .direction = MESSAGE_RECEIVE, .object_kind = OBJECT_INET, .lag = at - 1000);
		add_run(s, 1, at, at + STEP / 2);
		add_message(s, 11 + 2 * i, 1, at + STEP / 2, MESSAGE_SEND, 100);
		add_wait(s, 1, at + STEP / 2, at + STEP, STATE_TIMER, 0);
	}
}

/* Processes, each created by the one before, all for the request that the first one received. */
static void shape_processes(struct shape *s, size_t n)
{
	add_thread(s, 1, 1, 0);
	add_connection(s, 10, 9, 1, SERVER_PORT, 0);
	add_exchange(s, 10, 9, 1, 100, 100);
	for (size_t i = 0; i < n; i++) {
		if (i)
			create_thread(s, i + 1, i + 1, i, i * STEP);
		add_connection(s, 20 + 2 * i, i + 1, 9, SERVER_PORT + 1 + i % 1000, i * STEP);
		add_exchange(s, 20 + 2 * i, i + 1, 9, i * STEP + 1000, 100);
		add_run(s, i + 1, i * STEP, (i + 1) * STEP);
	}
	add_exchange(s, 11, 1, 9, n * STEP, 100);
}

/* Threads of one process, each with one sleep, one call and work for a span. */
static void shape_threads(struct shape *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t tid = i + 1;
		nsec_t at = i * 100;

		add_thread(s, tid, 1 + i / 10 * 10, at);
		add_run(s, tid, at, at + STEP);
		add_wait(s, tid, at + STEP, at + 2 * STEP, STATE_TIMER, 0);
		add_run(s, tid, at + 2 * STEP, at + 3 * STEP);
		ADD(s, SYSCALL, syscall, at + 2 * STEP, tid, .start = START + at + STEP, .nr = 35);
		add_span(s, i + 1, 1, 0, at, at + 3 * STEP, tid);
		add_context(s, tid, at, i + 1, 1);
	}
}

/* Many reused tids, and spans with these tids. */
static void shape_reuse(struct shape *s, size_t n)
{
	add_thread(s, 2, 2, 0);
	for (size_t i = 0; i < n; i++) {
		create_thread(s, 1, 1, 2, i * STEP);
		add_run(s, 1, i * STEP, (i + 1) * STEP - 100);
		ADD(s, EXIT, exit, (i + 1) * STEP - 50, 1, .pid = 1);
		add_span(s, i + 1, 1, 0, i * STEP + 100, (i + 1) * STEP - 200, 1);
	}
}

/* Traces of two spans, each with its own service. */
static void shape_traces(struct shape *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add_span(s, i + 1, 1, 0, i * STEP, (i + 1) * STEP, 0);
		add_span(s, i + 1, 2, 1, i * STEP + 100, (i + 1) * STEP - 100, 0);
	}
}

/* Requests of one service with two calls each; every tenth is slow, and has six. */
static void shape_slow(struct shape *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t calls = i % 10 ? 2 : 6;
		nsec_t start = i * 10 * STEP;

		for (size_t call = 0; call < calls; call++)
			add_span_of(s, 2, i + 1, 100 * i + 2 + call, 100 * i + 1,
				    start + call * STEP, start + (call + 1) * STEP, 0);
		add_span_of(s, 1, i + 1, 100 * i + 1, 0, start, start + calls * STEP + i, 0);
	}
}

static const struct {
	const char *name;
	void (*make)(struct shape *s, size_t n);
} shapes[] = {
	{ "thread", shape_thread },       { "deep", shape_deep },
	{ "nested", shape_nested },       { "wide", shape_wide },
	{ "lock", shape_lock },           { "requests", shape_requests },
	{ "stream", shape_stream },       { "episodes", shape_episodes },
	{ "calls", shape_calls },         { "loop", shape_loop },
	{ "reuse", shape_reuse },         { "threads", shape_threads },
	{ "processes", shape_processes }, { "traces", shape_traces },
	{ "queue", shape_queue },         { "slow", shape_slow },
};

static int by_time(const void *a, const void *b)
{
	const struct shape_record *x = a, *y = b;

	if (x->head.time != y->head.time)
		return x->head.time < y->head.time ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

int main(int argc, char **argv)
{
	const struct capture_meta meta = { .host = "host",
					   .kernel = "6.1.0",
					   .machine = "x86_64",
					   .cpu_count = 2,
					   .start = START };
	struct shape s = { 0 };
	struct err err;

	if (argc != 4)
		return 2;
	need(capture_create(argv[3], &meta, &s.w, &err), &err);
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		if (strcmp(shapes[i].name, argv[1]) == 0)
			shapes[i].make(&s, strtoul(argv[2], NULL, 10));
	qsort(s.records.items, s.records.count, sizeof(struct shape_record), by_time);
	for (size_t i = 0; i < s.records.count; i++)
		put(&s, &s.records.items[i]);
	need(capture_close(s.w, &err), &err);
	capture_writer_free(s.w);
	vec_done(&s.records);
	return 0;
}
