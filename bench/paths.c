/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths - time from a capture to the critical paths of all its requests.
 *
 * Writes a capture of typical requests: a client calls a worker over TCP; the worker waits for a
 * lock, whose holder waits for the disk; then the worker replies.  Each request has a span and 17
 * records in all.  Reads the capture into a model and finds the critical path of every span, which
 * must lead to the disk.  Prints the number of records and requests; the ns per record of reading
 * and of the paths; the bytes of the model per record; and the number of steps of all paths.
 */
#include <string.h>
#include <sys/socket.h>

#include "analyse/path.h"
#include "clock.h"
#include "event/capture.h"
#include "model/model.h"

#define LANES 8
#define REQUEST_NS 100000 /* between the starts of two requests */
#define RECORDS 17        /* of a request */

/* The threads of a lane. */
#define CLIENT(lane) (1000 + (lane))
#define WORKER(lane) (2000 + (lane))
#define HOLDER(lane) (3000 + (lane))

static _Noreturn void fail(const struct err *err)
{
	fprintf(stderr, "bench-paths: %s\n", err->text);
	exit(1);
}

static void put(struct capture_writer *w, const void *record)
{
	struct err err;

	if (capture_write(w, record, &err) < 0)
		fail(&err);
}

#define HEAD(kind_, type, t, thread) \
	{ .time = (t), \
	  .tid = (thread), \
	  .cpu = (thread) % 2, \
	  .kind = RECORD_##kind_, \
	  .words = sizeof(struct type) / 8 }
#define PUT(w, kind, type, t, thread, ...) \
	put(w, &(struct type){ .head = HEAD(kind, type, t, thread), __VA_ARGS__ })

static void put_run(struct capture_writer *w, uint32_t tid, nsec_t start, nsec_t end)
{
	PUT(w, RUN, record_run, end, tid, .start = start);
}

struct wait {
	uint8_t state;
	uint8_t context; /* enum wake_context */
	nsec_t start, woken, end;
	uint32_t waker;
};

static void put_wait(struct capture_writer *w, uint32_t tid, struct wait wait)
{
	PUT(w, WAIT, record_wait, wait.end, tid, .start = wait.start, .woken = wait.woken,
	    .state = wait.state, .ready = STATE_READY, .context = wait.context, .waker = wait.waker,
	    .syscall = 0, .vector = VECTOR_NET_RX);
}

static void put_message(struct capture_writer *w, uint32_t tid, nsec_t t, enum direction direction,
			uint64_t object, uint32_t position)
{
	PUT(w, MESSAGE, record_message, t, tid, .object = object, .bytes = 100,
	    .position = position, .direction = direction, .object_kind = OBJECT_INET);
}

static void put_names(struct capture_writer *w)
{
	for (uint32_t lane = 0; lane < LANES; lane++) {
		struct socket_address a = { .family = AF_INET,
					    .protocol = 6,
					    .local_port = 40000 + lane,
					    .peer_port = 80 };
		struct socket_address b = a;

		b.local_port = a.peer_port;
		b.peer_port = a.local_port;
		PUT(w, TASK, record_task, 1, CLIENT(lane), .pid = CLIENT(0),
		    .event = TASK_EXISTING);
		PUT(w, TASK, record_task, 1, WORKER(lane), .pid = WORKER(0),
		    .event = TASK_EXISTING);
		PUT(w, TASK, record_task, 1, HOLDER(lane), .pid = WORKER(0),
		    .event = TASK_EXISTING);
		PUT(w, SOCKET, record_socket, 1, 0, .object = CLIENT(lane), .address = a);
		PUT(w, SOCKET, record_socket, 1, 0, .object = WORKER(lane), .address = b);
	}
}

