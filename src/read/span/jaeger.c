/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jaeger - spans as Jaeger's interface and its export give them: JSON.
 *
 *	{"data": [{"traceID": "7f3a", "processes": {"p1": {"serviceName": "front", "tags": []}},
 *		"spans": [{"traceID": "7f3a", "spanID": "51c0", "operationName": "GET /",
 *			"references": [{"refType": "CHILD_OF", "traceID": "7f3a", "spanID": "1"}],
 *			"startTime": 1700000000000000, "duration": 212400,
 *			"processID": "p1", "tags": [{"key": "error", "value": true}]}]}]}
 *
 * Also one trace alone, an array of traces, and lines of any of these or of spans
 * alone, as they stand in a database.  Times are microseconds since 1970.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "read/span/json_value.h"
#include "read/span/input.h"

/* The trace that is being taken apart. */
struct reading {
	struct span_input *in;
	yyjson_val *trace_id;
	VEC(struct span_owner) owners;
	struct map owner_index; /* hash of its name in the file -> place + 1 */
};

static yyjson_val *field(yyjson_val *object, const char *name)
{
	return yyjson_obj_get(object, name); /* NULL, if it is no object */
}

static uint64_t hash_of(yyjson_val *key)
{
	struct view text = json_text(key);

	return hash_bytes(text.s, text.len);
}

/* The next of a list of tags: true, or false behind the last. */
static bool next_tag(struct reading *r, yyjson_arr_iter *iter, struct view *ret_key,
		     struct span_value *ret)
{
	yyjson_val *tag = yyjson_arr_iter_next(iter);

	*ret_key = json_text(field(tag, "key"));
	*ret = span_value_json(&r->in->text, field(tag, "value"), json_text(field(tag, "type")));
	return tag;
}

static struct span_owner read_owner(struct reading *r, yyjson_val *process)
{
	struct span_owner owner = { 0 };
	yyjson_arr_iter iter = yyjson_arr_iter_with(field(process, "tags"));
	struct span_value value;
	struct view key;

	while (next_tag(r, &iter, &key, &value))
		span_owner_set(r->in, &owner, key, &value);
	owner.service = span_input_intern(r->in, json_text(field(process, "serviceName")));
	return owner;
}

static void read_owners(struct reading *r, yyjson_val *processes)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(processes);

	map_done(&r->owner_index);
	r->owners.count = 0;
	for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
		*vec_push(&r->owners) = read_owner(r, yyjson_obj_iter_get_val(key));
		*map_insert(&r->owner_index, hash_of(key)) = r->owners.count;
	}
}

static struct span_owner owner_of(struct reading *r, yyjson_val *span)
{
	yyjson_val *id = field(span, "processID");
	const uint64_t *found = json_text(id).s ? map_find(&r->owner_index, hash_of(id)) : NULL;

	/* some exports put the process into each span */
	return found ? r->owners.items[*found - 1] : read_owner(r, field(span, "process"));
}

static void read_tags(struct reading *r, struct record_span *span, yyjson_val *tags)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(tags);
	struct span_value value;
	struct view key;

	while (next_tag(r, &iter, &key, &value))
		span_take(r->in, span, key, &value);
}

/* The first it is a child of, or else the first that it follows, in its own trace. */
static void read_references(struct record_span *span, yyjson_val *references)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(references);
	bool found = false;

	for (yyjson_val *ref; (ref = yyjson_arr_iter_next(&iter));) {
		struct view type = json_text(field(ref, "refType"));
		bool follows = view_is(type, "FOLLOWS_FROM");
		uint8_t trace[16], parent[8];

		if ((found && follows) || (!follows && !view_is(type, "CHILD_OF")) ||
		    !json_id(field(ref, "spanID"), parent, sizeof(parent)))
			continue;
		if (json_id(field(ref, "traceID"), trace, sizeof(trace)) &&
		    memcmp(trace, span->trace, sizeof(trace)) != 0)
			continue;
		memcpy(span->parent, parent, sizeof(parent));
		span->flags = follows ? span->flags | SPAN_FOLLOWS : span->flags & ~SPAN_FOLLOWS;
		found = true;
		if (!follows)
			break;
	}
}

