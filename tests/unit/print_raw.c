/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_raw [--count] INPUT [FORMAT] - print the raw events of a kernel trace.
 *
 * Prints one line per event with all fields of struct raw_event, in the same form for all
 * formats, so that traces of different tools can be compared.  With --count, only counts the
 * events and prints the rate per second of CPU time.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "read/input.h"
#include "read/raw/raw.h"

static const char *const kinds[RAW_KIND_COUNT] = {
	[RAW_OTHER] = "other",
	[RAW_SWITCH] = "switch",
	[RAW_WAKING] = "waking",
	[RAW_WAKEUP] = "wakeup",
	[RAW_WAKEUP_NEW] = "wakeup_new",
	[RAW_FORK] = "fork",
	[RAW_EXEC] = "exec",
	[RAW_EXIT] = "exit",
	[RAW_RENAME] = "rename",
	[RAW_IRQ_ENTRY] = "irq_entry",
	[RAW_IRQ_EXIT] = "irq_exit",
	[RAW_SOFTIRQ_ENTRY] = "softirq_entry",
	[RAW_SOFTIRQ_EXIT] = "softirq_exit",
	[RAW_HRTIMER_ENTRY] = "hrtimer_entry",
	[RAW_HRTIMER_EXIT] = "hrtimer_exit",
	[RAW_SYSCALL_ENTER] = "call",
	[RAW_SYSCALL_EXIT] = "return",
	[RAW_BLOCK_ISSUE] = "block_issue",
	[RAW_BLOCK_COMPLETE] = "block_complete",
	[RAW_SOCKET_SEND] = "send",
	[RAW_SOCKET_RECEIVE] = "receive",
	[RAW_TCP_RECEIVE] = "tcp_receive",
	[RAW_SOCKET_STATE] = "socket_state",
	[RAW_TASK] = "task",
	[RAW_LOST] = "lost",
	[RAW_PROCESS] = "process",
};

static void print_text(const char *name, const struct raw_text *text)
{
	printf(" %s=", name);
	for (uint32_t i = 0; text->s && i < text->len; i++)
		printf((unsigned char)text->s[i] <= ' ' || text->s[i] == '%' ? "%%%02x" : "%c",
		       (unsigned char)text->s[i]);
}

static void print_id(const char *name, uint32_t id)
{
	printf(" %s=%" PRId64, name, id == RAW_UNKNOWN ? -1 : (int64_t)id);
}

static void print_address(const char *name, const uint8_t bytes[16], uint16_t family, uint16_t port)
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(family, bytes, text, sizeof(text));
	printf(" %s=%s:%u", name, text, port);
}

static void print_socket(const struct raw_event *e)
{
	const struct socket_address *a = &e->socket.address;
	bool is_6 = a->family == AF_INET6;

	printf(" family=%u", a->family);
	if (e->kind == RAW_SOCKET_STATE || e->kind == RAW_TCP_RECEIVE) {
		print_address("local", is_6 ? e->socket.local6 : a->local, a->family,
			      a->local_port);
		print_address("peer", is_6 ? e->socket.peer6 : a->peer, a->family, a->peer_port);
	} else {
		printf(" object=%" PRIx64 " bytes=%" PRId64, e->socket.object, e->socket.bytes);
	}
	if (e->kind == RAW_SOCKET_STATE)
		printf(" from=%u to=%u", e->socket.from, e->socket.to);
}

static void print_block(const struct raw_event *e)
{
	printf(" device=%u sector=%" PRIu64 " bytes=%u sectors=%u error=%d", e->block.device,
	       e->block.sector, e->block.bytes, e->block.sectors, e->block.error);
	print_text("op", &e->block.op);
}

static void print_syscall(const struct raw_event *e)
{
	printf(" nr=%d", e->syscall.nr);
	if (e->kind == RAW_SYSCALL_EXIT) {
		printf(" result=%" PRId64, e->syscall.result);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(e->syscall.args); i++)
		printf(" %" PRIx64, e->syscall.args[i]);
	print_text("path", &e->syscall.path);
}

