/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline - what is usual: observations of recordings in which nothing was wrong.
 *
 *	struct baseline *baseline = baseline_new(&options);
 *	baseline_begin(baseline, spans);
 *	observations_find(spans, baseline_add_observation, baseline, &counts);
 *	baseline_end(baseline, &counts);
 *	(further recordings)
 *	baseline_finish(baseline);
 *
 * A baseline consists of samples (diagnose/kept_span.h) and of counts.  Everything else, such as
 * patterns, bands and limits, follows from these (diagnose/profile.h).  Recordings can be added
 * in any order, and one that was added before is not added again.
 */
#ifndef SONDE_DIAGNOSE_BASELINE_H
#define SONDE_DIAGNOSE_BASELINE_H

#include "base/map.h"
#include "base/vec.h"
#include "diagnose/kept_span.h"

struct learn_options {
	double support; /* share of the sequences that contain a pattern */
	uint32_t gap_least, gap_most;
	bool closed_at_ends; /* the weaker meaning of closed: extensions at the ends only */
	double sigma;
	double cv; /* coefficient of variation above which bands are quantiles */
};

extern const struct learn_options learn_defaults;

/*
 * A root with more types of traces than this is compared by operation: its types say nothing.  More
 * types than TYPES_KEPT in all are not counted.
 */
enum { TYPES_MAX = 1000, TYPES_KEPT = 1 << 17 };

struct recording {
	uint64_t digest; /* of the identities of its spans: the same for each format */
	nsec_t length;
	uint64_t traces, spans;
	uint64_t cut, orphaned; /* traces that were not learned */
	uint64_t lost;          /* spans that were not learned: records were lost in them */
};

struct trace_type {
	uint64_t type, folded;
	uint64_t traces;
	str_id service, operation; /* of its root */
};

struct baseline {
	struct learn_options options;
	struct strtab *strings;
	struct arena *arena;
	VEC(struct recording) recordings; /* by digest */
	VEC(struct trace_type) types;     /* by digest */
	VEC(struct kept_span) samples;    /* by identity */
	struct map counts[KEY_KINDS];     /* key -> number of observations */
	/* private: */
	size_t pruned;                /* number of samples that the last pruning left */
	struct map type_index;        /* type -> index + 1 in `types` */
	struct map folded;            /* folded type -> 1 */
	struct map root_types;        /* root -> number of its types */
	const struct span_set *spans; /* borrowed: of the recording that is being learned */
	struct recording now;
	VEC(struct kept_span) pending;        /* of that recording */
	VEC(struct trace_type) pending_types; /* one per trace of it */
};

struct baseline *baseline_new(const struct learn_options *options);
void baseline_free(struct baseline *baseline);
DEFINE_FREEP(baseline)

void baseline_begin(struct baseline *baseline, const struct span_set *spans);
/* An observation_fn. */
void baseline_add_observation(void *baseline, const struct observation *o);
/* Whether a recording was learned; one without spans, or that was learned before, changes nothing.
 */
enum recording_result { RECORDING_LEARNED, RECORDING_KNOWN, RECORDING_EMPTY };
enum recording_result baseline_end(struct baseline *baseline,
				   const struct observation_counts *counts);

/* Call after the last recording: orders the samples and drops those that no key keeps. */
void baseline_finish(struct baseline *baseline);

/* Of its recordings and options: the same for equal baselines. */
uint64_t baseline_digest(const struct baseline *baseline);

/* NULL if no trace of the baseline has this type. */
const struct trace_type *baseline_type(const struct baseline *baseline, uint64_t type);
/* Whether a type differs from a known one only in the number of repetitions. */
bool baseline_has_folded(const struct baseline *baseline, uint64_t folded);
/* Whether traces with this root have so many types that they are compared by operation. */
bool baseline_has_many_types(const struct baseline *baseline, str_id service, str_id operation);

#endif
