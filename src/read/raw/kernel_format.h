/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_format - decodes binary events of the kernel into raw events.
 *
 * trace.dat and perf.data contain events as the kernel wrote them, and the format
 * files that describe their fields.  At the first event of a type, its format is
 * bound: the fields that struct raw_event has members for (raw_layout_find()) become
 * a short list of copy instructions.  Decoding an event copies a template and then
 * executes that list.
 *
 * Formats and events can be damaged.  Fields beyond the end of an event keep the
 * value of the template, which is "unknown".
 */
#ifndef SONDE_READ_RAW_KERNEL_FORMAT_H
#define SONDE_READ_RAW_KERNEL_FORMAT_H

#include "event/tracepoint.h"
#include "read/raw/raw.h"

/* The ABI of the recorded host. */
struct kernel_abi {
	bool swap;             /* its byte order differs from ours */
	bool foreign_syscalls; /* its system call numbers are not those of x86-64 */
	unsigned long_size;    /* size of the kernel's long, 4 or 8 bytes */
};

struct kernel_binding;

struct kernel_format {
	struct tracepoint tracepoint; /* name, number and all fields */
	char *full_name;              /* "sched:sched_switch" */
	char *text;                   /* the whole format file */
	struct kernel_abi abi;
	struct raw_event blank; /* template; its type is the tracepoint's number */
	uint32_t flags_at;      /* offset of common_flags in an event; 0 if absent */
	struct kernel_binding *bindings;
	size_t count;
};

/* The text has len bytes and need not be terminated.  NULL if it contains no name. */
struct kernel_format *kernel_format_new(const char *system, const char *text, size_t len,
					struct kernel_abi abi);
void kernel_format_free(struct kernel_format *format);
DEFINE_FREEP(kernel_format)

/*
 * Decodes kind, type, tid (common_pid), context and the members of the kind.  The
 * caller sets time and CPU, and overrides tid and pid if it has better values.  Texts
 * point into data.
 */
void kernel_format_decode(const struct kernel_format *format, const void *data, size_t size,
			  struct raw_event *ret);

/* Visits all fields of an event, as raw_source.fields does; omits missing fields. */
void kernel_format_visit(const struct kernel_format *format, const void *data, size_t size,
			 const struct raw_visitor *visitor, void *arg);

#endif