/* NULL, or what the span lacks. */
static const char *read_times(struct record_span *span, yyjson_val *value)
{
	yyjson_val *length = field(value, "duration");
	int64_t start, duration;

	if (!json_scaled(field(value, "startTime"), 3, &start) || start < 0)
		return "has no startTime that is one";
	if (!length || yyjson_is_null(length))
		return span_set_begin(span, start);
	if (!json_scaled(length, 3, &duration) || duration < 0)
		return "has no duration that is one";
	return span_set_times(span, start, (uint64_t)start + duration);
}

static const char *read_ids(const struct reading *r, struct record_span *span, yyjson_val *value)
{
	if (!json_id(field(value, "spanID"), span->span, sizeof(span->span)))
		return "has no spanID";
	if (!json_id(field(value, "traceID"), span->trace, sizeof(span->trace)) &&
	    !json_id(r->trace_id, span->trace, sizeof(span->trace)))
		return "has no traceID";
	return NULL;
}

static void read_span(struct reading *r, yyjson_val *value)
{
	struct record_span span = span_empty();
	const char *lack = read_ids(r, &span, value) ?: read_times(&span, value);

	if (lack) {
		span_input_skip(r->in, "span %" PRIu64 " %s", span_input_number(r->in), lack);
		return;
	}

	struct span_owner owner = owner_of(r, value);

	span.service = owner.service.i;
	span.pid = owner.pid;
	span.operation = span_input_intern(r->in, json_text(field(value, "operationName"))).i;
	/* as Jaeger wrote it before there were references */
	json_id_or_none(field(value, "parentSpanID"), span.parent, sizeof(span.parent));
	read_references(&span, field(value, "references"));
	read_tags(r, &span, field(value, "tags"));
	span_input_add(r->in, &span, owner.host);
}

/* Whether this is a trace at all, or a span. */
static bool read_trace(struct reading *r, yyjson_val *trace)
{
	yyjson_val *spans = field(trace, "spans");
	yyjson_arr_iter iter = yyjson_arr_iter_with(spans);
	bool is_span = !spans && field(trace, "spanID");

	if (!yyjson_is_arr(spans) && !is_span)
		return false;
	r->trace_id = field(trace, "traceID");
	read_owners(r, field(trace, "processes"));
	if (is_span)
		read_span(r, trace);
	for (yyjson_val *span; (span = yyjson_arr_iter_next(&iter));)
		read_span(r, span);
	return true;
}

static int read_traces(void *arg, yyjson_val *root, struct err *err)
{
	struct reading *r = arg;
	yyjson_val *traces = field(root, "data") ?: root;
	yyjson_arr_iter iter = yyjson_arr_iter_with(traces);
	bool all = yyjson_is_arr(traces) || read_trace(r, traces);

	for (yyjson_val *trace; (trace = yyjson_arr_iter_next(&iter));)
		all = read_trace(r, trace) && all;
	if (all)
		return 0;
	return err_set(err, -EBADMSG, "'%s' is no Jaeger trace: %s", r->in->name,
		       yyjson_is_arr(traces) ? "one of its traces has no array \"spans\""
					     : "expected an array \"data\" or \"spans\"");
}

static const struct json_shape shape = { .names = { { "data", "spans" }, { "spans" } } };

int jaeger_open_memory(const char *name, const char *data, size_t size, struct input **ret,
		       struct err *err)
{
	struct reading r = { .in = span_input_new(&jaeger_format, name) };
	const struct span_json_reader reader = { &shape, read_traces, NULL, &r };
	int code = span_input_read_json(r.in, (struct view){ data, size }, &reader, ret, err);

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

	return json_shows_key(text, "traceID") || json_shows_key(text, "spans") ||
	       json_shows_key(text, "data");
}

const struct input_format jaeger_format = {
	.name = "jaeger",
	.matches_file = is_jaeger,
	.open = open_file,
	.next = span_input_next,
	.string = span_input_string,
	.free = span_input_free,
};
