/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe - what a record means.
 *
 * The one place where each kind of record is put into fields; a field says
 * itself how it looks in JSON and in text.  doc/man/sonde-dump.1.scd lists the
 * keys.  A record may give no line or more than one: a wait has a blocked and a
 * runnable part, each an interval of its own unless it is empty.
 */
#ifndef SONDE_REPORT_DESCRIBE_H
#define SONDE_REPORT_DESCRIBE_H

#include "event/stream.h"
#include "report/field.h"
#include "report/names.h"
#include "report/stacks.h"

struct describer { /* all borrowed */
	struct fields *fields;
	const struct source *source; /* of this record */
	const struct names *names;   /* of its host, as of this record, it included */
	const struct stacks *stacks; /* NULL if stacks are not asked for */
	const char *host;            /* NULL if it need not be said */
};

void describe(const struct describer *d, const struct record *record);

/* The parts, one file each. */
struct field_head describe_head(const struct describer *d, const struct record *record);
void describe_run(const struct describer *d, const struct record_run *r);
void describe_wait(const struct describer *d, const struct record_wait *r);
void describe_stack(const struct describer *d, const struct record_stack *r);
void describe_span(const struct describer *d, const struct record_span *r);
void describe_context(const struct describer *d, const struct record_context *r);
void describe_attribute(const struct describer *d, const struct record_attribute *r);
void describe_probe_event(const struct describer *d, const struct record_probe_event *r);

/* What a thread waits on or sends to: object, object_id, name, local, peer. */
void describe_object(const struct describer *d, unsigned kind, uint64_t object);

/* The name of a system call; syscall_9999 if there is none of that number. */
void describe_call(const struct describer *d, const char *key, int nr);

#endif
