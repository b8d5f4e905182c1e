/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on_demand - stacks and system calls that are switched on and off while recording.
 *
 * The programs for system calls cost time in every system call of the host, in scope or not.  So
 * they are loaded at the start, and attached only while a process wants them.
 */
#include "record/kernel/programs_internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "record/clock.h"

bool programs_is_on_demand(const struct programs *p, const struct bpf_program *prog)
{
	return p->config.on_demand &&
	       (prog == p->skel->progs.on_syscall_entry || prog == p->skel->progs.on_syscall_exit);
}

static int check_on_demand(const struct programs *p, struct err *err)
{
	if (!p->config.on_demand)
		return err_set(err, -EOPNOTSUPP,
			       "the recorder was started without on-demand "
			       "stacks and system calls");
	return 0;
}

int programs_set_stacks(struct programs *p, nsec_t threshold, struct err *err)
{
	int r = check_on_demand(p, err);

	if (r == 0)
		__atomic_store_n(&p->skel->bss->stack_threshold_now, threshold, __ATOMIC_RELEASE);
	return r;
}

int programs_set_other_tasks(struct programs *p, bool on, struct err *err)
{
	int r = check_on_demand(p, err);

	if (r < 0)
		return r;
	if (on && !p->config.other_tasks)
		return err_set(err, -EPERM, "tasks out of scope are not recorded");
	__atomic_store_n(&p->skel->bss->other_tasks_now, on, __ATOMIC_RELEASE);
	return 0;
}

void programs_detach_syscalls(struct programs *p)
{
	for (size_t i = 0; i < ARRAY_LEN(p->syscall_links); i++) {
		bpf_link__destroy(p->syscall_links[i]);
		p->syscall_links[i] = NULL;
	}
}

static int attach_syscalls(struct programs *p, struct err *err)
{
	struct bpf_program *programs[] = { p->skel->progs.on_syscall_exit,
					   p->skel->progs.on_syscall_entry };

	__atomic_store_n(&p->skel->bss->syscalls_since, clock_now(), __ATOMIC_RELEASE);
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		p->syscall_links[i] = bpf_program__attach(programs[i]);
		if (p->syscall_links[i])
			continue;

		int r = err_errno(err, "cannot attach to system calls");

		programs_detach_syscalls(p);
		return r;
	}
	return 0;
}

static bool is_any_wanted(const struct programs *p)
{
	return p->syscall_pids.count || p->skel->bss->syscalls_of_all;
}

/* After the last process: calls that are in progress now are not finished. */
static void detach_if_unwanted(struct programs *p)
{
	if (is_any_wanted(p))
		return;
	programs_detach_syscalls(p);
	__atomic_store_n(&p->skel->bss->syscalls_since, UINT64_MAX, __ATOMIC_RELEASE);
}

static size_t find_pid(const struct programs *p, uint32_t pid)
{
	size_t i = 0;

	while (i < p->syscall_pids.count && p->syscall_pids.items[i] != pid)
		i++;
	return i;
}

static void remove_pid(struct programs *p, size_t i)
{
	uint32_t pid = p->syscall_pids.items[i];

	bpf_map_delete_elem(bpf_map__fd(p->skel->maps.syscall_pids), &pid);
	p->syscall_pids.items[i] = p->syscall_pids.items[--p->syscall_pids.count];
	detach_if_unwanted(p);
}

static int add_pid(struct programs *p, uint32_t pid, struct err *err)
{
	uint8_t yes = 1;

	if (p->syscall_pids.count == WIRE_SYSCALL_PIDS)
		programs_forget_syscalls(p);
	if (p->syscall_pids.count == WIRE_SYSCALL_PIDS)
		return err_set(err, -ENOSPC, "system calls of %d processes are recorded already",
			       WIRE_SYSCALL_PIDS);

	int r = bpf_map_update_elem(bpf_map__fd(p->skel->maps.syscall_pids), &pid, &yes, BPF_ANY);

	if (r < 0)
		return err_set(err, r, "cannot record system calls of process %u: %s", pid,
			       strerror(-r));

	bool was_attached = is_any_wanted(p);

	*vec_push(&p->syscall_pids) = pid;
	if (!was_attached)
		r = attach_syscalls(p, err);
	if (r < 0)
		remove_pid(p, 0);
	return r;
}

int programs_set_syscalls(struct programs *p, uint32_t pid, bool on, struct err *err)
{
	int r = check_on_demand(p, err);
	size_t at = find_pid(p, pid);
	bool is_on = at < p->syscall_pids.count;

	if (r < 0 || is_on == on)
		return r;
	if (!on) {
		remove_pid(p, at);
		return 0;
	}
	r = programs_has_process(p, pid);
	if (r == 0 || r == -ESRCH)
		return err_set(err, -ESRCH, "process %u is not in scope", pid);
	if (r < 0)
		return err_set(err, r, "cannot check process %u: %s", pid, strerror(-r));
	return add_pid(p, pid, err);
}

void programs_forget_syscalls(struct programs *p)
{
	for (size_t i = p->syscall_pids.count; i-- > 0;)
		if (kill(p->syscall_pids.items[i], 0) < 0 && errno == ESRCH)
			remove_pid(p, i);
}

int programs_set_all_syscalls(struct programs *p, bool on, struct err *err)
{
	int r = check_on_demand(p, err);
	bool *is_on = &p->skel->bss->syscalls_of_all;

	if (r < 0 || *is_on == on)
		return r;
	if (on && !is_any_wanted(p))
		r = attach_syscalls(p, err);
	if (r == 0)
		__atomic_store_n(is_on, on, __ATOMIC_RELEASE);
	detach_if_unwanted(p);
	return r;
}
