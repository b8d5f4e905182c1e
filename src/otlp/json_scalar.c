/* SPDX-License-Identifier: Apache-2.0 */
#include "otlp/json_scalar.h"

#include <math.h>

#include "base/digit.h"

struct integer_type {
	__int128 min, max;
	const char *expected;
};

#define SIGNED(bits) -((__int128)1 << (bits - 1)), ((__int128)1 << (bits - 1)) - 1
#define UNSIGNED(bits) 0, ((__int128)1 << bits) - 1

static const struct integer_type *integer_type(enum schema_type type)
{
	static const struct integer_type of_enum = { SIGNED(32),
						     "a number or a name of this enum" };
	static const struct integer_type int32 = { SIGNED(32), "a 32-bit integer" };
	static const struct integer_type uint32 = { UNSIGNED(32), "an unsigned 32-bit integer" };
	static const struct integer_type int64 = { SIGNED(64), "a 64-bit integer" };
	static const struct integer_type uint64 = { UNSIGNED(64), "an unsigned 64-bit integer" };

	switch (type) {
	case SCHEMA_ENUM:
		return &of_enum;
	case SCHEMA_INT32:
	case SCHEMA_SINT32:
		return &int32;
	case SCHEMA_UINT32:
	case SCHEMA_FIXED32:
		return &uint32;
	case SCHEMA_INT64:
	case SCHEMA_SFIXED64:
		return &int64;
	default:
		return &uint64;
	}
}

/* A number, or a string with the text of one.  The strings of yyjson end with NUL. */
static bool read_number(yyjson_val *value, yyjson_val *ret)
{
	if (yyjson_is_num(value)) {
		*ret = *value;
		return true;
	}
	if (!yyjson_is_str(value))
		return false;

	const char *text = yyjson_get_str(value);

	return yyjson_read_number(text, ret, 0, NULL, NULL) == text + yyjson_get_len(value);
}

/* Protobuf accepts 1e3 and 1000.0 as integers. */
static bool read_integer(yyjson_val *value, __int128 *ret)
{
	yyjson_val number;

	if (!read_number(value, &number))
		return false;
	if (yyjson_is_uint(&number)) {
		*ret = yyjson_get_uint(&number);
	} else if (yyjson_is_sint(&number)) {
		*ret = yyjson_get_sint(&number);
	} else {
		double real = yyjson_get_real(&number);

		if (!(real >= -0x1p63 && real < 0x1p64))
			return false;
		*ret = (__int128)real;
		return (double)*ret == real;
	}
	return true;
}

static bool read_name(const char *const *names, yyjson_val *value, uint64_t *ret)
{
	for (uint64_t i = 0; yyjson_is_str(value) && names[i]; i++)
		if (yyjson_equals_str(value, names[i])) {
			*ret = i;
			return true;
		}
	return false;
}

static const char *read_integer_field(const struct schema_field *field, yyjson_val *value,
				      uint64_t *ret)
{
	const struct integer_type *type = integer_type(field->type);
	__int128 n;

	if (field->type == SCHEMA_ENUM && read_name(field->names, value, ret))
		return NULL;
	if (!read_integer(value, &n) || n < type->min || n > type->max)
		return type->expected;
	*ret = (uint64_t)n;
	if (field->type == SCHEMA_SINT32)
		*ret = n < 0 ? -2 * (int64_t)n - 1 : 2 * (int64_t)n;
	return NULL;
}

static bool read_double(yyjson_val *value, uint64_t *ret)
{
	yyjson_val number;
	double real;

	if (yyjson_equals_str(value, "NaN"))
		real = NAN;
	else if (yyjson_equals_str(value, "Infinity"))
		real = INFINITY;
	else if (yyjson_equals_str(value, "-Infinity"))
		real = -INFINITY;
	else if (read_number(value, &number))
		/* only numbers with a minus have this type, so this zero is "-0" */
		real = yyjson_is_sint(&number) && !yyjson_get_sint(&number)
			       ? -0.0
			       : yyjson_get_num(&number);
	else
		return false;
	memcpy(ret, &real, sizeof(real));
	return true;
}

static bool read_id(struct view text, size_t size, uint8_t id[JSON_ID_MAX])
{
	if (text.len != 2 * size)
		return false;
	for (size_t i = 0; i < size; i++) {
		uint8_t high = hex_digit(text.s[2 * i]), low = hex_digit(text.s[2 * i + 1]);

		if ((high | low) > 15)
			return false;
		id[i] = high << 4 | low;
	}
	return true;
}

static struct view text_of(yyjson_val *value)
{
	return (struct view){ yyjson_get_str(value), yyjson_get_len(value) };
}

static const char *read_id_field(const struct schema_field *field, yyjson_val *value,
				 struct json_scalar *ret)
{
	struct view text = text_of(value);

	ret->field.bytes = (struct view){ (const char *)ret->id, text.len / 2 };
	if (text.s && (!text.len || read_id(text, field->id_size, ret->id)))
		return NULL;
	return field->id_size == 16 ? "32 hexadecimal digits" : "16 hexadecimal digits";
}

const char *json_scalar_read(const struct schema_field *field, yyjson_val *value,
			     struct json_scalar *ret)
{
	ret->field = (struct pb_field){ .bytes = { "", 0 } };
	switch (field->type) {
	case SCHEMA_STRING:
		ret->field.bytes = text_of(value);
		return yyjson_is_str(value) ? NULL : "a string";
	case SCHEMA_ID:
		return read_id_field(field, value, ret);
	case SCHEMA_BOOL:
		ret->field.number = yyjson_is_true(value);
		return yyjson_is_bool(value) ? NULL : "true or false";
	case SCHEMA_DOUBLE:
		return read_double(value, &ret->field.number) ? NULL : "a number";
	default:
		return read_integer_field(field, value, &ret->field.number);
	}
}

/* The length without padding; padding fills the last group of four. */
static size_t unpadded(struct view text)
{
	if (text.len % 4 == 0 && text.len && text.s[text.len - 1] == '=')
		return text.len - (text.s[text.len - 2] == '=' ? 2 : 1);
	return text.len;
}

bool json_base64_read(yyjson_val *value, struct pb_buffer *ret)
{
	struct view text = text_of(value);
	size_t len = text.s ? unpadded(text) : 1;
	uint32_t bits = 0;

	if (len % 4 == 1)
		return false;
	for (size_t i = 0; i < len; i++) {
		uint8_t digit = base64_digit(text.s[i]);

		if (digit > 63)
			return false;
		bits = bits << 6 | digit;
		if (i % 4)
			pb_append(ret, (struct view){ &(char){ bits >> (6 - 2 * (i % 4)) }, 1 });
	}
	return true;
}
