/* SPDX-License-Identifier: Apache-2.0 */
#include "report/describe.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "event/counter.h"
#include "event/syscall.h"
#include "event/kind.h"
#include "event/sched_policy.h"

struct field_head describe_head(const struct describer *d, const struct record *record)
{
	struct field_head head = {
		.kind = kind_dump_name(record->kind),
		.time = record->time,
		.has_cpu = kind_has_cpu(record->kind),
		.cpu = record->cpu,
		.has_thread = kind_has_thread(record->kind, record->tid),
		.tid = record->tid,
		.host = d->host,
	};

	if (head.has_thread) {
		struct thread_name name = name_table_thread(d->names, record->tid);
		head.pid = name_table_pid(d->names, record);
		head.comm = name.comm;
	}
	return head;
}

static void describe_socket_name(const struct describer *d, const char *lead,
				 const struct socket_name *name)
{
	if (*name->local)
		field_str(d->fields, "local", lead, name->local);
	if (*name->peer)
		field_str(d->fields, "peer", *name->local ? " -> " : lead, name->peer);
}

void describe_syscall_name(const struct describer *d, const char *key, int nr)
{
	const char *name = syscall_name(nr);
	char number[32];

	if (!name) {
		snprintf(number, sizeof(number), "syscall_%d", nr);
		name = nr < 0 ? "unknown" : number;
	}
	field_str(d->fields, key, "  ", name);
}

static void write_device(char *to, size_t room, uint32_t device)
{
	snprintf(to, room, "%u:%u", device >> 20, device & 0xfffff);
}

/* The number of a device, and in text also its name: "254:0" or 254:0 vda. */
static void describe_device(const struct describer *d, const char *lead, uint32_t device)
{
	char number[32];
	const char *name = name_table_device(d->names, device);

	write_device(number, sizeof(number), device);
	field_str(d->fields, "device", lead, number);
	if (name)
		field_str(d->fields, NULL, " ", name);
}

/* The number of an object, in the form of its kind; text omits it if the object has a name. */
static void describe_id(const struct describer *d, unsigned kind, uint64_t object, bool named)
{
	char device[32];

	switch (kind) {
	case OBJECT_FUTEX:
		return field_hex(d->fields, "object_id", " ", object);
	case OBJECT_BLOCK_DEVICE:
	case OBJECT_TTY:
	case OBJECT_INPUT:
	case OBJECT_CHAR_DEVICE:
		write_device(device, sizeof(device), object);
		return field_word(d->fields, "object_id", " ", object, device);
	default:
		return field_u64(d->fields, "object_id", named ? NULL : " ", object);
	}
}

void describe_object(const struct describer *d, unsigned kind, uint64_t object)
{
	const struct socket_name *socket = NULL;
	const char *name = NULL;

	if (kind == OBJECT_NONE)
		return;
	if (kind == OBJECT_FILE || kind == OBJECT_DIRECTORY)
		name = name_table_file(d->names, object);
	else if (kind == OBJECT_BLOCK_DEVICE)
		name = name_table_device(d->names, object);
	else if (kind == OBJECT_INET || kind == OBJECT_UNIX || kind == OBJECT_SOCKET)
		socket = name_table_socket(d->names, object);

	field_name(d->fields, "object_type", "  ", object_kind_name(kind), kind);
	if (object)
		describe_id(d, kind, object, name || (socket && *socket->local));
	if (name)
		field_str(d->fields, "object_name", " ", name);
	if (socket)
		describe_socket_name(d, " ", socket);
}

static void describe_task(const struct describer *d, const struct record_task *r)
{
	struct fields *f = d->fields;

	field_name(f, "event", "  ", task_event_name(r->event), r->event);
	if (r->pid != r->head.tid)
		field_u64(f, NULL, "  of process ", r->pid);
	field_u64(f, "parent_tid",
		  !r->parent             ? NULL
		  : r->event == TASK_NEW ? "  by thread "
					 : "  parent ",
		  r->parent);
	field_u64(f, "cgroup_id", "  cgroup ", r->cgroup);
	field_flag(f, "kernel", "  kernel thread", r->flags & TASK_KERNEL);
	if (r->policy)
		field_str(f, "priority", "  ", sched_priority_text(r->policy, r->priority).s);
}

static void describe_exit(const struct describer *d, const struct record_exit *r)
{
	bool killed = WIFSIGNALED(r->code);

	field_u64(d->fields, "wait_status", NULL, r->code);
	field_u64(d->fields, NULL, killed ? "  killed by signal " : "  status ",
		  killed ? WTERMSIG(r->code) : WEXITSTATUS(r->code));
}

