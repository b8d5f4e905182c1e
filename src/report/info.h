/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info - what is in an input, how whole it is, and what it lacks.
 *
 * Everything is counted in one pass and then told, as an account for people or
 * as JSON.  What a damaged input gave before the damage is told all the same.
 */
#ifndef SONDE_REPORT_INFO_H
#define SONDE_REPORT_INFO_H

#include "base/json.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "event/counter.h"
#include "event/stream.h"
#include "report/census.h"

/* What the input says of its making. Strings are borrowed; NULL or 0 is what it does not say. */
struct info_origin {
	const char *file, *format;
	uint64_t size; /* in bytes */
	const char *host, *kernel, *machine, *command, *tool;
	uint32_t cpu_count;
	uint32_t version; /* of its format */
	bool is_capture;
	bool cut; /* the recorder was stopped before it could close the file, */
	uint64_t cut_at;
	nsec_t start;            /* on its own clock */
	bool has_realtime;       /* it is known, */
	int64_t realtime_offset; /* what CLOCK_REALTIME minus that clock is */
};

struct info_state { /* of one letter */
	uint64_t count;
	nsec_t time;
};

struct info_loss {
	unsigned cpu;
	uint32_t tid; /* what an agent dropped for a thread; then the CPU means nothing */
	nsec_t start, end;
	uint64_t count, packets;
};

struct info_service {
	uint64_t spans, errors;
};

struct info {
	struct info_origin origin;
	struct err damage; /* "" if nothing is wrong */
	char *warnings;    /* lines */
	nsec_t begin, end; /* of what it tells */
	unsigned cpus;     /* that were seen */

	uint64_t events;                     /* in the source, as it has them */
	uint64_t records[RECORD_KIND_COUNT]; /* that they became */
	uint64_t unknown, total;             /* records of no known kind; of any */
	struct census census;
	struct info_state states[128]; /* by letter; in scope only */
	nsec_t irq;                    /* of the time in R */
	struct counters counters;
	uint64_t lost, lost_packets;  /* records, and whole packets of a foreign trace */
	uint64_t lost_by_agents;      /* events, by the count of processes */
	VEC(struct info_loss) losses; /* in the order of the file */

	uint64_t span_errors;
	struct map traces;      /* hash of the id -> number of its roots */
	uint64_t several_roots; /* traces that have more than one */
	struct strtab *service_names;
	VEC(struct info_service) services; /* by the ids of their names */
};

void info_init(struct info *info, const struct info_origin *origin);
void info_done(struct info *info);

void info_add(struct info *info, const struct source *source, const struct record *record);

/* After the last record; damage is NULL if there was none, notice if there is nothing to say. */
void info_finish(struct info *info, uint64_t events, const char *warning, const struct err *damage);

/* When it began since 1970, if it says so; else 0. */
nsec_t info_realtime(const struct info *info);

/* The i-th line of notices and its length; NULL behind the last. */
const char *info_warning(const struct info *info, size_t i, size_t *ret_len);

/* The ids of services, most spans first; the caller frees them. There are services.count. */
uint32_t *info_services(const struct info *info);

void info_text(const struct info *info, struct out *out);
void info_json(const struct info *info, struct json *j); /* an object */

#endif
