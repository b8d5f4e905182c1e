/* SPDX-License-Identifier: Apache-2.0 */
#include "report/export/lttng_event.h"

#include <stdio.h>

#include "event/syscall.h"

/* clang-format off */
static const struct lttng_event events[LTTNG_EVENTS] = {
	[LTTNG_SWITCH] = { "sched_switch", {
		{ LTTNG_COMM, "prev_comm" }, { LTTNG_I32, "prev_tid" }, { LTTNG_I32, "prev_prio" },
		{ LTTNG_I64, "prev_state" },
		{ LTTNG_COMM, "next_comm" }, { LTTNG_I32, "next_tid" }, { LTTNG_I32, "next_prio" } } },
	[LTTNG_WAKING] = { "sched_waking", {
		{ LTTNG_COMM, "comm" }, { LTTNG_I32, "tid" }, { LTTNG_I32, "prio" },
		{ LTTNG_I32, "target_cpu" } } },
	[LTTNG_FORK] = { "sched_process_fork", {
		{ LTTNG_COMM, "parent_comm" }, { LTTNG_I32, "parent_tid" }, { LTTNG_I32, "parent_pid" },
		{ LTTNG_COMM, "child_comm" }, { LTTNG_I32, "child_tid" }, { LTTNG_I32, "child_pid" } } },
	[LTTNG_EXEC] = { "sched_process_exec", {
		{ LTTNG_STRING, "filename" }, { LTTNG_I32, "tid" }, { LTTNG_I32, "old_tid" } } },
	[LTTNG_RENAME] = { "task_rename", {
		{ LTTNG_I32, "tid" }, { LTTNG_COMM, "oldcomm" }, { LTTNG_COMM, "newcomm" } } },
	[LTTNG_EXIT] = { "sched_process_exit", {
		{ LTTNG_COMM, "comm" }, { LTTNG_I32, "tid" }, { LTTNG_I32, "prio" } } },
	[LTTNG_STATE] = { "lttng_statedump_process_state", {
		{ LTTNG_I32, "tid" }, { LTTNG_I32, "vtid" }, { LTTNG_I32, "pid" }, { LTTNG_I32, "vpid" },
		{ LTTNG_I32, "ppid" }, { LTTNG_I32, "vppid" }, { LTTNG_COMM, "name" },
		{ LTTNG_I32, "type" }, { LTTNG_I32, "mode" }, { LTTNG_I32, "submode" },
		{ LTTNG_I32, "status" }, { LTTNG_I32, "ns_level" } } },
	[LTTNG_IRQ_ENTRY] = { "irq_handler_entry", { { LTTNG_I32, "irq" }, { LTTNG_STRING, "name" } } },
	[LTTNG_IRQ_EXIT] = { "irq_handler_exit", { { LTTNG_I32, "irq" }, { LTTNG_I32, "ret" } } },
	[LTTNG_SOFTIRQ_ENTRY] = { "irq_softirq_entry", { { LTTNG_U32, "vec" } } },
	[LTTNG_SOFTIRQ_EXIT] = { "irq_softirq_exit", { { LTTNG_U32, "vec" } } },
	[LTTNG_HRTIMER_ENTRY] = { "timer_hrtimer_expire_entry", {
		{ LTTNG_X64, "hrtimer" }, { LTTNG_I64, "now" }, { LTTNG_X64, "function" } } },
	[LTTNG_HRTIMER_EXIT] = { "timer_hrtimer_expire_exit", { { LTTNG_X64, "hrtimer" } } },
	[LTTNG_BLOCK_ISSUE] = { "block_rq_issue", {
		{ LTTNG_U32, "dev" }, { LTTNG_U64, "sector" }, { LTTNG_U32, "nr_sector" },
		{ LTTNG_U32, "bytes" }, { LTTNG_I32, "tid" }, { LTTNG_U32, "rwbs" }, { LTTNG_COMM, "comm" } } },
	[LTTNG_BLOCK_COMPLETE] = { "block_rq_complete", {
		{ LTTNG_U32, "dev" }, { LTTNG_U64, "sector" }, { LTTNG_U32, "nr_sector" },
		{ LTTNG_I32, "error" }, { LTTNG_U32, "rwbs" } } },
	[LTTNG_CALL_ENTRY] = { "syscall_entry_unknown", {
		{ LTTNG_I32, "id" }, { LTTNG_ARGS, "args" } } },
	[LTTNG_CALL_EXIT] = { "syscall_exit_unknown", { { LTTNG_I32, "id" }, { LTTNG_I64, "ret" } } },
	[LTTNG_SPAN_BEGIN] = { "otl_ust_go:start_span", {
		{ LTTNG_STRING, "trace_id" }, { LTTNG_STRING, "span_id" },
		{ LTTNG_STRING, "parent_span_id" } } },
	[LTTNG_SPAN_END] = { "otl_ust_go:end_span", {
		{ LTTNG_STRING, "trace_id" }, { LTTNG_STRING, "span_id" },
		{ LTTNG_STRING, "service_name" }, { LTTNG_STRING, "op_name" }, { LTTNG_U32, "error" } } },
	[LTTNG_WAIT] = { "sonde_wait", {
		{ LTTNG_I32, "tid" }, { LTTNG_LETTER, "state" }, { LTTNG_LETTER, "ready" },
		{ LTTNG_I32, "syscall" }, { LTTNG_U8, "object_kind" }, { LTTNG_X64, "object" },
		{ LTTNG_U8, "flags" } } },
	[LTTNG_MESSAGE] = { "sonde_message", {
		{ LTTNG_U8, "direction" }, { LTTNG_U32, "bytes" }, { LTTNG_U32, "position" },
		{ LTTNG_U8, "object_kind" }, { LTTNG_U64, "object" }, { LTTNG_U32, "family" },
		{ LTTNG_U32, "protocol" }, { LTTNG_ADDRESS, "local" }, { LTTNG_U32, "local_port" },
		{ LTTNG_ADDRESS, "peer" }, { LTTNG_U32, "peer_port" } } },
	[LTTNG_LAST] = { "sonde_end", { { LTTNG_END, NULL } } },
};
/* clang-format on */

/* The fields of all system calls. */
static const struct lttng_event call_entry = {
	NULL, { { LTTNG_X64, "arg0" }, { LTTNG_X64, "arg1" }, { LTTNG_X64, "arg2" } }
};
static const struct lttng_event call_exit = { NULL, { { LTTNG_I64, "ret" } } };

/* Even, so that the entry and exit of a call differ in the last bit of their IDs. */
enum { FIRST_CALL = (LTTNG_EVENTS + 1) / 2 * 2 };

unsigned lttng_syscall_id(int nr, bool is_exit)
{
	unsigned id = FIRST_CALL + 2 * (unsigned)nr + is_exit;

	if (nr < 0 || id >= LTTNG_IDS || !syscall_name(nr))
		return is_exit ? LTTNG_CALL_EXIT : LTTNG_CALL_ENTRY;
	return id;
}

const struct lttng_event *lttng_event_of(unsigned id)
{
	if (id < LTTNG_EVENTS)
		return &events[id];
	return id & 1 ? &call_exit : &call_entry;
}

void lttng_event_name(unsigned id, char name[64])
{
	if (id < LTTNG_EVENTS)
		snprintf(name, 64, "%s", events[id].name);
	else
		snprintf(name, 64, "syscall_%s_%s", id & 1 ? "exit" : "entry",
			 syscall_name((id - FIRST_CALL) / 2));
}
