/* SPDX-License-Identifier: Apache-2.0 */
/* ctf_bind - which fields of a packet or an event are wanted, and where they go. */
#ifndef SONDE_READ_CTF_BIND_H
#define SONDE_READ_CTF_BIND_H

#include "read/ctf/program.h"
#include "read/ctf/trace.h"

/*
 * The thread and the CPU of an event: in its contexts, where the CPU's may also be in
 * the packet's; and, by other names, among the fields of events that perf converted.
 */
enum { CTF_CONTEXT_FIELDS = 4 };
extern const struct raw_field ctf_context_fields[CTF_CONTEXT_FIELDS],
	ctf_perf_fields[CTF_CONTEXT_FIELDS];

/* The parts of a packet's header and of its context that struct ctf_packet has. */
void ctf_bind_packet(const struct ctf_group *group, ctf_wants *wants, bool *ret_has_cpu);

/* The id and the clock in an event's header; *ret_clock is its name, NULL if it has none. */
void ctf_bind_header(const struct ctf_group *group, ctf_wants *wants, const char **ret_clock);

/* What struct raw_event has of an event; sets event->blank, but not its type,
 * and event->has_cpu. */
void ctf_bind_event(struct ctf_event *event, enum raw_dialect dialect, ctf_wants *wants);

/* Whether a field of the group shows a clock. */
bool ctf_has_clock(const struct ctf_group *group);

#endif
