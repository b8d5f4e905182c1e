/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_set - the spans that an analysis reads: recorded and inferred ones.
 *
 * A model holds what was recorded and never changes after model_finish().  An analysis can infer
 * more spans from it, such as rebuilt requests.  A span set keeps those beside the model and
 * numbers them after the recorded spans, so that a span_id names either; their names are numbered
 * after the model's strings in the same way.  Trees do not mix until span_set_unite(): an inferred
 * span never has a recorded parent or child.
 *
 * A set of recorded spans only needs no set-up:
 *
 *	struct span_set spans = { .model = model };
 */
#ifndef SONDE_MODEL_SPAN_SET_H
#define SONDE_MODEL_SPAN_SET_H

#include "base/map.h"
#include "base/vec.h"
#include "model/model.h"
#include "model/span_slice.h"

struct span_set {
	const struct model *model; /* borrowed */
	VEC(struct span) inferred; /* the first is none */
	struct map index;          /* hash of trace and span id -> index in `inferred` */
	struct strtab *strings;    /* names that the model does not have */
	struct span_slices slices; /* when threads worked for inferred spans */
	VEC(struct span) united;   /* all spans by id; empty before span_set_unite() */
};

void span_set_done(struct span_set *set);

/*
 * Adds an inferred span with the ids, times, names, flags and thread of `span`; parent_id decides
 * where in a tree it is.  Ignores a span if the set or the model has one with the same ids.
 * Returns the span with these ids.
 */
span_id span_set_add(struct span_set *set, const struct span *span);

/* The id of a name, for a span to be added. */
str_id span_set_intern(struct span_set *set, const char *name);

/* Call after the last span_set_add(): links the inferred spans into trees. */
void span_set_finish(struct span_set *set);

/*
 * Copies the recorded spans into the set, so that an analysis can complete them, and one tree can
 * contain recorded and inferred spans.  Call after span_set_finish(); change parents and times by
 * span_set_edit(), then call span_set_relink().
 */
void span_set_unite(struct span_set *set);
struct span *span_set_edit(struct span_set *set, span_id id);
void span_set_relink(struct span_set *set);

size_t span_set_count(const struct span_set *set); /* ids are 1 to count - 1 */
const struct span *span_set_at(const struct span_set *set, span_id id);
const char *span_set_string(const struct span_set *set, str_id id);

/* The span after `at` in the tree of `root`, parents before their children; none after the last. */
span_id span_set_next(const struct span_set *set, span_id root, span_id at);

/* The span with these ids; none if there is none. */
span_id span_set_find(const struct span_set *set, const uint8_t trace[16], const uint8_t id[8]);

/* Number of roots in the trace of a span. */
size_t span_set_root_count(const struct span_set *set, span_id id);

#endif
