/* SPDX-License-Identifier: Apache-2.0 */
#include "read/raw/raw.h"

#include <string.h>

#include "event/syscall.h"

#define MEMBER(member) offsetof(struct raw_event, member), sizeof(((struct raw_event *)0)->member)
#define NUMBER(names, member) { names, MEMBER(member), RAW_NUMBER }
#define TEXT(names, member) { names, MEMBER(member), RAW_TEXT }
#define ADDRESS(names, member) { names, MEMBER(member), RAW_ADDRESS }
#define NUMBERS(names, member) { names, MEMBER(member), RAW_NUMBERS }

#define ANY (RAW_KERNEL | RAW_LTTNG)

#define SOCKET_ADDRESS \
	NUMBER("sport", socket.address.local_port), NUMBER("dport", socket.address.peer_port), \
		ADDRESS("saddr", socket.address.local), ADDRESS("daddr", socket.address.peer)
#define SOCKET_ADDRESS_6 \
	ADDRESS("saddr_v6 saddrv6", socket.local6), ADDRESS("daddr_v6 daddrv6", socket.peer6)

#define PACKET \
	{ \
		NUMBER("network_header.transport_header.source_port", packet.address.local_port), \
		NUMBER("network_header.transport_header.dest_port", packet.address.peer_port), \
		ADDRESS("network_header.saddr", packet.address.local), \
		ADDRESS("network_header.daddr", packet.address.peer), \
		NUMBER("network_header.transport_header.seq", packet.seq), \
		NUMBER("network_header.transport_header.flags", packet.flags), \
		NUMBER("network_header.transport_header.data_offset", packet.tcp_words), \
		NUMBER("network_header.tot_len network_header.payload_len", packet.bytes), \
		NUMBER("network_header.ihl", packet.ip_words), \
	}

#define LOCAL_SEGMENT \
	{ \
		NUMBER("sk", packet.object), \
		NUMBER("seq", packet.seq), \
		NUMBER("ack_seq", packet.ack), \
		NUMBER("flags", packet.flags), \
	}

/* Letters in ftrace, a number in LTTng: only the entry of the matching type applies. */
#define BLOCK_OP TEXT("rwbs", block.op), NUMBER("rwbs", block.op_bits)

