/* SPDX-License-Identifier: Apache-2.0 */
#include "read/ctf/babeltrace_field.h"

#include <string.h>

static bool is_type(const bt_field *field, bt_field_class_type type)
{
	return bt_field_class_type_is(bt_field_get_class_type(field), type);
}

/* The field inside a variant or an option; NULL if an option is empty. */
static const bt_field *content_of(const bt_field *field)
{
	while (field) {
		if (is_type(field, BT_FIELD_CLASS_TYPE_VARIANT))
			field = bt_field_variant_borrow_selected_option_field_const(field);
		else if (is_type(field, BT_FIELD_CLASS_TYPE_OPTION))
			field = bt_field_option_borrow_field_const(field);
		else
			break;
	}
	return field;
}

/* Finds a field by its path, in the syntax of struct raw_field; NULL if there is none. */
static const bt_field *find(const bt_field *field, const char *path, size_t len)
{
	while ((field = content_of(field)) && len) {
		const char *dot = memchr(path, '.', len);
		size_t first = dot ? (size_t)(dot - path) : len;
		char name[64];

		if (first >= sizeof(name) || !is_type(field, BT_FIELD_CLASS_TYPE_STRUCTURE))
			return NULL;
		memcpy(name, path, first);
		name[first] = '\0';
		field = bt_field_structure_borrow_member_field_by_name_const(field, name);
		len -= dot ? first + 1 : len;
		path += dot ? first + 1 : 0;
	}
	return field;
}

