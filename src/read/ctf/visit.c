/* SPDX-License-Identifier: Apache-2.0 */
#include "read/ctf/visit.h"

#include <string.h>

struct visit_state {
	struct ctf_bits in;
	const struct raw_visitor *visitor; /* NULL inside of a hidden field */
	void *arg;
	uint64_t slots[CTF_SLOTS];
};

static bool has_bits(const struct visit_state *v, uint64_t bits)
{
	return v->in.at <= v->in.end && bits <= v->in.end - v->in.at;
}

static const char *word_of(const struct ctf_type *type, uint64_t value)
{
	uint64_t bias = type->is_signed ? 1ull << 63 : 0;

	for (size_t i = 0; i < type->count; i++)
		if ((value ^ bias) >= (type->labels[i].low ^ bias) &&
		    (value ^ bias) <= (type->labels[i].high ^ bias))
			return type->labels[i].word;
	return "";
}

static void show_number(struct visit_state *v, const struct ctf_field *f, const char *name,
			uint64_t value)
{
	const struct ctf_type *type = f->type;

	if (!v->visitor)
		return;
	if (type->kind == CTF_ENUM) {
		v->visitor->label(v->arg, name, value, type->is_signed, word_of(type, value));
	} else if (type->is_signed && type->base == 10) {
		v->visitor->number(v->arg, name, value);
	} else {
		uint64_t mask = type->size < 64 ? (1ull << type->size) - 1 : UINT64_MAX;

		v->visitor->unsigned_number(v->arg, name, value & mask, type->base);
	}
}

static bool visit_number(struct visit_state *v, const struct ctf_field *f, const char *name)
{
	const struct ctf_type *type = f->type;

	if (!has_bits(v, type->size))
		return false;

	uint64_t value =
		ctf_read_number(v->in.data, v->in.at, type->size, f->is_big, type->is_signed);

	if (f->slot != CTF_NO_SLOT)
		v->slots[f->slot] = value;
	show_number(v, f, name, value);
	v->in.at += type->size;
	return true;
}

static bool visit_real(struct visit_state *v, const struct ctf_field *f, const char *name)
{
	unsigned size = f->type->size;

	if (!has_bits(v, size))
		return false;

	uint64_t bits = ctf_read_number(v->in.data, v->in.at, size, f->is_big, false);
	uint32_t bits32 = bits;
	double real;
	float real32;

	memcpy(&real, &bits, sizeof(real));
	memcpy(&real32, &bits32, sizeof(real32));
	if (v->visitor)
		v->visitor->real(v->arg, name, size == 32 ? real32 : real);
	v->in.at += size;
	return true;
}

static bool visit_string(struct visit_state *v, const char *name)
{
	const char *s = (const char *)v->in.data + v->in.at / 8;
	size_t room = (v->in.end - v->in.at) / 8, len = strnlen(s, room);

	if (len == room)
		return false;
	if (v->visitor)
		v->visitor->text(v->arg, name, s, len);
	v->in.at += 8 * (len + 1);
	return true;
}

static bool visit(struct visit_state *v, const struct ctf_field *f, const char *name);

static bool visit_items(struct visit_state *v, const struct ctf_field *f, const char *name,
			uint64_t length)
{
	bool is_good = true;

	if (v->visitor)
		v->visitor->begin(v->arg, name, true);
	for (uint64_t i = 0; i < length && is_good; i++) {
		uint64_t before = v->in.at;

		is_good = visit(v, &f->children[0], NULL);
		if (v->in.at == before && i)
			break; /* empty elements, as in run_loop() */
	}
	if (v->visitor)
		v->visitor->end(v->arg);
	return is_good;
}

static bool visit_array(struct visit_state *v, const struct ctf_field *f, const char *name)
{
	uint64_t length =
		f->type->kind == CTF_ARRAY ? f->type->length : v->slots[f->reference->slot];

	if (!ctf_length_fits(&v->in, length))
		return false;
	if (!ctf_is_text(f->type))
		return visit_items(v, f, name, length);
	if (!has_bits(v, 8 * length))
		return false;

	const char *s = (const char *)v->in.data + v->in.at / 8;

	if (v->visitor)
		v->visitor->text(v->arg, name, s, strnlen(s, length));
	v->in.at += 8 * length;
	return true;
}

static bool visit_members(struct visit_state *v, const struct ctf_field *f, const char *name,
			  const char *hidden)
{
	const struct raw_visitor *visitor = v->visitor;
	bool is_good = true;

	if (visitor)
		visitor->begin(v->arg, name, false);
	for (size_t i = 0; i < f->child_count && is_good; i++) {
		const struct ctf_field *child = &f->children[i];

		v->visitor = raw_is_one_of(hidden, child->full_name, strlen(child->full_name))
				     ? NULL
				     : visitor;
		is_good = visit(v, child, child->name);
	}
	v->visitor = visitor;
	if (visitor)
		visitor->end(v->arg);
	return is_good;
}

static bool visit_variant(struct visit_state *v, const struct ctf_field *f, const char *name)
{
	int option = ctf_option_of(f, v->slots[f->reference->slot]);

	if (option < 0)
		return false;
	if (v->visitor)
		v->visitor->begin(v->arg, name, false);

	bool is_good = visit(v, &f->children[option], NULL);

	if (v->visitor)
		v->visitor->end(v->arg);
	return is_good;
}

/* The recursion is limited by CTF_DEPTH. */
static bool visit(struct visit_state *v, const struct ctf_field *f, const char *name)
{
	uint64_t align = f->type->align;

	v->in.at = (v->in.at + align - 1) & -align;
	if (v->in.at > v->in.end)
		return false;
	switch (f->type->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
		return visit_number(v, f, name);
	case CTF_REAL:
		return visit_real(v, f, name);
	case CTF_STRING:
		return visit_string(v, name);
	case CTF_STRUCT:
		return visit_members(v, f, name, "");
	case CTF_VARIANT:
		return visit_variant(v, f, name);
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		return visit_array(v, f, name);
	}
	return false;
}

bool ctf_visit(const struct ctf_group *group, const char *hidden, struct ctf_bits *in,
	       const struct raw_visitor *visitor, void *arg)
{
	struct visit_state v = { .in = *in, .visitor = visitor, .arg = arg };
	bool is_good = true;

	for (unsigned i = 0; i < CTF_ROOTS && is_good; i++) {
		const struct ctf_field *root = group->roots[i];
		uint64_t align = root ? root->type->align : 1;

		v.in.at = (v.in.at + align - 1) & -align;
		if (root)
			is_good = visit_members(&v, root, group->names[i], hidden);
	}
	*in = v.in;
	return is_good;
}
