/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_json - export requests of OpenTelemetry in JSON.
 *
 *	{"resourceSpans": [{"resource": {"attributes": [
 *			{"key": "service.name", "value": {"stringValue": "front"}}]},
 *		"scopeSpans": [{"spans": [{"traceId": "5b8efff798038103d269b633813fc60c",
 *			"spanId": "eee19b7ec3c1b174", "parentSpanId": "", "name": "GET /",
 *			"startTimeUnixNano": "1700000000000000000",
 *			"endTimeUnixNano": "1700000000212400000",
 *			"status": {"code": 2}, "attributes": []}]}]}]}
 *
 * One request, or one per line, as the collector's file exporter and the SDKs write them.
 * Ids are hexadecimal, or base64 as in other JSON of protobuf; times are strings or
 * numbers; enums are numbers or names.  Field names can also have the form of the message
 * definition (resource_spans), and scopeSpans its name from before 2022.  Grafana Tempo
 * writes "batches" for resourceSpans.  Jaeger's API (version 3) returns a request in
 * "result", and that of Tempo (version 2) in "trace".
 */
#include <errno.h>

#include "otlp/trace.h"
#include "read/span/input.h"

struct otlp_json_reader {
	struct span_input *in;
	struct span_owner owner;
};

static yyjson_val *either_field(yyjson_val *object, const char *name, const char *other)
{
	return yyjson_obj_get(object, name) ?: yyjson_obj_get(object, other);
}

/* The same, but the search starts after the last match: most fields are in the same order. */
static yyjson_val *next_field(yyjson_obj_iter *fields, const char *name, const char *other)
{
	return yyjson_obj_iter_get(fields, name) ?: yyjson_obj_iter_get(fields, other);
}

/* False after the last attribute. */
static bool next_attribute(const struct otlp_json_reader *r, yyjson_arr_iter *iter,
			   struct view *ret_key, struct span_value *ret)
{
	yyjson_val *attribute = yyjson_arr_iter_next(iter);

	*ret_key = json_text(yyjson_obj_get(attribute, "key"));
	*ret = span_value_otlp_json(&r->in->text, yyjson_obj_get(attribute, "value"));
	return attribute;
}

static void read_owner(struct otlp_json_reader *r, yyjson_val *resource)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(yyjson_obj_get(resource, "attributes"));
	struct span_value value;
	struct view key;

	r->owner = (struct span_owner){ 0 };
	while (next_attribute(r, &iter, &key, &value))
		span_owner_set(r->in, &r->owner, key, &value);
}

static bool read_time(yyjson_val *value, int64_t *ret)
{
	return json_scaled(value, 0, ret) && *ret > 0;
}

static uint32_t read_kind(yyjson_val *kind)
{
	int64_t number;

	if (json_scaled(kind, 0, &number))
		return number >= 0 && number <= SPAN_CONSUMER ? number : SPAN_UNSPECIFIED;
	return span_kind_of(json_text(kind));
}

static void read_status(struct otlp_json_reader *r, yyjson_val *status, struct record_span *span)
{
	yyjson_val *code = yyjson_obj_get(status, "code");
	struct view name = json_text(code);
	int64_t number = OTLP_STATUS_UNSET;

	if (view_is(name, "STATUS_CODE_ERROR"))
		number = OTLP_STATUS_ERROR;
	else if (view_is(name, "STATUS_CODE_OK"))
		number = OTLP_STATUS_OK;
	else
		json_scaled(code, 0, &number);
	span_set_status(r->in, span, number, json_text(yyjson_obj_get(status, "message")));
}

/* NULL, or a reason to skip the span. */
static const char *read_span_fields(yyjson_obj_iter *from, struct record_span *span)
{
	int64_t start, end;

	if (!from->obj)
		return "is not an object";
	if (!json_nonzero_id(next_field(from, "traceId", "trace_id"), span->trace, 16))
		return "has no traceId";
	if (!json_nonzero_id(next_field(from, "spanId", "span_id"), span->span, 8))
		return "has no spanId";
	json_nonzero_id(next_field(from, "parentSpanId", "parent_span_id"), span->parent, 8);
	span->kind = read_kind(yyjson_obj_iter_get(from, "kind"));
	if (!read_time(next_field(from, "startTimeUnixNano", "start_time_unix_nano"), &start))
		return "has no valid startTimeUnixNano";

	yyjson_val *last = next_field(from, "endTimeUnixNano", "end_time_unix_nano");

	if (!last || yyjson_is_null(last) || (json_scaled(last, 0, &end) && end == 0))
		return span_set_unfinished(span, start);
	if (!read_time(last, &end))
		return "has an invalid endTimeUnixNano";
	return span_set_times(span, start, end);
}

