/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_formats - the event formats of a trace, by event number.
 *
 * A kernel has thousands of tracepoints and a trace uses a dozen, so a format is
 * bound when it is first used.  trace.dat and perf.data store format files in the same
 * layout, which is read here.
 */
#ifndef SONDE_READ_RAW_KERNEL_FORMATS_H
#define SONDE_READ_RAW_KERNEL_FORMATS_H

#include "read/raw/kernel_format.h"

enum { KERNEL_FORMAT_IDS = 1 << 16 }; /* common_type has 16 bits */

struct kernel_format_text {
	const char *system, *text; /* borrowed; text is not terminated */
	size_t len;
};

struct kernel_formats {
	struct kernel_abi abi;
	struct kernel_format_text *texts; /* [KERNEL_FORMAT_IDS]; text is NULL if absent */
	struct kernel_format **bound;     /* [KERNEL_FORMAT_IDS]; NULL until first used */
	size_t systems;                   /* number of systems read */
};

void kernel_formats_init(struct kernel_formats *formats, struct kernel_abi abi);
void kernel_formats_done(struct kernel_formats *formats);

const struct kernel_format *kernel_formats_bind(struct kernel_formats *formats, uint16_t id);

/* NULL if no format has this number. */
static inline const struct kernel_format *kernel_formats_find(struct kernel_formats *formats,
							      uint16_t id)
{
	return formats->bound[id] ?: kernel_formats_bind(formats, id);
}

/* The kinds of events that have a format: 1 << enum raw_kind. */
uint32_t kernel_formats_kinds(const struct kernel_formats *formats);

/* The numbering of task states; release is that of the kernel, or NULL. */
struct raw_states kernel_formats_states(const struct kernel_formats *formats, const char *release);

/*
 * Read format files.  ftrace's own events are a count, followed by that many sizes
 * and texts.  The other events are a count of systems, and for each system its name, a
 * count, and that many sizes and texts.  Both return the number of bytes read, or 0 if
 * the data is truncated or damaged; the formats before the damage are added.
 */
size_t kernel_formats_read_ftrace(struct kernel_formats *formats, const char *data, size_t size);
size_t kernel_formats_read_systems(struct kernel_formats *formats, const char *data, size_t size);

#endif
