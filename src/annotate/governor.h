/* SPDX-License-Identifier: Apache-2.0 */
/*
 * governor - shed detail while `sonde annotate` needs more CPU time than its budget.
 *
 * Detail is shed in a fixed order: stacks, then system calls, then the slices of out-of-scope
 * tasks; what remains, the intervals of the recorded threads, is what an annotation consists of.
 * A level sheds its detail and all before it; levels whose detail is not recorded anyway are
 * skipped.
 *
 * Every two seconds the governor compares the CPU time of all parts with the budget.  Above it, it
 * sheds the next detail.  If the parts need less than 70 % of the budget for a while, it restores
 * one.  A restored detail can be what exceeds the budget: then that while, of ten seconds at first,
 * doubles each time, so that the level changes ever more rarely instead of each ten seconds.
 *
 * The time that BPF programs take is part of the processes that they interrupt, and does not count.
 */
#ifndef SONDE_ANNOTATE_GOVERNOR_H
#define SONDE_ANNOTATE_GOVERNOR_H

#include "base/base.h"

/* What a level sheds; level 0 is full detail. */
enum detail { DETAIL_STACKS = 1, DETAIL_SYSCALLS = 2, DETAIL_OTHER_TASKS = 3, DETAIL_COUNT };

enum governor_part { GOVERNOR_RELAY, GOVERNOR_WORKER, GOVERNOR_RECORDER, GOVERNOR_PARTS };

/* CPU time of a part since its start, and when it was read, CLOCK_MONOTONIC; 0: unknown. */
struct cpu_usage {
	nsec_t time, cpu;
};

/* When a detail was missing; from 0: never.  `to` is UINT64_MAX while it is. */
struct detail_gap {
	nsec_t from, to;
};

struct governor {
	double budget;               /* share of one CPU; 0: no limit */
	bool recorded[DETAIL_COUNT]; /* details that the user has asked for */
	unsigned int level;          /* detail up to which all are shed */
	double used;                 /* share of one CPU in the last period */
	nsec_t period;               /* start of the current one; 0: none */
	nsec_t settled;              /* until then, parts start and nothing is shed */
	struct cpu_usage base[GOVERNOR_PARTS];
	nsec_t calm, patience; /* time below the budget, and when it suffices */
	nsec_t restored;       /* when a detail was restored; 0: never */
	struct detail_gap gaps[DETAIL_COUNT];
};

void governor_init(struct governor *g, nsec_t now);
void governor_set_budget(struct governor *g, double budget);

/* Call it about once a second.  Returns whether the level has changed. */
bool governor_update(struct governor *g, nsec_t now, const struct cpu_usage usage[GOVERNOR_PARTS]);

/* A new recorder, which records all detail. */
void governor_restart(struct governor *g, nsec_t now);

static inline bool governor_sheds(const struct governor *g, enum detail detail)
{
	return g->recorded[detail] && g->level >= detail;
}

/* Whether a detail that the user has asked for is missing at some time between from and to. */
bool governor_has_gap(const struct governor *g, enum detail detail, nsec_t from, nsec_t to);

#endif
