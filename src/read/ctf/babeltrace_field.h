/* SPDX-License-Identifier: Apache-2.0 */
/* ctf_babeltrace_field - fields as libbabeltrace2 has them. */
#ifndef SONDE_READ_CTF_BABELTRACE_FIELD_H
#define SONDE_READ_CTF_BABELTRACE_FIELD_H

#include <babeltrace2/babeltrace.h>

#include "read/raw/raw.h"

/* The first of its names that is there goes to its place in an event; else that stays. */
void ctf_bt_take(const bt_field *fields, const struct raw_field *f, struct raw_event *event);

/* False if it is no number. */
bool ctf_bt_number(const bt_field *field, uint64_t *ret);

/* A field and all below it. */
void ctf_bt_visit(const bt_field *field, const char *name, const struct raw_visitor *visitor,
		  void *arg);

#endif
