/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares our OTLP codec with protobuf-c, on random requests from fixed seeds: each reads
 * what the other writes.
 */
#include <math.h>

#include "base/arena.h"
#include "otlp.pb-c.h"
#include "recode.h"
#include "test.h"

#define COMMON(name) Opentelemetry__Proto__Common__V1__##name
#define TRACE(name) Opentelemetry__Proto__Trace__V1__##name

typedef COMMON(AnyValue) AnyValue;
typedef COMMON(ArrayValue) ArrayValue;
typedef COMMON(KeyValue) KeyValue;
typedef COMMON(KeyValueList) KeyValueList;
typedef COMMON(InstrumentationScope) Scope;
typedef Opentelemetry__Proto__Resource__V1__Resource Resource;
typedef TRACE(ResourceSpans) ResourceSpans;
typedef TRACE(ScopeSpans) ScopeSpans;
typedef TRACE(Span) Span;
typedef TRACE(Span__Event) Event;
typedef TRACE(Span__Link) Link;
typedef TRACE(Status) Status;
typedef Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceRequest Request;

enum { REQUESTS = 4000, DAMAGES = 20000 };

static uint64_t seed;
static struct arena *arena;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dull;
}

static uint32_t below(uint32_t n)
{
	return (next_random() >> 32) % n;
}

/* Small and large numbers, and those at the limits of each encoded length. */
static uint64_t any_number(void)
{
	return below(4) == 0 ? 0 : (next_random() >> below(64)) + below(3) - 1;
}

static char *any_text(void)
{
	size_t len = below(8) == 0 ? below(400) : below(20);
	char *s = arena_alloc(arena, len + 1);

	for (size_t i = 0; i < len; i++)
		s[i] = 1 + below(255);
	return s;
}

static ProtobufCBinaryData any_bytes(size_t len)
{
	ProtobufCBinaryData data = { len, arena_alloc(arena, len + 1) };

	for (size_t i = 0; i < len; i++)
		data.data[i] = below(256);
	return data;
}

/* An initialised message of the type, from the arena. */
#define NEW(type, init) \
	({ \
		type *m_ = arena_alloc(arena, sizeof(*m_)); \
		init(m_); \
		m_; \
	})

/* Fills a repeated field with up to `most` items. */
#define FILL(field, count, most, make) \
	do { \
		(count) = below((most) + 1); \
		(field) = arena_alloc(arena, ((count) + 1) * sizeof(*(field))); \
		for (size_t i_ = 0; i_ < (count); i_++) \
			(field)[i_] = (make); \
	} while (0)

static KeyValue *any_attribute(unsigned depth);

static AnyValue *any_value(unsigned depth)
{
	AnyValue *v = NEW(AnyValue, opentelemetry__proto__common__v1__any_value__init);

	v->value_case = below(depth < 3 ? 8 : 5);
	switch (v->value_case) {
	case OTLP_STRING:
		v->string_value = any_text();
		break;
	case OTLP_BOOL:
		v->bool_value = below(2);
		break;
	case OTLP_INT:
		v->int_value = any_number();
		break;
	case OTLP_DOUBLE:
		v->double_value = below(2) ? 0 : ldexp(next_random(), (int)below(200) - 100);
		break;
	case OTLP_ARRAY:
		v->array_value =
			NEW(ArrayValue, opentelemetry__proto__common__v1__array_value__init);
		FILL(v->array_value->values, v->array_value->n_values, 4, any_value(depth + 1));
		break;
	case OTLP_MAP:
		v->kvlist_value =
			NEW(KeyValueList, opentelemetry__proto__common__v1__key_value_list__init);
		FILL(v->kvlist_value->values, v->kvlist_value->n_values, 4,
		     any_attribute(depth + 1));
		break;
	case OTLP_BYTES:
		v->bytes_value = any_bytes(below(40));
		break;
	default:
		break;
	}
	return v;
}

static KeyValue *any_attribute(unsigned depth)
{
	KeyValue *a = NEW(KeyValue, opentelemetry__proto__common__v1__key_value__init);

	a->key = any_text();
	a->value = any_value(depth);
	return a;
}