bool ctf_bt_number(const bt_field *field, uint64_t *ret)
{
	if (is_type(field, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		*ret = bt_field_integer_unsigned_get_value(field);
	else if (is_type(field, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		*ret = bt_field_integer_signed_get_value(field);
	else if (is_type(field, BT_FIELD_CLASS_TYPE_BOOL))
		*ret = bt_field_bool_get_value(field);
	else if (is_type(field, BT_FIELD_CLASS_TYPE_BIT_ARRAY))
		*ret = bt_field_bit_array_get_value_as_integer(field);
	else
		return false;
	return true;
}

/* Copies an array of bytes, or of 16-bit words in network byte order. */
static void copy_address(const bt_field *field, char *to, size_t size)
{
	uint64_t length = bt_field_array_get_length(field), value;
	size_t width = length == 8 && size >= 16 ? 2 : 1;

	if (length * width != 4 && length * width != 16)
		return;
	for (uint64_t i = 0; i < length && (i + 1) * width <= size; i++) {
		const bt_field *item = bt_field_array_borrow_element_field_by_index_const(field, i);

		if (!ctf_bt_number(item, &value))
			return;
		for (size_t j = 0; j < width; j++)
			to[i * width + j] = value >> (8 * (width - 1 - j));
	}
}

static void copy_numbers(const bt_field *field, char *to, size_t size)
{
	uint64_t length = bt_field_array_get_length(field), value;

	for (uint64_t i = 0; i < length && (i + 1) * 8 <= size; i++)
		if (ctf_bt_number(bt_field_array_borrow_element_field_by_index_const(field, i),
				  &value))
			raw_store_number(to + 8 * i, 8, value);
}

static void copy_value(const bt_field *field, const struct raw_field *f, char *to)
{
	bool is_array = is_type(field, BT_FIELD_CLASS_TYPE_ARRAY);
	struct raw_text text;
	uint64_t value;

	switch ((enum raw_type)f->type) {
	case RAW_NUMBER:
		if (ctf_bt_number(field, &value))
			raw_store_number(to, f->size, value);
		break;
	case RAW_TEXT:
		if (!is_type(field, BT_FIELD_CLASS_TYPE_STRING))
			break;
		text.s = bt_field_string_get_value(field);
		text.len = strlen(text.s);
		memcpy(to, &text, sizeof(text));
		break;
	case RAW_ADDRESS:
		if (is_array)
			copy_address(field, to, f->size);
		break;
	case RAW_NUMBERS:
		if (is_array)
			copy_numbers(field, to, f->size);
		break;
	}
}

void ctf_bt_copy(const bt_field *fields, const struct raw_field *f, struct raw_event *event)
{
	for (const char *name = f->names; fields && *name;) {
		size_t len = strcspn(name, " ");
		const bt_field *field = find(fields, name, len);

		if (field) {
			copy_value(field, f, (char *)event + f->offset);
			return;
		}
		name += len;
		name += *name == ' ';
	}
}

static int base_of(const bt_field *field)
{
	switch (bt_field_class_integer_get_preferred_display_base(
		bt_field_borrow_class_const(field))) {
	case BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_BINARY:
		return 2;
	case BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_OCTAL:
		return 8;
	case BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL:
		return 16;
	default:
		return 10;
	}
}

static void visit_integer(const bt_field *field, const char *name,
			  const struct raw_visitor *visitor, void *arg)
{
	bool is_signed = is_type(field, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER);
	uint64_t bits = bt_field_class_integer_get_field_value_range(
			 bt_field_borrow_class_const(field)),
		 value = 0;
	int base = base_of(field);

	ctf_bt_number(field, &value);
	if (is_signed && base == 10)
		visitor->number(arg, name, value);
	else
		visitor->unsigned_number(arg, name,
					 bits < 64 ? value & ((1ull << bits) - 1) : value, base);
}

static void visit_enumeration(const bt_field *field, const char *name,
			      const struct raw_visitor *visitor, void *arg)
{
	bool is_signed = is_type(field, BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION);
	bt_field_class_enumeration_mapping_label_array labels = NULL;
	uint64_t count = 0, value = 0;

	if (is_signed)
		bt_field_enumeration_signed_get_mapping_labels(field, &labels, &count);
	else
		bt_field_enumeration_unsigned_get_mapping_labels(field, &labels, &count);
	ctf_bt_number(field, &value);
	visitor->label(arg, name, value, is_signed, count ? labels[0] : "");
}

static void visit_struct(const bt_field *field, const char *name, const struct raw_visitor *visitor,
			 void *arg)
{
	const bt_field_class *class = bt_field_borrow_class_const(field);
	uint64_t count = bt_field_class_structure_get_member_count(class);

	visitor->begin(arg, name, false);
	for (uint64_t i = 0; i < count; i++)
		ctf_bt_visit(
			bt_field_structure_borrow_member_field_by_index_const(field, i),
			bt_field_class_structure_member_get_name(
				bt_field_class_structure_borrow_member_by_index_const(class, i)),
			visitor, arg);
	visitor->end(arg);
}

static void visit_array(const bt_field *field, const char *name, const struct raw_visitor *visitor,
			void *arg)
{
	uint64_t length = bt_field_array_get_length(field);

	visitor->begin(arg, name, true);
	for (uint64_t i = 0; i < length; i++)
		ctf_bt_visit(bt_field_array_borrow_element_field_by_index_const(field, i), NULL,
			     visitor, arg);
	visitor->end(arg);
}

static void visit_variant(const bt_field *field, const char *name,
			  const struct raw_visitor *visitor, void *arg)
{
	const bt_field *content = content_of(field);

	visitor->begin(arg, name, false);
	if (content)
		ctf_bt_visit(content, NULL, visitor, arg);
	visitor->end(arg);
}

/* Recurses no deeper than libbabeltrace2 does for the same field. */
void ctf_bt_visit(const bt_field *field, const char *name, const struct raw_visitor *visitor,
		  void *arg)
{
	uint64_t value;

	if (is_type(field, BT_FIELD_CLASS_TYPE_ENUMERATION))
		visit_enumeration(field, name, visitor, arg);
	else if (is_type(field, BT_FIELD_CLASS_TYPE_INTEGER))
		visit_integer(field, name, visitor, arg);
	else if (ctf_bt_number(field, &value))
		visitor->unsigned_number(arg, name, value, 10);
	else if (is_type(field, BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL))
		visitor->real(arg, name, bt_field_real_single_precision_get_value(field));
	else if (is_type(field, BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL))
		visitor->real(arg, name, bt_field_real_double_precision_get_value(field));
	else if (is_type(field, BT_FIELD_CLASS_TYPE_STRING))
		visitor->text(arg, name, bt_field_string_get_value(field),
			      bt_field_string_get_length(field));
	else if (is_type(field, BT_FIELD_CLASS_TYPE_STRUCTURE))
		visit_struct(field, name, visitor, arg);
	else if (is_type(field, BT_FIELD_CLASS_TYPE_ARRAY))
		visit_array(field, name, visitor, arg);
	else
		visit_variant(field, name, visitor, arg);
}
