/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value may hold values, which a stranger's file may nest without end: below
 * a depth that nobody needs, there is null.
 */
#include "read/span/value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 16 };

void span_text_done(struct span_text *room)
{
	if (room->file)
		fclose(room->file);
	free(room->text);
	free(room->out);
	*room = (struct span_text){ 0 };
}

static struct json begin_text(struct span_text *room)
{
	struct json j;

	if (!room->file) {
		room->file = open_memstream(&room->text, &room->size);
		room->out = room->file ? must_alloc(sizeof(*room->out)) : NULL;
	}
	if (!room->file)
		abort(); /* there is no memory */
	rewind(room->file);
	out_init(room->out, room->file);
	json_init(&j, room->out);
	return j;
}

static struct span_value end_text(struct span_text *room)
{
	out_flush(room->out);
	fflush(room->file);
	return (struct span_value){ ATTRIBUTE_STRING, .text = { room->text, room->size } };
}

static void put_null(struct json *j)
{
	json_real(j, NAN);
}

static void put_key(struct json *j, struct view key)
{
	_cleanup_(freep) char *name = must_printf("%.*s", (int)key.len, key.len ? key.s : "");

	json_key_escaped(j, name);
}

static void put_scalar(struct json *j, const struct span_value *value)
{
	switch (value->type) {
	case ATTRIBUTE_STRING:
		return json_string_n(j, value->text.len ? value->text.s : "", value->text.len);
	case ATTRIBUTE_BOOL:
		return json_bool(j, value->number);
	case ATTRIBUTE_INT:
		return json_i64(j, value->number);
	case ATTRIBUTE_DOUBLE:
		return json_real(j, value->real);
	}
}

/* In base64; the caller frees it. */
static char *encode(struct view bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *from = (const uint8_t *)bytes.s;
	char *text = must_alloc((bytes.len + 2) / 3 * 4 + 1), *to = text;

	for (size_t left = bytes.len; left; from += 3) {
		size_t n = left < 3 ? left : 3;
		uint32_t bits = from[0] << 16 | (n > 1 ? from[1] << 8 : 0) | (n > 2 ? from[2] : 0);

		for (size_t i = 0; i < 4; i++)
			*to++ = i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=';
		left -= n;
	}
	*to = '\0';
	return text;
}

static int put_otlp(struct json *j, struct view bytes, unsigned depth);

static int put_otlp_items(struct json *j, const struct otlp_value *value, unsigned depth)
{
	struct otlp_list list = otlp_value_items(value);
	struct otlp_attribute item = { 0 };
	bool is_map = value->type == OTLP_MAP;
	int more, r = 0;

	is_map ? json_object(j) : json_array(j);
	while (r == 0 && (more = is_map ? otlp_attribute_next(&list, &item)
					: otlp_list_next(&list, &item.value)) > 0) {
		if (is_map)
			put_key(j, item.key);
		r = put_otlp(j, item.value, depth + 1);
	}
	json_end(j);
	return r < 0 ? r : more;
}

/* What is in neither a list nor an object. */
static struct span_value otlp_scalar(const struct otlp_value *value)
{
	switch (value->type) {
	case OTLP_BOOL:
		return (struct span_value){ ATTRIBUTE_BOOL, .number = value->boolean };
	case OTLP_INT:
		return (struct span_value){ ATTRIBUTE_INT, .number = value->number };
	case OTLP_DOUBLE:
		return (struct span_value){ ATTRIBUTE_DOUBLE, .real = value->real };
	case OTLP_STRING:
		return (struct span_value){ ATTRIBUTE_STRING, .text = value->text };
	default:
		return (struct span_value){ ATTRIBUTE_STRING, .text = { "", 0 } };
	}
}

static int put_otlp(struct json *j, struct view bytes, unsigned depth)
{
	struct otlp_value value;
	struct span_value scalar;
	int r = otlp_value_read(bytes, &value);

	if (r < 0 || value.type == OTLP_EMPTY || depth == DEPTH) {
		put_null(j);
	} else if (value.type == OTLP_ARRAY || value.type == OTLP_MAP) {
		r = put_otlp_items(j, &value, depth);
	} else if (value.type == OTLP_BYTES) {
		_cleanup_(freep) char *text = encode(value.text);

		json_string(j, text);
	} else {
		scalar = otlp_scalar(&value);
		put_scalar(j, &scalar);
	}
	return r;
}

/* What is no scalar; bytes that are not in a list have no quotes around them. */
static int otlp_text(struct span_text *room, struct view bytes, const struct otlp_value *value,
		     struct span_value *ret)
{
	struct json j = begin_text(room);
	int r = 0;

	if (value->type == OTLP_BYTES) {
		_cleanup_(freep) char *text = encode(value->text);

		out_str(room->out, text);
	} else {
		r = put_otlp(&j, bytes, 0);
	}
	*ret = end_text(room);
	return r;
}

/* Most are a short text and nothing else: a tag, a byte that is the length of the rest. */
static bool is_short_text(struct view bytes)
{
	return bytes.len >= 2 && bytes.len < 2 + 128 &&
	       (uint8_t)bytes.s[0] == PB_TAG(OTLP_STRING, PB_BYTES) &&
	       (uint8_t)bytes.s[1] == bytes.len - 2;
}

int span_value_otlp(struct span_text *room, struct view bytes, struct span_value *ret)
{
	struct otlp_value value;

	if (is_short_text(bytes)) {
		*ret = (struct span_value){ ATTRIBUTE_STRING,
					    .text = { bytes.s + 2, bytes.len - 2 } };
		return 0;
	}

	int r = otlp_value_read(bytes, &value);

	if (r < 0)
		return r;
	if (value.type == OTLP_ARRAY || value.type == OTLP_MAP || value.type == OTLP_BYTES)
		return otlp_text(room, bytes, &value, ret);
	*ret = otlp_scalar(&value);
	return 0;
}

