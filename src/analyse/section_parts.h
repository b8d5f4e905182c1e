/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_parts - which threads worked for a section of a span, or delayed it.
 *
 * Contexts are the most exact (span_work.h); otherwise, the slices of work of a rebuilt request
 * (request_parts.h); otherwise, the span has one thread.
 */
#ifndef SONDE_ANALYSE_SECTION_PARTS_H
#define SONDE_ANALYSE_SECTION_PARTS_H

#include "analyse/span_path.h"
#include "analyse/span_work.h"

/*
 * The span whose slices of work show what a span's threads did: itself, or the request around it if
 * the span was recorded without a thread.  None if there is none, or if contexts are more exact.
 */
span_id section_owner(const struct span_set *spans, span_id id);

/* Whether threads had the span as context. */
bool section_has_contexts(const struct span_set *spans, span_id id);

/*
 * Appends the parts of a section, without gap.  `owner` is the result of section_owner(), `next`
 * the span of the next section or child; may be none.
 */
void section_parts_find(const struct span_set *spans, const struct span_section *section,
			span_id owner, span_id next, struct span_work *ret);

#endif