/* clang-format off */
static const struct raw_layout layouts[] = {
	{ ANY, "sched_switch", RAW_SWITCH, {
		NUMBER("prev_tid prev_pid", sched_switch.prev),
		NUMBER("next_tid next_pid", sched_switch.next),
		NUMBER("prev_state", sched_switch.state),
		TEXT("prev_comm", sched_switch.prev_comm),
		TEXT("next_comm", sched_switch.next_comm) } },
	{ ANY, "sched_waking", RAW_WAKING, {
		NUMBER("tid pid", wake.tid), TEXT("comm", wake.comm) } },
	{ RAW_LTTNG, "sched_ttwu", RAW_WAKING, { NUMBER("tid", wake.tid) } },
	{ ANY, "sched_wakeup", RAW_WAKEUP, {
		NUMBER("tid pid", wake.tid), TEXT("comm", wake.comm) } },
	{ ANY, "sched_wakeup_new", RAW_WAKEUP_NEW, {
		NUMBER("tid pid", wake.tid), TEXT("comm", wake.comm) } },
	{ RAW_KERNEL, "sched_process_fork", RAW_FORK, {
		NUMBER("parent_pid", fork.parent), NUMBER("child_pid", fork.child),
		TEXT("child_comm", fork.comm) } },
	{ RAW_KERNEL, "task_newtask", RAW_FORK, {
		NUMBER("pid", fork.child), NUMBER("clone_flags", fork.flags), TEXT("comm", fork.comm) } },
	{ RAW_KERNEL, "perf_comm", RAW_TASK, { /* from perf data convert --all */
		NUMBER("tid", task.tid), NUMBER("pid", task.pid), TEXT("comm", task.comm) } },
	{ RAW_KERNEL, "perf_fork", RAW_FORK, {
		NUMBER("ptid", fork.parent), NUMBER("tid", fork.child),
		NUMBER("pid", fork.child_pid) } },
	{ RAW_LTTNG, "sched_process_fork", RAW_FORK, {
		NUMBER("parent_tid", fork.parent), NUMBER("child_tid", fork.child),
		NUMBER("child_pid", fork.child_pid), TEXT("child_comm", fork.comm) } },
	{ ANY, "sched_process_exec", RAW_EXEC, {
		NUMBER("tid pid", exec.tid), NUMBER("old_tid old_pid", exec.old_tid),
		TEXT("filename", exec.path) } },
	{ ANY, "sched_process_exit", RAW_EXIT, {
		NUMBER("tid pid", wake.tid), TEXT("comm", wake.comm) } },
	{ ANY, "task_rename", RAW_RENAME, {
		NUMBER("pid tid", wake.tid), TEXT("newcomm", wake.comm) } },
	{ ANY, "irq_handler_entry", RAW_IRQ_ENTRY, { NUMBER("irq", irq.number) } },
	{ ANY, "irq_handler_exit", RAW_IRQ_EXIT, { NUMBER("irq", irq.number) } },
	{ ANY, "softirq_entry irq_softirq_entry", RAW_SOFTIRQ_ENTRY, { NUMBER("vec", irq.number) } },
	{ ANY, "softirq_exit irq_softirq_exit", RAW_SOFTIRQ_EXIT, { NUMBER("vec", irq.number) } },
	{ ANY, "hrtimer_expire_entry timer_hrtimer_expire_entry", RAW_HRTIMER_ENTRY, { { 0 } } },
	{ ANY, "hrtimer_expire_exit timer_hrtimer_expire_exit", RAW_HRTIMER_EXIT, { { 0 } } },
	{ RAW_KERNEL, "sys_enter", RAW_SYSCALL_ENTER, {
		NUMBER("id", syscall.nr), NUMBERS("args", syscall.args) } },
	{ RAW_KERNEL, "sys_exit", RAW_SYSCALL_EXIT, {
		NUMBER("id", syscall.nr), NUMBER("ret", syscall.result) } },
	{ RAW_LTTNG, "syscall_entry_unknown", RAW_SYSCALL_ENTER, {
		NUMBER("id", syscall.nr), NUMBERS("args", syscall.args) } },
	{ RAW_LTTNG, "syscall_exit_unknown", RAW_SYSCALL_EXIT, {
		NUMBER("id", syscall.nr), NUMBER("ret", syscall.result) } },
	{ ANY, "block_rq_issue", RAW_BLOCK_ISSUE, {
		NUMBER("dev", block.device), NUMBER("sector", block.sector),
		NUMBER("nr_sector", block.sectors), NUMBER("bytes", block.bytes),
		BLOCK_OP } },
	{ ANY, "block_rq_complete", RAW_BLOCK_COMPLETE, {
		NUMBER("dev", block.device), NUMBER("sector", block.sector),
		NUMBER("nr_sector", block.sectors), NUMBER("error", block.error),
		BLOCK_OP } },
	{ RAW_LTTNG, "inet_sock_local_out", RAW_PACKET_SEND, LOCAL_SEGMENT },
	{ RAW_LTTNG, "inet_sock_local_in", RAW_PACKET_RECEIVE, LOCAL_SEGMENT },
	{ RAW_LTTNG, "net_dev_queue", RAW_PACKET_SEND, PACKET },
	{ RAW_LTTNG, "net_if_receive_skb", RAW_PACKET_RECEIVE, PACKET },
	{ RAW_KERNEL, "sock_send_length", RAW_SOCKET_SEND, {
		NUMBER("sk", socket.object), NUMBER("family", socket.address.family),
		NUMBER("protocol", socket.address.protocol), NUMBER("ret", socket.bytes) } },
	{ RAW_KERNEL, "sock_recv_length", RAW_SOCKET_RECEIVE, {
		NUMBER("sk", socket.object), NUMBER("family", socket.address.family),
		NUMBER("protocol", socket.address.protocol), NUMBER("ret", socket.bytes),
		NUMBER("flags", socket.flags) } },
	{ RAW_KERNEL, "tcp_send", RAW_SOCKET_SEND, { SOCKET_ADDRESS } },
	{ RAW_KERNEL, "tcp_rcv_space_adjust", RAW_TCP_RECEIVE, {
		NUMBER("skaddr", socket.object), NUMBER("family", socket.address.family),
		SOCKET_ADDRESS, SOCKET_ADDRESS_6 } },
	{ RAW_KERNEL, "inet_sock_set_state", RAW_SOCKET_STATE, {
		NUMBER("skaddr", socket.object), NUMBER("family", socket.address.family),
		NUMBER("protocol", socket.address.protocol),
		NUMBER("oldstate", socket.from), NUMBER("newstate", socket.to),
		SOCKET_ADDRESS, SOCKET_ADDRESS_6 } },
	{ RAW_LTTNG, "lttng_statedump_process_state", RAW_TASK, {
		NUMBER("tid", task.tid), NUMBER("pid", task.pid), NUMBER("ppid", task.parent),
		NUMBER("type", task.kernel), TEXT("name", task.comm) } },
	{ RAW_LTTNG, "sonde_wait", RAW_WAIT, {
		NUMBER("tid", wait.tid), NUMBER("syscall", wait.syscall),
		NUMBER("object", wait.object), NUMBER("object_kind", wait.object_kind),
		NUMBER("flags", wait.flags), TEXT("state", wait.state), TEXT("ready", wait.ready) } },
	{ RAW_LTTNG, "sonde_message", RAW_MESSAGE, {
		NUMBER("family", message.address.family), NUMBER("protocol", message.address.protocol),
		ADDRESS("local", message.address.local), ADDRESS("peer", message.address.peer),
		NUMBER("local_port", message.address.local_port),
		NUMBER("peer_port", message.address.peer_port),
		NUMBER("object", message.object), NUMBER("object_kind", message.object_kind),
		NUMBER("bytes", message.bytes), NUMBER("position", message.position),
		NUMBER("direction", message.direction) } },
	{ RAW_LTTNG, "start_span", RAW_SPAN_BEGIN, {
		TEXT("trace_id", span.trace), TEXT("span_id", span.span),
		TEXT("parent_span_id", span.parent) } },
	{ RAW_LTTNG, "end_span", RAW_SPAN_END, {
		TEXT("trace_id", span.trace), TEXT("span_id", span.span),
		TEXT("service_name", span.service), TEXT("op_name", span.operation) } },
};
/* clang-format on */