static void put_request(struct capture_writer *w, uint64_t i)
{
	uint32_t lane = i % LANES, position = 100 * (i / LANES + 1);
	nsec_t t = (i + LANES) * REQUEST_NS, last = t - LANES * REQUEST_NS;
	uint32_t client = CLIENT(lane), worker = WORKER(lane), holder = HOLDER(lane);
	struct record_span span = { .head = HEAD(SPAN, record_span, t + 75000, client),
				    .start = t };

	memcpy(span.trace, &i, sizeof(i));
	memcpy(span.span, &t, sizeof(t));
	put_wait(w, client,
		 (struct wait){ STATE_TIMER, WAKE_HRTIMER, i < LANES ? 1 : last + 80000, t - 10, t,
				0 });
	put_wait(w, holder,
		 (struct wait){ STATE_TIMER, WAKE_HRTIMER, i < LANES ? 1 : last + 61000, t - 10, t,
				0 });
	put_run(w, holder, t, t + 1000);
	put_run(w, client, t, t + 5000);
	put_message(w, client, t + 5000, MESSAGE_SEND, client, position);
	put_wait(w, worker,
		 (struct wait){ STATE_NETWORK, WAKE_SOFTIRQ, i < LANES ? 1 : last + 71000, t + 5000,
				t + 7000, client });
	put_message(w, worker, t + 8000, MESSAGE_RECEIVE, worker, position);
	put_run(w, worker, t + 7000, t + 10000);
	put_wait(w, holder,
		 (struct wait){ STATE_DISK, WAKE_IRQ, t + 1000, t + 58000, t + 59000, 0 });
	put_run(w, holder, t + 59000, t + 61000);
	put_wait(w, worker,
		 (struct wait){ STATE_LOCK, WAKE_TASK, t + 10000, t + 60000, t + 62000, holder });
	put_message(w, worker, t + 70000, MESSAGE_SEND, worker, position);
	put_run(w, worker, t + 62000, t + 71000);
	put_wait(w, client,
		 (struct wait){ STATE_NETWORK, WAKE_SOFTIRQ, t + 5000, t + 70000, t + 73000,
				worker });
	put_message(w, client, t + 74000, MESSAGE_RECEIVE, client, position);
	put(w, &span);
	put_run(w, client, t + 73000, t + 80000);
}

static void write_capture(const char *path, uint64_t requests)
{
	const struct capture_meta meta = { .host = "bench",
					   .kernel = "",
					   .machine = "",
					   .command = "",
					   .tool = "bench",
					   .cpu_count = 2 };
	_cleanup_(capture_writer_freep) struct capture_writer *w = NULL;
	struct err err;

	if (capture_create(path, &meta, &w, &err) < 0)
		fail(&err);
	put_names(w);
	for (uint64_t i = 0; i < requests; i++)
		put_request(w, i);
	if (capture_close(w, &err) < 0)
		fail(&err);
}

static const char *get_string(const void *cap, uint32_t id)
{
	return capture_get_string(cap, id);
}

static struct model *load(const char *path)
{
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct model *model = model_new();
	struct capture_cursor cursor;
	const struct record *record;
	struct err err;
	int r;

	if (capture_open(path, &cap, &err) < 0)
		fail(&err);

	struct source source = { .get_string = get_string, .arg = cap };

	capture_cursor_init(&cursor, cap, 0, UINT64_MAX);
	while ((r = capture_next(&cursor, &record, &err)) > 0)
		model_add(model, &source, record);
	if (r < 0)
		fail(&err);
	model_finish(model);
	return model;
}

/* The number of steps of all paths; each path must lead to the disk. */
static uint64_t find_paths(const struct model *model)
{
	const struct span_set spans = { .model = model };
	struct path path = { 0 };
	uint64_t steps = 0;

	for (uint32_t i = 1; i < model_span_count(model); i++) {
		bool disk = false;

		path.steps.count = 0;
		path_of_span(&spans, (span_id){ i }, &path);
		for (size_t k = 0; k < path.steps.count; k++)
			disk |= path.steps.items[k].is_leaf &&
				path.steps.items[k].state == STATE_DISK;
		if (!disk) {
			fprintf(stderr, "bench-paths: the path of span %u misses the disk\n", i);
			exit(1);
		}
		steps += path.steps.count;
	}
	path_done(&path);
	return steps;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: bench-paths FILE RECORDS\n");
		return 2;
	}
	uint64_t requests = strtoull(argv[2], NULL, 10) / RECORDS;

	write_capture(argv[1], requests);

	nsec_t begin = clock_now(CLOCK_MONOTONIC);
	_cleanup_(model_freep) struct model *model = load(argv[1]);
	nsec_t loaded = clock_now(CLOCK_MONOTONIC);
	uint64_t steps = find_paths(model);
	nsec_t end = clock_now(CLOCK_MONOTONIC);
	double records = (double)model_record_count(model);

	unlink(argv[1]);
	printf("%.0f %lu %.2f %.2f %.2f %lu\n", records, requests,
	       (double)(loaded - begin) / records, (double)(end - loaded) / records,
	       (double)model_memory(model) / records, steps);
	return 0;
}
