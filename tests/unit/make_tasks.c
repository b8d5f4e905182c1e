/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_tasks FILE - a capture of tasks that take turns on a thread, always the
 * same to the byte: tests/data/good/tasks.sonde.
 *
 * An event loop (4100) has a request that asks a database, GET /fast; while that
 * waits, another one, GET /slow, computes and even sleeps on the loop, so that the
 * answer of the database lies about for 19 ms.  A third, POST /order, is handed to a
 * worker (4101 of 4100), which flushes a file, and back.  At the end the loop works for a
 * span that is unfinished, and then for an unknown one.
 */
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "event/capture.h"

enum { LOOP = 4100, WORKER = 4101, FILE_OBJECT = 4177 };
enum { FAST = 1, DATABASE, SLOW, ORDER, UNFINISHED };
#define START (1000 * NSEC_PER_SEC)
#define AT(ms) (START + (uint64_t)((ms) * 1e6 + 0.5))

struct told {
	union {
		struct record head;
		uint8_t bytes[128];
	} record;
	uint32_t order;
};

static VEC(struct told) told;
static struct capture_writer *writer;

static void need(int r, const struct err *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

/* The order of records is free. */
static void tell(const struct record *record)
{
	struct told *t = vec_push(&told);

	*t = (struct told){ .order = told.count };
	memcpy(t->record.bytes, record, record->words * 8u);
}

#define TELL(KIND, type, ms, thread, ...) \
	tell(&(struct record_##type){ .head = { .time = AT(ms), \
						.tid = (thread), \
						.kind = RECORD_##KIND, \
						.words = sizeof(struct record_##type) / 8 }, \
				      __VA_ARGS__ } \
		      .head)

static void run(uint32_t tid, double from, double to)
{
	TELL(RUN, run, to, tid, .start = AT(from));
}

static void wait_for(uint32_t tid, double from, double to, struct record_wait why)
{
	why.head = (struct record){
		.time = AT(to), .tid = tid, .kind = RECORD_WAIT, .words = sizeof(why) / 8
	};
	why.start = AT(from);
	why.woken = AT(to - 0.05);
	why.ready = STATE_READY;
	tell(&why.head);
}

static const struct record_wait sleeps = { .state = STATE_TIMER,
					   .context = WAKE_HRTIMER,
					   .syscall = 230 }; /* clock_nanosleep */
static const struct record_wait polls = {
	.state = STATE_NETWORK, .context = WAKE_SOFTIRQ, .vector = VECTOR_NET_RX, .syscall = 232
}; /* epoll_wait */
static const struct record_wait is_notified = { .state = STATE_PROCESS,
						.context = WAKE_TASK,
						.waker = WORKER,
						.syscall = 232,
						.object_kind = OBJECT_EVENTFD };
static const struct record_wait takes_work = { .state = STATE_LOCK,
					       .context = WAKE_TASK,
					       .waker = LOOP,
					       .syscall = 202, /* futex */
					       .object_kind = OBJECT_FUTEX,
					       .object = 0x7f0000001000,
					       .flags = INTERVAL_CONDVAR };
static const struct record_wait flushes = { .state = STATE_DISK,
					    .context = WAKE_IRQ,
					    .vector = 24,
					    .syscall = 74, /* fsync */
					    .object_kind = OBJECT_FILE,
					    .object = FILE_OBJECT };

/* Each request has a trace of its own. */
static uint8_t trace_of(uint8_t id)
{
	return id == DATABASE ? FAST : id;
}

static void work_for(uint32_t tid, double since, uint8_t id)
{
	TELL(CONTEXT, context, since, tid, .since = AT(since), .trace = { 0x7a, trace_of(id) },
	     .span = { [7] = id });
}

static void span(uint8_t id, double from, double to, const char *name, uint8_t parent,
		 enum span_kind kind)
{
	TELL(ATTRIBUTE, attribute, to, LOOP, .trace = { 0x7a, trace_of(id) }, .span = { [7] = id },
	     .key = capture_add_string(writer, "http.route"),
	     .value = capture_add_string(writer, name), .type = ATTRIBUTE_STRING);
	TELL(SPAN, span, to, LOOP, .start = AT(from), .trace = { 0x7a, trace_of(id) },
	     .span = { [7] = id }, .parent = { [7] = parent },
	     .service = capture_add_string(writer, "shop"),
	     .operation = capture_add_string(writer, name), .pid = LOOP, .kind = kind);
}

static void tell_states(void)
{
	run(LOOP, 0, 1.2);
	wait_for(LOOP, 1.2, 3, polls);
	run(LOOP, 3, 14);
	wait_for(LOOP, 14, 19, sleeps);
	run(LOOP, 19, 24.2);
	wait_for(LOOP, 24.2, 28, is_notified);
	run(LOOP, 28, 30);
	wait_for(WORKER, 0, 24.2, takes_work);
	run(WORKER, 24.2, 25);
	wait_for(WORKER, 25, 27, flushes);
	run(WORKER, 27, 28);
	wait_for(WORKER, 28, 30, takes_work);
}

static void tell_contexts(void)
{
	work_for(LOOP, 0, 0);
	work_for(LOOP, 0.5, FAST);
	work_for(LOOP, 0.8, DATABASE);
	work_for(LOOP, 1.1, 0);
	work_for(LOOP, 3.1, SLOW);
	work_for(LOOP, 22.1, 0);
	work_for(LOOP, 22.2, DATABASE);
	work_for(LOOP, 22.3, FAST);
	work_for(LOOP, 22.6, 0);
	work_for(LOOP, 23.5, ORDER);
	work_for(LOOP, 24.1, 0);
	work_for(WORKER, 24.3, ORDER);
	work_for(WORKER, 27.9, 0);
	work_for(LOOP, 28.1, ORDER);
	work_for(LOOP, 28.5, 0);
	work_for(LOOP, 28.6, UNFINISHED);
	TELL(CONTEXT, context, 29, LOOP, .since = AT(29), .flags = CONTEXT_UNKNOWN);
	TELL(CONTEXT, context, 29.9, LOOP, .since = AT(28), .flags = CONTEXT_OBSERVED,
	     .trace = { 0x7a, UNFINISHED }, .span = { [7] = UNFINISHED });
}

static void tell_all(void)
{
	uint32_t comm = capture_add_string(writer, "shop");

	TELL(TASK, task, 0, LOOP, .pid = LOOP, .event = TASK_EXISTING, .comm = comm);
	TELL(TASK, task, 0, WORKER, .pid = LOOP, .event = TASK_EXISTING,
	     .comm = capture_add_string(writer, "worker"));
	TELL(FILE, file, 0, WORKER, .object = FILE_OBJECT, .inode = 1234,
	     .name = capture_add_string(writer, "shop/orders.wal"));
	tell_states();
	tell_contexts();
	span(FAST, 0.4, 22.7, "GET /fast", 0, SPAN_SERVER);
	span(DATABASE, 0.7, 22.3, "SELECT", FAST, SPAN_CLIENT);
	span(SLOW, 3.05, 22.15, "GET /slow", 0, SPAN_SERVER);
	span(ORDER, 23.4, 28.55, "POST /order", 0, SPAN_SERVER);
}

static int by_time(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	if (x->record.head.time != y->record.head.time)
		return x->record.head.time < y->record.head.time ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

int main(int argc, char **argv)
{
	const struct capture_meta meta = { .host = "testhost",
					   .kernel = "6.1.0-18-amd64",
					   .machine = "x86_64",
					   .command = "sonde record -- sonde run -- shop",
					   .tool = "sonde 0.1.0",
					   .cpu_count = 1,
					   .start = START,
					   .realtime_offset = 1700000000ll * NSEC_PER_SEC };
	struct err err;

	if (argc != 2)
		return 2;
	need(capture_create(argv[1], &meta, &writer, &err), &err);
	tell_all();
	qsort(told.items, told.count, sizeof(struct told), by_time);
	for (size_t i = 0; i < told.count; i++)
		need(capture_write(writer, &told.items[i].record.head, &err), &err);
	need(capture_close(writer, &err), &err);
	capture_writer_free(writer);
	vec_done(&told);
	return 0;
}
