/* SPDX-License-Identifier: Apache-2.0 */
/* ctf_visit - visits all fields of an event, to display them. */
#ifndef SONDE_READ_CTF_VISIT_H
#define SONDE_READ_CTF_VISIT_H

#include "read/ctf/program.h"
#include "read/raw/raw.h"

/*
 * Visits the fields of a group, each struct under its name.  Omits top-level
 * fields whose names are in `hidden`, separated by blanks.  Stops and returns false
 * if the packet ends too early.
 */
bool ctf_visit(const struct ctf_group *group, const char *hidden, struct ctf_bits *in,
	       const struct raw_visitor *visitor, void *arg);

#endif
