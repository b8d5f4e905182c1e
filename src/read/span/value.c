/* SPDX-License-Identifier: Apache-2.0 */
/* Values can be nested without limit; levels below DEPTH become null. */
#include "read/span/value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 16 };

void span_text_buffer_done(struct span_text_buffer *buffer)
{
	if (buffer->file)
		fclose(buffer->file);
	free(buffer->text);
	free(buffer->out);
	*buffer = (struct span_text_buffer){ 0 };
}

static struct json begin_text(struct span_text_buffer *buffer)
{
	struct json j;

	if (!buffer->file) {
		buffer->file = open_memstream(&buffer->text, &buffer->size);
		buffer->out = buffer->file ? must_alloc(sizeof(*buffer->out)) : NULL;
	}
	if (!buffer->file)
		abort(); /* out of memory */
	rewind(buffer->file);
	out_init(buffer->out, buffer->file);
	json_init(&j, buffer->out);
	return j;
}

static struct span_value end_text(struct span_text_buffer *buffer)
{
	out_flush(buffer->out);
	fflush(buffer->file);
	return (struct span_value){ ATTRIBUTE_STRING, .text = { buffer->text, buffer->size } };
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

/* The caller frees the result. */
static char *base64_encode(struct view bytes)
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

/* Converts anything but bytes, lists and objects. */
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
		_cleanup_(freep) char *text = base64_encode(value.text);

		json_string(j, text);
	} else {
		scalar = otlp_scalar(&value);
		put_scalar(j, &scalar);
	}
	return r;
}

/* Converts bytes, lists and objects; bytes have quotes only inside of a list. */
static int otlp_text(struct span_text_buffer *buffer, struct view bytes,
		     const struct otlp_value *value, struct span_value *ret)
{
	struct json j = begin_text(buffer);
	int r = 0;

	if (value->type == OTLP_BYTES) {
		_cleanup_(freep) char *text = base64_encode(value->text);

		out_str(buffer->out, text);
	} else {
		r = put_otlp(&j, bytes, 0);
	}
	*ret = end_text(buffer);
	return r;
}

/* A fast path, since most values are a short text: a tag, a length of one byte, and the text. */
static bool is_short_text(struct view bytes)
{
	return bytes.len >= 2 && bytes.len < 2 + 128 &&
	       (uint8_t)bytes.s[0] == PB_TAG(OTLP_STRING, PB_BYTES) &&
	       (uint8_t)bytes.s[1] == bytes.len - 2;
}

int span_value_otlp(struct span_text_buffer *buffer, struct view bytes, struct span_value *ret)
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
		return otlp_text(buffer, bytes, &value, ret);
	*ret = otlp_scalar(&value);
	return 0;
}

/* An INT if may_be_int and the text is an integer, otherwise a DOUBLE, or the text if invalid. */
static struct span_value number_value(struct view text, bool may_be_int)
{
	struct span_value value = { ATTRIBUTE_STRING, .text = text };
	char copy[64], *end;

	if (text.len == 0 || text.len >= sizeof(copy))
		return value;
	memcpy(copy, text.s, text.len);
	copy[text.len] = '\0';
	errno = 0;
	value.number = strtoll(copy, &end, 10);
	if (may_be_int && !*end && !errno) {
		value.type = ATTRIBUTE_INT;
		return value;
	}
	value.real = strtod(copy, &end);
	if (!*end)
		value.type = ATTRIBUTE_DOUBLE;
	return value;
}

static struct span_value bool_value(yyjson_val *value)
{
	bool is_true = yyjson_is_true(value) || view_is(json_text(value), "true");

	return (struct span_value){ ATTRIBUTE_BOOL, .number = is_true };
}

/* By the type of the JSON value. */
static struct span_value json_scalar(yyjson_val *value)
{
	struct view text = json_text(value);

	if (yyjson_is_bool(value))
		return bool_value(value);
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

struct span_value span_value_json(struct span_text_buffer *buffer, yyjson_val *value,
				  struct view type)
{
	if (yyjson_is_arr(value) || yyjson_is_obj(value)) {
		struct json j = begin_text(buffer);

		put_json(&j, value, 0);
		return end_text(buffer);
	}
	if (view_is(type, "int64"))
		return number_value(json_text(value), true);
	if (view_is(type, "float64"))
		return number_value(json_text(value), false);
	if (view_is(type, "bool"))
		return bool_value(value);
	if (view_is(type, "string"))
		return (struct span_value){ ATTRIBUTE_STRING, .text = json_text(value) };
	return json_scalar(value);
}

/* The only member of an AnyValue, and its name. */
static yyjson_val *any_member(yyjson_val *any, struct view *ret_name)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(any);
	yyjson_val *name = yyjson_obj_iter_next(&iter);

	*ret_name = json_text(name);
	return name ? yyjson_obj_iter_get_val(name) : NULL;
}

/* Called for every attribute, so it first compares the first letter. */
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
		return bool_value(value);
	return (struct span_value){ ATTRIBUTE_STRING, .text = json_text(value) };
}

/* The same as put_otlp() for an AnyValue in JSON. */
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

struct span_value span_value_otlp_json(struct span_text_buffer *buffer, yyjson_val *any)
{
	struct view name;
	yyjson_val *value = any_member(any, &name);

	if (is_list(name)) {
		struct json j = begin_text(buffer);

		put_any(&j, any, 0);
		return end_text(buffer);
	}
	return any_scalar(value, name);
}