/* A number as it is written: a whole one, if it may be one and is; a text, if it is none. */
static struct span_value number_value(struct view text, bool may_be_whole)
{
	struct span_value value = { ATTRIBUTE_STRING, .text = text };
	char copy[64], *end;

	if (text.len == 0 || text.len >= sizeof(copy))
		return value;
	memcpy(copy, text.s, text.len);
	copy[text.len] = '\0';
	errno = 0;
	value.number = strtoll(copy, &end, 10);
	if (may_be_whole && !*end && !errno) {
		value.type = ATTRIBUTE_INT;
		return value;
	}
	value.real = strtod(copy, &end);
	if (!*end)
		value.type = ATTRIBUTE_DOUBLE;
	return value;
}

static struct span_value truth_value(yyjson_val *value)
{
	bool truth = yyjson_is_true(value) || view_is(json_text(value), "true");

	return (struct span_value){ ATTRIBUTE_BOOL, .number = truth };
}

/* By what it is in JSON. */
static struct span_value json_scalar(yyjson_val *value)
{
	struct view text = json_text(value);

	if (yyjson_is_bool(value))
		return truth_value(value);
	if (!yyjson_is_raw(value))
		return (struct span_value){ ATTRIBUTE_STRING, .text = text };
	return number_value(text, true);
}

static void put_json(struct json *j, yyjson_val *value, unsigned depth)
{
	yyjson_arr_iter items = yyjson_arr_iter_with(value);
	yyjson_obj_iter members = yyjson_obj_iter_with(value);
	struct span_value scalar;

	if (depth == DEPTH || !value || yyjson_is_null(value)) {
		put_null(j);
	} else if (yyjson_is_arr(value)) {
		json_array(j);
		for (yyjson_val *item; (item = yyjson_arr_iter_next(&items));)
			put_json(j, item, depth + 1);
		json_end(j);
	} else if (yyjson_is_obj(value)) {
		json_object(j);
		for (yyjson_val *key; (key = yyjson_obj_iter_next(&members));) {
			put_key(j, json_text(key));
			put_json(j, yyjson_obj_iter_get_val(key), depth + 1);
		}
		json_end(j);
	} else {
		scalar = json_scalar(value);
		put_scalar(j, &scalar);
	}
}

struct span_value span_value_json(struct span_text *room, yyjson_val *value, struct view type)
{
	if (yyjson_is_arr(value) || yyjson_is_obj(value)) {
		struct json j = begin_text(room);

		put_json(&j, value, 0);
		return end_text(room);
	}
	if (view_is(type, "int64"))
		return number_value(json_text(value), true);
	if (view_is(type, "float64"))
		return number_value(json_text(value), false);
	if (view_is(type, "bool"))
		return truth_value(value);
	if (view_is(type, "string"))
		return (struct span_value){ ATTRIBUTE_STRING, .text = json_text(value) };
	return json_scalar(value);
}

/* The only member of an AnyValue; its name is also known as string_value, and so on. */
static yyjson_val *any_member(yyjson_val *any, struct view *ret_name)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(any);
	yyjson_val *name = yyjson_obj_iter_next(&iter);

	*ret_name = json_text(name);
	return name ? yyjson_obj_iter_get_val(name) : NULL;
}

/* Asked for every attribute: the first letter rules most of them out. */
static bool is_named(struct view name, const char *camel, const char *snake)
{
	return name.len && name.s[0] == camel[0] && (view_is(name, camel) || view_is(name, snake));
}

static bool is_list(struct view name)
{
	return is_named(name, "arrayValue", "array_value") ||
	       is_named(name, "kvlistValue", "kvlist_value");
}

static struct span_value any_scalar(yyjson_val *value, struct view name)
{
	if (is_named(name, "intValue", "int_value"))
		return number_value(json_text(value), true);
	if (is_named(name, "doubleValue", "double_value"))
		return number_value(json_text(value), false);
	if (is_named(name, "boolValue", "bool_value"))
		return truth_value(value);
	return (struct span_value){ ATTRIBUTE_STRING, .text = json_text(value) };
}

/* As put_otlp(). */
static void put_any(struct json *j, yyjson_val *any, unsigned depth)
{
	struct view name;
	yyjson_val *value = any_member(any, &name);
	yyjson_arr_iter items = yyjson_arr_iter_with(yyjson_obj_get(value, "values"));
	bool is_map = is_named(name, "kvlistValue", "kvlist_value");
	struct span_value scalar;

	if (depth == DEPTH || !value) {
		put_null(j);
	} else if (!is_list(name)) {
		scalar = any_scalar(value, name);
		put_scalar(j, &scalar);
	} else {
		is_map ? json_object(j) : json_array(j);
		for (yyjson_val *item; (item = yyjson_arr_iter_next(&items));) {
			if (is_map)
				put_key(j, json_text(yyjson_obj_get(item, "key")));
			put_any(j, is_map ? yyjson_obj_get(item, "value") : item, depth + 1);
		}
		json_end(j);
	}
}

struct span_value span_value_otlp_json(struct span_text *room, yyjson_val *any)
{
	struct view name;
	yyjson_val *value = any_member(any, &name);

	if (is_list(name)) {
		struct json j = begin_text(room);

		put_any(&j, any, 0);
		return end_text(room);
	}
	return any_scalar(value, name);
}
