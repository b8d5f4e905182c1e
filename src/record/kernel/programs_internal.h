/* SPDX-License-Identifier: Apache-2.0 */
/*
 * programs_internal - the state of the BPF programs, shared by the parts of programs.h.
 *
 *	programs	load, attach, stop
 *	on_demand	what verbs switch on and off
 */
#ifndef SONDE_RECORD_KERNEL_PROGRAMS_INTERNAL_H
#define SONDE_RECORD_KERNEL_PROGRAMS_INTERNAL_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/vec.h"
#include "record/kernel/programs.h"
#include "bpf/recorder.skel.h"

struct programs {
	struct programs_config config;
	struct recorder_bpf *skel;
	size_t cpus;
	VEC(struct bpf_link *) links;
	struct bpf_link *find_link;   /* iterator that brings threads into scope */
	struct bpf_link *unread_link; /* iterator over sockets; or NULL */
	int finish_fd, finish_syscalls_fd;
	uint64_t joins_handled;
	struct bpf_link *syscall_links[2]; /* on_demand: NULL while detached */
	VEC(uint32_t) syscall_pids;        /* on_demand: processes in the map of the same name */
};

/* Whether a program is attached by programs_set_syscalls() only. */
bool programs_is_on_demand(const struct programs *p, const struct bpf_program *prog);
void programs_detach_syscalls(struct programs *p);

#endif
