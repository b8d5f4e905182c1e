/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_format - the kernel's own event records, as raw events.
 *
 * trace.dat and perf.data hold events as the kernel wrote them, and beside them
 * the format files that say what lies where.  When an event's type is first seen,
 * its format is bound: the few fields that a struct raw_event has room for
 * (raw_layout_find()) become a short list of "these bytes go there".  To decode
 * an event is then to copy a template and run over that list.
 *
 * Formats and events may be damaged.  An event that is shorter than its format
 * says keeps what is missing as the template has it: unknown.
 */
#ifndef SONDE_READ_RAW_KERNEL_FORMAT_H
#define SONDE_READ_RAW_KERNEL_FORMAT_H

#include "event/tracepoint.h"
#include "read/raw/raw.h"

/* How the machine that was traced has its numbers. */
struct kernel_abi {
	bool swap;             /* its byte order is not ours */
	bool foreign_syscalls; /* its system calls have not the numbers of x86-64 */
	unsigned long_size;    /* of its kernel's long, 4 or 8 */
};

struct kernel_binding;

struct kernel_format {
	struct tracepoint tracepoint; /* its name, number and all fields */
	char *full_name;              /* "sched:sched_switch" */
	char *text;                   /* the format file, whole */
	struct kernel_abi abi;
	struct raw_event blank; /* what decoding begins with; its type is the number */
	uint32_t flags_at;      /* where in an event common_flags is; 0 if it has none */
	struct kernel_binding *bindings;
	size_t count;
};

/* The text is of len bytes and need not be terminated.  NULL if it has no name. */
struct kernel_format *kernel_format_new(const char *system, const char *text, size_t len,
					struct kernel_abi abi);
void kernel_format_free(struct kernel_format *format);
DEFINE_FREEP(kernel_format)

/*
 * All of an event that its data says: kind, type, tid (common_pid), context and
 * what belongs to the kind.  The caller fills in time and cpu, and tid or pid where it
 * knows better.  Texts point into data.
 */
void kernel_format_decode(const struct kernel_format *format, const void *data, size_t size,
			  struct raw_event *ret);

/* All fields of an event, as raw_source.fields gives them; what is not there is left out. */
void kernel_format_visit(const struct kernel_format *format, const void *data, size_t size,
			 const struct raw_visitor *visitor, void *arg);

#endif
