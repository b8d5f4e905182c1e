/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/requests/idle.h"

enum { SHORTEST = 1000000 }; /* ns; shorter requests are not worth a look */

bool request_is_idle(const struct span_set *spans, span_id request)
{
	const struct span *span = span_set_at(spans, request);
	nsec_t duration = span->end - span->start, worked = 0, at = span->start;
	const struct span_slice *slice;

	if (span->source != SPAN_INFERRED || duration < SHORTEST || span->first_child.i ||
	    span->read - span->start > duration / 10 ||
	    span_reply_from(&spans->slices, request, span->start))
		return false;
	while ((slice = span_slice_of_span(&spans->slices, request, at)) && slice->end > at) {
		worked += slice->end - (slice->start > at ? slice->start : at);
		at = slice->end;
	}
	return worked < duration / 10;
}
