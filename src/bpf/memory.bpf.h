/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * memory - whether a thread waits because memory is short.
 *
 * The kernel's accounting of memory pressure (PSI) marks threads that reclaim memory or wait for a
 * page that was evicted recently.  If a control group of the thread is at its limit, the limit is
 * the reason.  A wait for a page of a file in such a group has the same mark, because pages that
 * the group reads evict others.
 */
#ifndef SONDE_BPF_MEMORY_BPF_H
#define SONDE_BPF_MEMORY_BPF_H

#include "bpf/thread.bpf.h"

enum { MEMORY_GROUP_LEVELS = 8 };

/* The kernel charges pages in batches, so a group at its limit is a little below it. */
static __always_inline bool counter_is_full(const struct page_counter *counter)
{
	__u64 usage = BPF_CORE_READ(counter, usage.counter);
	__u64 max = BPF_CORE_READ(counter, max), high = BPF_CORE_READ(counter, high);
	__u64 limit = high < max ? high : max;

	return usage >= limit - limit / 16;
}

static __always_inline bool group_is_full(struct task_struct *task)
{
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return false;

	__u32 index = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct mem_cgroup *group = NULL; /* begins with its cgroup_subsys_state */

	bpf_probe_read_kernel(&group, sizeof(group),
			      (char *)set + bpf_core_field_offset(struct css_set, subsys) +
				      8 * index);

	const struct page_counter *counter = group ? &group->memory : NULL;

	for (int i = 0; i < MEMORY_GROUP_LEVELS && counter; i++) {
		if (counter_is_full(counter))
			return true;
		counter = BPF_CORE_READ(counter, parent);
	}
	return false;
}

/* A thread blocks; `page` says whether it waits for a page. */
static __noinline enum memory_shortage memory_shortage(struct task_struct *task, bool page)
{
	bool stalled = bpf_core_field_exists(task->in_memstall) &&
		       BPF_CORE_READ_BITFIELD_PROBED(task, in_memstall);

	if ((stalled || page) && group_is_full(task))
		return MEMORY_AT_LIMIT;
	return stalled ? MEMORY_SHORT : MEMORY_ENOUGH;
}

#endif
