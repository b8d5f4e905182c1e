/* SPDX-License-Identifier: Apache-2.0 */
#include "report/hit_format.h"

#include <ctype.h>
#include <string.h>

#include "base/vec.h"

enum place { PLACE_HERE, PLACE_DATA_LOC, PLACE_REL_LOC };

struct hit_field {
	const char *name; /* in the format's text */
	enum hit_type type;
	enum place place;
	uint32_t offset, size;
};

struct hit_format {
	char *text;
	VEC(struct hit_field) fields;
};

/* ASCII whatever the locale: names become keys in JSON as they are. */
static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Whether s begins with word; then *rest is what follows it, without blanks. */
static bool take_word(const char *s, const char *word, const char **rest)
{
	size_t len = strlen(word);

	if (strncmp(s, word, len) != 0 || is_name(s[len]))
		return false;
	s += len;
	while (isblank((unsigned char)*s))
		s++;
	*rest = s;
	return true;
}

static enum hit_type type_of(const char *type, bool array, const struct hit_field *field,
			     bool is_signed)
{
	const char *rest = type;
	bool pointer = strchr(type, '*');

	take_word(rest, "const", &rest);
	if (array)
		return !pointer && take_word(rest, "char", &rest) ? HIT_STRING : HIT_BYTES;
	if (field->size == 0 || field->size > 8 || (field->size & (field->size - 1)))
		return HIT_BYTES;
	return pointer ? HIT_POINTER : is_signed ? HIT_SIGNED : HIT_UNSIGNED;
}

/*
 * Take a declaration apart, in place: `char comm[16]`, `__data_loc char[] name`.
 * The length in brackets may be any expression; what counts is the size.
 */
static bool parse_declaration(char *decl, bool is_signed, struct hit_field *field)
{
	const char *type = decl;
	bool array = false;

	field->place = take_word(type, "__data_loc", &type)  ? PLACE_DATA_LOC
		       : take_word(type, "__rel_loc", &type) ? PLACE_REL_LOC
							     : PLACE_HERE;
	char *end = decl + strlen(decl);
	if (field->place != PLACE_HERE) {
		array = true;
	} else if (end > decl && end[-1] == ']') {
		array = true;
		end = strchr(decl, '[');
		if (!end)
			return false;
		*end = '\0';
	}
	char *name = end;
	while (name > type && is_name(name[-1]))
		name--;
	if (name == end || name == type)
		return false;
	field->name = name;
	/* for a moment, the type ends where the name begins */
	char first = *name;
	*name = '\0';
	field->type = type_of(type, array, field, is_signed);
	*name = first;
	return true;
}

/* The number behind `key` in a line such as "offset:8;\tsize:16;". */
static bool parse_number(const char *line, const char *key, uint32_t *ret)
{
	const char *at = strstr(line, key);
	uint64_t n = 0;

	if (!at)
		return false;
	at += strlen(key);
	if (!isdigit((unsigned char)*at))
		return false;
	for (; isdigit((unsigned char)*at); at++) {
		n = n * 10 + (*at - '0');
		if (n > UINT32_MAX)
			return false;
	}
	*ret = n;
	return true;
}

static void parse_line(struct hit_format *format, char *line)
{
	struct hit_field field = { 0 };
	uint32_t is_signed = 0;

	while (isblank((unsigned char)*line))
		line++;
	if (strncmp(line, "field:", 6) != 0)
		return;
	char *decl = line + 6, *end = strchr(decl, ';');
	if (!end)
		return;
	*end++ = '\0';
	if (!parse_number(end, "offset:", &field.offset) ||
	    !parse_number(end, "size:", &field.size))
		return;
	parse_number(end, "signed:", &is_signed);
	if (!parse_declaration(decl, is_signed, &field))
		return;
	if (strncmp(field.name, "common_", 7) != 0)
		*vec_push(&format->fields) = field;
}

struct hit_format *hit_format_new(const char *text)
{
	struct hit_format *format = must_alloc(sizeof(*format));
	char *rest = format->text = must_strdup(text);

	for (char *line; (line = strsep(&rest, "\n"));)
		parse_line(format, line);
	return format;
}

void hit_format_free(struct hit_format *format)
{
	if (!format)
		return;
	vec_done(&format->fields);
	free(format->text);
	free(format);
}

size_t hit_format_count(const struct hit_format *format)
{
	return format->fields.count;
}

static uint64_t read_number(const char *at, size_t size, bool is_signed)
{
	union {
		uint8_t u1;
		uint16_t u2;
		uint32_t u4;
		uint64_t u8;
	} n = { 0 };

	memcpy(&n, at, size);
	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)n.u1 : n.u1;
	case 2:
		return is_signed ? (uint64_t)(int16_t)n.u2 : n.u2;
	case 4:
		return is_signed ? (uint64_t)(int32_t)n.u4 : n.u4;
	default:
		return n.u8;
	}
}

/* Where a field's bytes lie; false if the data ends before. */
static bool locate(const struct hit_field *field, const char *data, size_t size, uint64_t *ret_at,
		   uint64_t *ret_len)
{
	uint64_t at = field->offset, len = field->size;

	if (field->place != PLACE_HERE) {
		if (at + 4 > size)
			return false;
		uint32_t loc = read_number(data + at, 4, false);
		at = (loc & 0xffff) + (field->place == PLACE_REL_LOC ? at + 4 : 0);
		len = loc >> 16;
	}
	if (at > size)
		return false;
	*ret_at = at;
	*ret_len = len;
	return true;
}

bool hit_format_value(const struct hit_format *format, size_t i, const void *data, size_t size,
		      struct hit_value *ret)
{
	const struct hit_field *field = &format->fields.items[i];
	struct hit_value value = { .name = field->name, .type = field->type };
	uint64_t at, len;

	if (!locate(field, data, size, &at, &len))
		return false;
	value.bytes = (const char *)data + at;
	if (value.type == HIT_STRING || value.type == HIT_BYTES) {
		value.len = len < size - at ? len : size - at;
		if (value.type == HIT_STRING)
			value.len = strnlen(value.bytes, value.len);
	} else {
		if (len > size - at)
			return false;
		value.number = read_number(value.bytes, len, value.type == HIT_SIGNED);
	}
	*ret = value;
	return true;
}
