/* SPDX-License-Identifier: Apache-2.0 */
#include "event/kind.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

/* Whether records of a kind refer to a thread; PERHAPS: if their tid is not 0. */
enum has_thread { NEVER, PERHAPS, ALWAYS };

static const struct kind {
	const char *name, *dump_name;
	bool cpu;
	enum has_thread thread;
} kinds[RECORD_KIND_COUNT] = {
	[RECORD_RUN] = { "run", "interval", true, ALWAYS },
	[RECORD_WAIT] = { "wait", "interval", true, ALWAYS },
	[RECORD_TASK] = { "task", "task", true, ALWAYS },
	[RECORD_EXIT] = { "exit", "exit", true, ALWAYS },
	[RECORD_MESSAGE] = { "message", "message", true, ALWAYS },
	[RECORD_SOCKET] = { "socket", "socket", false, PERHAPS },
	[RECORD_FILE] = { "file", "file", false, PERHAPS },
	[RECORD_SOCKET_STATE] = { "socket_state", "socket_state", true, PERHAPS },
	[RECORD_SYSCALL] = { "syscall", "syscall", true, ALWAYS },
	[RECORD_BLOCK] = { "block_io", "block_io", true, ALWAYS },
	[RECORD_PROBE_EVENT] = { "probe_event", "probe_event", true, ALWAYS },
	[RECORD_SAMPLE] = { "sample", "sample", true, ALWAYS },
	[RECORD_STACK] = { "stack", "stack", false, NEVER },
	[RECORD_FRAME] = { "frame", NULL, false, NEVER },
	[RECORD_SYMBOL] = { "symbol", NULL, false, NEVER },
	[RECORD_LOSS] = { "loss", "loss", true, PERHAPS },
	[RECORD_CLOCK] = { "clock", "clock", false, NEVER },
	[RECORD_PROCESS] = { "process", "process", false, ALWAYS },
	[RECORD_PROBE_TYPE] = { "probe_type", NULL, false, NEVER },
	[RECORD_DEVICE] = { "device", "device", false, NEVER },
	[RECORD_SPAN] = { "span", "span", false, PERHAPS },
	[RECORD_CONTEXT] = { "context", "context", false, ALWAYS },
	[RECORD_ATTRIBUTE] = { "attribute", "attribute", false, PERHAPS },
	[RECORD_COUNTER] = { "counter", "counter", false, NEVER },
	[RECORD_TRANSMIT] = { "transmit", "transmit", false, NEVER },
	[RECORD_EPOCH] = { "epoch", "epoch", false, NEVER },
	[RECORD_UNREAD] = { "unread", "unread", false, NEVER },
};

static const struct kind *kind_get(unsigned kind)
{
	static const struct kind unknown = { NULL, NULL, false, NEVER };

	return kind < RECORD_KIND_COUNT ? &kinds[kind] : &unknown;
}

const char *kind_name(unsigned kind)
{
	return kind_get(kind)->name;
}

const char *kind_dump_name(unsigned kind)
{
	return kind_get(kind)->dump_name;
}

bool kind_has_cpu(unsigned kind)
{
	return kind_get(kind)->cpu;
}

bool kind_has_thread(unsigned kind, uint32_t tid)
{
	enum has_thread thread = kind_get(kind)->thread;

	return thread == ALWAYS || (thread == PERHAPS && tid != 0);
}

uint32_t kind_parse(const char *dump_name)
{
	uint32_t found = 0;

	for (unsigned k = 0; k < RECORD_KIND_COUNT; k++)
		if (kinds[k].dump_name && strcmp(kinds[k].dump_name, dump_name) == 0)
			found |= 1u << k;
	return found;
}

char *kind_list(void)
{
	char *list = must_strdup("interval");

	for (unsigned k = RECORD_TASK; k < RECORD_KIND_COUNT; k++) {
		if (!kinds[k].dump_name)
			continue;
		char *longer = must_printf("%s, %s", list, kinds[k].dump_name);
		free(list);
		list = longer;
	}
	return list;
}

#define NAME_IN(table, i) ((i) < ARRAY_LEN(table) ? (table)[i] : NULL)

const char *object_kind_name(unsigned kind)
{
	static const char *const names[] = {
		[OBJECT_FILE] = "file",
		[OBJECT_DIRECTORY] = "directory",
		[OBJECT_BLOCK_DEVICE] = "block_device",
		[OBJECT_INET] = "inet",
		[OBJECT_UNIX] = "unix",
		[OBJECT_SOCKET] = "socket",
		[OBJECT_PIPE] = "pipe",
		[OBJECT_EVENTFD] = "eventfd",
		[OBJECT_TIMERFD] = "timerfd",
		[OBJECT_SIGNALFD] = "signalfd",
		[OBJECT_EPOLL] = "epoll",
		[OBJECT_INOTIFY] = "inotify",
		[OBJECT_TTY] = "tty",
		[OBJECT_INPUT] = "input",
		[OBJECT_CHAR_DEVICE] = "char_device",
		[OBJECT_FUTEX] = "futex",
		[OBJECT_IO_URING] = "io_uring",
		[OBJECT_OTHER] = "other",
	};

	return NAME_IN(names, kind);
}

