/* SPDX-License-Identifier: Apache-2.0 */
#include "event/tracepoint.h"

#include <ctype.h>

/* ASCII in any locale, because names become keys in JSON. */
static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Whether s begins with word; then *rest is the text after it and its blanks. */
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

/* Reads the decimal number at the start of s. */
static bool take_number(const char *s, uint32_t *ret)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)*s))
		return false;
	for (; isdigit((unsigned char)*s); s++) {
		n = n * 10 + (*s - '0');
		if (n > UINT32_MAX)
			return false;
	}
	*ret = n;
	return true;
}

/* Bytes of one element, for arrays without a usable length in brackets; 0 if unknown. */
static uint32_t size_of_type(const char *type, unsigned long_size)
{
	static const struct {
		const char *name;
		uint32_t size;
	} types[] = {
		{ "char", 1 },  { "u8", 1 },       { "__u8", 1 },      { "s8", 1 },
		{ "__s8", 1 },  { "uint8_t", 1 },  { "int8_t", 1 },    { "bool", 1 },
		{ "short", 2 }, { "u16", 2 },      { "__u16", 2 },     { "s16", 2 },
		{ "__s16", 2 }, { "__be16", 2 },   { "uint16_t", 2 },  { "int16_t", 2 },
		{ "int", 4 },   { "u32", 4 },      { "__u32", 4 },     { "s32", 4 },
		{ "__s32", 4 }, { "__be32", 4 },   { "uint32_t", 4 },  { "int32_t", 4 },
		{ "pid_t", 4 }, { "u64", 8 },      { "__u64", 8 },     { "s64", 8 },
		{ "__s64", 8 }, { "uint64_t", 8 }, { "int64_t", 8 },   { "long long", 8 },
		{ "long", 0 },  { "size_t", 0 },   { "uintptr_t", 0 },
	};

	if (strchr(type, '*'))
		return long_size;
	take_word(type, "const", &type);
	if (take_word(type, "unsigned", &type) && !is_name(*type))
		return 4;
	take_word(type, "signed", &type);
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (take_word(type, types[i].name, &type))
			return types[i].size ? types[i].size : long_size;
	return 0;
}

/* Sets what follows from the type; count is the number in its brackets, or 0. */
static void set_type(struct tracepoint_field *field, const char *type, uint32_t count,
		     unsigned long_size)
{
	const char *rest = type;

	field->is_pointer = strchr(type, '*');
	take_word(rest, "const", &rest);
	field->is_text = field->is_array && !field->is_pointer && take_word(rest, "char", &rest);
	if (!field->is_array)
		return;
	field->element = count && field->location == TRACEPOINT_INLINE && field->size % count == 0
				 ? field->size / count
				 : size_of_type(type, long_size);
	if (field->element > 8 || (field->element & (field->element - 1)))
		field->element = 0;
}

/*
 * Parses a declaration in place: `char comm[16]`, `__data_loc char[] name`.  The length in
 * brackets can be any expression; only the size counts.
 */
static bool parse_declaration(char *decl, unsigned long_size, struct tracepoint_field *field)
{
	const char *type = decl;
	uint32_t count = 0;

	while (isblank((unsigned char)*type))
		type++;
	field->location = take_word(type, "__data_loc", &type)  ? TRACEPOINT_DATA_LOC
			  : take_word(type, "__rel_loc", &type) ? TRACEPOINT_REL_LOC
								: TRACEPOINT_INLINE;
	char *end = decl + strlen(decl);
	if (field->location != TRACEPOINT_INLINE) {
		field->is_array = true;
	} else if (end > decl && end[-1] == ']') {
		field->is_array = true;
		end = strchr(decl, '[');
		if (!end)
			return false;
		take_number(end + 1, &count);
		*end = '\0';
	}
	char *name = end;
	while (name > type && is_name(name[-1]))
		name--;
	if (name == end || name == type)
		return false;
	field->name = name;
	/* terminate the type temporarily at the start of the name */
	char first = *name;
	*name = '\0';
	set_type(field, type, count, long_size);
	*name = first;
	return true;
}

/* Reads the number after `key` in a line such as "offset:8;\tsize:16;". */
static bool parse_number(const char *line, const char *key, uint32_t *ret)
{
	const char *at = strstr(line, key);

	return at && take_number(at + strlen(key), ret);
}

static void parse_field(struct tracepoint *t, char *decl, unsigned long_size)
{
	struct tracepoint_field field = { 0 };
	uint32_t is_signed = 0;
	char *end = strchr(decl, ';');

	if (!end)
		return;
	*end++ = '\0';
	if (!parse_number(end, "offset:", &field.offset) ||
	    !parse_number(end, "size:", &field.size))
		return;
	parse_number(end, "signed:", &is_signed);
	field.is_signed = is_signed;
	if (!parse_declaration(decl, long_size, &field))
		return;
	field.is_common = strncmp(field.name, "common_", 7) == 0;
	*vec_push(&t->fields) = field;
}

static void parse_line(struct tracepoint *t, char *line, unsigned long_size)
{
	while (isblank((unsigned char)*line))
		line++;
	if (strncmp(line, "field:", 6) == 0)
		parse_field(t, line + 6, long_size);
	else if (strncmp(line, "name: ", 6) == 0)
		t->name = line + 6;
	else if (strncmp(line, "ID: ", 4) == 0)
		take_number(line + 4, &t->id);
}

void tracepoint_init(struct tracepoint *t, const char *text, size_t len, unsigned long_size)
{
	*t = (struct tracepoint){ .name = "" };
	len = strnlen(text, len);
	char *rest = t->text = must_alloc(len + 1);
	memcpy(rest, text, len);
	for (char *line; (line = strsep(&rest, "\n"));)
		parse_line(t, line, long_size);
}

void tracepoint_done(struct tracepoint *t)
{
	vec_done(&t->fields);
	free(t->text);
}

bool tracepoint_locate(const struct tracepoint_field *field, const void *data, size_t size,
		       bool swap, struct tracepoint_bytes *ret)
{
	uint64_t at = field->offset, len = field->size;

	if (field->location != TRACEPOINT_INLINE) {
		if (at + 4 > size)
			return false;
		uint32_t loc = tracepoint_number((const char *)data + at, 4, false, swap);
		at = (loc & 0xffff) + (field->location == TRACEPOINT_REL_LOC ? at + 4 : 0);
		len = loc >> 16;
	}
	if (at > size)
		return false;
	ret->at = (const char *)data + at;
	ret->len = len < size - at ? len : size - at;
	return true;
}
