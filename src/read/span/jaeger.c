/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jaeger - spans in the JSON of Jaeger's API and of its exports.
 *
 *	{"data": [{"traceID": "7f3a", "processes": {"p1": {"serviceName": "front", "tags": []}},
 *		"spans": [{"traceID": "7f3a", "spanID": "51c0", "operationName": "GET /",
 *			"references": [{"refType": "CHILD_OF", "traceID": "7f3a", "spanID": "1"}],
 *			"startTime": 1700000000000000, "duration": 212400,
 *			"processID": "p1", "tags": [{"key": "error", "value": true}]}]}]}
 *
 * Also a single trace, an array of traces, and lines of any of these or of single spans,
 * as databases store them.  Times are microseconds since 1970.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "read/span/json_value.h"
#include "read/span/input.h"

struct jaeger_reader {
	struct span_input *in;
	yyjson_val *trace_id;          /* of the current trace */
	VEC(struct span_owner) owners; /* processes of the current trace */
	struct map owner_index;        /* hash of the processID -> index + 1 */
};

static uint64_t hash_of(yyjson_val *key)
{
	struct view text = json_text(key);

	return hash_bytes(text.s, text.len);
}

/* False after the last tag. */
static bool next_tag(struct jaeger_reader *r, yyjson_arr_iter *iter, struct view *ret_key,
		     struct span_value *ret)
{
	yyjson_val *tag = yyjson_arr_iter_next(iter);

	*ret_key = json_text(json_field(tag, "key"));
	*ret = span_value_json(&r->in->text, json_field(tag, "value"),
			       json_text(json_field(tag, "type")));
	return tag;
}

static struct span_owner read_owner(struct jaeger_reader *r, yyjson_val *process)
{
	struct span_owner owner = { 0 };
	yyjson_arr_iter iter = yyjson_arr_iter_with(json_field(process, "tags"));
	struct span_value value;
	struct view key;

	while (next_tag(r, &iter, &key, &value))
		span_owner_set(r->in, &owner, key, &value);
	owner.service = span_input_intern(r->in, json_text(json_field(process, "serviceName")));
	return owner;
}

static void read_owners(struct jaeger_reader *r, yyjson_val *processes)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(processes);

	map_done(&r->owner_index);
	r->owners.count = 0;
	for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
		*vec_push(&r->owners) = read_owner(r, yyjson_obj_iter_get_val(key));
		*map_insert(&r->owner_index, hash_of(key)) = r->owners.count;
	}
}

static struct span_owner owner_of(struct jaeger_reader *r, yyjson_val *span)
{
	yyjson_val *id = json_field(span, "processID");
	const uint64_t *found = json_text(id).s ? map_find(&r->owner_index, hash_of(id)) : NULL;

	/* some exports contain the process in each span */
	return found ? r->owners.items[*found - 1] : read_owner(r, json_field(span, "process"));
}

static void read_tags(struct jaeger_reader *r, struct record_span *span, yyjson_val *tags)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(tags);
	struct span_value value;
	struct view key;

	while (next_tag(r, &iter, &key, &value))
		span_add_tag(r->in, span, key, &value);
}

/* The parent is the first CHILD_OF in the same trace, or otherwise the first FOLLOWS_FROM. */
static void read_references(struct record_span *span, yyjson_val *references)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(references);
	bool found = false;

	for (yyjson_val *ref; (ref = yyjson_arr_iter_next(&iter));) {
		struct view type = json_text(json_field(ref, "refType"));
		bool follows = view_is(type, "FOLLOWS_FROM");
		uint8_t trace[16], parent[8];

		if ((found && follows) || (!follows && !view_is(type, "CHILD_OF")) ||
		    !json_id(json_field(ref, "spanID"), parent, sizeof(parent)))
			continue;
		if (json_id(json_field(ref, "traceID"), trace, sizeof(trace)) &&
		    memcmp(trace, span->trace, sizeof(trace)) != 0)
			continue;
		memcpy(span->parent, parent, sizeof(parent));
		span->flags = follows ? span->flags | SPAN_FOLLOWS : span->flags & ~SPAN_FOLLOWS;
		found = true;
		if (!follows)
			break;
	}
}

