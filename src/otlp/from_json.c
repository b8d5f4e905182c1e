/* SPDX-License-Identifier: Apache-2.0 */
#include "otlp/from_json.h"

#include <stdio.h>
#include <yyjson.h>

#include "otlp/json_scalar.h"
#include "otlp/schema.h"

/* The way from the request to a value, for messages. */
struct json_path {
	const struct json_path *parent;
	const char *name; /* of a field; NULL for an item of a list */
	size_t index;
};

struct converter {
	struct pb_buffer *out; /* borrowed */
	struct err *err;
};

enum { PATH_MAX_LENGTH = 400 }; /* bytes, so that the reason fits into the message */

static size_t put_path(char text[PATH_MAX_LENGTH], const struct json_path *path)
{
	size_t used = path->parent ? put_path(text, path->parent) : 0;
	size_t room = PATH_MAX_LENGTH - used;
	int n = path->name ? snprintf(text + used, room, "%s%s", used ? "." : "", path->name)
			   : snprintf(text + used, room, "[%zu]", path->index);

	return (size_t)n < room ? used + n : PATH_MAX_LENGTH - 1;
}

static int invalid(struct converter *c, const struct json_path *at, const char *expected)
{
	char path[PATH_MAX_LENGTH] = "";

	put_path(path, at);
	return err_set(c->err, -EBADMSG, "invalid '%s': expected %s", path, expected);
}

static int put_message(struct converter *c, const struct schema_message *m, yyjson_val *object,
		       const struct json_path *parent, unsigned int depth);

static int put_nested(struct converter *c, uint32_t number, const struct schema_field *field,
		      yyjson_val *value, const struct json_path *at, unsigned int depth)
{
	size_t begin = pb_begin_message(c->out, number);
	int r = put_message(c, field->message, value, at, depth);

	if (r == 0)
		pb_end_message(c->out, begin);
	return r;
}

/* Decodes directly into the output, since bytes have any length. */
static int put_base64(struct converter *c, uint32_t number, yyjson_val *value,
		      const struct json_path *at)
{
	size_t begin = pb_begin_message(c->out, number);

	if (!json_base64_read(value, c->out))
		return invalid(c, at, "a string in base64");
	pb_end_message(c->out, begin);
	return 0;
}

/* Writes one value, except a zero that equals a missing field. */
static int put_value(struct converter *c, uint32_t number, const struct schema_field *field,
		     yyjson_val *value, const struct json_path *at, unsigned int depth)
{
	struct json_scalar scalar;

	if (field->type == SCHEMA_MESSAGE)
		return put_nested(c, number, field, value, at, depth);
	if (field->type == SCHEMA_BYTES)
		return put_base64(c, number, value, at);

	const char *expected = json_scalar_read(field, value, &scalar);

	if (expected)
		return invalid(c, at, expected);
	scalar.field.tag = PB_TAG(number, field->type & 7);
	if (field->has_presence || field->is_list || scalar.field.number || scalar.field.bytes.len)
		pb_put_field(c->out, &scalar.field);
	return 0;
}

static int put_packed(struct converter *c, uint32_t number, const struct schema_field *field,
		      yyjson_val *list, const struct json_path *parent)
{
	yyjson_arr_iter items = yyjson_arr_iter_with(list);
	struct json_path at = { .parent = parent };
	struct json_scalar scalar;

	if (!items.max)
		return 0;

	size_t begin = pb_begin_message(c->out, number);

	for (yyjson_val *item; (item = yyjson_arr_iter_next(&items)); at.index++) {
		const char *expected = json_scalar_read(field, item, &scalar);

		if (expected)
			return invalid(c, &at, expected);
		scalar.field.tag = PB_TAG(number, field->type & 7);
		pb_put_value(c->out, &scalar.field);
	}
	pb_end_message(c->out, begin);
	return 0;
}

static int put_list(struct converter *c, uint32_t number, const struct schema_field *field,
		    yyjson_val *list, const struct json_path *parent, unsigned int depth)
{
	yyjson_arr_iter items = yyjson_arr_iter_with(list);
	struct json_path at = { .parent = parent };
	int r = 0;

	if (!yyjson_is_arr(list))
		return invalid(c, parent, "an array");
	if ((field->type & 7) != PB_BYTES)
		return put_packed(c, number, field, list, parent);
	for (yyjson_val *item; r == 0 && (item = yyjson_arr_iter_next(&items)); at.index++)
		r = put_value(c, number, field, item, &at, depth);
	return r;
}

/*
 * The number of the field with this name; 0 if there is none.  The search starts after the last
 * match, since most encoders write the fields in the same order.
 */
static uint32_t find_field(const struct schema_message *m, yyjson_val *key, uint32_t last)
{
	const char *name = unsafe_yyjson_get_str(key);
	size_t length = unsafe_yyjson_get_len(key);

	for (uint32_t n = m->count, number = last; n; n--) {
		number = number + 1 < m->count ? number + 1 : 0;
		if (m->fields[number].name_length == length && m->fields[number].name &&
		    memcmp(m->fields[number].name, name, length) == 0)
			return number;
	}
	return 0;
}

/* `depth` is the number of values around this message. */
static int put_message(struct converter *c, const struct schema_message *m, yyjson_val *object,
		       const struct json_path *parent, unsigned int depth)
{
	yyjson_obj_iter members = yyjson_obj_iter_with(object);
	uint32_t number, last = 0;
	int r = 0;

	if (!yyjson_is_obj(object))
		return invalid(c, parent, "an object");
	if (m->is_value && ++depth > OTLP_VALUE_DEPTH)
		return invalid(c, parent, "values that are nested less deeply");
	for (yyjson_val *key; r == 0 && (key = yyjson_obj_iter_next(&members));) {
		yyjson_val *value = yyjson_obj_iter_get_val(key);

		number = find_field(m, key, last);
		if (!number || yyjson_is_null(value))
			continue;

		const struct schema_field *field = &m->fields[number];
		struct json_path at = { .parent = parent, .name = field->name };

		last = number;
		r = field->is_list ? put_list(c, number, field, value, &at, depth)
				   : put_value(c, number, field, value, &at, depth);
	}
	return r;
}

static int parse_failed(const yyjson_read_err *why, struct err *err)
{
	if (why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return err_set(err, -ENOMEM, "cannot read JSON: not enough memory");
	return err_set(err, -EBADMSG, "invalid JSON: %s at offset %zu", why->msg, why->pos);
}

static void yyjson_doc_freep(yyjson_doc **doc)
{
	yyjson_doc_free(*doc);
}

int otlp_from_json(enum otlp_signal signal, struct view json, struct pb_buffer *ret,
		   struct err *err)
{
	struct converter c = { .out = ret, .err = err };
	size_t before = ret->size;
	yyjson_read_err why;
	/* the cast is safe: yyjson writes to the text only with YYJSON_READ_INSITU */
	_cleanup_(yyjson_doc_freep) yyjson_doc *doc =
		yyjson_read_opts((char *)json.s, json.len, 0, NULL, &why);
	yyjson_val *root = yyjson_doc_get_root(doc);

	if (!doc)
		return parse_failed(&why, err);
	if (!yyjson_is_obj(root))
		return err_set(err, -EBADMSG, "invalid %s in JSON: expected an object",
			       otlp_requests[signal]->name);

	int r = put_message(&c, otlp_requests[signal], root, NULL, 0);

	if (r < 0)
		ret->size = before;
	return r;
}
