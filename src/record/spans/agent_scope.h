/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_scope - bring the processes that have an agent into scope, with their descendants.
 *
 * A process comes into scope if its own mappings contain an arena (process_scan.h).  Two things
 * make the recorder look: the process registers its arena (registrations.h), or it is next in the
 * scan of all processes, which never ends and finds those that were there before the recorder, that
 * cannot reach its socket, such as in containers, or that were refused.  After its first pass, this
 * scan uses at most half a percent of a CPU.  The BPF programs add children that are forked later;
 * those that exist already are read from /proc, if the kernel lists them there
 * (CONFIG_PROC_CHILDREN).
 *
 * Any user can start a process with an arena.  It brings only itself and its descendants into
 * scope, never another process: a registration is no more than a hint, because nothing
 * but the process itself can create its mappings.  A process that reuses a pid meanwhile stays out
 * (programs_add_process()).  scope_quota.h limits the number.
 */
#ifndef SONDE_RECORD_SPANS_AGENT_SCOPE_H
#define SONDE_RECORD_SPANS_AGENT_SCOPE_H

#include "base/base.h"
#include "base/err.h"

/* The BPF programs (programs.h), or those of a test. */
struct agent_scope_programs {
	int (*has_process)(void *arg, uint32_t pid);
	int (*add_process)(void *arg, uint32_t pid, nsec_t latest, struct err *err);
	void (*remove_process)(void *arg, uint32_t pid);
	void (*add_port)(void *arg, uint16_t port);
	int (*find_threads)(void *arg, struct err *err);
	void *arg;
};

struct agent_scope;

struct agent_scope *agent_scope_new(const struct agent_scope_programs *programs);
void agent_scope_free(struct agent_scope *s);
DEFINE_FREEP(agent_scope)

/* A process registers an arena: whether it will be examined. */
bool agent_scope_hint(struct agent_scope *s, uint32_t pid, uint32_t user);

/* Examine processes, for a limited time. */
void agent_scope_run(struct agent_scope *s);

/* Whether the first pass over all processes has not ended yet. */
bool agent_scope_is_starting(const struct agent_scope *s);

/* A process has exited. */
void agent_scope_exited(struct agent_scope *s, uint32_t pid);

struct agent_scope_refused {
	uint64_t count;     /* how often a process stayed out because of the limits */
	uint32_t pid, user; /* of the last one */
};
struct agent_scope_refused agent_scope_refused(const struct agent_scope *s);

#endif
