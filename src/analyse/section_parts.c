/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/section_parts.h"

#include "analyse/request_parts.h"

enum { ANCESTORS = 128 };

bool section_has_contexts(const struct span_set *spans, span_id id)
{
	return model_span_ref(spans->model, span_set_at(spans, id)->ref)->first_residency;
}

span_id section_owner(const struct span_set *spans, span_id id)
{
	str_id service = span_set_at(spans, id)->service;

	for (size_t i = 0; i < ANCESTORS && id.i; i++, id = span_set_at(spans, id)->parent) {
		if (section_has_contexts(spans, id) ||
		    span_set_at(spans, id)->service.i != service.i)
			break;
		if (request_parts_apply(spans, id))
			return id;
	}
	return (span_id){ 0 };
}

void section_parts_find(const struct span_set *spans, const struct span_section *section,
			span_id owner, span_id next, struct span_work *ret)
{
	struct span_section owned = { owner, section->start, section->end };

	if (owner.i)
		request_parts_find(spans, &owned, next, ret);
	else
		span_work_find(spans, section->span, section->start, section->end, ret);
}
