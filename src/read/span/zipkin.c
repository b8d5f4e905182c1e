/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zipkin - spans as Zipkin's interface takes and returns them: JSON.
 *
 *	[{"traceId": "5982fe77008310cc", "id": "352bff9a74ca9ad2",
 *		"parentId": "6b221d5bc9e6496c", "kind": "SERVER", "name": "get /",
 *		"timestamp": 1700000000000000, "duration": 212400, "shared": true,
 *		"localEndpoint": {"serviceName": "front"}, "tags": {"error": "500"}}]
 *
 * A list of spans, a list of such lists (each a trace), or lines of spans or
 * lists.  Times are microseconds since 1970.  These are spans of version 2;
 * zipkin_v1.h has those of version 1.  A span without a duration was not finished
 * when it was reported.
 *
 * With Zipkin, a server may report its side of a call under the id that the
 * client gave to its own.  These are two spans to us: the server's becomes a
 * child of the client's, with an id made of theirs, and takes over the children:
 * it called them, unless one is of the client's service and not of the server's.
 */
#include <errno.h>
#include <inttypes.h>
#include <xxhash.h>

#include "base/map.h"
#include "read/span/input.h"
#include "read/span/zipkin_v1.h"

struct reading {
	struct span_input *in;
	VEC(uint64_t) servers; /* which of its spans are those */
};

static yyjson_val *field(yyjson_val *object, const char *name)
{
	return yyjson_obj_get(object, name); /* NULL, if it is no object */
}

/* NULL, or what the span lacks. */
static const char *take_ids(yyjson_val *from, struct record_span *span)
{
	if (!json_id_or_none(field(from, "traceId"), span->trace, sizeof(span->trace)))
		return "has no traceId";
	if (!json_id_or_none(field(from, "id"), span->span, sizeof(span->span)))
		return "has no id";
	json_id_or_none(field(from, "parentId"), span->parent, sizeof(span->parent));
	return NULL;
}

/* A span of version 2 is one side.  NULL, or what the span lacks. */
static const char *take_side(yyjson_val *from, struct zipkin_side *side)
{
	yyjson_val *length = field(from, "duration");
	int64_t duration;

	side->kind = span_kind_of(json_text(field(from, "kind")));
	side->service = json_text(field(field(from, "localEndpoint"), "serviceName"));
	if (!json_scaled(field(from, "timestamp"), 3, &side->start))
		return NULL; /* found later */
	if (!length || yyjson_is_null(length))
		return NULL;
	if (!json_scaled(length, 3, &duration) || duration < 0)
		return "has no duration that is one";
	if (__builtin_add_overflow(side->start, duration, &side->end))
		return "never ends";
	return NULL;
}

static void take_tag(struct reading *r, struct view key, yyjson_val *from, struct record_span *span,
		     struct span_owner *owner)
{
	struct span_value value = span_value_json(&r->in->text, from, (struct view){ 0 });

	if (view_is(key, "error") && !value.text.len)
		span->flags |= SPAN_ERROR; /* the presence of the tag means an error */
	span_take(r->in, span, key, &value);
	span_owner_set(r->in, owner, key, &value);
}

static void read_tags(struct reading *r, yyjson_val *tags, struct record_span *span,
		      struct span_owner *owner)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(tags);

	for (yyjson_val *name; (name = yyjson_obj_iter_next(&iter));)
		take_tag(r, json_text(name), yyjson_obj_iter_get_val(name), span, owner);
}

/* The same of version 1. */
static void read_binary(struct reading *r, yyjson_val *annotations, const struct zipkin_side *side,
			bool is_first, struct record_span *span, struct span_owner *owner)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(annotations);

	for (yyjson_val *item; (item = yyjson_arr_iter_next(&iter));)
		if (zipkin_v1_is_tag(item, side, is_first))
			take_tag(r, json_text(field(item, "key")), field(item, "value"), span,
				 owner);
}

static void add_side(struct reading *r, yyjson_val *from, struct record_span span,
		     const struct zipkin_side *side, bool is_first)
{
	struct span_owner owner = { 0 };
	const char *lack = side->start <= 0 ? "has no timestamp that is one"
			   : side->end      ? span_set_times(&span, side->start, side->end)
					    : span_set_begin(&span, side->start);

	if (lack) {
		span_input_skip(r->in, "span %" PRIu64 " %s", span_input_number(r->in), lack);
		return;
	}
	read_tags(r, field(from, "tags"), &span, &owner);
	read_binary(r, field(from, "binaryAnnotations"), side, is_first, &span, &owner);
	if (side->service.len)
		owner.service = span_input_intern(r->in, side->service);
	span.service = owner.service.i;
	span.pid = owner.pid;
	span.operation = span_input_intern(r->in, json_text(field(from, "name"))).i;
	span.kind = side->kind;
	if (span.kind == SPAN_SERVER)
		*vec_push(&r->servers) = r->in->spans.count;
	span_input_add(r->in, &span, owner.host);
}