const char *wake_context_name(unsigned context)
{
	static const char *const names[] = {
		[WAKE_NONE] = "none",       [WAKE_TASK] = "task",       [WAKE_IRQ] = "irq",
		[WAKE_SOFTIRQ] = "softirq", [WAKE_HRTIMER] = "hrtimer",
	};

	return NAME_IN(names, context);
}

const char *softirq_name(unsigned vector)
{
	static const char *const names[] = {
		[VECTOR_HI] = "hi",           [VECTOR_TIMER] = "timer",
		[VECTOR_NET_TX] = "net_tx",   [VECTOR_NET_RX] = "net_rx",
		[VECTOR_BLOCK] = "block",     [VECTOR_IRQ_POLL] = "irq_poll",
		[VECTOR_TASKLET] = "tasklet", [VECTOR_SCHED] = "sched",
		[VECTOR_HRTIMER] = "hrtimer", [VECTOR_RCU] = "rcu",
	};

	return NAME_IN(names, vector);
}

const char *held_reason_name(unsigned reason)
{
	static const char *const names[] = {
		[HELD_UNKNOWN] = "unknown",       [HELD_NAGLE] = "nagle", [HELD_WINDOW] = "window",
		[HELD_CONGESTION] = "congestion", [HELD_CORK] = "cork",
	};

	return NAME_IN(names, reason);
}

const char *task_event_name(unsigned event)
{
	static const char *const names[] = {
		[TASK_EXISTING] = "existing",
		[TASK_NEW] = "new",
		[TASK_EXEC] = "exec",
		[TASK_RENAMED] = "renamed",
		[TASK_OUT_OF_SCOPE] = "out_of_scope",
		[TASK_AGAIN] = "again",
		[TASK_PRIORITY] = "priority",
	};

	return NAME_IN(names, event);
}

const char *tcp_state_name(unsigned state)
{
	static const char *const names[] = {
		[TCP_ESTABLISHED] = "ESTABLISHED",
		[TCP_SYN_SENT] = "SYN_SENT",
		[TCP_SYN_RECV] = "SYN_RECV",
		[TCP_FIN_WAIT1] = "FIN_WAIT1",
		[TCP_FIN_WAIT2] = "FIN_WAIT2",
		[TCP_TIME_WAIT] = "TIME_WAIT",
		[TCP_CLOSE] = "CLOSE",
		[TCP_CLOSE_WAIT] = "CLOSE_WAIT",
		[TCP_LAST_ACK] = "LAST_ACK",
		[TCP_LISTEN] = "LISTEN",
		[TCP_CLOSING] = "CLOSING",
		[TCP_CLOSING + 1] = "NEW_SYN_RECV",
	};

	return NAME_IN(names, state);
}

const char *family_name(unsigned family)
{
	return family == AF_INET    ? "inet"
	       : family == AF_INET6 ? "inet6"
	       : family == AF_UNIX  ? "unix"
				    : NULL;
}

const char *protocol_name(unsigned protocol)
{
	return protocol == IPPROTO_TCP ? "tcp" : protocol == IPPROTO_UDP ? "udp" : NULL;
}

const char *span_kind_name(unsigned kind)
{
	static const char *const names[] = {
		[SPAN_UNSPECIFIED] = "unspecified", [SPAN_INTERNAL] = "internal",
		[SPAN_SERVER] = "server",           [SPAN_CLIENT] = "client",
		[SPAN_PRODUCER] = "producer",       [SPAN_CONSUMER] = "consumer",
	};

	return NAME_IN(names, kind);
}

const char *attribute_type_name(unsigned type)
{
	static const char *const names[] = {
		[ATTRIBUTE_STRING] = "string",
		[ATTRIBUTE_BOOL] = "bool",
		[ATTRIBUTE_INT] = "int",
		[ATTRIBUTE_DOUBLE] = "double",
	};

	return NAME_IN(names, type);
}

const char state_letters[] = "RDNTLIU?CQ";

const char *state_words(char letter)
{
	switch (letter) {
	case STATE_RUNNING:
		return "running";
	case STATE_DISK:
		return "waiting for disk I/O";
	case STATE_NETWORK:
		return "waiting for the network";
	case STATE_TIMER:
		return "waiting for a timer";
	case STATE_LOCK:
		return "waiting for a lock";
	case STATE_PROCESS:
		return "waiting for another process";
	case STATE_USER:
		return "waiting for user input";
	case STATE_READY:
		return "waiting for a CPU";
	case STATE_THROTTLED:
		return "throttled by a CPU quota";
	default:
		return "off-CPU, cause unknown";
	}
}
