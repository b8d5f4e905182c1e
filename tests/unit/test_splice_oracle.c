/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inserts into random requests, and compares the result with what protobuf-c makes of the same
 * insertions.  The requests are valid but unusual: fields in any order, unknown fields, lengths
 * with more bytes than needed.
 */
#include "base/vec.h"
#include "otlp/splice.h"
#include "otlp/trace.h"
#include "otlp_random.h"
#include "test.h"

typedef Opentelemetry__Proto__Common__V1__KeyValue KeyValue;
typedef Opentelemetry__Proto__Common__V1__InstrumentationScope Scope;
typedef Opentelemetry__Proto__Trace__V1__ResourceSpans ResourceSpans;
typedef Opentelemetry__Proto__Trace__V1__ScopeSpans ScopeSpans;
typedef Opentelemetry__Proto__Trace__V1__Span Span;
typedef Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceRequest Request;

enum { REQUESTS = 1500, LISTS_MAX = 3, SPAN_ATTRIBUTES = 9, SCOPE_SPANS = 2 };

#define SCOPE_NAME "sonde"

/* An insert, as messages and encoded. */
struct planned {
	KeyValue *attributes[LISTS_MAX];
	Span *spans[LISTS_MAX];
	size_t attribute_count, span_count;
};

typedef VEC(struct planned) planned_list;
typedef VEC(struct otlp_insert) insert_list;

static struct view view_of(const struct pb_buffer *b)
{
	return (struct view){ b->data ? (const char *)b->data : "", b->size };
}

/* A length in one to five bytes; protobuf-c does not accept more. */
static void put_length(struct otlp_random *r, struct pb_buffer *out, uint64_t n)
{
	char bytes[5];
	size_t used = 0, least = otlp_random_below(r, 3) ? 1 : 1 + otlp_random_below(r, 5);

	for (; n >= 0x80 || used + 1 < least; n >>= 7)
		bytes[used++] = n | 0x80;
	bytes[used++] = n;
	pb_append(out, (struct view){ bytes, used });
}

/* Writes a message in an unusual form; `level` is 0 for the request, 3 for a span. */
static void disguise(struct otlp_random *r, struct view bytes, unsigned int level,
		     struct pb_buffer *out)
{
	static const uint32_t nested[] = { PB_TAG(1, PB_BYTES), PB_TAG(2, PB_BYTES),
					   PB_TAG(2, PB_BYTES), 0 };
	VEC(struct pb_field) fields = { 0 };
	struct pb_reader pb = pb_reader_of(bytes);
	struct pb_field f;

	while (pb_next(&pb, &f) > 0)
		*vec_push(&fields) = f;
	if (otlp_random_below(r, 2))
		*vec_push(&fields) = (struct pb_field){ PB_TAG(1000, PB_BYTES), 0, { "??", 2 } };
	for (; fields.count; fields.count--) {
		struct pb_field *any = &fields.items[otlp_random_below(r, fields.count)];

		if (any->tag == nested[level]) {
			_cleanup_(pb_buffer_done) struct pb_buffer body = { 0 };

			disguise(r, any->bytes, level + 1, &body);
			pb_append(out, (struct view){ &(char){ any->tag }, 1 });
			put_length(r, out, body.size);
			pb_append(out, view_of(&body));
		} else {
			pb_put_field(out, any);
		}
		*any = fields.items[fields.count - 1];
	}
	vec_done(&fields);
}

static struct view pack_list(struct otlp_random *r, uint32_t number, void *items, size_t count)
{
	_cleanup_(pb_buffer_done) struct pb_buffer out = { 0 };

	for (size_t i = 0; i < count; i++)
		pb_put_field(&out, &(struct pb_field){
					   .tag = PB_TAG(number, PB_BYTES),
					   .bytes = otlp_random_pack(r, ((void **)items)[i]) });

	char *copy = arena_alloc(r->arena, out.size + 1);

	memcpy(copy, view_of(&out).s, out.size);
	return (struct view){ copy, out.size };
}

