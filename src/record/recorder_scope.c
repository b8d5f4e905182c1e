/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_scope - the BPF programs, as agent_scope.h uses them. */
#include "record/recorder_internal.h"

static int has_process(void *programs, uint32_t pid)
{
	return programs_has_process(programs, pid);
}

static int add_process(void *programs, uint32_t pid, nsec_t latest, struct err *err)
{
	return programs_add_process(programs, pid, latest, err);
}

static void remove_process(void *programs, uint32_t pid)
{
	programs_remove_process(programs, pid);
}

static void add_port(void *programs, uint16_t port)
{
	programs_add_port(programs, port);
}

static int find_threads(void *programs, struct err *err)
{
	return programs_find_threads(programs, err);
}

struct agent_scope *recorder_agent_scope(struct recorder *rec)
{
	return agent_scope_new(&(struct agent_scope_programs){
		has_process, add_process, remove_process, add_port, find_threads, rec->programs });
}
