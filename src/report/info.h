/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info - a summary of an input: its content, whether it is complete, and what is missing.
 *
 * The records are counted in one pass; the result is written as text or JSON.  The
 * records before the damage of a damaged input are counted too.
 */
#ifndef SONDE_REPORT_INFO_H
#define SONDE_REPORT_INFO_H

#include "base/json.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "event/counter.h"
#include "event/stream.h"
#include "report/thread_counts.h"

/* The origin of the input. Strings are borrowed; NULL or 0 if unknown. */
struct info_origin {
	const char *file, *format;
	uint64_t size; /* in bytes */
	const char *host, *kernel, *machine, *command, *tool;
	uint32_t cpu_count;
	uint32_t version; /* of its format */
	bool is_capture;
	bool cut;        /* the recorder did not close the file */
	uint64_t cut_at; /* offset of the end, if cut */
	nsec_t start;    /* on the clock of the input */
	bool has_realtime;
	int64_t realtime_offset; /* ns from that clock to CLOCK_REALTIME, if known */
};

struct info_state { /* one state letter */
	uint64_t count;
	nsec_t time;
};

struct info_loss {
	unsigned cpu;
	uint32_t tid; /* thread whose agent dropped events; then cpu is meaningless */
	nsec_t start, end;
	uint64_t count, packets;
};

struct info_service {
	uint64_t spans, errors;
};

struct info {
	struct info_origin origin;
	struct err damage; /* "" if undamaged */
	char *warnings;    /* one per line */
	nsec_t begin, end; /* times of the first and last record */
	unsigned cpus;     /* highest CPU number + 1 */

	uint64_t events;                     /* number of events in the input */
	uint64_t records[RECORD_KIND_COUNT]; /* records by kind */
	uint64_t unknown, total;             /* records of unknown kinds; all records */
	struct thread_counts counts;
	struct info_state states[128]; /* by letter; in scope only */
	nsec_t irq;                    /* of the time in R */
	struct counters counters;
	bool is_piece; /* begins with an EPOCH: the counters include what came before */
	uint64_t lost, lost_packets;  /* records, and whole packets of a foreign trace */
	uint64_t lost_by_agents;      /* span events, as reported by processes */
	VEC(struct info_loss) losses; /* in the order of the file */

	uint64_t span_errors;
	struct map traces;          /* hash of the trace ID: number of root spans */
	uint64_t multi_root_traces; /* traces with more than one root span */
	struct strtab *service_names;
	VEC(struct info_service) services; /* by the str_id of the name */
};

void info_init(struct info *info, const struct info_origin *origin);
void info_done(struct info *info);

void info_add(struct info *info, const struct source *source, const struct record *record);

/* Call after the last record. warning and damage can be NULL. */
void info_finish(struct info *info, uint64_t events, const char *warning, const struct err *damage);

/* The start in ns since 1970; 0 if unknown. */
nsec_t info_realtime(const struct info *info);

/* The i-th warning and its length; NULL after the last. */
const char *info_warning(const struct info *info, size_t i, size_t *ret_len);

/* The services.count IDs of services, most spans first. The caller frees them. */
uint32_t *info_services(const struct info *info);

void info_text(const struct info *info, struct out *out);
void info_json(const struct info *info, struct json *j); /* an object */

#endif
