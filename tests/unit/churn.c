/* SPDX-License-Identifier: Apache-2.0 */
#include "churn.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "build.h"

#define START (1000 * NSEC_PER_SEC)

enum { FIRST_TID = 1000, TIDS = 5000, PORT = 80, PARTS = 16 };

/* One process that comes and goes, and what it does. */
struct visitor {
	struct churn *c;
	nsec_t t, step;
	uint32_t n;        /* its number, from 1 */
	uint32_t tid;      /* of its main thread; the next one belongs to its second thread */
	uint32_t server;   /* a thread that stays */
	uint64_t object;   /* numbers of objects from here on are its own */
	uint8_t trace[16]; /* of its spans */
};

nsec_t churn_time(const struct churn *c)
{
	return START + c->seconds * NSEC_PER_SEC;
}

static void add(struct churn *c, const struct record *record)
{
	c->add(c->arg, record);
}

static void describe_staying(struct churn *c, nsec_t t, uint8_t event)
{
	for (uint32_t tid = 1; tid <= CHURN_STAYING; tid++) {
		add(c, REC(TASK, task, t, tid, .pid = tid, .event = event, .comm = tid));
		add(c, REC(PROCESS, process, t, tid, .pid = tid, .cmdline = 100 + tid));
	}
}

static void begin_epoch(struct churn *c, nsec_t t)
{
	uint32_t number = c->seconds / c->epoch;

	if (number)
		add(c, REC(EPOCH, epoch, t, 0, .number = number));
	describe_staying(c, t, number ? TASK_AGAIN : TASK_EXISTING);
}

static void add_stack(struct churn *c, nsec_t t, uint32_t number)
{
	struct {
		struct record_stack stack;
		uint32_t frames[4];
	} r = { .stack = { .head = { t, 0, 0, RECORD_STACK, sizeof(r) / 8 },
			   .stack = number,
			   .kernel_count = 1,
			   .user_count = 3 } };

	for (uint32_t i = 0; i < 4; i++) {
		r.stack.frames[i] = 4 * number + i;
		add(c, REC(FRAME, frame, t, 0, .frame = 4 * number + i, .module = 7, .address = i));
		add(c, REC(SYMBOL, symbol, t, 0, .frame = 4 * number + i,
			   .name = 1000000 + 4 * number + i));
	}
	add(c, &r.stack.head);
}

static void begin_process(struct visitor *v)
{
	struct churn *c = v->c;

	add(c, REC(TASK, task, v->t, v->tid, .pid = v->tid, .event = TASK_NEW, .parent = v->server,
		   .comm = 2000000 + v->n));
	if (v->n % 2) /* others inherit the name of the process that forked them */
		add(c,
		    REC(PROCESS, process, v->t, v->tid, .pid = v->tid, .cmdline = 3000000 + v->n));
	add(c, REC(TASK, task, v->t, v->tid + 1, .pid = v->tid, .event = TASK_NEW, .parent = v->tid,
		   .comm = 2000000 + v->n));
	add_stack(c, v->t, v->n);
	add(c, REC(RUN, run, v->t + v->step, v->tid, .start = v->t));
	v->t += v->step;
}

static struct socket_address address_of(const struct visitor *v, bool is_server)
{
	uint16_t port = 1024 + v->n % 60000;

	return (struct socket_address){ .family = AF_INET,
					.protocol = IPPROTO_TCP,
					.local_port = is_server ? PORT : port,
					.peer_port = is_server ? port : PORT,
					.local = { 10, 0, 0, is_server },
					.peer = { 10, 0, 0, !is_server } };
}

static void call_server(struct visitor *v)
{
	struct churn *c = v->c;
	struct socket_address client = address_of(v, false), server = address_of(v, true);

	add(c, REC(SOCKET_STATE, socket_state, v->t, v->tid, .object = v->object, .address = client,
		   .from = TCP_CLOSE, .to = TCP_SYN_SENT));
	add(c, REC(SOCKET_STATE, socket_state, v->t, 0, .address = server, .from = TCP_SYN_RECV,
		   .to = TCP_ESTABLISHED));
	add(c, REC(SOCKET, socket, v->t, v->tid, .object = v->object, .address = client));
	add(c, REC(MESSAGE, message, v->t, v->tid, .object = v->object, .bytes = 10, .position = 10,
		   .direction = MESSAGE_SEND, .object_kind = OBJECT_INET,
		   .flags = v->n % 3 ? 0 : MESSAGE_HELD));
	if (v->n % 5) /* some are never accepted */
		add(c, REC(SOCKET, socket, v->t + 1, v->server, .object = v->object + 1,
			   .address = server));
	add(c, REC(MESSAGE, message, v->t + 1, v->server, .object = v->object + 1, .bytes = 10,
		   .position = 10, .direction = MESSAGE_RECEIVE, .object_kind = OBJECT_INET));
	if (v->n % 6 == 0)
		add(c, REC(TRANSMIT, transmit, v->t + 1, 0, .object = v->object, .left = v->t + 1,
			   .position = 10));
	/* a unix socket with bytes that are never read */
	add(c, REC(SOCKET, socket, v->t, v->tid, .object = v->object + 2,
		   .peer_object = v->object + 3, .address = { .family = AF_UNIX }));
	add(c, REC(MESSAGE, message, v->t + 1, v->tid, .object = v->object + 2, .bytes = 5,
		   .direction = MESSAGE_SEND, .object_kind = OBJECT_UNIX));
	v->t += v->step;
}

