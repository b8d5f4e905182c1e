/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes - the kernel programs' life: loaded, attached, asked, stopped.
 *
 * All that needs privileges happens in programs_load() and programs_attach(); the
 * descriptors that are needed later are opened there.
 */
#ifndef SONDE_RECORD_KERNEL_PROGRAMS_H
#define SONDE_RECORD_KERNEL_PROGRAMS_H

#include "base/base.h"
#include "base/err.h"
#include "bpf/wire.h"
#include "event/syscall_table.h"
#include "record/kernel/probe.h"

struct programs_config {
	size_t ring_size; /* per CPU, a power of two */
	bool all;         /* every thread of the machine is in scope */
	bool other_tasks;
	uint16_t ports[WIRE_PORTS]; /* processes that begin to listen there join the scope */
	uint64_t cgroup;            /* threads that move into it likewise; 0 for none */
	int cgroup_hierarchy;
	nsec_t stacks; /* 0 for none */
	unsigned long profile_hz;
	bool syscalls, block;
	uint64_t syscalls_wanted[SYSCALL_TABLE_SIZE / 64];
	const struct probe *probes; /* borrowed */
	size_t probe_count;
};

/* Told of what this kernel lacks and is left out. */
typedef void programs_missing_fn(void *arg, const char *what);

struct programs;

int programs_load(const struct programs_config *config, programs_missing_fn *missing, void *arg,
		  struct programs **ret, struct err *err);
void programs_free(struct programs *p);
DEFINE_FREEP(programs)

/* Attached, the programs do nothing until they are started all at once. */
int programs_attach(struct programs *p, struct err *err);
void programs_start(struct programs *p);

size_t programs_cpu_count(const struct programs *p);
int programs_rings_fd(const struct programs *p);

/* Name a process to bring into scope, a local port whose connections are, and then do it. */
int programs_add_process(struct programs *p, uint32_t pid, struct err *err);
void programs_add_port(struct programs *p, uint16_t port);
int programs_find_threads(struct programs *p, struct err *err);

/* Whether a process is in scope: 1, 0, or a negative errno if that is unknown, as it is gone.
 * Needs PRIVILEGE_BPF. */
int programs_has_process(const struct programs *p, uint32_t pid);

/*
 * From now on the context of the threads of a process, and of what it forks, is
 * read at that place; nowhere, if it is of TLS_LOCATION_NONE.  A process that was forked
 * before this is not meant.  Needs PRIVILEGE_BPF.
 */
int programs_set_tls_location(struct programs *p, uint32_t pid,
			      const struct wire_tls_location *place, struct err *err);

/* Whether programs have named processes themselves since the last programs_find_threads(). */
bool programs_has_pending_joins(const struct programs *p);

/*
 * How often the kernel has skipped one of our programs: it does so if the event happens while the
 * same program runs on that CPU.
 */
uint64_t programs_missed(const struct programs *p);

/* Record nothing that happens after a time that is still to come. */
void programs_end_at(struct programs *p, nsec_t time);

/* That time is over: finish there what threads were doing, and detach everything. */
int programs_finish(struct programs *p, struct err *err);

#endif