static void plan_insert(struct otlp_random *r, size_t offset, planned_list *plan,
			insert_list *inserts)
{
	struct planned p = { .attribute_count = otlp_random_below(r, LISTS_MAX),
			     .span_count = otlp_random_below(r, LISTS_MAX) };

	for (size_t i = 0; i < p.attribute_count; i++)
		p.attributes[i] = (KeyValue *)otlp_random_message(
			r, &opentelemetry__proto__common__v1__key_value__descriptor, 8);
	for (size_t i = 0; i < p.span_count; i++)
		p.spans[i] = (Span *)otlp_random_message(
			r, &opentelemetry__proto__trace__v1__span__descriptor, 8);
	*vec_push(plan) = p;
	*vec_push(inserts) = (struct otlp_insert){
		.span = offset,
		.attributes = pack_list(r, SPAN_ATTRIBUTES, p.attributes, p.attribute_count),
		.spans = pack_list(r, SCOPE_SPANS, p.spans, p.span_count),
	};
}

/* Inserts for some of the spans; at least a field each. */
static void plan_inserts(struct otlp_random *r, struct view request, planned_list *plan,
			 insert_list *inserts)
{
	uint32_t share = 1 + otlp_random_below(r, 4);
	struct otlp_reader reader;
	struct otlp_span span;

	otlp_reader_init(&reader, request);
	while (otlp_next_span(&reader, &span) > 0)
		if (otlp_random_below(r, share) == 0)
			plan_insert(r, otlp_span_offset(&reader), plan, inserts);
}

static void *arena_allocate(void *arena, size_t size)
{
	return arena_alloc(arena, size);
}

static void arena_release(void *arena, void *data)
{
}

static Request *unpack(struct otlp_random *r, struct view bytes)
{
	ProtobufCAllocator allocator = { arena_allocate, arena_release, r->arena };

	return (Request *)protobuf_c_message_unpack(otlp_random_requests[OTLP_TRACES], &allocator,
						    bytes.len, (const uint8_t *)bytes.s);
}

/* Appends pointers to a list of messages. */
static void extend(struct otlp_random *r, void *list, size_t *count, void *more, size_t n)
{
	void **longer = arena_alloc(r->arena, (*count + n + 1) * sizeof(void *));

	for (size_t i = 0; i < *count + n; i++)
		longer[i] = i < *count ? (*(void ***)list)[i] : ((void **)more)[i - *count];
	*(void ***)list = longer;
	*count += n;
}

static void extend_resource(struct otlp_random *r, ResourceSpans *resource,
			    const struct planned **p, size_t *number)
{
	ScopeSpans *added = arena_alloc(r->arena, sizeof(*added));

	opentelemetry__proto__trace__v1__scope_spans__init(added);
	added->scope = arena_alloc(r->arena, sizeof(*added->scope));
	opentelemetry__proto__common__v1__instrumentation_scope__init(added->scope);
	added->scope->name = SCOPE_NAME;
	for (size_t s = 0; s < resource->n_scope_spans; s++)
		for (size_t i = 0; i < resource->scope_spans[s]->n_spans; i++) {
			Span *span = resource->scope_spans[s]->spans[i];
			const struct planned *own = p[(*number)++];

			if (!own)
				continue;
			extend(r, &span->attributes, &span->n_attributes, (void *)own->attributes,
			       own->attribute_count);
			extend(r, &added->spans, &added->n_spans, (void *)own->spans,
			       own->span_count);
		}
	if (added->n_spans)
		extend(r, &resource->scope_spans, &resource->n_scope_spans, &added, 1);
}

/* The inserts by the number of their span; NULL for other spans. */
static const struct planned **by_number(struct otlp_random *r, struct view request,
					const planned_list *plan, const insert_list *inserts)
{
	const struct planned **list =
		arena_alloc(r->arena, (request.len + 1) * sizeof(*list)); /* more than spans */
	struct otlp_reader reader;
	struct otlp_span span;
	size_t n = 0, next = 0;

	otlp_reader_init(&reader, request);
	for (; otlp_next_span(&reader, &span) > 0; n++)
		if (next < inserts->count && inserts->items[next].span == otlp_span_offset(&reader))
			list[n] = &plan->items[next++];
	return list;
}

