/* SPDX-License-Identifier: Apache-2.0 */
#include "record/kernel/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { TOO_FEW = 10 }; /* fewer samples are not significant */

/* A CPU is judged if it was busy for a quarter of the time. */
enum { LEAST_SHARE = 4 };

/* Idle time is printed in ticks of 10 ms: in less busy time, their rounding is significant. */
#define LEAST_BUSY (100 * NSEC_PER_MSEC)

/* The sum of idle, iowait and steal of one line. */
static bool parse_line(const char *line, size_t *ret_cpu, uint64_t *ret_ticks)
{
	uint64_t idle, iowait, steal;

	if (sscanf(line, "cpu%zu %*u %*u %*u %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64, ret_cpu,
		   &idle, &iowait, &steal) != 4)
		return false;
	*ret_ticks = idle + iowait + steal;
	return true;
}

void profile_parse_busy(const char *text, nsec_t now, nsec_t *ret, size_t cpus)
{
	const nsec_t tick = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	uint64_t ticks;
	size_t cpu;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (parse_line(line, &cpu, &ticks) && cpu < cpus)
			ret[cpu] = now - ticks * tick;
	}
}

nsec_t *profile_busy(size_t cpus)
{
	nsec_t *busy = must_alloc(cpus * sizeof(*busy));
	FILE *file = fopen("/proc/stat", "re");
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0)
		profile_parse_busy(line, clock_now(), busy, cpus);
	free(line);
	if (file)
		fclose(file);
	return busy;
}

uint64_t profile_due(unsigned long hz, nsec_t from, nsec_t to, nsec_t elapsed)
{
	nsec_t busy = to > from ? to - from : 0;

	if (!from || !to || busy < LEAST_BUSY || busy < elapsed / LEAST_SHARE)
		return 0;
	return (uint64_t)((double)hz * (double)busy / NSEC_PER_SEC);
}

uint64_t profile_missing(uint64_t due, uint64_t taken)
{
	return due < TOO_FEW || taken >= due / 2 ? 0 : due - taken;
}