static Event *any_event(void)
{
	Event *e = NEW(Event, opentelemetry__proto__trace__v1__span__event__init);

	e->time_unix_nano = any_number();
	e->name = any_text();
	FILL(e->attributes, e->n_attributes, 2, any_attribute(2));
	return e;
}

static Link *any_link(void)
{
	Link *l = NEW(Link, opentelemetry__proto__trace__v1__span__link__init);

	l->trace_id = any_bytes(16);
	l->span_id = any_bytes(8);
	l->flags = any_number();
	return l;
}

static Span *any_span(void)
{
	Span *s = NEW(Span, opentelemetry__proto__trace__v1__span__init);

	s->trace_id = any_bytes(below(9) ? 16 : below(30));
	s->span_id = any_bytes(below(9) ? 8 : below(30));
	s->parent_span_id = any_bytes(below(2) ? 8 : 0);
	s->trace_state = any_text();
	s->name = any_text();
	s->kind = below(6);
	s->flags = any_number();
	s->start_time_unix_nano = any_number();
	s->end_time_unix_nano = any_number();
	s->dropped_attributes_count = any_number();
	s->dropped_events_count = any_number();
	s->dropped_links_count = any_number();
	FILL(s->attributes, s->n_attributes, 6, any_attribute(0));
	FILL(s->events, s->n_events, 2, any_event());
	FILL(s->links, s->n_links, 2, any_link());
	if (below(2)) {
		s->status = NEW(Status, opentelemetry__proto__trace__v1__status__init);
		s->status->code = below(3);
		s->status->message = any_text();
	}
	return s;
}

static ScopeSpans *any_scope_spans(void)
{
	ScopeSpans *s = NEW(ScopeSpans, opentelemetry__proto__trace__v1__scope_spans__init);

	s->scope = NEW(Scope, opentelemetry__proto__common__v1__instrumentation_scope__init);
	s->scope->name = any_text();
	s->scope->version = any_text();
	s->scope->dropped_attributes_count = any_number();
	FILL(s->scope->attributes, s->scope->n_attributes, 2, any_attribute(0));
	s->schema_url = any_text();
	FILL(s->spans, s->n_spans, 5, any_span());
	return s;
}

static ResourceSpans *any_resource_spans(void)
{
	ResourceSpans *r =
		NEW(ResourceSpans, opentelemetry__proto__trace__v1__resource_spans__init);

	r->resource = NEW(Resource, opentelemetry__proto__resource__v1__resource__init);
	r->resource->dropped_attributes_count = any_number();
	FILL(r->resource->attributes, r->resource->n_attributes, 4, any_attribute(0));
	r->schema_url = any_text();
	FILL(r->scope_spans, r->n_scope_spans, 3, any_scope_spans());
	return r;
}

static Request *any_request(uint64_t number)
{
	Request *r =
		NEW(Request,
		    opentelemetry__proto__collector__trace__v1__export_trace_service_request__init);

	seed = number * 0x9e3779b97f4a7c15ull + 1;
	FILL(r->resource_spans, r->n_resource_spans, 3, any_resource_spans());
	return r;
}

static struct view pack(const void *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	uint8_t *data = arena_alloc(arena, size + 1);

	protobuf_c_message_pack(message, data);
	return (struct view){ (const char *)data, size };
}

static bool same_text(struct view got, const char *want)
{
	return got.len == strlen(want) && memcmp(got.s, want, got.len) == 0;
}

static bool same_bytes(struct view got, ProtobufCBinaryData want)
{
	return got.len == want.len && (!got.len || memcmp(got.s, want.data, got.len) == 0);
}

static bool same_attributes(struct otlp_list got, KeyValue **want, size_t count);

static bool same_array(struct otlp_list got, AnyValue **want, size_t count);

static bool same_value(struct view bytes, const AnyValue *want)
{
	struct otlp_value got;

	if (otlp_value_read(bytes, &got) < 0 || (int)got.type != (int)want->value_case)
		return false;
	switch (got.type) {
	case OTLP_STRING:
		return same_text(got.text, want->string_value);
	case OTLP_BOOL:
		return got.boolean == want->bool_value;
	case OTLP_INT:
		return got.number == want->int_value;
	case OTLP_DOUBLE:
		return memcmp(&got.real, &want->double_value, sizeof(double)) == 0;
	case OTLP_ARRAY:
		return same_array(otlp_value_items(&got), want->array_value->values,
				  want->array_value->n_values);
	case OTLP_MAP:
		return same_attributes(otlp_value_items(&got), want->kvlist_value->values,
				       want->kvlist_value->n_values);
	case OTLP_BYTES:
		return same_bytes(got.text, want->bytes_value);
	default:
		return true;
	}
}