static struct view expected(struct otlp_random *r, struct view request, const planned_list *plan,
			    const insert_list *inserts)
{
	const struct planned **list = by_number(r, request, plan, inserts);
	Request *message = unpack(r, request);
	size_t number = 0;

	for (size_t i = 0; i < message->n_resource_spans; i++)
		extend_resource(r, message->resource_spans[i], list, &number);
	return otlp_random_pack(r, message);
}

/* Spans without an insert have the same bytes, in the same order. */
static void check_bytes(struct view before, struct view after, const insert_list *inserts)
{
	struct otlp_reader old, new;
	struct otlp_span span;
	struct otlp_scope scope;
	size_t next = 0;

	otlp_reader_init(&old, before);
	otlp_reader_init(&new, after);
	while (otlp_next_span(&new, &span) > 0) {
		if (otlp_read_scope(&new, &scope) == 0 && view_is(scope.name, SCOPE_NAME))
			continue;
		CHECK_INT(otlp_next_span(&old, &span), 1);
		if (next < inserts->count && inserts->items[next].span == otlp_span_offset(&old)) {
			CHECK(new.span.len >=
				      old.span.len &&memcmp(new.span.s, old.span.s, old.span.len) ==
			      0);
			next++;
		} else {
			CHECK(view_equal(new.span, old.span));
		}
	}
	CHECK_INT(otlp_next_span(&old, &span), 0);
	CHECK_INT(next, inserts->count);
}

static size_t check_request(uint64_t number)
{
	_cleanup_(otlp_random_done) struct otlp_random r = otlp_random_new(number);
	_cleanup_(pb_buffer_done) struct pb_buffer given = { 0 }, out = { 0 };
	planned_list plan = { 0 };
	insert_list list = { 0 };

	disguise(&r,
		 otlp_random_pack(&r,
				  otlp_random_message(&r, otlp_random_requests[OTLP_TRACES], 0)),
		 0, &given);
	plan_inserts(&r, view_of(&given), &plan, &list);

	Scope scope = OPENTELEMETRY__PROTO__COMMON__V1__INSTRUMENTATION_SCOPE__INIT;

	scope.name = SCOPE_NAME;

	struct otlp_inserts inserts = { list.items, list.count, otlp_random_pack(&r, &scope) };

	otlp_splice(view_of(&given), &inserts, &out);

	struct view got = otlp_random_repack(&r, otlp_random_requests[OTLP_TRACES], view_of(&out));
	bool same = view_equal(got, expected(&r, view_of(&given), &plan, &list));

	if (!same)
		printf("# request %" PRIu64 "\n", number);
	CHECK(same);
	check_bytes(view_of(&given), view_of(&out), &list);

	size_t count = list.count;

	vec_done(&plan);
	vec_done(&list);
	return count;
}

TEST(insertions_are_those_that_protobuf_c_makes)
{
	size_t inserts = 0;

	for (uint64_t i = 0; i < REQUESTS; i++)
		inserts += check_request(i);
	CHECK(inserts > REQUESTS);
}

TEST(without_inserts_nothing_changes)
{
	for (uint64_t i = 0; i < REQUESTS; i++) {
		_cleanup_(otlp_random_done) struct otlp_random r = otlp_random_new(i);
		_cleanup_(pb_buffer_done) struct pb_buffer given = { 0 }, out = { 0 };

		disguise(&r,
			 otlp_random_pack(
				 &r, otlp_random_message(&r, otlp_random_requests[OTLP_TRACES], 0)),
			 0, &given);
		otlp_splice(view_of(&given), &(struct otlp_inserts){ 0 }, &out);
		CHECK(view_equal(view_of(&given), view_of(&out)));
	}
}
