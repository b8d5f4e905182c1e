/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_hosts FRONT BACK - write captures of two hosts that exchange messages, with
 * reproducible bytes: tests/data/hosts/front.sonde and back.sonde.
 *
 * Every 10 ms a thread of the first host calls a thread of the second, which sleeps for 5 ms
 * and replies; a message takes 50 µs.  The clock of the second host is half a second ahead,
 * which its CLOCK_REALTIME does not account for, and 50 ppm fast.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "event/capture.h"

enum { CLIENT = 4001, SERVER = 5001, SOCKET = 77, ROUNDS = 11 };
#define START (1000 * NSEC_PER_SEC)
#define US 1000ull

static struct capture_writer *writer;
static bool is_back;

/* Converts true time since the start to the clock of this host. */
static nsec_t at(nsec_t t)
{
	return START + t + (is_back ? 500000 * US + t / 20000 : 0);
}

static void need(int r, const struct err *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static void put(void *record, uint8_t kind, size_t size, nsec_t t)
{
	struct record *head = record;
	struct err err;

	head->time = at(t);
	head->kind = kind;
	head->words = size / 8;
	head->tid = head->tid ?: is_back ? SERVER : CLIENT;
	need(capture_write(writer, head, &err), &err);
}

#define PUT(KIND, type, t, ...) \
	put(&(struct record_##type){ __VA_ARGS__ }, RECORD_##KIND, sizeof(struct record_##type), t)

static void run(nsec_t from, nsec_t to)
{
	PUT(RUN, run, to, .start = at(from));
}

static void wait_for(enum state state, nsec_t from, nsec_t to)
{
	bool sleeps = state == STATE_TIMER;

	PUT(WAIT, wait, to, .start = at(from), .woken = at(to - 10 * US), .state = state,
	    .ready = STATE_READY, .syscall = sleeps ? 230 : 45, /* clock_nanosleep, recvfrom */
	    .context = sleeps ? WAKE_HRTIMER : WAKE_SOFTIRQ, .vector = sleeps ? 0 : VECTOR_NET_RX,
	    .object = sleeps ? 0 : SOCKET, .object_kind = sleeps ? OBJECT_NONE : OBJECT_INET);
}

static void message(enum direction direction, nsec_t t, uint32_t bytes, uint32_t position)
{
	PUT(MESSAGE, message, t, .object = SOCKET, .object_kind = OBJECT_INET, .bytes = bytes,
	    .position = position, .direction = direction);
}

/* A call at 1 ms, received 50 µs later, and its reply at 6.3 ms, received 50 µs later. */
static void client_round(nsec_t t, uint32_t i)
{
	message(MESSAGE_SEND, t + 1000 * US, 100, 1000 + 100 * i);
	run(t, t + 1010 * US);
	wait_for(STATE_NETWORK, t + 1010 * US, t + 6345 * US);
	message(MESSAGE_RECEIVE, t + 6350 * US, 10, 5000 + 10 * i);
	run(t + 6345 * US, t + 10000 * US);
}

static void server_round(nsec_t t, uint32_t i)
{
	wait_for(STATE_NETWORK, t, t + 1045 * US);
	message(MESSAGE_RECEIVE, t + 1050 * US, 100, 1000 + 100 * i);
	run(t + 1045 * US, t + 1200 * US);
	wait_for(STATE_TIMER, t + 1200 * US, t + 6250 * US);
	message(MESSAGE_SEND, t + 6300 * US, 10, 5000 + 10 * i);
	run(t + 6250 * US, t + 6320 * US);
	wait_for(STATE_NETWORK, t + 6320 * US, t + 9990 * US); /* woken by something else */
	run(t + 9990 * US, t + 10000 * US);
}

static void tell_socket(void)
{
	struct socket_address address = { .family = AF_INET,
					  .protocol = IPPROTO_TCP,
					  .local = { 10, 0, 0, is_back ? 2 : 1 },
					  .peer = { 10, 0, 0, is_back ? 1 : 2 },
					  .local_port = is_back ? 7000 : 40000,
					  .peer_port = is_back ? 40000 : 7000 };

	PUT(SOCKET, socket, 0, .object = SOCKET, .address = address, .netns = 1);
}

static void make(const char *path, const char *name)
{
	const struct capture_meta meta = { .host = name,
					   .kernel = "6.1.0-18-amd64",
					   .machine = "x86_64",
					   .command = "sonde record -a",
					   .tool = "sonde 0.1.0",
					   .cpu_count = 1,
					   .start = at(0),
					   .realtime_offset = 1700000000ll * NSEC_PER_SEC };
	struct err err;

	need(capture_create(path, &meta, &writer, &err), &err);
	PUT(TASK, task, 0, .pid = is_back ? SERVER : CLIENT, .event = TASK_EXISTING,
	    .comm = capture_add_string(writer, is_back ? "server" : "client"));
	tell_socket();
	for (uint32_t i = 0; i < ROUNDS; i++)
		is_back ? server_round(i * 10000 * US, i + 1) : client_round(i * 10000 * US, i + 1);
	need(capture_close(writer, &err), &err);
	capture_writer_free(writer);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	make(argv[1], "front");
	is_back = true;
	make(argv[2], "back");
	return 0;
}
