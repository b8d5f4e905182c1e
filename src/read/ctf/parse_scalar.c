/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_parse_scalar - parses integers, floating-point numbers and strings.
 *
 * Each is a block of attributes, such as `integer { size = 32; signed = true; }`.
 * Unknown attributes are ignored.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "read/ctf/parser.h"

static bool word_is_one_of(const char *word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(word, list[i]) == 0)
			return true;
	return false;
}

#define IS_ONE_OF(word, ...) \
	word_is_one_of(word, (const char *const[]){ __VA_ARGS__ }, \
		       sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static uint8_t base_of(struct ctf_parser *p, const struct ctf_value *v)
{
	if (v->is_number &&
	    (v->number == 2 || v->number == 8 || v->number == 10 || v->number == 16))
		return v->number;
	if (!v->is_number && IS_ONE_OF(v->text, "decimal", "dec", "d", "i", "u"))
		return 10;
	if (!v->is_number && IS_ONE_OF(v->text, "hexadecimal", "hex", "x", "p"))
		return 16;
	if (!v->is_number && IS_ONE_OF(v->text, "octal", "oct", "o"))
		return 8;
	if (!v->is_number && IS_ONE_OF(v->text, "binary", "bin", "b"))
		return 2;
	ctf_fail(p, -EBADMSG, "unknown base");
	return 10;
}

static enum ctf_order order_of(struct ctf_parser *p, const struct ctf_value *v)
{
	if (!v->is_number && IS_ONE_OF(v->text, "le"))
		return CTF_LITTLE;
	if (!v->is_number && IS_ONE_OF(v->text, "be", "network"))
		return CTF_BIG;
	if (v->is_number || !IS_ONE_OF(v->text, "native"))
		ctf_fail(p, -EBADMSG, "unknown byte order");
	return CTF_NATIVE;
}

uint32_t ctf_align_of(struct ctf_parser *p, const struct ctf_value *v)
{
	if (v->is_number && !v->is_negative && v->number >= 1 && v->number <= 4096 &&
	    (v->number & (v->number - 1)) == 0)
		return v->number;
	ctf_fail(p, -EBADMSG, "an alignment must be a power of two from 1 to 4096");
	return 1;
}

/* The NAME in clock.NAME.value. */
static const char *clock_of(struct ctf_parser *p, const struct ctf_value *v)
{
	size_t len = v->is_number ? 0 : strlen(v->text);

	if (len <= 12 || strncmp(v->text, "clock.", 6) != 0 ||
	    strcmp(v->text + len - 6, ".value") != 0) {
		ctf_fail(p, -EBADMSG, "a number can only be mapped to clock.NAME.value");
		return NULL;
	}

	char *name = ctf_copy_to_arena(p, v->text + 6, len - 11);

	name[len - 12] = '\0';
	return name;
}

static bool is_true(const struct ctf_value *v)
{
	return v->is_number ? v->number != 0 : strcasecmp(v->text, "true") == 0;
}

/* The size of a floating-point number, in bits. */
struct real_size {
	uint64_t mantissa, exponent;
};

static void set_attribute(struct ctf_parser *p, struct ctf_type *type, const char *key,
			  const struct ctf_value *v, struct real_size *real)
{
	bool is_integer = type->kind == CTF_INTEGER;

	if (is_integer && strcmp(key, "size") == 0) {
		if (!v->is_number || v->is_negative || v->number < 1 || v->number > 64)
			ctf_fail(p, -EBADMSG, "the size of a number must be 1 to 64 bits");
		else
			type->size = v->number;
	} else if (strcmp(key, "align") == 0 && type->kind != CTF_STRING) {
		type->align = ctf_align_of(p, v);
		type->has_align = true;
	} else if (strcmp(key, "byte_order") == 0) {
		type->order = order_of(p, v);
	} else if (is_integer && strcmp(key, "signed") == 0) {
		type->is_signed = is_true(v);
	} else if (is_integer && strcmp(key, "base") == 0) {
		type->base = base_of(p, v);
	} else if (is_integer && strcmp(key, "encoding") == 0) {
		type->is_text = !v->is_number && IS_ONE_OF(v->text, "UTF8", "ASCII");
	} else if (is_integer && strcmp(key, "map") == 0) {
		type->clock = clock_of(p, v);
	} else if (real && strcmp(key, "mant_dig") == 0 && v->is_number) {
		real->mantissa = v->number;
	} else if (real && strcmp(key, "exp_dig") == 0 && v->is_number) {
		real->exponent = v->number;
	}
}

static void parse_attributes(struct ctf_parser *p, struct ctf_type *type, struct real_size *real)
{
	while (ctf_in_block(p)) {
		const char *key = ctf_parse_path(p);

		ctf_expect(p, CTF_ASSIGN, "'='");

		struct ctf_value value = ctf_parse_value(p);

		ctf_expect(p, ';', "';'");
		if (!p->code)
			set_attribute(p, type, key, &value, real);
	}
	ctf_expect(p, '}', "'}'");
}

const struct ctf_type *ctf_parse_integer(struct ctf_parser *p)
{
	struct ctf_type *type = ctf_new_type(p, CTF_INTEGER);

	type->base = 10;
	ctf_expect(p, '{', "'{'");
	parse_attributes(p, type, NULL);
	if (!type->size && !p->code)
		ctf_fail(p, -EBADMSG, "a number has no size");
	if (!type->has_align)
		type->align = type->size % 8 ? 1 : 8;
	return type;
}

const struct ctf_type *ctf_parse_real(struct ctf_parser *p)
{
	struct ctf_type *type = ctf_new_type(p, CTF_REAL);
	struct real_size real = { 0 };

	ctf_expect(p, '{', "'{'");
	parse_attributes(p, type, &real);
	if (real.mantissa == 24 && real.exponent == 8)
		type->size = 32;
	else if (real.mantissa == 53 && real.exponent == 11)
		type->size = 64;
	else
		ctf_fail(p, -EBADMSG, "floating-point numbers must have 32 or 64 bits");
	if (!type->has_align)
		type->align = 8;
	return type;
}

const struct ctf_type *ctf_parse_string(struct ctf_parser *p)
{
	struct ctf_type *type = ctf_new_type(p, CTF_STRING);

	type->align = 8;
	if (ctf_accept(p, '{'))
		parse_attributes(p, type, NULL);
	return type;
}