static void read_span(struct reading *r, yyjson_val *from)
{
	struct record_span span = span_empty();
	struct zipkin_side sides[2] = { 0 };
	const char *lack = take_ids(from, &span);
	size_t count = lack ? 0 : zipkin_v1_sides(from, sides);

	if (!lack && !count)
		lack = take_side(from, &sides[count++]);
	if (lack)
		span_input_skip(r->in, "span %" PRIu64 " %s", span_input_number(r->in), lack);
	for (size_t i = 0; !lack && i < count; i++)
		add_side(r, from, span, &sides[i], i == 0);
}

static int read_spans(void *arg, yyjson_val *root, struct err *err)
{
	struct reading *r = arg;
	yyjson_arr_iter iter = yyjson_arr_iter_with(root);

	if (yyjson_is_obj(root))
		read_span(r, root);
	else if (!yyjson_is_arr(root))
		return err_set(err, -EBADMSG, "'%s' is no Zipkin trace: expected a list of spans",
			       r->in->name);
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
	uint64_t hash = XXH3_64bits_withSeed(id, 8, 'S') | 1; /* not 0, which is none */

	memcpy(ret, &hash, sizeof(hash));
}

/* A call: the server's span, and the client's if that is there, plus 1. */
struct call {
	uint64_t server, client;
};

struct calls {
	VEC(struct call) list;
	struct map index; /* key of their spans -> place + 1 */
};

/* The one whose spans have this id; NULL if there is none, or it has only one span. */
static const struct call *find_call(const struct calls *calls, const struct record_span *span,
				    const uint8_t id[8])
{
	const uint64_t *found = map_find(&calls->index, span_key_of(span, id));
	const struct call *call = found ? &calls->list.items[*found - 1] : NULL;

	return call && call->client ? call : NULL;
}

static void find_calls(const struct reading *r, struct calls *calls)
{
	const struct span_entry *spans = r->in->spans.items;

	for (size_t i = 0; i < r->servers.count; i++) {
		const struct record_span *span = &spans[r->servers.items[i]].record;
		uint64_t *place = map_insert(&calls->index, span_key_of(span, span->span));

		if (*place)
			continue; /* told twice */
		*vec_push(&calls->list) = (struct call){ .server = r->servers.items[i] };
		*place = calls->list.count;
	}
	for (size_t i = 0, s = 0; i < r->in->spans.count; i++) {
		if (s < r->servers.count && r->servers.items[s] == i) {
			s++;
			continue;
		}

		const uint64_t *place = map_find(&calls->index, span_key_of(&spans[i].record,
									    spans[i].record.span));

		if (place && !calls->list.items[*place - 1].client)
			calls->list.items[*place - 1].client = i + 1;
	}
}

/* By the id that both sides had; children are of the server's unless they can only be the client's.
 */
static void place_child(const struct reading *r, const struct calls *calls,
			struct record_span *span)
{
	const struct call *call = find_call(calls, span, span->parent);

	if (!call)
		return;

	uint32_t client = r->in->spans.items[call->client - 1].record.service;
	uint32_t server = r->in->spans.items[call->server].record.service;

	if (span->service == server || span->service != client)
		server_id(span->parent, span->parent);
}

static void split_calls(void *arg)
{
	const struct reading *r = arg;
	struct calls calls = { 0 };

	find_calls(r, &calls);
	for (size_t i = 0, s = 0; calls.list.count && i < r->in->spans.count; i++) {
		struct record_span *span = &r->in->spans.items[i].record;
		bool is_server = s < r->servers.count && r->servers.items[s] == i;

		s += is_server;
		if (is_server && find_call(&calls, span, span->span)) {
			memcpy(span->parent, span->span, sizeof(span->parent));
			server_id(span->span, span->span);
		} else {
			place_child(r, &calls, span);
		}
	}
	vec_done(&calls.list);
	map_done(&calls.index);
}

static const struct json_shape shape = { 0 }; /* lists */

int zipkin_open_memory(const char *name, const char *data, size_t size, struct input **ret,
		       struct err *err)
{
	struct reading r = { .in = span_input_new(&zipkin_format, name) };
	const struct span_json_reader reader = { &shape, read_spans, split_calls, &r };
	int code = span_input_read_json(r.in, (struct view){ data, size }, &reader, ret, err);

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

	return json_shows_key(text, "traceId") && json_shows_key(text, "id") &&
	       !json_shows_key(text, "spanId");
}

const struct input_format zipkin_format = {
	.name = "zipkin",
	.matches_file = is_zipkin,
	.open = open_file,
	.next = span_input_next,
	.string = span_input_string,
	.free = span_input_free,
};
