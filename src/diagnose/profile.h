/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile - what is usual for one key of a baseline: patterns, bands, and a limit.
 *
 * Each interval of a span has the pattern of states that is expected there, and a band for each
 * time (diagnose/feature.h).  All intervals together have bands, too, since a change can be spread
 * over many of them.
 *
 * A span has dozens of times, and some of them are outside of their band in most spans.  So
 * one limit holds for the largest score of a span, and it is measured: the samples are divided by
 * recording (or by quarter, if there are few recordings), the bands of the others
 * are applied to each part, and the limit is exceeded by 1 % of the samples.  This is split
 * conformal prediction (Vovk et al., 2005), which assumes nothing about the
 * distribution of times.  Parts by time rather than by chance make the limit cover the difference
 * between one minute and the next.
 *
 * If the own time varies a lot and a trait explains it, the profile is divided (diagnose/split.h):
 * each part has a profile of its own, and a span is compared with that of its part.
 *
 * A pattern with support s is missing in 1 - s of the usual sequences, so missing it scores as an
 * event of that probability.
 */
#ifndef SONDE_DIAGNOSE_PROFILE_H
#define SONDE_DIAGNOSE_PROFILE_H

#include "diagnose/band.h"
#include "diagnose/baseline.h"
#include "diagnose/feature.h"
#include "diagnose/split.h"

/* Fewer observations than this allow no verdict. */
enum { LEAST_OBSERVATIONS = 20 };

/* Share of usual spans that are flagged. */
#define FALSE_FLAGS 0.01

/* Intervals of a span beyond which only all together are compared. */
enum { INTERVALS_MAX = 64 };

/* Mean and deviation of the time of one state of a pattern: the paper's rule. */
struct state_time {
	double mean, deviation; /* ns */
};

struct pattern {
	const uint8_t *letters;
	uint32_t length;
	uint64_t support; /* number of sequences */
};

struct interval_profile {
	struct band bands[FEATURE_COUNT];
	uint64_t sequences; /* that were mined */
	const struct pattern *patterns;
	uint32_t pattern_count;          /* closed ones; the first is expected; 0: none */
	uint32_t longest;                /* letters; longer sequences were folded */
	bool is_truncated;               /* there are more */
	const struct state_time *states; /* of the expected pattern */
	const char *expression;          /* the same with its repetitions: R-T-(R-D)+-R */
	double score_if_missing;         /* of the expected pattern */
};

struct profile {
	enum key_kind kind;
	uint64_t key, type, position;
	str_id service, operation;
	uint64_t observed; /* including those that are not kept */
	uint32_t samples;
	uint32_t interval_count; /* 0: only `all` */
	struct interval_profile *intervals;
	struct interval_profile all;
	struct band_options band;
	double limit; /* of the largest score of a span */
	double mean_duration;
	nsec_t p50, p95, p99;                  /* of the duration */
	double cpu, disk_bytes, network_bytes; /* means */
	const struct split *split;             /* into parts; NULL if it is not divided */
	const struct split *part_of;           /* the split that it is a part of, or NULL */
	uint32_t part;                         /* index in it */
};

struct profiles {
	VEC(struct profile) items; /* by kind and key */
	struct map index[KEY_KINDS];
	VEC(struct arena *) arenas; /* of the threads that built them */
};

/* `threads`: how many to use.  Deterministic. */
void profiles_build(const struct baseline *baseline, unsigned int threads, struct profiles *ret);
void profiles_done(struct profiles *profiles);

/* NULL if there is none. */
const struct profile *profiles_find(const struct profiles *profiles, enum key_kind kind,
				    uint64_t key);

/* The profile of the part that contains a span; the profile itself if there is none. */
const struct profile *profile_part(const struct profile *profile, const struct kept_span *span);

/*
 * The times of a sample for one interval of a profile, or INTERVAL_ALL, with FEATURE_SKIPPED.
 * Returns whether the sample contains the expected pattern.
 */
bool profile_features(const struct profile *profile, const struct kept_span *sample,
		      uint32_t interval, uint32_t gap_least, uint32_t gap_most,
		      nsec_t ret[FEATURE_COUNT]);

/* Whether the intervals of a sample can be compared one by one. */
static inline bool profile_has_intervals_of(const struct profile *p, const struct kept_span *s)
{
	return p->interval_count && p->interval_count == s->interval_count && s->has_states;
}

#endif