static void print_life(const struct raw_event *e)
{
	if (e->kind == RAW_FORK) {
		print_id("parent", e->fork.parent);
		print_id("child", e->fork.child);
		print_id("flags", e->fork.flags);
		print_text("name", &e->fork.comm);
	} else if (e->kind == RAW_EXEC) {
		print_id("of", e->exec.tid);
		print_id("old", e->exec.old_tid);
		print_text("path", &e->exec.path);
	} else {
		print_id("of", e->wake.tid);
		print_text("name", &e->wake.comm);
	}
}

static void print_switch(const struct raw_event *e)
{
	print_id("prev", e->sched_switch.prev);
	print_id("next", e->sched_switch.next);
	printf(" state=%" PRIu64, e->sched_switch.state & RAW_STATE_ALL);
	print_text("prev_comm", &e->sched_switch.prev_comm);
	print_text("next_comm", &e->sched_switch.next_comm);
}

static void print_fields(const struct raw_event *e)
{
	switch (e->kind) {
	case RAW_SWITCH:
		print_switch(e);
		break;
	case RAW_WAKING:
	case RAW_WAKEUP:
	case RAW_WAKEUP_NEW:
	case RAW_FORK:
	case RAW_EXEC:
	case RAW_EXIT:
	case RAW_RENAME:
		print_life(e);
		break;
	case RAW_IRQ_ENTRY:
	case RAW_IRQ_EXIT:
	case RAW_SOFTIRQ_ENTRY:
	case RAW_SOFTIRQ_EXIT:
		printf(" number=%u", e->irq.number);
		break;
	case RAW_SYSCALL_ENTER:
	case RAW_SYSCALL_EXIT:
		print_syscall(e);
		break;
	case RAW_BLOCK_ISSUE:
	case RAW_BLOCK_COMPLETE:
		print_block(e);
		break;
	case RAW_SOCKET_SEND:
	case RAW_SOCKET_RECEIVE:
	case RAW_TCP_RECEIVE:
	case RAW_SOCKET_STATE:
		print_socket(e);
		break;
	case RAW_LOST:
		printf(" count=%" PRIu64, e->lost.count);
		break;
	case RAW_PROCESS:
		print_id("of", e->process.pid);
		print_text("group", &e->process.cgroup);
		break;
	}
}

static void print_event(struct raw_source *source, const struct raw_event *e)
{
	const char *name = source->name(source), *colon = strrchr(name, ':');

	printf("%" PRIu64 " cpu=%u", e->time, e->cpu);
	print_id("tid", e->tid);
	print_text("comm", &e->comm);
	printf(" context=%u kind=%s event=%s", e->context, kinds[e->kind] ?: "?",
	       e->kind == RAW_LOST || e->kind == RAW_PROCESS ? "-"
	       : colon                                       ? colon + 1
							     : name);
	print_fields(e);
	printf("\n");
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	bool count = argc > 1 && strcmp(argv[1], "--count") == 0;
	_cleanup_(input_freep) struct input *input = NULL;
	double begin = seconds();
	struct raw_event event;
	struct err err = { "it has no raw events" };
	uint64_t events = 0;
	int r = -1;

	argv += count;
	if (!argv[1] || input_open(argv[1], argv[2], &input, &err) < 0 || !input_raw(input)) {
		fprintf(stderr, "print_raw: %s\n", argv[1] ? err.text : "which input?");
		return 1;
	}
	while ((r = input_raw(input)->next(input_raw(input), &event, &err)) > 0) {
		events++;
		if (!count)
			print_event(input_raw(input), &event);
	}
	if (input_warning(input))
		fprintf(stderr, "print_raw: %s\n", input_warning(input));
	if (r < 0)
		fprintf(stderr, "print_raw: %s\n", err.text);
	if (count)
		printf("%" PRIu64 " events, %.2f million/s\n", events,
		       events / (seconds() - begin) / 1e6);
	return r < 0;
}
