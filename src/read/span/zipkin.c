/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zipkin - spans in the JSON of Zipkin's API.
 *
 *	[{"traceId": "5982fe77008310cc", "id": "352bff9a74ca9ad2",
 *		"parentId": "6b221d5bc9e6496c", "kind": "SERVER", "name": "get /",
 *		"timestamp": 1700000000000000, "duration": 212400, "shared": true,
 *		"localEndpoint": {"serviceName": "front"}, "tags": {"error": "500"}}]
 *
 * A list of spans, a list of such lists (one per trace), or lines of spans or lists.
 * Times are microseconds since 1970.  These are spans of version 2; zipkin_v1.h reads
 * those of version 1.  A span without a duration was not finished when it was exported.
 *
 * In Zipkin, a server can report its side of a call with the span id of the client.  Here
 * these are two spans: the server's becomes a child of the client's, gets an id derived
 * from the shared one, and takes over the children, since the server made those calls;
 * except children of the client's service, if that is not the server's, too.
 */
#include <errno.h>
#include <xxhash.h>

#include "base/map.h"
#include "read/span/input.h"
#include "read/span/zipkin_v1.h"

struct zipkin_reader {
	struct span_input *in;
	VEC(uint64_t) servers; /* indices of the server spans, ascending */
};

/* NULL, or a reason to skip the span. */
static const char *take_ids(yyjson_val *from, struct record_span *span)
{
	if (!json_nonzero_id(json_field(from, "traceId"), span->trace, sizeof(span->trace)))
		return "has no traceId";
	if (!json_nonzero_id(json_field(from, "id"), span->span, sizeof(span->span)))
		return "has no id";
	json_nonzero_id(json_field(from, "parentId"), span->parent, sizeof(span->parent));
	return NULL;
}

/* Reads a span of version 2.  NULL, or a reason to skip the span. */
static const char *take_side(yyjson_val *from, struct zipkin_side *side)
{
	yyjson_val *length = json_field(from, "duration");
	int64_t duration;

	side->kind = span_kind_of(json_text(json_field(from, "kind")));
	side->service = json_text(json_field(json_field(from, "localEndpoint"), "serviceName"));
	if (!json_scaled(json_field(from, "timestamp"), 3, &side->start))
		return NULL; /* add_side() reports it */
	if (!length || yyjson_is_null(length))
		return NULL;
	if (!json_scaled(length, 3, &duration) || duration < 0)
		return "has an invalid duration";
	if (__builtin_add_overflow(side->start, duration, &side->end))
		return "has an invalid end time";
	return NULL;
}

static void read_tag(struct zipkin_reader *r, struct view key, yyjson_val *from,
		     struct record_span *span, struct span_owner *owner)
{
	struct span_value value = span_value_json(&r->in->text, from, (struct view){ 0 });

	if (view_is(key, "error") && !value.text.len)
		span->flags |= SPAN_ERROR; /* the presence of the tag means an error */
	span_add_tag(r->in, span, key, &value);
	span_owner_set(r->in, owner, key, &value);
}

static void read_tags(struct zipkin_reader *r, yyjson_val *tags, struct record_span *span,
		      struct span_owner *owner)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(tags);

	for (yyjson_val *name; (name = yyjson_obj_iter_next(&iter));)
		read_tag(r, json_text(name), yyjson_obj_iter_get_val(name), span, owner);
}

/* The tags of a span of version 1. */
static void read_tags_v1(struct zipkin_reader *r, yyjson_val *annotations,
			 const struct zipkin_side *side, bool is_first, struct record_span *span,
			 struct span_owner *owner)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(annotations);

	for (yyjson_val *item; (item = yyjson_arr_iter_next(&iter));)
		if (zipkin_v1_is_tag(item, side, is_first))
			read_tag(r, json_text(json_field(item, "key")), json_field(item, "value"),
				 span, owner);
}

static void add_side(struct zipkin_reader *r, yyjson_val *from, struct record_span span,
		     const struct zipkin_side *side, bool is_first)
{
	struct span_owner owner = { 0 };
	const char *problem = side->start <= 0 ? "has no valid timestamp"
			      : side->end      ? span_set_times(&span, side->start, side->end)
					       : span_set_unfinished(&span, side->start);

	if (problem) {
		span_input_skip(r->in, problem);
		return;
	}
	read_tags(r, json_field(from, "tags"), &span, &owner);
	read_tags_v1(r, json_field(from, "binaryAnnotations"), side, is_first, &span, &owner);
	if (side->service.len)
		owner.service = span_input_intern(r->in, side->service);
	span.kind = side->kind;
	if (span.kind == SPAN_SERVER)
		*vec_push(&r->servers) = r->in->spans.count;
	span_input_add(r->in, &span, &owner, json_text(json_field(from, "name")));
}

static void read_span(struct zipkin_reader *r, yyjson_val *from)
{
	struct record_span span = span_empty();
	struct zipkin_side sides[2] = { 0 };
	const char *problem = take_ids(from, &span);
	size_t count = problem ? 0 : zipkin_v1_sides(from, sides);

	if (!problem && !count)
		problem = take_side(from, &sides[count++]);
	if (problem)
		span_input_skip(r->in, problem);
	for (size_t i = 0; !problem && i < count; i++)
		add_side(r, from, span, &sides[i], i == 0);
}

