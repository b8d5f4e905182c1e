/* SPDX-License-Identifier: Apache-2.0 */
/*
 * programs - load, attach, configure and stop the BPF programs.
 *
 * Most privileged steps happen in programs_load() and programs_attach(), which
 * also open the descriptors for later.
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
	bool all;         /* all threads of the host are in scope */
	bool other_tasks;
	uint32_t reader;            /* pid of a process that is never in scope; 0: none */
	uint16_t ports[WIRE_PORTS]; /* processes that start to listen on one join the scope */
	uint64_t cgroup;            /* id; threads that move into it join the scope; 0: none */
	int cgroup_hierarchy;
	nsec_t stacks;  /* shortest wait to record a stack for; 0: no stacks */
	bool unread;    /* programs_find_unread() works, if the kernel can do it */
	bool on_demand; /* programs_set_*() work */
	unsigned long profile_hz;
	bool syscalls, block;
	uint64_t syscalls_wanted[SYSCALL_TABLE_SIZE / 64];
	const struct probe *probes; /* borrowed */
	size_t probe_count;
};

/* Called for each optional feature that this kernel does not have. */
typedef void programs_missing_fn(void *arg, const char *what);

struct programs;

int programs_load(const struct programs_config *config, programs_missing_fn *missing, void *arg,
		  struct programs **ret, struct err *err);
void programs_free(struct programs *p);
DEFINE_FREEP(programs)

/* Attached programs do nothing until programs_start() activates all of them at once. */
int programs_attach(struct programs *p, struct err *err);
/* Those of profile_hz, after that. */
int programs_attach_samples(struct programs *p, struct err *err);
void programs_start(struct programs *p);

size_t programs_cpu_count(const struct programs *p);
int programs_rings_fd(const struct programs *p);

/*
 * Name a process to bring into scope, or a local port whose connections are in scope;
 * programs_find_threads() then brings the threads of all named processes into scope.  A process
 * that started after `latest` (UINT64_MAX: never) has reused the pid, and stays out of scope.
 */
int programs_add_process(struct programs *p, uint32_t pid, nsec_t latest, struct err *err);
void programs_add_port(struct programs *p, uint16_t port);
/* A named process has exited: its pid can be reused. */
void programs_remove_process(struct programs *p, uint32_t pid);
int programs_find_threads(struct programs *p, struct err *err);

/* Whether a process is in scope: 1, 0, or a negative errno, such as -ESRCH if it has exited.
 * Needs PRIVILEGE_BPF. */
int programs_has_process(const struct programs *p, uint32_t pid);

/*
 * Set the location of the thread-local context pointer of a process and of its future
 * children; TLS_LOCATION_NONE stops reading contexts.  Needs PRIVILEGE_BPF.
 */
int programs_set_tls_location(struct programs *p, uint32_t pid,
			      const struct wire_tls_location *place, struct err *err);

/* Write an UNREAD record for each socket with bytes that have been waiting.  Needs PRIVILEGE_BPF.
 */
int programs_find_unread(struct programs *p, struct err *err);

/* on_demand: set the shortest wait to record a stack for; 0: no stacks. */
int programs_set_stacks(struct programs *p, nsec_t threshold, struct err *err);

/* on_demand: record the slices of out-of-scope tasks, or not; config.other_tasks allows it. */
int programs_set_other_tasks(struct programs *p, bool on, struct err *err);

/*
 * on_demand: record the system calls of a process in scope, or end that.  Needs PRIVILEGE_ATTACH.
 * programs_forget_syscalls() removes processes that have exited.
 */
int programs_set_syscalls(struct programs *p, uint32_t pid, bool on, struct err *err);
void programs_forget_syscalls(struct programs *p);

/* on_demand: the same for all processes in scope. */
int programs_set_all_syscalls(struct programs *p, bool on, struct err *err);

/* Describe all objects and out-of-scope threads again, at their next use. */
void programs_forget_described(struct programs *p);

/* Whether BPF programs have named processes since the last programs_find_threads(). */
bool programs_has_pending_joins(const struct programs *p);

/*
 * How often the kernel skipped a BPF program, because its event happened while the same program
 * was running on that CPU.
 */
uint64_t programs_missed(const struct programs *p);

/* Set the end of the recording, which must be in the future. */
void programs_end_at(struct programs *p, nsec_t time);

/* After that end: write the unfinished intervals of all threads, and detach all programs. */
int programs_finish(struct programs *p, struct err *err);

#endif