/* Prefixes of events that belong to one system call. */
static const struct {
	const char *prefix;
	enum raw_kind kind;
} call_prefixes[] = {
	{ "sys_enter_", RAW_SYSCALL_ENTER },
	{ "sys_exit_", RAW_SYSCALL_EXIT },
	{ "syscall_entry_", RAW_SYSCALL_ENTER },
	{ "syscall_exit_", RAW_SYSCALL_EXIT },
	{ "compat_syscall_entry_", RAW_SYSCALL_ENTER },
	{ "compat_syscall_exit_", RAW_SYSCALL_EXIT },
};

static const struct raw_layout enter_layout = {
	ANY, "", RAW_SYSCALL_ENTER, { TEXT("filename pathname path", syscall.path) }
};
static const struct raw_layout exit_layout = {
	ANY, "", RAW_SYSCALL_EXIT, { NUMBER("ret", syscall.result) }
};

bool raw_is_one_of(const char *list, const char *s, size_t len)
{
	for (const char *word = list; *word;) {
		size_t size = strcspn(word, " ");

		if (size == len && memcmp(word, s, len) == 0)
			return true;
		word += size;
		word += *word == ' ';
	}
	return false;
}

/* System calls whose names in the kernel differ from those in user space. */
static const struct {
	const char *inside, *outside;
} call_aliases[] = {
	{ "newstat", "stat" },        { "newfstat", "fstat" }, { "newlstat", "lstat" },
	{ "sendfile64", "sendfile" }, { "newuname", "uname" }, { "umount", "umount2" },
};

static int syscall_of_name(const char *name, size_t len)
{
	char text[64];

	if (len >= sizeof(text))
		return SYSCALL_UNKNOWN;
	memcpy(text, name, len);
	text[len] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(call_aliases); i++)
		if (strcmp(text, call_aliases[i].inside) == 0)
			return syscall_number(call_aliases[i].outside);

	int nr = syscall_number(text);

	return nr >= 0 ? nr : SYSCALL_UNKNOWN;
}

static const struct raw_layout *call_layout(const char *name, size_t len, int *ret_nr)
{
	for (size_t i = 0; i < ARRAY_LEN(call_prefixes); i++) {
		size_t size = strlen(call_prefixes[i].prefix);

		if (len <= size || memcmp(name, call_prefixes[i].prefix, size) != 0)
			continue;
		/* the numbers of 32-bit programs differ */
		*ret_nr =
			name[0] == 'c' ? SYSCALL_UNKNOWN : syscall_of_name(name + size, len - size);
		return call_prefixes[i].kind == RAW_SYSCALL_ENTER ? &enter_layout : &exit_layout;
	}
	return NULL;
}

const struct raw_layout *raw_layout_find(enum raw_dialect dialect, const char *name, size_t len,
					 int *ret_nr)
{
	const char *colon = memchr(name, ':', len);

	if (colon) {
		len -= colon + 1 - name;
		name = colon + 1;
	}
	*ret_nr = SYSCALL_NONE;
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
		if (layouts[i].dialects & dialect && raw_is_one_of(layouts[i].names, name, len))
			return &layouts[i];
	return call_layout(name, len, ret_nr);
}

struct raw_event raw_event_empty(enum raw_kind kind)
{
	struct raw_event e = { .tid = RAW_UNKNOWN, .pid = RAW_UNKNOWN, .kind = kind };

	switch (kind) {
	case RAW_FORK:
		e.fork.parent = e.fork.child_pid = e.fork.flags = RAW_UNKNOWN;
		break;
	case RAW_EXEC:
		e.exec.tid = e.exec.old_tid = RAW_UNKNOWN;
		break;
	case RAW_SYSCALL_ENTER:
	case RAW_SYSCALL_EXIT:
		e.syscall.nr = SYSCALL_UNKNOWN;
		break;
	case RAW_TASK:
		e.task.pid = e.task.kernel = RAW_UNKNOWN;
		break;
	default:
		break;
	}
	return e;
}