static void describe_process(const struct describer *d, const struct record_process *r)
{
	field_str(d->fields, "cmdline", "  ", source_string(d->source, r->cmdline));
	field_str(d->fields, "cgroup", "  cgroup ", source_string(d->source, r->cgroup));
}

static void describe_message(const struct describer *d, const struct record_message *r)
{
	struct fields *f = d->fields;

	field_str(f, "direction", "  ", r->direction == MESSAGE_SEND ? "send" : "receive");
	field_u64(f, "bytes", "  ", r->bytes);
	field_words(f, " bytes");
	describe_object(d, r->object_kind, r->object);
	field_u64(f, "position", r->position ? "  up to " : NULL, r->position);
	if (message_lag(r))
		field_u64(f, "lag", NULL, message_lag(r));
	if (r->direction == MESSAGE_RECEIVE)
		field_flag(f, "before_accept", "  arrived before the accept",
			   r->flags & MESSAGE_BEFORE_ACCEPT);
	else
		field_flag(f, "held", "  held in the send buffer", r->flags & MESSAGE_HELD);
}

static void describe_transmit(const struct describer *d, const struct record_transmit *r)
{
	describe_object(d, r->object_kind, r->object);
	field_u64(d->fields, "position", r->position ? "  up to " : NULL, r->position);
	field_u64(d->fields, "left", NULL, r->left);
	field_name(d->fields, "reason", "  held by: ", held_reason_name(r->reason), r->reason);
}

static void describe_socket(const struct describer *d, const struct record_socket *r)
{
	struct fields *f = d->fields;
	struct socket_name name;

	socket_name_init(&name, &r->address);
	field_u64(f, "object_id", "  ", r->object);
	field_name(f, "family", "  ", family_name(r->address.family), r->address.family);
	if (r->address.protocol)
		field_name(f, "protocol", " ", protocol_name(r->address.protocol),
			   r->address.protocol);
	describe_socket_name(d, "  ", &name);
	if (r->peer_object)
		field_u64(f, "peer_object", "  peer ", r->peer_object);
	if (r->peer_pid)
		field_u64(f, "peer_pid", "  of process ", r->peer_pid);
	field_u64(f, "netns", "  netns ", r->netns);
}

static void describe_unread(const struct describer *d, const struct record_unread *r)
{
	struct fields *f = d->fields;
	struct socket_name name;

	socket_name_init(&name, &r->address);
	describe_socket_name(d, "  ", &name);
	field_u64(f, "bytes", "  unread ", r->bytes);
	field_u64(f, "arrived", NULL, r->arrived);
	if (r->object)
		field_u64(f, "object_id", "  socket ", r->object);
	field_u64(f, "netns", "  netns ", r->netns);
}

static void describe_socket_state(const struct describer *d, const struct record_socket_state *r)
{
	struct fields *f = d->fields;
	struct socket_name name;

	socket_name_init(&name, &r->address);
	field_name(f, "old_state", "  ", tcp_state_name(r->from), r->from);
	field_name(f, "new_state", " to ", tcp_state_name(r->to), r->to);
	describe_socket_name(d, "  ", &name);
	if (r->object)
		field_u64(f, "object_id", "  socket ", r->object);
	field_u64(f, "netns", "  netns ", r->netns);
}

static void describe_file(const struct describer *d, const struct record_file *r)
{
	struct fields *f = d->fields;

	field_u64(f, "object_id", "  ", r->object);
	field_str(f, "name", "  ", source_string(d->source, r->name));
	field_u64(f, "inode", "  inode ", r->inode);
	describe_device(d, " on ", r->device);
}

static void describe_device_record(const struct describer *d, const struct record_device *r)
{
	describe_device(d, "  ", r->device);
	field_str(d->fields, "name", NULL, source_string(d->source, r->name));
}

/* The result of a system call; in text, a negative errno is a name such as -ENOENT. */
static void describe_result(const struct describer *d, const char *key, const char *lead, int64_t n)
{
	const char *name = n < 0 && n > -4096 ? strerrorname_np(-n) : NULL;
	char word[32];

	if (name)
		snprintf(word, sizeof(word), "-%s", name);
	field_word(d->fields, key, lead, n, name ? word : NULL);
}