static void wait_for_all(struct visitor *v)
{
	struct churn *c = v->c;

	add(c, REC(FILE, file, v->t, v->tid, .object = v->object, .device = v->n % 100,
		   .name = 4000000 + v->n));
	add(c, REC(DEVICE, device, v->t, 0, .device = v->n, .name = 5000000 + v->n));
	add(c, REC(BLOCK, block, v->t + v->step, v->tid, .start = v->t, .bytes = 4096,
		   .device = v->n));
	add(c, REC(WAIT, wait, v->t + v->step, v->tid, .start = v->t, .woken = v->t + v->step / 2,
		   .object = v->object, .object_kind = OBJECT_FILE, .state = STATE_DISK,
		   .ready = STATE_READY, .context = WAKE_TASK, .waker = v->server, .stack = v->n,
		   .syscall = 1));
	v->t += v->step;
	add(c, REC(RUN, run, v->t, v->server, .start = v->t - v->step / 2, .head.cpu = 1));
	add(c, REC(WAIT, wait, v->t + v->step, v->server, .start = v->t,
		   .woken = v->t + v->step / 2, .object = 0x1000 + 8 * (uint64_t)v->n,
		   .object_kind = OBJECT_FUTEX, .state = STATE_LOCK, .ready = STATE_READY,
		   .context = WAKE_TASK, .waker = v->tid + 1, .syscall = 202, .futex_op = 128));
	add(c, REC(SYSCALL, syscall, v->t + v->step, v->tid, .start = v->t, .nr = 1));
	add(c, REC(SAMPLE, sample, v->t + v->step, v->tid, .stack = v->n));
	add(c, REC(RUN, run, v->t + v->step, v->tid + 1, .start = v->t, .head.cpu = 2));
	v->t += v->step;
}

static void add_span(struct visitor *v, uint8_t id, uint8_t parent, uint32_t tid, nsec_t start)
{
	struct record_attribute attribute = {
		.head = { v->t, tid, 0, RECORD_ATTRIBUTE, sizeof(attribute) / 8 },
		.value = 6000000 + v->n,
		.span = { id },
		.key = 50 + id,
		.type = ATTRIBUTE_STRING,
	};
	struct record_span span = { .head = { v->t, tid, 0, RECORD_SPAN, sizeof(span) / 8 },
				    .start = start,
				    .span = { id },
				    .parent = { parent },
				    .service = 30,
				    .operation = 7000000 + v->n,
				    .pid = tid == v->tid ? v->tid : tid };

	memcpy(attribute.trace, v->trace, sizeof(v->trace));
	memcpy(span.trace, v->trace, sizeof(v->trace));
	add(v->c, &attribute.head);
	if (v->n % 7) /* some are lost */
		add(v->c, &span.head);
}

static void set_context(struct visitor *v, uint32_t tid, uint8_t id, uint8_t flags)
{
	struct record_context r = { .head = { v->t, tid, 0, RECORD_CONTEXT, sizeof(r) / 8 },
				    .since = flags ? v->t - 1 : v->t,
				    .span = { id },
				    .flags = flags };

	memcpy(r.trace, v->trace, sizeof(v->trace));
	add(v->c, &r.head);
}

static void serve(struct visitor *v)
{
	nsec_t start = v->t;

	set_context(v, v->tid, 1, 0);
	set_context(v, v->server, 2, v->n % 2 ? CONTEXT_OBSERVED : 0);
	v->t += v->step;
	add_span(v, 2, 1, v->server, start + 1);
	set_context(v, v->server, 0, 0);
	v->t += v->step;
	add_span(v, 3, 1, v->tid, start + 2);
	add_span(v, 1, 0, v->tid, start);
}

static void end_process(struct visitor *v)
{
	struct churn *c = v->c;

	v->t += v->step;
	if (v->n % 4 == 0)
		add(c, REC(LOSS, loss, v->t, v->n % 8 ? 0 : v->tid, .start = v->t - 5, .end = v->t,
			   .count = 3));
	add(c, REC(RUN, run, v->t, v->tid, .start = v->t - v->step));
	if (v->n % 10) /* the exit of others is lost */
		add(c, REC(EXIT, exit, v->t, v->tid, .pid = v->tid));
	if (v->n % 11)
		add(c, REC(EXIT, exit, v->t, v->tid + 1, .pid = v->tid));
}

void churn_second(struct churn *c)
{
	nsec_t t = churn_time(c), length = NSEC_PER_SEC / (c->rate + 1);

	if (c->epoch && c->seconds % c->epoch == 0)
		begin_epoch(c, t);
	else if (!c->seconds)
		describe_staying(c, t, TASK_EXISTING);
	for (uint32_t i = 0; i < c->rate; i++) {
		struct visitor v = {
			.c = c, .t = t + i * length, .step = length / PARTS, .n = ++c->processes
		};

		v.tid = FIRST_TID + 2 * (v.n % TIDS);
		v.server = 1 + v.n % CHURN_STAYING;
		v.object = 1000000 + 4ull * v.n;
		memcpy(v.trace, &v.n, sizeof(v.n));
		begin_process(&v);
		call_server(&v);
		wait_for_all(&v);
		serve(&v);
		end_process(&v);
	}
	c->seconds++;
}
