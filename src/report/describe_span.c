/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe_span - spans, their attributes, and contexts.
 *
 * IDs are hexadecimal, as in other tracing tools.
 */
#include <stdio.h>
#include <string.h>

#include "report/describe.h"
#include "event/kind.h"

static void describe_id(const struct describer *d, const char *key, const char *lead,
			const __u8 *id, size_t size)
{
	char hex[33];

	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	field_str(d->fields, key, lead, hex);
}

static bool is_none(const __u8 id[8])
{
	static const __u8 none[8];

	return memcmp(id, none, sizeof(none)) == 0;
}

void describe_span(const struct describer *d, const struct record_span *r)
{
	struct fields *f = d->fields;

	field_range(f, "", r->start, r->head.time);
	field_str(f, "service", "  ", source_string(d->source, r->service));
	field_str(f, "operation", "  ", source_string(d->source, r->operation));
	describe_id(d, "trace_id", "  trace ", r->trace, sizeof(r->trace));
	describe_id(d, "span_id", "  span ", r->span, sizeof(r->span));
	if (!is_none(r->parent))
		describe_id(d, "parent_span_id", "  parent ", r->parent, sizeof(r->parent));
	if (r->kind)
		field_name(f, "span_kind", "  ", span_kind_name(r->kind), r->kind);
	field_flag(f, "follows_from", "  follows-from", r->flags & SPAN_FOLLOWS);
	field_flag(f, "error", "  failed", r->flags & SPAN_ERROR);
	field_flag(f, "unfinished", "  unfinished", r->flags & SPAN_OPEN);
}

void describe_context(const struct describer *d, const struct record_context *r)
{
	struct fields *f = d->fields;

	if (r->flags & CONTEXT_UNKNOWN) {
		; /* no span to show */
	} else if (is_none(r->span)) {
		field_words(f, "  no span");
	} else {
		describe_id(d, "trace_id", "  trace ", r->trace, sizeof(r->trace));
		describe_id(d, "span_id", "  span ", r->span, sizeof(r->span));
	}
	field_str(f, "source", "  ",
		  r->flags & CONTEXT_UNKNOWN    ? "unknown"
		  : r->flags & CONTEXT_OBSERVED ? "observed"
						: "published");
	if (!(r->flags & CONTEXT_OBSERVED))
		return;
	field_u64(f, "since", NULL, r->since);
	field_time(f, NULL, ", changed within the last ",
		   r->head.time > r->since ? r->head.time - r->since : 0);
}

void describe_attribute(const struct describer *d, const struct record_attribute *r)
{
	struct fields *f = d->fields;
	double real;

	describe_id(d, "trace_id", "  trace ", r->trace, sizeof(r->trace));
	describe_id(d, "span_id", "  span ", r->span, sizeof(r->span));
	field_str(f, "key", "  ", source_string(d->source, r->key));
	field_name(f, "type", NULL, attribute_type_name(r->type), r->type);
	switch (r->type) {
	case ATTRIBUTE_STRING:
		return field_str(f, "value", " = ", source_string(d->source, r->value));
	case ATTRIBUTE_BOOL:
		return field_bool(f, "value", " = ", r->value);
	case ATTRIBUTE_INT:
		return field_i64(f, "value", " = ", r->value);
	case ATTRIBUTE_DOUBLE:
		memcpy(&real, &r->value, sizeof(real));
		return field_real(f, "value", " = ", real);
	}
}