static bool same_array(struct otlp_list got, AnyValue **want, size_t count)
{
	struct view value;

	for (size_t i = 0; i < count; i++)
		if (otlp_list_next(&got, &value) <= 0 || !same_value(value, want[i]))
			return false;
	return otlp_list_next(&got, &value) == 0;
}

static bool same_attributes(struct otlp_list got, KeyValue **want, size_t count)
{
	struct otlp_attribute a;

	for (size_t i = 0; i < count; i++)
		if (otlp_attribute_next(&got, &a) <= 0 || !same_text(a.key, want[i]->key) ||
		    !same_value(a.value, want[i]->value))
			return false;
	return otlp_attribute_next(&got, &a) == 0;
}

/* The messages of a list, each as protobuf-c packs it. */
static bool same_list(struct otlp_list got, void *want, size_t count)
{
	struct view item;

	for (size_t i = 0; i < count; i++) {
		struct view packed = pack(((ProtobufCMessage **)want)[i]);

		if (otlp_list_next(&got, &item) <= 0 || item.len != packed.len ||
		    (packed.len && memcmp(item.s, packed.s, item.len) != 0))
			return false;
	}
	return otlp_list_next(&got, &item) == 0;
}

static bool same_span(const struct otlp_span *got, const Span *want)
{
	return same_bytes(got->trace_id, want->trace_id) &&
	       same_bytes(got->span_id, want->span_id) &&
	       same_bytes(got->parent_span_id, want->parent_span_id) &&
	       same_text(got->trace_state, want->trace_state) && same_text(got->name, want->name) &&
	       got->kind == (uint32_t)want->kind && got->flags == want->flags &&
	       got->start == want->start_time_unix_nano && got->end == want->end_time_unix_nano &&
	       got->dropped_attributes == want->dropped_attributes_count &&
	       got->dropped_events == want->dropped_events_count &&
	       got->dropped_links == want->dropped_links_count &&
	       got->has_status == (want->status != NULL) &&
	       got->status == (want->status ? (uint32_t)want->status->code : 0) &&
	       same_text(got->status_message, want->status ? want->status->message : "") &&
	       same_attributes(got->attributes, want->attributes, want->n_attributes) &&
	       same_list(got->events, want->events, want->n_events) &&
	       same_list(got->links, want->links, want->n_links);
}

static bool same_owners(struct otlp_reader *reader, const ResourceSpans *r, const ScopeSpans *s)
{
	struct otlp_resource resource;
	struct otlp_scope scope;

	return otlp_read_resource(reader, &resource) == 0 &&
	       same_text(resource.schema_url, r->schema_url) &&
	       resource.dropped_attributes == r->resource->dropped_attributes_count &&
	       same_attributes(resource.attributes, r->resource->attributes,
			       r->resource->n_attributes) &&
	       otlp_read_scope(reader, &scope) == 0 && same_text(scope.schema_url, s->schema_url) &&
	       same_text(scope.name, s->scope->name) &&
	       same_text(scope.version, s->scope->version) &&
	       scope.dropped_attributes == s->scope->dropped_attributes_count &&
	       same_attributes(scope.attributes, s->scope->attributes, s->scope->n_attributes);
}

/* The number of spans, or -1 if there is a difference. */
static int compare(const Request *want, struct view bytes)
{
	struct otlp_reader reader;
	struct otlp_span span;
	int n = 0;

	otlp_reader_init(&reader, bytes);
	for (size_t r = 0; r < want->n_resource_spans; r++)
		for (size_t s = 0; s < want->resource_spans[r]->n_scope_spans; s++) {
			const ScopeSpans *scope = want->resource_spans[r]->scope_spans[s];

			for (size_t i = 0; i < scope->n_spans; i++, n++)
				if (otlp_next_span(&reader, &span) <= 0 ||
				    reader.resources != r + 1 ||
				    !same_owners(&reader, want->resource_spans[r], scope) ||
				    !same_span(&span, scope->spans[i]))
					return -1;
		}
	return otlp_next_span(&reader, &span) == 0 ? n : -1;
}

