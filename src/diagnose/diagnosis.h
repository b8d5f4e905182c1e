/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnosis - what differs from a baseline, over all requests of a recording.
 *
 *	struct diagnosis *d = diagnosis_new(baseline, profiles);
 *	diagnosis_begin(d, spans);
 *	observations_find(spans, diagnosis_add_observation, d, &counts);
 *	diagnosis_finish(d);
 *
 * Spans are compared one by one (diagnose/verdict.h), children before parents.  A parent's own time
 * does not contain its children, so a slow child does not flag its parents, and the deepest span
 * that explains a difference is the one that is reported.
 *
 * One cause deviates in many spans.  A finding is what the spans of one service and operation have
 * in common: the state that takes longer, or less time.  One usual span in a hundred is flagged, so
 * a finding needs more of them than chance explains.  Findings are ranked by their excess: the
 * time beyond what the baseline expects, of the spans that deviate, as far as roots waited for it.
 */
#ifndef SONDE_DIAGNOSE_DIAGNOSIS_H
#define SONDE_DIAGNOSE_DIAGNOSIS_H

#include "diagnose/verdict.h"

/* Spans of a finding that are kept as examples, those with the largest excess. */
enum { EXAMPLES_MAX = 32 };

/* A compared span. */
struct tested {
	span_id span;
	uint32_t operation;            /* index of its operation */
	const struct profile *profile; /* borrowed; NULL: not compared */
	uint32_t slower, faster;       /* bits of features that deviate */
	bool is_flagged, is_flagged_plainly;
	bool is_lost;  /* records were lost meanwhile: compared, but in no finding */
	float on_path; /* share of its own time that its root waited for */
	nsec_t duration;
	nsec_t times[FEATURE_COUNT];
	const struct kept_span *kept; /* its states, as evidence; NULL if it is not flagged */
};

/* Time of the spans that deviate beyond the mean of the baseline, ns; negative if it is less. */
struct excess {
	double all;
	double on_path; /* as far as roots waited for it */
};

/* The spans of one service and operation. */
struct tested_operation {
	str_id service, operation;     /* in the strings of the baseline */
	const struct profile *profile; /* of the operation; NULL if it is unknown */
	uint64_t spans;                /* compared */
	uint64_t flagged, flagged_plainly;
	uint64_t unknown;               /* not compared: too few in the baseline */
	uint64_t lost;                  /* left out: records were lost in them */
	uint64_t slow;                  /* above the 99th percentile of the baseline */
	uint64_t slower[FEATURE_COUNT]; /* flagged because of this feature */
	uint64_t faster[FEATURE_COUNT];
	uint64_t slow_flagged[FEATURE_COUNT]; /* of the slow ones, flagged as slower in this */
	uint64_t patterns;                    /* missing the expected pattern */
	struct excess longer[FEATURE_COUNT], shorter[FEATURE_COUNT];
	double change; /* of roots: ns that they take longer than expected; may be < 0 */
};

struct finding {
	uint32_t operation; /* index */
	uint32_t feature;   /* or FEATURE_PATTERN */
	bool is_faster;
	uint64_t flagged; /* spans */
	struct excess excess;
	double share;               /* of the time that roots take longer; 0 if they do not */
	const struct profile *part; /* in which most of them are; NULL: not divided */
	uint64_t part_spans, part_flagged;
	nsec_t observed;                 /* median; of the part, if there is one */
	struct band expected;            /* in the profile of the first example */
	uint32_t examples[EXAMPLES_MAX]; /* indexes of compared spans, largest excess first */
	uint32_t example_count;
};

/* Traces of a type that the baseline does not have. */
struct unknown_type {
	uint64_t type;
	uint64_t traces;
	span_id example;    /* root */
	bool is_repetition; /* a known type with another number of repetitions */
	bool is_chance;     /* as rare as types that the baseline has once */
};

struct diagnosis {
	const struct baseline *baseline; /* borrowed */
	const struct profiles *profiles; /* borrowed */
	const struct span_set *spans;    /* borrowed */
	VEC(struct tested) tested;
	VEC(struct tested_operation) operations; /* in the order of the first span */
	VEC(struct unknown_type) unknown_types;  /* most traces first */
	VEC(struct finding) findings;            /* largest excess first; faster ones last */
	uint64_t of_unknown_type;                /* traces */
	bool has_new_types; /* more of them than the baseline has unique ones */
	uint64_t traces, spans_tested, flagged, flagged_plainly;
	double change; /* ns that all roots take longer than the baseline expects; may be < 0 */
	double slower; /* the same of the operations that take longer */
	/* private: */
	struct map operation_index, type_index;
	size_t trace; /* index in `tested` of the first span of the current trace */
	struct verdict verdict;
	struct arena *arena; /* of kept spans */
};

struct diagnosis *diagnosis_new(const struct baseline *baseline, const struct profiles *profiles);
void diagnosis_free(struct diagnosis *diagnosis);
DEFINE_FREEP(diagnosis)

void diagnosis_begin(struct diagnosis *diagnosis, const struct span_set *spans);
/* An observation_fn. */
void diagnosis_add_observation(void *diagnosis, const struct observation *o);
void diagnosis_finish(struct diagnosis *diagnosis);

#endif
