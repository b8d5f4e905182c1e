/* SPDX-License-Identifier: Apache-2.0 */
#include "record/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

int64_t clock_offset(clockid_t clock)
{
	nsec_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 5; i++) {
		nsec_t before = clock_now(), other = clock_read(clock), after = clock_now();

		if (after - before < best) {
			best = after - before;
			offset = (int64_t)(other - (before + after) / 2);
		}
	}
	return offset;
}

static ino_t namespace_of(const char *process, const char *kind)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", process, kind);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* timens_offsets is that of the process's children, so use it only if both namespaces are equal. */
static int64_t offset_in(const char *process)
{
	int64_t seconds = 0, ns = 0;
	char path[64];
	FILE *file;

	if (namespace_of(process, "time") != namespace_of(process, "time_for_children"))
		return 0;
	snprintf(path, sizeof(path), "/proc/%s/timens_offsets", process);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "monotonic %" SCNd64 " %" SCNd64, &seconds, &ns) != 2)
		seconds = ns = 0;
	fclose(file);
	return seconds * (int64_t)NSEC_PER_SEC + ns;
}

int64_t clock_namespace_offset(uint32_t pid)
{
	char process[16];

	snprintf(process, sizeof(process), "%" PRIu32, pid);
	return offset_in(process) - offset_in("self");
}

void clock_pause(nsec_t ns)
{
	struct timespec ts = { .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC };

	nanosleep(&ts, NULL);
}