TEST(we_read_what_protobuf_c_packs)
{
	int spans = 0;

	for (uint64_t i = 0; i < REQUESTS; i++) {
		arena = arena_new();
		const Request *request = any_request(i);
		int n = compare(request, pack(request));

		if (n < 0) {
			printf("# request %" PRIu64 "\n", i);
			CHECK(n >= 0);
		}
		spans += n;
		arena_free(arena);
	}
	CHECK(spans > 3 * REQUESTS);
}

/* Removes resources and scopes without spans, which our writer does not write. */
static void drop_empty(Request *request)
{
	size_t resources = 0;

	for (size_t r = 0; r < request->n_resource_spans; r++) {
		ResourceSpans *resource = request->resource_spans[r];
		size_t scopes = 0;

		for (size_t s = 0; s < resource->n_scope_spans; s++)
			if (resource->scope_spans[s]->n_spans)
				resource->scope_spans[scopes++] = resource->scope_spans[s];
		resource->n_scope_spans = scopes;
		if (scopes)
			request->resource_spans[resources++] = resource;
	}
	request->n_resource_spans = resources;
}

TEST(protobuf_c_unpacks_what_we_write)
{
	for (uint64_t i = 0; i < REQUESTS; i++) {
		arena = arena_new();
		Request *request = any_request(i);
		struct otlp_writer w = { 0 };

		drop_empty(request);
		struct view want = pack(request), ours = recode(&w, want);
		ProtobufCMessage *back = protobuf_c_message_unpack(
			request->base.descriptor, NULL, ours.len, (const uint8_t *)ours.s);
		struct view got = back ? pack(back) : (struct view){ 0 };

		/* the same messages in the same number of bytes */
		if (!back || got.len != want.len || ours.len != want.len ||
		    (want.len && memcmp(got.s, want.s, want.len) != 0)) {
			printf("# request %" PRIu64 "\n", i);
			CHECK(!"equal");
		}
		protobuf_c_message_free_unpacked(back, NULL);
		otlp_writer_done(&w);
		arena_free(arena);
	}
}

/* The number of spans that we read, or -1.  Field number 0 is invalid to us, but not to protobuf-c.
 */
static int count_spans(struct view bytes, bool *ret_zero_field)
{
	struct otlp_reader reader;
	struct otlp_span span;
	int n = 0, r;

	otlp_reader_init(&reader, bytes);
	while ((r = otlp_next_span(&reader, &span)) > 0)
		n++;
	*ret_zero_field = r < 0 && *reader.damage < 8;
	return r < 0 ? -1 : n;
}

static int count_unpacked(const Request *request)
{
	int n = 0;

	for (size_t r = 0; r < request->n_resource_spans; r++)
		for (size_t s = 0; s < request->resource_spans[r]->n_scope_spans; s++)
			n += request->resource_spans[r]->scope_spans[s]->n_spans;
	return n;
}

TEST(damaged_bytes_are_read_as_by_protobuf_c)
{
	int accepted = 0;

	for (uint64_t i = 0; i < DAMAGES; i++) {
		arena = arena_new();
		struct view bytes = pack(any_request(i % 100));
		bool zero_field;

		seed = i + 1;
		for (uint32_t k = 1 + below(3); bytes.len && k; k--)
			((char *)bytes.s)[below(bytes.len)] = below(256);
		int ours = count_spans(bytes, &zero_field);
		Request *theirs =
			opentelemetry__proto__collector__trace__v1__export_trace_service_request__unpack(
				NULL, bytes.len, (const uint8_t *)bytes.s);

		if (theirs && !zero_field) {
			accepted++;
			if (ours != count_unpacked(theirs))
				printf("# damage %" PRIu64 "\n", i);
			CHECK_INT(ours, count_unpacked(theirs));
		}
		opentelemetry__proto__collector__trace__v1__export_trace_service_request__free_unpacked(
			theirs, NULL);
		arena_free(arena);
	}
	CHECK(accepted > DAMAGES / 10);
}
