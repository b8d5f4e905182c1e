/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch - which operations of a running system leave their baseline.
 *
 *	struct watch *watch = watch_new(baseline, profiles);
 *	watch_advance(watch, second);			as time goes on
 *	watch_add(watch, group, observation, true);	each span that ended
 *	watch_sum(watch, &summary);
 *
 * One usual span in a hundred is flagged (diagnose/verdict.h), so a flagged span alone is no
 * finding.  An operation leaves its baseline if its spans of the last seconds deviate in the same
 * state more often than chance explains.  This is tested again with each span, so the limit of
 * that probability is lower than that of a recording, which is tested once.
 *
 * Spans are counted by operation within a group, which the caller chooses: with one group per
 * kind of request, an operation that many of them use can deviate in one of them.
 *
 * The cost of a span depends on its own intervals only.  The number of counted operations is
 * bounded; spans of others are not counted, nor are those that the baseline has too few of.  Spans
 * whose states are known are compared only with such spans, and the others with the others.
 */
#ifndef SONDE_DIAGNOSE_WATCH_H
#define SONDE_DIAGNOSE_WATCH_H

#include "diagnose/verdict.h"

enum {
	WATCH_SECONDS = 10, /* that spans count */
	WATCHED_MAX = 1000, /* operations in all groups */
};

struct watch;

/* What the spans of an operation that leaves its baseline have in common. */
struct watched_state {
	uint64_t group;
	str_id service, operation; /* in the strings of the baseline */
	uint32_t feature;          /* or FEATURE_PATTERN */
	bool is_faster;
	uint64_t spans, flagged; /* compared, and deviating in this state */
	nsec_t observed, usual;  /* means of the deviating spans, and of the baseline; 0: pattern */
	enum key_kind compared_by; /* the least specific key of a deviating span */
};

/* Both are borrowed. */
struct watch *watch_new(const struct baseline *baseline, const struct profiles *profiles);
void watch_free(struct watch *watch);
DEFINE_FREEP(watch)

/* Seconds count from anywhere, and do not go back. */
void watch_advance(struct watch *watch, uint64_t second);

/*
 * Compares a span, and counts it.  `is_in_trace`: its observation is of a whole trace, so that its
 * position in it can be compared.  The verdict is valid until the next call.
 */
const struct verdict *watch_add(struct watch *watch, uint64_t group, const struct observation *o,
				bool is_in_trace);

/* Compares a span on its own, by its subtree or operation, and does not count it. */
const struct verdict *watch_compare(struct watch *watch, const struct observation *o);

/* Whether the operation of a span that was added now leaves its baseline. */
bool watch_leaves(const struct watch *watch, uint64_t group, const struct observation *o);

struct watch_summary {
	VEC(struct watched_state) states; /* by group, then slower ones, then largest excess */
	struct map first;                 /* group -> index + 1 of its first state */
	struct map compared;              /* group -> number of spans */
};

/* All groups, in the last seconds. */
void watch_sum(const struct watch *watch, struct watch_summary *ret);
void watch_summary_done(struct watch_summary *summary);

/* "position", "subtree", "operation": a name for JSON and attributes. */
const char *key_kind_name(enum key_kind kind);

#endif
