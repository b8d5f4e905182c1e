/* SPDX-License-Identifier: Apache-2.0 */
/* ctf_bind - selects the fields of packets and events that sonde decodes. */
#ifndef SONDE_READ_CTF_BIND_H
#define SONDE_READ_CTF_BIND_H

#include "read/ctf/program.h"
#include "read/ctf/trace.h"

/*
 * The names of an event's thread and CPU: in its contexts (the CPU can also be in
 * the packet's context), and in the payload of events that perf converted.
 */
enum { CTF_CONTEXT_FIELDS = 4 };
extern const struct raw_field ctf_context_fields[CTF_CONTEXT_FIELDS],
	ctf_perf_fields[CTF_CONTEXT_FIELDS];

/* Selects the members of struct ctf_packet from the header and context of a packet. */
void ctf_bind_packet(const struct ctf_group *group, ctf_selections *selections, bool *ret_has_cpu);

/* Selects id and timestamp of an event header; *ret_clock is the clock's name, NULL if none. */
void ctf_bind_header(const struct ctf_group *group, ctf_selections *selections,
		     const char **ret_clock);

/*
 * Selects the fields of an event that struct raw_event has members for.  Sets
 * event->blank, except for its type, and event->has_cpu.
 */
void ctf_bind_event(struct ctf_event *event, enum raw_dialect dialect, ctf_selections *selections);

/* Whether a field of the group is mapped to a clock. */
bool ctf_group_has_clock(const struct ctf_group *group);

#endif
