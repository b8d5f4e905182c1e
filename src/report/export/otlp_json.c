/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convert a protobuf request to JSON, so that one place decides what is exported.  In the
 * JSON encoding of OTLP, IDs are hexadecimal, 64-bit numbers are strings, and enums are
 * numbers.
 */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "otlp/trace.h"
#include "report/export/otlp.h"

static void put_view(struct json *j, const char *key, struct view text)
{
	json_key(j, key);
	json_string_n(j, text.s, text.len);
}

static void put_number(struct json *j, const char *key, uint64_t n, bool is_signed)
{
	char text[24];
	int length = is_signed ? snprintf(text, sizeof(text), "%lld", (long long)n)
			       : snprintf(text, sizeof(text), "%llu", (unsigned long long)n);

	put_view(j, key, (struct view){ text, length });
}

static void put_id(struct json *j, const char *key, struct view id)
{
	char hex[33] = "";

	for (size_t i = 0; i < id.len && i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", (uint8_t)id.s[i]);
	if (id.len)
		put_view(j, key, (struct view){ hex, 2 * id.len });
}

/* NaN and infinities are strings in the JSON of protobuf. */
static void put_real(struct json *j, double real)
{
	if (isfinite(real))
		json_real(j, real);
	else
		json_string(j, isnan(real) ? "NaN" : real < 0 ? "-Infinity" : "Infinity");
}

static void put_value(struct json *j, const struct otlp_value *value)
{
	json_object(j);
	if (value->type == OTLP_STRING) {
		put_view(j, "stringValue", value->text);
	} else if (value->type == OTLP_INT) {
		put_number(j, "intValue", value->number, true);
	} else if (value->type == OTLP_DOUBLE) {
		json_key(j, "doubleValue");
		put_real(j, value->real);
	} else if (value->type == OTLP_BOOL) {
		json_key(j, "boolValue");
		json_bool(j, value->boolean);
	}
	json_end(j);
}

static void put_attributes(struct json *j, struct otlp_list list)
{
	struct otlp_attribute attribute;
	struct otlp_value value;

	json_key(j, "attributes");
	json_array(j);
	while (otlp_attribute_next(&list, &attribute) > 0)
		if (otlp_value_read(attribute.value, &value) == 0) {
			json_object(j);
			put_view(j, "key", attribute.key);
			json_key(j, "value");
			put_value(j, &value);
			json_end(j);
		}
	json_end(j);
}

static void put_span(struct json *j, const struct otlp_span *span)
{
	json_object(j);
	put_id(j, "traceId", span->trace_id);
	put_id(j, "spanId", span->span_id);
	put_id(j, "parentSpanId", span->parent_span_id);
	put_view(j, "name", span->name);
	json_key(j, "kind");
	json_u64(j, span->kind);
	put_number(j, "startTimeUnixNano", span->start, false);
	put_number(j, "endTimeUnixNano", span->end, false);
	put_attributes(j, span->attributes);
	json_key(j, "status");
	json_object(j);
	if (span->status_message.len)
		put_view(j, "message", span->status_message);
	if (span->status) {
		json_key(j, "code");
		json_u64(j, span->status);
	}
	json_end(j);
	json_end(j);
}

static void begin_resource(struct json *j, struct otlp_reader *reader)
{
	struct otlp_resource resource;

	json_object(j);
	json_key(j, "resource");
	json_object(j);
	if (otlp_read_resource(reader, &resource) == 0)
		put_attributes(j, resource.attributes);
	json_end(j);
	json_key(j, "scopeSpans");
	json_array(j);
}

static void begin_scope(struct json *j, struct otlp_reader *reader)
{
	struct otlp_scope scope;

	json_object(j);
	json_key(j, "scope");
	json_object(j);
	if (otlp_read_scope(reader, &scope) == 0 && scope.name.len) {
		put_view(j, "name", scope.name);
		put_view(j, "version", scope.version);
	}
	json_end(j);
	json_key(j, "spans");
	json_array(j);
}

static void end_levels(struct json *j, unsigned levels)
{
	while (levels--)
		json_end(j);
}

void otlp_json(struct json *j, struct view request)
{
	struct otlp_reader reader;
	struct otlp_span span;
	uint64_t resources = 0, scopes = 0;

	otlp_reader_init(&reader, request);
	json_object(j);
	json_key(j, "resourceSpans");
	json_array(j);
	while (otlp_next_span(&reader, &span) > 0) {
		bool other_scope = reader.scopes != scopes;

		if (other_scope && scopes)
			end_levels(j, 2);
		if (reader.resources != resources) {
			if (resources)
				end_levels(j, 2);
			begin_resource(j, &reader);
		}
		if (other_scope)
			begin_scope(j, &reader);
		resources = reader.resources;
		scopes = reader.scopes;
		put_span(j, &span);
	}
	if (scopes)
		end_levels(j, 4);
	end_levels(j, 2);
}
