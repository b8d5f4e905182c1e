/* SPDX-License-Identifier: Apache-2.0 */
#include "read/span/zipkin_v1.h"

#include "base/base.h"

/* Core annotations, and the kind of span that they start or end. */
static const struct core_annotation {
	const char *name;
	enum span_kind kind;
	bool is_end;
} core_annotations[] = {
	{ "cs", SPAN_CLIENT, false },   { "cr", SPAN_CLIENT, true },
	{ "sr", SPAN_SERVER, false },   { "ss", SPAN_SERVER, true },
	{ "ms", SPAN_PRODUCER, false }, { "mr", SPAN_CONSUMER, false },
};

static struct view service_of(yyjson_val *annotation)
{
	return json_text(yyjson_obj_get(yyjson_obj_get(annotation, "endpoint"), "serviceName"));
}

static bool is_caller(enum span_kind kind)
{
	return kind == SPAN_CLIENT || kind == SPAN_PRODUCER;
}

static void take_core(struct zipkin_side sides[2], const struct core_annotation *core,
		      yyjson_val *annotation)
{
	struct zipkin_side *side = &sides[!is_caller(core->kind)];
	int64_t time;

	side->kind = core->kind;
	if (!side->service.len)
		side->service = service_of(annotation);
	if (json_scaled(yyjson_obj_get(annotation, "timestamp"), 3, &time) && time > 0)
		*(core->is_end ? &side->end : &side->start) = time;
}

static void take_cores(struct zipkin_side sides[2], yyjson_val *annotations)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(annotations);

	for (yyjson_val *item; (item = yyjson_arr_iter_next(&iter));)
		for (size_t i = 0; i < ARRAY_LEN(core_annotations); i++)
			if (view_is(json_text(yyjson_obj_get(item, "value")),
				    core_annotations[i].name))
				take_core(sides, &core_annotations[i], item);
}

/* The first service in a list of annotations. */
static struct view first_service(yyjson_val *annotations)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(annotations);
	struct view service = { 0 };

	for (yyjson_val *item; !service.len && (item = yyjson_arr_iter_next(&iter));)
		service = service_of(item);
	return service;
}

/* The times of the span itself belong to the side that started it. */
static void take_times(struct zipkin_side *side, yyjson_val *span)
{
	int64_t start, duration;

	if (!json_scaled(yyjson_obj_get(span, "timestamp"), 3, &start) || start <= 0)
		return;
	side->start = start;
	if (json_scaled(yyjson_obj_get(span, "duration"), 3, &duration) && duration >= 0 &&
	    __builtin_add_overflow(start, duration, &side->end))
		side->end = 0;
}

static bool has_endpoints(yyjson_val *annotations)
{
	yyjson_val *first = yyjson_arr_get_first(annotations);

	return yyjson_obj_get(first, "endpoint");
}

size_t zipkin_v1_sides(yyjson_val *span, struct zipkin_side ret[2])
{
	yyjson_val *annotations = yyjson_obj_get(span, "annotations");
	yyjson_val *binary = yyjson_obj_get(span, "binaryAnnotations");
	struct zipkin_side sides[2] = { 0 };

	if (!binary && !has_endpoints(annotations))
		return 0;
	take_cores(sides, annotations);

	bool calls = sides[0].kind, serves = sides[1].kind;

	take_times(&sides[serves && !calls], span);
	if (!calls && !serves) {
		sides[0].service = first_service(annotations);
		if (!sides[0].service.len)
			sides[0].service = first_service(binary);
	}
	ret[0] = sides[serves && !calls];
	ret[1] = sides[1];
	return calls && serves ? 2 : 1;
}

bool zipkin_v1_is_tag(yyjson_val *annotation, const struct zipkin_side *side, bool is_first)
{
	struct view key = json_text(yyjson_obj_get(annotation, "key"));
	struct view service = service_of(annotation);

	if (view_is(key, "ca") || view_is(key, "sa") || view_is(key, "ma"))
		return false; /* addresses of endpoints */
	if (service.len != side->service.len)
		return is_first && !service.len;
	return service.len ? memcmp(service.s, side->service.s, service.len) == 0 : is_first;
}
