/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_json - OpenTelemetry's export requests as JSON.
 *
 *	{"resourceSpans": [{"resource": {"attributes": [
 *			{"key": "service.name", "value": {"stringValue": "front"}}]},
 *		"scopeSpans": [{"spans": [{"traceId": "5b8efff798038103d269b633813fc60c",
 *			"spanId": "eee19b7ec3c1b174", "parentSpanId": "", "name": "GET /",
 *			"startTimeUnixNano": "1700000000000000000",
 *			"endTimeUnixNano": "1700000000212400000",
 *			"status": {"code": 2}, "attributes": []}]}]}]}
 *
 * One request, or one on each line, as the collector's file exporter and the
 * SDKs write them.  Ids are hexadecimal, or base64 as in other JSON of protobuf;
 * times are strings or numbers, an enum is its number or its name.  Names may
 * also have the form of the message definition (resource_spans); scopeSpans may
 * have its name of before 2022.  Grafana Tempo calls resourceSpans "batches".
 * The API of Jaeger (version 3) returns a request in "result", that of Tempo
 * (version 2) in "trace".
 */
#include <errno.h>
#include <inttypes.h>

#include "otlp/trace.h"
#include "read/span/input.h"

struct reading {
	struct span_input *in;
	struct span_owner owner;
};

static yyjson_val *field(yyjson_val *object, const char *name, const char *other)
{
	return yyjson_obj_get(object, name) ?: yyjson_obj_get(object, other);
}

/* The same, looked for from behind the last one that was found: fields mostly stand in one order.
 */
static yyjson_val *next_field(yyjson_obj_iter *fields, const char *name, const char *other)
{
	return yyjson_obj_iter_get(fields, name) ?: yyjson_obj_iter_get(fields, other);
}

/* The next of a list of attributes: true, or false behind the last. */
static bool next_attribute(const struct reading *r, yyjson_arr_iter *iter, struct view *ret_key,
			   struct span_value *ret)
{
	yyjson_val *attribute = yyjson_arr_iter_next(iter);

	*ret_key = json_text(yyjson_obj_get(attribute, "key"));
	*ret = span_value_otlp_json(&r->in->text, yyjson_obj_get(attribute, "value"));
	return attribute;
}

static void read_owner(struct reading *r, yyjson_val *resource)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(yyjson_obj_get(resource, "attributes"));
	struct span_value value;
	struct view key;

	r->owner = (struct span_owner){ 0 };
	while (next_attribute(r, &iter, &key, &value))
		span_owner_set(r->in, &r->owner, key, &value);
}

static bool take_time(yyjson_val *value, int64_t *ret)
{
	return json_scaled(value, 0, ret) && *ret > 0;
}

/* An enum is its number or its name. */
static uint32_t take_kind(yyjson_val *kind)
{
	int64_t number;

	if (json_scaled(kind, 0, &number))
		return number >= 0 && number <= SPAN_CONSUMER ? number : SPAN_UNSPECIFIED;
	return span_kind_of(json_text(kind));
}

static void take_status(struct reading *r, yyjson_val *status, struct record_span *span)
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
	span_take_status(r->in, span, number, json_text(yyjson_obj_get(status, "message")));
}

/* NULL, or what the span lacks. */
static const char *take_span(yyjson_obj_iter *from, struct record_span *span)
{
	int64_t start, end;

	if (!from->obj)
		return "is no object";
	if (!json_id_or_none(next_field(from, "traceId", "trace_id"), span->trace, 16))
		return "has no traceId";
	if (!json_id_or_none(next_field(from, "spanId", "span_id"), span->span, 8))
		return "has no spanId";
	json_id_or_none(next_field(from, "parentSpanId", "parent_span_id"), span->parent, 8);
	span->kind = take_kind(yyjson_obj_iter_get(from, "kind"));
	if (!take_time(next_field(from, "startTimeUnixNano", "start_time_unix_nano"), &start))
		return "has no startTimeUnixNano that is one";

	yyjson_val *last = next_field(from, "endTimeUnixNano", "end_time_unix_nano");

	if (!last || yyjson_is_null(last) || (json_scaled(last, 0, &end) && end == 0))
		return span_set_begin(span, start);
	if (!take_time(last, &end))
		return "has no endTimeUnixNano that is one";
	return span_set_times(span, start, end);
}

static void read_span(struct reading *r, yyjson_val *from)
{
	struct record_span span = span_empty();
	yyjson_obj_iter fields = yyjson_obj_iter_with(from);
	const char *lack = take_span(&fields, &span);
	struct span_value value;
	struct view key;

	if (lack) {
		span_input_skip(r->in, "span %" PRIu64 " %s", span_input_number(r->in), lack);
		return;
	}

	yyjson_arr_iter iter = yyjson_arr_iter_with(yyjson_obj_iter_get(&fields, "attributes"));

	while (next_attribute(r, &iter, &key, &value))
		span_take(r->in, &span, key, &value);
	take_status(r, yyjson_obj_iter_get(&fields, "status"), &span);
	span.service = r->owner.service.i;
	span.pid = r->owner.pid;
	span.operation =
		span_input_intern(r->in, json_text(yyjson_obj_iter_get(&fields, "name"))).i;
	span_input_add(r->in, &span, r->owner.host);
}

static void read_resource(struct reading *r, yyjson_val *resource)
{
	yyjson_val *list = field(resource, "scopeSpans", "scope_spans")
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
	struct reading *r = arg;
	yyjson_val *request = field(root, "result", "trace") ?: root;
	yyjson_val *list = field(request, "resourceSpans", "resource_spans")
				   ?: yyjson_obj_get(request, "batches");
	yyjson_arr_iter resources = yyjson_arr_iter_with(list);

	if (!yyjson_is_obj(root) || (list && !yyjson_is_arr(list)))
		return err_set(err, -EBADMSG,
			       "'%s' is no OTLP JSON: expected an array \"resourceSpans\"",
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
	struct reading r = { .in = span_input_new(&otlp_json_format, name) };
	const struct span_json_reader reader = { &shape, read_request, NULL, &r };

	return span_input_read_json(r.in, (struct view){ data, size }, &reader, ret, err);
}

static int open_file(const char *path, struct input **ret, struct err *err)
{
	return span_input_open(path, otlp_json_open_memory, ret, err);
}

static bool is_otlp_json(const char *head, size_t size)
{
	struct view text = { head, size };

	if (json_shows_key(text, "batches") && !json_shows_key(text, "id"))
		return true; /* which may also be a tag of Zipkin's spans, but those have ids */
	return json_shows_key(text, "resourceSpans") || json_shows_key(text, "resource_spans");
}

const struct input_format otlp_json_format = {
	.name = "otlp-json",
	.matches_file = is_otlp_json,
	.open = open_file,
	.next = span_input_next,
	.string = span_input_string,
	.free = span_input_free,
};
