/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * fault - the file of the page that a thread waits for.
 *
 * A page fault of a mapped file waits for the disk outside of any system call, and the registers of
 * the thread do not contain the address.  The kernel calls mm_filemap_fault in the faulting thread
 * before it waits.  The wait belongs to that fault if the instruction is still the same.
 */
#ifndef SONDE_BPF_FAULT_BPF_H
#define SONDE_BPF_FAULT_BPF_H

#include "bpf/thread.bpf.h"

static __always_inline __u64 user_instruction(struct task_struct *task)
{
	return ((struct pt_regs *)bpf_task_pt_regs(task))->ip;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_file_fault, struct address_space *mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct traced_thread *thread = thread_of(task);

	if (!thread || task->flags & PF_KTHREAD)
		return 0;
	thread->fault_inode = mapping->host;
	thread->fault_instruction = user_instruction(task);
	return 0;
}

/* A thread blocks outside of a system call: save the file that it waits for, if any. */
static __always_inline void fault_save(struct traced_thread *thread, struct task_struct *task)
{
	bool same = thread->fault_inode && thread->site_flags & INTERVAL_IOWAIT &&
		    thread->fault_instruction == user_instruction(task);

	thread->site_inode = same ? thread->fault_inode : NULL;
	thread->fault_inode = NULL;
}

#endif
