/* SPDX-License-Identifier: Apache-2.0 */
/* ctf_babeltrace_field - converts and visits fields of libbabeltrace2. */
#ifndef SONDE_READ_CTF_BABELTRACE_FIELD_H
#define SONDE_READ_CTF_BABELTRACE_FIELD_H

#include <babeltrace2/babeltrace.h>

#include "read/raw/raw.h"

/* Copies the first field that has one of the names of f into the event, if there is one. */
void ctf_bt_copy(const bt_field *fields, const struct raw_field *f, struct raw_event *event);

/* False if the field is not a number. */
bool ctf_bt_number(const bt_field *field, uint64_t *ret);

/* Visits a field and its descendants. */
void ctf_bt_visit(const bt_field *field, const char *name, const struct raw_visitor *visitor,
		  void *arg);

#endif
