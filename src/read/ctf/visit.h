/* SPDX-License-Identifier: Apache-2.0 */
/* ctf_visit - all fields of an event, one by one, for who wants to see them. */
#ifndef SONDE_READ_CTF_VISIT_H
#define SONDE_READ_CTF_VISIT_H

#include "read/ctf/program.h"
#include "read/raw/raw.h"

/*
 * Shows the fields of a group to a visitor, each of its structs under its name,
 * but not those at the top of the first whose names are in hidden (separated by
 * blanks).  Ends early where the packet does.
 */
bool ctf_visit(const struct ctf_group *group, const char *hidden, struct ctf_bits *in,
	       const struct raw_visitor *visitor, void *arg);

#endif