static void read_span(struct otlp_json_reader *r, yyjson_val *from)
{
	struct record_span span = span_empty();
	yyjson_obj_iter fields = yyjson_obj_iter_with(from);
	const char *problem = read_span_fields(&fields, &span);
	struct span_value value;
	struct view key;

	if (problem) {
		span_input_skip(r->in, problem);
		return;
	}

	yyjson_arr_iter iter = yyjson_arr_iter_with(yyjson_obj_iter_get(&fields, "attributes"));

	while (next_attribute(r, &iter, &key, &value))
		span_add_tag(r->in, &span, key, &value);
	read_status(r, yyjson_obj_iter_get(&fields, "status"), &span);
	span_input_add(r->in, &span, &r->owner, json_text(yyjson_obj_iter_get(&fields, "name")));
}

static void read_resource(struct otlp_json_reader *r, yyjson_val *resource)
{
	yyjson_val *list = either_field(resource, "scopeSpans", "scope_spans")
				   ?: yyjson_obj_get(resource, "instrumentationLibrarySpans");
	yyjson_arr_iter scopes = yyjson_arr_iter_with(list);

	read_owner(r, yyjson_obj_get(resource, "resource"));
	for (yyjson_val *scope; (scope = yyjson_arr_iter_next(&scopes));) {
		yyjson_arr_iter spans = yyjson_arr_iter_with(yyjson_obj_get(scope, "spans"));

		for (yyjson_val *span; (span = yyjson_arr_iter_next(&spans));)
			read_span(r, span);
	}
}

static int read_request(void *arg, yyjson_val *root, struct err *err)
{
	struct otlp_json_reader *r = arg;
	yyjson_val *request = either_field(root, "result", "trace") ?: root;
	yyjson_val *list = either_field(request, "resourceSpans", "resource_spans")
				   ?: yyjson_obj_get(request, "batches");
	yyjson_arr_iter resources = yyjson_arr_iter_with(list);

	if (!yyjson_is_obj(root) || (list && !yyjson_is_arr(list)))
		return err_set(err, -EBADMSG,
			       "'%s' is not OTLP JSON: expected an array \"resourceSpans\"",
			       r->in->name);
	for (yyjson_val *resource; (resource = yyjson_arr_iter_next(&resources));)
		read_resource(r, resource);
	return 0;
}

static const struct json_shape shape = {
	.names = { { "resourceSpans", "resource_spans", "batches" },
		   { "scopeSpans", "scope_spans", "instrumentationLibrarySpans" },
		   { "spans" } }
};

int otlp_json_open_memory(const char *name, const char *data, size_t size, struct input **ret,
			  struct err *err)
{
	struct otlp_json_reader r = { .in = span_input_new(&otlp_json_format, name) };
	const struct json_reader json = { &shape, read_request, &r };

	return span_input_read_json(r.in, (struct view){ data, size }, &json, NULL, ret, err);
}

static int open_file(const char *path, struct input **ret, struct err *err)
{
	return span_input_open(path, otlp_json_open_memory, ret, err);
}

static bool is_otlp_json(const char *head, size_t size)
{
	struct view text = { head, size };

	if (json_head_has_key(text, "batches") && !json_head_has_key(text, "id"))
		return true; /* a Zipkin span can have a tag of this name, but also has an id */
	return json_head_has_key(text, "resourceSpans") ||
	       json_head_has_key(text, "resource_spans");
}

const struct input_format otlp_json_format = {
	.name = "otlp-json",
	.matches_file = is_otlp_json,
	.open = open_file,
	.next = span_input_next,
	.string = span_input_string,
	.free = span_input_free,
};
