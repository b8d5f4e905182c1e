/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes - the kernel programs' life: loaded, attached, asked, stopped.
 *
 * All that needs privileges happens in probes_load() and probes_attach(); the
 * descriptors that are needed later are opened there.
 */
#ifndef SONDE_RECORD_KERNEL_PROBES_H
#define SONDE_RECORD_KERNEL_PROBES_H

#include "base/base.h"
#include "base/err.h"
#include "bpf/wire.h"
#include "event/syscall_table.h"
#include "record/kernel/hit.h"

struct probes_config {
	size_t ring_size; /* per CPU, a power of two */
	bool all;         /* every thread of the machine is in scope */
	bool neighbours;
	uint16_t ports[WIRE_PORTS]; /* processes that begin to listen there join the scope */
	uint64_t cgroup;            /* threads that move into it likewise; 0 for none */
	int cgroup_hierarchy;
	nsec_t stacks; /* 0 for none */
	unsigned long profile_hz;
	bool syscalls, block;
	uint64_t syscalls_wanted[SYSCALL_TABLE_SIZE / 64];
	const struct hit_type *hits; /* borrowed */
	size_t hit_count;
};

/* Told of what this kernel lacks and is left out. */
typedef void probes_lacks_fn(void *arg, const char *what);

struct probes;

int probes_load(const struct probes_config *config, probes_lacks_fn *lacks, void *arg,
		struct probes **ret, struct err *err);
void probes_free(struct probes *p);
DEFINE_FREEP(probes)

/* Attached, the programs do nothing until they are started all at once. */
int probes_attach(struct probes *p, struct err *err);
void probes_start(struct probes *p);

size_t probes_cpu_count(const struct probes *p);
int probes_rings_fd(const struct probes *p);

/* Name a process to bring into scope, a local port whose connections are, and then do it. */
int probes_add_process(struct probes *p, uint32_t pid, struct err *err);
void probes_add_port(struct probes *p, uint16_t port);
int probes_find_threads(struct probes *p, struct err *err);

/* Whether a process is in scope: 1, 0, or a negative errno if that is unknown, as it is gone.
 * Needs PRIVILEGE_BPF. */
int probes_has_process(const struct probes *p, uint32_t pid);

/*
 * From now on the context of the threads of a process, and of what it forks, is
 * read at that place; nowhere, if it is of PLACE_NONE.  A process that was forked
 * before this is not meant.  Needs PRIVILEGE_BPF.
 */
int probes_set_place(struct probes *p, uint32_t pid, const struct wire_place *place,
		     struct err *err);

/* Whether programs have named processes themselves since the last probes_find_threads(). */
bool probes_has_joins(const struct probes *p);

/*
 * How often the kernel has skipped one of our programs: it does so if the event happens while the
 * same program runs on that CPU.
 */
uint64_t probes_missed(const struct probes *p);

/* Record nothing that happens after a time that is still to come. */
void probes_end_at(struct probes *p, nsec_t time);

/* That time is over: finish there what threads were doing, and detach everything. */
int probes_finish(struct probes *p, struct err *err);

#endif
