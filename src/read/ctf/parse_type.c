/* SPDX-License-Identifier: Apache-2.0 */
/* ctf_parse_type - parses and declares structs, variants, enumerations and arrays. */
#include "read/ctf/parser.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

/* Returned after an error instead of NULL, so that callers need no check. */
static const struct ctf_type invalid_type = { .kind = CTF_STRUCT, .align = 1 };

struct ctf_type *ctf_new_type(struct ctf_parser *p, enum ctf_kind kind)
{
	struct ctf_type *type = arena_new_of(p->arena, struct ctf_type);

	type->kind = kind;
	type->align = 1;
	return type;
}

void *ctf_copy_to_arena(struct ctf_parser *p, const void *items, size_t size)
{
	void *copy = arena_alloc(p->arena, size ? size : 1);

	if (size)
		memcpy(copy, items, size);
	return copy;
}

size_t ctf_scope_begin(struct ctf_parser *p)
{
	return p->symbols.count;
}

void ctf_scope_end(struct ctf_parser *p, size_t begin)
{
	while (p->symbols.count > begin) {
		const struct ctf_symbol *s = &p->symbols.items[--p->symbols.count];

		*map_insert(&p->latest, s->hash) = s->hidden;
	}
}

static void define(struct ctf_parser *p, const char *name, const struct ctf_type *type)
{
	uint64_t hash = hash_bytes(name, strlen(name));
	uint64_t *latest = map_insert(&p->latest, hash);

	*vec_push(&p->symbols) = (struct ctf_symbol){
		.hash = hash,
		.name = ctf_copy_to_arena(p, name, strlen(name) + 1),
		.type = type,
		.hidden = *latest,
	};
	*latest = p->symbols.count;
}

static const struct ctf_type *look_up(struct ctf_parser *p, const char *name)
{
	const uint64_t *number = map_find(&p->latest, hash_bytes(name, strlen(name)));

	if (number && *number) {
		const struct ctf_symbol *s = &p->symbols.items[*number - 1];

		if (strcmp(s->name, name) == 0)
			return s->type;
	}
	ctf_fail(p, -EBADMSG, "undeclared type '%s'", name);
	return &invalid_type;
}

static const struct ctf_type *array_of(struct ctf_parser *p, const struct ctf_type *element,
				       const struct ctf_value *length)
{
	struct ctf_type *type = ctf_new_type(p, length->is_number ? CTF_ARRAY : CTF_SEQUENCE);

	if (length->is_number && (length->is_negative || length->number > UINT32_MAX))
		ctf_fail(p, -EBADMSG, "invalid array length");
	type->length = length->number;
	type->ref = length->text;
	type->element = element;
	type->align = element->align;
	return type;
}

/* In name[a][b], the element type is an array of b elements. */
static const struct ctf_type *parse_declarator(struct ctf_parser *p, const struct ctf_type *type,
					       const char **ret_name)
{
	struct ctf_value lengths[CTF_DEPTH];
	size_t count = 0;

	*ret_name = ctf_parse_path(p);
	while (ctf_accept(p, '[')) {
		struct ctf_value length = ctf_parse_value(p);

		ctf_expect(p, ']', "']'");
		if (count == CTF_DEPTH)
			ctf_fail(p, -EBADMSG, "arrays are nested too deeply");
		else
			lengths[count++] = length;
	}
	while (count && !p->code)
		type = array_of(p, type, &lengths[--count]);
	return type;
}

typedef VEC(struct ctf_member) member_list;

static void parse_members(struct ctf_parser *p, member_list *list)
{
	size_t scope = ctf_scope_begin(p);

	while (ctf_in_block(p)) {
		if (p->token.kind == CTF_NAME &&
		    (ctf_token_is(&p->token, "typealias") || ctf_token_is(&p->token, "typedef"))) {
			ctf_parse_declaration(p);
			continue;
		}

		const struct ctf_type *type = ctf_parse_type(p, true);

		do {
			struct ctf_member member;

			member.type = parse_declarator(p, type, &member.name);
			*vec_push(list) = member;
		} while (ctf_accept(p, ','));
		ctf_expect(p, ';', "';'");
	}
	ctf_expect(p, '}', "'}'");
	ctf_scope_end(p, scope);
}

