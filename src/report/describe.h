/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe - records as lists of fields.
 *
 * Each kind of record is turned into fields here, once for both JSON and text;
 * field.h writes them.  doc/man/sonde-dump.1.scd lists the keys.  A record can produce
 * no line or several: a wait has a blocked and a runnable part, and each part that is
 * not empty is an interval of its own.
 */
#ifndef SONDE_REPORT_DESCRIBE_H
#define SONDE_REPORT_DESCRIBE_H

#include "event/stream.h"
#include "report/field.h"
#include "report/name_table.h"
#include "report/stack_table.h"

struct describer { /* all borrowed */
	struct fields *fields;
	const struct source *source;      /* of the record */
	const struct name_table *names;   /* of the host, with the record added */
	const struct stack_table *stacks; /* NULL if no stacks are shown */
	const char *host;                 /* NULL to omit it */
};

void describe_record(const struct describer *d, const struct record *record);

/* Parts of describe_record(), for its files only. */
struct field_head describe_head(const struct describer *d, const struct record *record);
void describe_run(const struct describer *d, const struct record_run *r);
void describe_wait(const struct describer *d, const struct record_wait *r);
void describe_stack(const struct describer *d, const struct record_stack *r);
void describe_span(const struct describer *d, const struct record_span *r);
void describe_context(const struct describer *d, const struct record_context *r);
void describe_attribute(const struct describer *d, const struct record_attribute *r);
void describe_probe_event(const struct describer *d, const struct record_probe_event *r);

/* The object of a wait or message: object, object_id, object_name, local, peer. */
void describe_object(const struct describer *d, unsigned kind, uint64_t object);

/* The name of a system call, or syscall_9999 if the number is unknown. */
void describe_syscall_name(const struct describer *d, const char *key, int nr);

#endif