/* NULL, or a reason to skip the span. */
static const char *read_times(struct record_span *span, yyjson_val *value)
{
	yyjson_val *length = json_field(value, "duration");
	int64_t start, duration;

	if (!json_scaled(json_field(value, "startTime"), 3, &start) || start < 0)
		return "has no valid startTime";
	if (!length || yyjson_is_null(length))
		return span_set_unfinished(span, start);
	if (!json_scaled(length, 3, &duration) || duration < 0)
		return "has an invalid duration";
	return span_set_times(span, start, (uint64_t)start + duration);
}

static const char *read_ids(const struct jaeger_reader *r, struct record_span *span,
			    yyjson_val *value)
{
	if (!json_id(json_field(value, "spanID"), span->span, sizeof(span->span)))
		return "has no spanID";
	if (!json_id(json_field(value, "traceID"), span->trace, sizeof(span->trace)) &&
	    !json_id(r->trace_id, span->trace, sizeof(span->trace)))
		return "has no traceID";
	return NULL;
}

static void read_span(struct jaeger_reader *r, yyjson_val *value)
{
	struct record_span span = span_empty();
	const char *problem = read_ids(r, &span, value) ?: read_times(&span, value);

	if (problem) {
		span_input_skip(r->in, problem);
		return;
	}

	struct span_owner owner = owner_of(r, value);

	/* before Jaeger wrote references */
	json_nonzero_id(json_field(value, "parentSpanID"), span.parent, sizeof(span.parent));
	read_references(&span, json_field(value, "references"));
	read_tags(r, &span, json_field(value, "tags"));
	span_input_add(r->in, &span, &owner, json_text(json_field(value, "operationName")));
}

/* Reads a trace or a single span; false if it is neither. */
static bool read_trace(struct jaeger_reader *r, yyjson_val *trace)
{
	yyjson_val *spans = json_field(trace, "spans");
	yyjson_arr_iter iter = yyjson_arr_iter_with(spans);
	bool is_span = !spans && json_field(trace, "spanID");

	if (!yyjson_is_arr(spans) && !is_span)
		return false;
	r->trace_id = json_field(trace, "traceID");
	read_owners(r, json_field(trace, "processes"));
	if (is_span)
		read_span(r, trace);
	for (yyjson_val *span; (span = yyjson_arr_iter_next(&iter));)
		read_span(r, span);
	return true;
}

static int read_traces(void *arg, yyjson_val *root, struct err *err)
{
	struct jaeger_reader *r = arg;
	yyjson_val *traces = json_field(root, "data") ?: root;
	yyjson_arr_iter iter = yyjson_arr_iter_with(traces);
	bool valid = yyjson_is_arr(traces) || read_trace(r, traces);

	for (yyjson_val *trace; (trace = yyjson_arr_iter_next(&iter));)
		valid = read_trace(r, trace) && valid;
	if (valid)
		return 0;
	return err_set(err, -EBADMSG, "'%s' is not a Jaeger trace: %s", r->in->name,
		       yyjson_is_arr(traces) ? "a trace has no array \"spans\""
					     : "expected an array \"data\" or \"spans\"");
}

static const struct json_shape shape = { .names = { { "data", "spans" }, { "spans" } } };

int jaeger_open_memory(const char *name, const char *data, size_t size, struct input **ret,
		       struct err *err)
{
	struct jaeger_reader r = { .in = span_input_new(&jaeger_format, name) };
	const struct json_reader json = { &shape, read_traces, &r };
	int code = span_input_read_json(r.in, (struct view){ data, size }, &json, NULL, ret, err);

	vec_done(&r.owners);
	map_done(&r.owner_index);
	return code;
}

static int open_file(const char *path, struct input **ret, struct err *err)
{
	return span_input_open(path, jaeger_open_memory, ret, err);
}

static bool is_jaeger(const char *head, size_t size)
{
	struct view text = { head, size };

	return json_head_has_key(text, "traceID") || json_head_has_key(text, "spans") ||
	       json_head_has_key(text, "data");
}

const struct input_format jaeger_format = {
	.name = "jaeger",
	.matches_file = is_jaeger,
	.open = open_file,
	.next = span_input_next,
	.string = span_input_string,
	.free = span_input_free,
};