static void set_members(struct ctf_parser *p, struct ctf_type *type)
{
	member_list list = { 0 };

	parse_members(p, &list);
	type->members = ctf_copy_to_arena(p, list.items, list.count * sizeof(list.items[0]));
	type->count = list.count;
	vec_done(&list);
}

/* Writes "struct x" to key; false if the type has no name. */
static bool parse_tag_name(struct ctf_parser *p, const char *keyword, char key[CTF_WORDS])
{
	if (p->token.kind != CTF_NAME)
		return false;
	if (snprintf(key, CTF_WORDS, "%s %.*s", keyword, (int)p->token.len, p->token.s) >=
	    CTF_WORDS)
		ctf_fail(p, -EBADMSG, "a name is too long");
	ctf_advance(p);
	return true;
}

static const struct ctf_type *parse_struct(struct ctf_parser *p)
{
	char key[CTF_WORDS] = "";
	bool is_named = parse_tag_name(p, "struct", key);

	if (!ctf_accept(p, '{'))
		return look_up(p, key);

	struct ctf_type *type = ctf_new_type(p, CTF_STRUCT);

	set_members(p, type);
	for (size_t i = 0; i < type->count; i++)
		if (type->members[i].type->align > type->align)
			type->align = type->members[i].type->align;
	if (ctf_accept_word(p, "align")) {
		ctf_expect(p, '(', "'('");

		struct ctf_value value = ctf_parse_value(p);
		uint32_t align = ctf_align_of(p, &value);

		ctf_expect(p, ')', "')'");
		type->align = align > type->align ? align : type->align;
	}
	if (is_named)
		define(p, key, type);
	return type;
}

static const struct ctf_type *parse_variant(struct ctf_parser *p)
{
	char key[CTF_WORDS] = "";
	bool is_named = parse_tag_name(p, "variant", key);
	struct ctf_type *type = ctf_new_type(p, CTF_VARIANT);

	if (ctf_accept(p, '<')) {
		type->ref = ctf_parse_path(p);
		ctf_expect(p, '>', "'>'");
	}
	if (ctf_accept(p, '{')) {
		set_members(p, type);
	} else {
		const struct ctf_type *found = look_up(p, key);

		type->members = found->members;
		type->count = found->count;
		type->ref = type->ref ?: found->ref;
		return type;
	}
	if (is_named)
		define(p, key, type);
	return type;
}

static uint64_t signed_value(const struct ctf_value *v)
{
	return v->is_negative ? -v->number : v->number;
}

typedef VEC(struct ctf_label) label_list;

static void parse_labels(struct ctf_parser *p, label_list *list)
{
	uint64_t next = 0;

	while (ctf_in_block(p)) {
		struct ctf_label label = { .word = ctf_parse_path(p), .low = next, .high = next };

		if (ctf_accept(p, CTF_ASSIGN)) {
			struct ctf_value value = ctf_parse_value(p);

			label.low = label.high = signed_value(&value);
			if (ctf_accept(p, CTF_ELLIPSIS)) {
				value = ctf_parse_value(p);
				label.high = signed_value(&value);
			}
		}
		next = label.high + 1;
		*vec_push(list) = label;
		if (!ctf_accept(p, ','))
			break;
	}
	ctf_expect(p, '}', "'}'");
}