static int read_spans(void *arg, yyjson_val *root, struct err *err)
{
	struct zipkin_reader *r = arg;
	yyjson_arr_iter iter = yyjson_arr_iter_with(root);

	if (yyjson_is_obj(root))
		read_span(r, root);
	else if (!yyjson_is_arr(root))
		return err_set(err, -EBADMSG,
			       "'%s' is not a Zipkin trace: expected a list of spans", r->in->name);
	for (yyjson_val *item; (item = yyjson_arr_iter_next(&iter));) {
		yyjson_arr_iter trace = yyjson_arr_iter_with(item);

		if (!yyjson_is_arr(item))
			read_span(r, item);
		for (yyjson_val *span; (span = yyjson_arr_iter_next(&trace));)
			read_span(r, span);
	}
	return 0;
}

static void server_id(const uint8_t id[8], uint8_t ret[8])
{
	uint64_t hash = XXH3_64bits_withSeed(id, 8, 'S') | 1; /* 0 is not an id */

	memcpy(ret, &hash, sizeof(hash));
}

/* A call of which both sides have the same span id. */
struct zipkin_call {
	uint64_t server; /* index of the server span */
	uint64_t client; /* index of the client span + 1; 0 if it is missing */
};

struct zipkin_calls {
	VEC(struct zipkin_call) list;
	struct map index; /* span_hash() -> index + 1 */
};

/* The call with this span id; NULL if there is none or one side is missing. */
static const struct zipkin_call *find_call(const struct zipkin_calls *calls,
					   const struct record_span *span, const uint8_t id[8])
{
	const uint64_t *found = map_find(&calls->index, span_hash(span, id));
	const struct zipkin_call *call = found ? &calls->list.items[*found - 1] : NULL;

	return call && call->client ? call : NULL;
}

static void find_calls(const struct zipkin_reader *r, struct zipkin_calls *calls)
{
	const struct span_entry *spans = r->in->spans.items;

	for (size_t i = 0; i < r->servers.count; i++) {
		const struct record_span *span = &spans[r->servers.items[i]].record;
		uint64_t *index = map_insert(&calls->index, span_hash(span, span->span));

		if (*index)
			continue; /* exported twice */
		*vec_push(&calls->list) = (struct zipkin_call){ .server = r->servers.items[i] };
		*index = calls->list.count;
	}
	for (size_t i = 0, s = 0; i < r->in->spans.count; i++) {
		if (s < r->servers.count && r->servers.items[s] == i) {
			s++;
			continue;
		}

		const uint64_t *index =
			map_find(&calls->index, span_hash(&spans[i].record, spans[i].record.span));

		if (index && !calls->list.items[*index - 1].client)
			calls->list.items[*index - 1].client = i + 1;
	}
}

/* Makes a child of a shared id a child of the server, unless only the client can be its parent. */
static void set_parent(const struct zipkin_reader *r, const struct zipkin_calls *calls,
		       struct record_span *span)
{
	const struct zipkin_call *call = find_call(calls, span, span->parent);

	if (!call)
		return;

	uint32_t client = r->in->spans.items[call->client - 1].record.service;
	uint32_t server = r->in->spans.items[call->server].record.service;

	if (span->service == server || span->service != client)
		server_id(span->parent, span->parent);
}

static void split_calls(void *arg)
{
	const struct zipkin_reader *r = arg;
	struct zipkin_calls calls = { 0 };

	find_calls(r, &calls);
	for (size_t i = 0, s = 0; calls.list.count && i < r->in->spans.count; i++) {
		struct record_span *span = &r->in->spans.items[i].record;
		bool is_server = s < r->servers.count && r->servers.items[s] == i;

		s += is_server;
		if (is_server && find_call(&calls, span, span->span)) {
			memcpy(span->parent, span->span, sizeof(span->parent));
			server_id(span->span, span->span);
		} else {
			set_parent(r, &calls, span);
		}
	}
	vec_done(&calls.list);
	map_done(&calls.index);
}

static const struct json_shape shape = { 0 }; /* lists only */

int zipkin_open_memory(const char *name, const char *data, size_t size, struct input **ret,
		       struct err *err)
{
	struct zipkin_reader r = { .in = span_input_new(&zipkin_format, name) };
	const struct json_reader json = { &shape, read_spans, &r };
	int code = span_input_read_json(r.in, (struct view){ data, size }, &json, split_calls, ret,
					err);

	vec_done(&r.servers);
	return code;
}

static int open_file(const char *path, struct input **ret, struct err *err)
{
	return span_input_open(path, zipkin_open_memory, ret, err);
}

static bool is_zipkin(const char *head, size_t size)
{
	struct view text = { head, size };

	return json_head_has_key(text, "traceId") && json_head_has_key(text, "id") &&
	       !json_head_has_key(text, "spanId");
}

const struct input_format zipkin_format = {
	.name = "zipkin",
	.matches_file = is_zipkin,
	.open = open_file,
	.next = span_input_next,
	.string = span_input_string,
	.free = span_input_free,
};
