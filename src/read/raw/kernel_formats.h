/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_formats - all event formats of a trace, by the number that events carry.
 *
 * A kernel has thousands of events and a trace uses a dozen, so a format is bound
 * when it is first asked for.  trace.dat and perf.data store the format files in
 * the same way, so the reading of that is here too.
 */
#ifndef SONDE_READ_RAW_KERNEL_FORMATS_H
#define SONDE_READ_RAW_KERNEL_FORMATS_H

#include "read/raw/kernel_format.h"

enum { KERNEL_FORMAT_IDS = 1 << 16 }; /* common_type has two bytes */

struct kernel_format_text {
	const char *system, *text; /* borrowed; text is not terminated */
	size_t len;
};

struct kernel_formats {
	struct kernel_abi abi;
	struct kernel_format_text
		*texts;               /* [KERNEL_FORMAT_IDS]; text is NULL where there is none */
	struct kernel_format **bound; /* likewise, NULL until asked for */
	size_t systems;               /* that were read */
};

void kernel_formats_init(struct kernel_formats *formats, struct kernel_abi abi);
void kernel_formats_done(struct kernel_formats *formats);

const struct kernel_format *kernel_formats_bind(struct kernel_formats *formats, uint16_t id);

/* NULL if no format has that number. */
static inline const struct kernel_format *kernel_formats_find(struct kernel_formats *formats,
							      uint16_t id)
{
	return formats->bound[id] ?: kernel_formats_bind(formats, id);
}

/* Of which kinds there are events: 1 << enum raw_kind. */
uint32_t kernel_formats_kinds(const struct kernel_formats *formats);

/* How they number task states, with the kernel's release, or NULL. */
struct raw_states kernel_formats_states(const struct kernel_formats *formats, const char *release);

/*
 * The formats as files have them: a count and so many sizes and texts, which are
 * the events of ftrace itself; then a count of systems, and of each its name, a
 * count, and so many sizes and texts.  How much of data was used; 0 if it is cut
 * or damaged, with those added that come before.
 */
size_t kernel_formats_read_ftrace(struct kernel_formats *formats, const char *data, size_t size);
size_t kernel_formats_read_systems(struct kernel_formats *formats, const char *data, size_t size);

#endif