static const struct ctf_type *parse_enum(struct ctf_parser *p)
{
	char key[CTF_WORDS] = "";
	bool is_named = parse_tag_name(p, "enum", key);
	const struct ctf_type *container = NULL;
	label_list list = { 0 };

	if (ctf_accept(p, ':'))
		container = ctf_parse_type(p, false);
	if (!ctf_accept(p, '{'))
		return look_up(p, key);
	container = container ?: look_up(p, "int");
	if (container->kind != CTF_INTEGER) {
		ctf_fail(p, -EBADMSG, "the container of an enumeration is not an integer");
		return &invalid_type;
	}

	struct ctf_type *type = ctf_new_type(p, CTF_ENUM);

	*type = *container;
	type->kind = CTF_ENUM;
	parse_labels(p, &list);
	type->labels = ctf_copy_to_arena(p, list.items, list.count * sizeof(list.items[0]));
	type->count = list.count;
	vec_done(&list);
	if (is_named)
		define(p, key, type);
	return type;
}

/* Reads consecutive names, separated by single blanks. */
static void parse_words(struct ctf_parser *p, bool leave_last, char words[CTF_WORDS])
{
	size_t used = 0;

	words[0] = '\0';
	while (p->token.kind == CTF_NAME) {
		struct ctf_lexer ahead = p->lexer;

		if (leave_last && used && ctf_lexer_next(&ahead).kind != CTF_NAME)
			break;
		if (!ctf_token_is(&p->token, "const")) {
			int n = snprintf(words + used, CTF_WORDS - used, "%s%.*s", used ? " " : "",
					 (int)p->token.len, p->token.s);
			used += n;
			if (used >= CTF_WORDS) {
				ctf_fail(p, -EBADMSG, "a name is too long");
				return;
			}
		}
		ctf_advance(p);
	}
	if (p->token.kind == '*')
		ctf_fail(p, -ENOTSUP, "pointers are not supported");
	else if (!used)
		ctf_fail_expected(p, "a type");
}

const struct ctf_type *ctf_parse_type(struct ctf_parser *p, bool leave_last)
{
	static const struct {
		const char *word;
		const struct ctf_type *(*parse)(struct ctf_parser *p);
	} keywords[] = {
		{ "struct", parse_struct },
		{ "variant", parse_variant },
		{ "enum", parse_enum },
		{ "integer", ctf_parse_integer },
		{ "floating_point", ctf_parse_real },
		{ "string", ctf_parse_string },
	};
	const struct ctf_type *type = NULL;

	if (p->depth == CTF_DEPTH) {
		ctf_fail(p, -EBADMSG, "types are nested too deeply");
		return &invalid_type;
	}
	p->depth++;
	for (size_t i = 0; i < ARRAY_LEN(keywords) && !type; i++)
		if (ctf_accept_word(p, keywords[i].word))
			type = keywords[i].parse(p);
	p->depth--;
	if (type)
		return type;

	char words[CTF_WORDS];

	parse_words(p, leave_last, words);
	return p->code ? &invalid_type : look_up(p, words);
}

static void parse_typealias(struct ctf_parser *p)
{
	const struct ctf_type *type = ctf_parse_type(p, false);
	char words[CTF_WORDS];

	ctf_expect(p, CTF_TYPE_IS, "':='");
	parse_words(p, false, words);
	ctf_expect(p, ';', "';'");
	if (!p->code)
		define(p, words, type);
}

static void parse_typedef(struct ctf_parser *p)
{
	const struct ctf_type *type = ctf_parse_type(p, true);

	do {
		const char *name;
		const struct ctf_type *declared = parse_declarator(p, type, &name);

		if (!p->code)
			define(p, name, declared);
	} while (ctf_accept(p, ','));
	ctf_expect(p, ';', "';'");
}

bool ctf_parse_declaration(struct ctf_parser *p)
{
	if (ctf_accept_word(p, "typealias")) {
		parse_typealias(p);
	} else if (ctf_accept_word(p, "typedef")) {
		parse_typedef(p);
	} else if (ctf_token_is(&p->token, "struct") || ctf_token_is(&p->token, "variant") ||
		   ctf_token_is(&p->token, "enum")) {
		ctf_parse_type(p, false);
		ctf_expect(p, ';', "';'");
	} else {
		return false;
	}
	return true;
}