static void describe_syscall(const struct describer *d, const struct record_syscall *r)
{
	struct fields *f = d->fields;
	bool open = r->flags & SYSCALL_OPEN;

	field_range(f, "", r->start, r->head.time);
	describe_syscall_name(d, "name", r->nr);
	field_i64(f, "nr", NULL, r->nr);
	field_list(f, "args");
	for (size_t i = 0; i < ARRAY_LEN(r->args); i++)
		field_hex(f, FIELD_ITEM, i ? ", " : "(", r->args[i]);
	field_end(f);
	field_words(f, ")");
	if (!open)
		describe_result(d, "result", " = ", r->result);
	field_flag(f, "unfinished", "  unfinished", open);
}

static void describe_block(const struct describer *d, const struct record_block *r)
{
	struct fields *f = d->fields;

	field_range(f, "", r->start, r->head.time);
	field_str_n(f, "op", "  ", (const char *)&r->op, 1);
	field_u64(f, "bytes", " ", r->bytes);
	field_words(f, " bytes");
	describe_device(d, "  ", r->device);
	field_u64(f, "sector", " sector ", r->sector);
	describe_result(d, "error", r->error ? "  failed with " : NULL, r->error);
}

static void describe_loss(const struct describer *d, const struct record_loss *r)
{
	uint64_t packets = loss_packets(r);

	field_range(d->fields, "", r->start, r->end);
	field_u64(d->fields, "count", "  ", r->count);
	field_words(d->fields, r->count == 1 ? " record lost" : " records lost");
	if (!packets)
		return;
	field_u64(d->fields, "packets", ", ", packets);
	field_words(d->fields, packets == 1 ? " packet lost" : " packets lost");
}

static void describe_clock(const struct describer *d, const struct record_clock *r)
{
	field_i64(d->fields, "realtime", "  realtime ", r->realtime);
	field_i64(d->fields, "boottime", "  boottime ", r->boottime);
}

static void describe_counter(const struct describer *d, const struct record_counter *r)
{
	const char *name = counter_name(r->counter);

	if (name)
		field_str(d->fields, "counter", "  ", name);
	else
		field_u64(d->fields, "counter", "  counter ", r->counter);
	field_u64(d->fields, "count", " ", r->count);
}

/* The fields of kinds with exactly one line. */
static void describe_fields(const struct describer *d, const struct record *record)
{
	const void *r = record;

	switch ((enum record_kind)record->kind) {
	case RECORD_TASK:
		return describe_task(d, r);
	case RECORD_EXIT:
		return describe_exit(d, r);
	case RECORD_PROCESS:
		return describe_process(d, r);
	case RECORD_MESSAGE:
		return describe_message(d, r);
	case RECORD_SOCKET:
		return describe_socket(d, r);
	case RECORD_SOCKET_STATE:
		return describe_socket_state(d, r);
	case RECORD_UNREAD:
		return describe_unread(d, r);
	case RECORD_FILE:
		return describe_file(d, r);
	case RECORD_DEVICE:
		return describe_device_record(d, r);
	case RECORD_SYSCALL:
		return describe_syscall(d, r);
	case RECORD_BLOCK:
		return describe_block(d, r);
	case RECORD_PROBE_EVENT:
		return describe_probe_event(d, r);
	case RECORD_SAMPLE:
		return field_u64(d->fields, "stack", "  stack ",
				 ((const struct record_sample *)r)->stack);
	case RECORD_STACK:
		return describe_stack(d, r);
	case RECORD_LOSS:
		return describe_loss(d, r);
	case RECORD_CLOCK:
		return describe_clock(d, r);
	case RECORD_SPAN:
		return describe_span(d, r);
	case RECORD_CONTEXT:
		return describe_context(d, r);
	case RECORD_ATTRIBUTE:
		return describe_attribute(d, r);
	case RECORD_COUNTER:
		return describe_counter(d, r);
	case RECORD_TRANSMIT:
		return describe_transmit(d, r);
	case RECORD_EPOCH:
		return field_u64(d->fields, "number", "  ",
				 ((const struct record_epoch *)r)->number);
	default:
		return;
	}
}

void describe_record(const struct describer *d, const struct record *record)
{
	struct field_head head;

	if (record->kind == RECORD_RUN)
		return describe_run(d, (const void *)record);
	if (record->kind == RECORD_WAIT)
		return describe_wait(d, (const void *)record);
	if (!kind_dump_name(record->kind))
		return;
	head = describe_head(d, record);
	fields_begin(d->fields, &head);
	describe_fields(d, record);
	fields_end(d->fields);
}
