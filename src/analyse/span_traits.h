/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_traits - what can explain why spans of one operation take different times.
 *
 * - The attributes of a span: texts, integers and truth values.  Attributes whose names suggest a
 *   different value for each request, such as ids, ports and times, come last.
 * - The function that most on-CPU samples of its own thread were in.  With few samples there is
 *   none.  The set of all sampled functions is no trait: the longer a span takes, the more
 *   functions are sampled, so that the set would explain any time.
 * - The set of probes of which its own thread had events; it is exact.  The arguments of probe
 *   events are not in the model.
 */
#ifndef SONDE_ANALYSE_SPAN_TRAITS_H
#define SONDE_ANALYSE_SPAN_TRAITS_H

#include "base/vec.h"
#include "model/span_set.h"

enum span_trait_kind { SPAN_TRAIT_ATTRIBUTE, SPAN_TRAIT_FUNCTION, SPAN_TRAIT_PROBES };

/* "attribute", "function", "probes": a name for JSON and SQL. */
const char *span_trait_kind_name(enum span_trait_kind kind);

struct span_trait {
	const char *key;  /* name of an attribute; "" of other kinds */
	const char *text; /* NULL if the value is a number */
	int64_t number;
	uint8_t kind; /* enum span_trait_kind */
};

/* Traits of a span, and bytes of a key or text: longer ones are left out. */
enum { SPAN_TRAITS_MAX = 16, SPAN_TRAIT_LONGEST = 100 };

typedef VEC(struct span_trait) span_trait_list;

/* What was sampled of a span: only the first samples and events count, which bounds the cost. */
enum { FOOTPRINT_SAMPLES = 64, FOOTPRINT_EVENTS = 64 };

struct footprint {
	uint32_t stacks[FOOTPRINT_SAMPLES];
	uint32_t probes[FOOTPRINT_EVENTS]; /* types of events */
	uint32_t stack_count, probe_count;
	char text[SPAN_TRAIT_LONGEST + 1]; /* of the traits */
};

/* Adds what a thread did between two times. */
void footprint_add(struct footprint *footprint, const struct model *model, thread_id thread,
		   nsec_t from, nsec_t to);

/* Replaces what was in `ret`.  Texts are those of the model or of the footprint. */
void span_traits_find(const struct span_set *spans, span_id span, struct footprint *footprint,
		      span_trait_list *ret);

#endif
