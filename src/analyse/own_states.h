/* SPDX-License-Identifier: Apache-2.0 */
/* own_states - the intervals of a span between its children, and the states of its thread in them.
 */
#ifndef SONDE_ANALYSE_OWN_STATES_H
#define SONDE_ANALYSE_OWN_STATES_H

#include "analyse/byte_sums.h"
#include "analyse/episode.h"
#include "analyse/observation.h"
#include "analyse/section_parts.h"
#include "analyse/span_traits.h"

/* A child, or several that overlap, clipped to the parent. */
struct own_cut {
	nsec_t start, end;
	span_id span;         /* the first of them */
	bool has_other_clock; /* any of them: its times are not exact on the clock of the parent */
};

/* All zero at first; can be used for one span after the other. */
struct own_states {
	const struct span_set *spans; /* borrowed */
	struct episode_cache episodes;
	struct span_work work;
	VEC(struct own_cut) cuts; /* of the current span, in order */
	struct byte_sums bytes;
	bool skips_bytes; /* leave them and the footprint out: sums read all of a thread */
	struct footprint footprint; /* of the current span */
};

void own_states_done(struct own_states *own);

/* Drops what is kept for the spans of a trace. */
void own_states_forget_trace(struct own_states *own);

/*
 * Fills the intervals and runs of an observation, and the sums over them; its times are known.
 * `has_thread` is whether the span has a thread, or that of its parents.
 */
void own_states_find(struct own_states *own, bool has_thread, struct observation *observation);

#endif
