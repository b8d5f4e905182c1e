/* SPDX-License-Identifier: Apache-2.0 */
#include "read/ctf/layout.h"

#include <errno.h>
#include <string.h>

#include "read/ctf/parser.h"

/* So many lookups cost as much of the budget as one new field. */
enum { LOOKUPS_PER_FIELD = 64 };

struct layout_builder {
	struct ctf_layout *layout;
	struct ctf_group *group;
	unsigned root; /* index of the root being built */
	struct err *err;
	uint64_t lookups; /* cost of lookups so far, in fields */
};

/* The length of the first name of a path; *ret_rest is the rest after the dot, or NULL. */
static size_t first_name(const char *path, const char **ret_rest)
{
	size_t len = strcspn(path, ".");

	*ret_rest = path[len] ? path + len + 1 : NULL;
	return len;
}

static struct ctf_field *find_child(const struct ctf_field *field, size_t count, const char *name,
				    size_t len)
{
	for (size_t i = count; i-- > 0;) {
		const char *full = field->children[i].full_name;

		if (strncmp(full, name, len) == 0 && full[len] == '\0')
			return &field->children[i];
	}
	return NULL;
}

/* Finds a path among the first count members of a struct and in nested structs. */
static struct ctf_field *find_below(const struct ctf_field *field, size_t count, const char *path)
{
	while (field && path && field->type->kind == CTF_STRUCT) {
		const char *rest;
		size_t len = first_name(path, &rest);
		struct ctf_field *child = find_child(field, count, path, len);

		if (!child || !rest)
			return child;
		field = child;
		count = child->child_count;
		path = rest;
	}
	return NULL;
}

/* Finds a path that begins with a scope, such as stream.event.context.x. */
static struct ctf_field *find_absolute(const struct ctf_group *group, const char *path)
{
	for (unsigned i = 0; i < CTF_ROOTS; i++) {
		size_t len = group->names[i] ? strlen(group->names[i]) : 0;

		if (len && strncmp(path, group->names[i], len) == 0 && path[len] == '.')
			return group->roots[i]
				       ? find_below(group->roots[i], group->roots[i]->child_count,
						    path + len + 1)
				       : NULL;
	}
	return NULL;
}

/* Finds a path among the fields before this one in the enclosing structs, innermost first. */
static struct ctf_field *find_relative(struct layout_builder *b, const struct ctf_field *field,
				       const char *path)
{
	for (const struct ctf_field *up = field->parent; up; field = up, up = up->parent) {
		struct ctf_field *found = NULL;

		if (up->type->kind != CTF_STRUCT)
			continue;
		found = find_below(up, field - up->children, path);
		b->lookups += up->child_count / LOOKUPS_PER_FIELD;
		if (found)
			return found;
	}
	for (unsigned i = b->root; i-- > 0;) {
		const struct ctf_field *root = b->group->roots[i];
		struct ctf_field *found = root ? find_below(root, root->child_count, path) : NULL;

		if (found)
			return found;
	}
	return NULL;
}

static bool names_scope(const char *path)
{
	return strncmp(path, "trace.", 6) == 0 || strncmp(path, "stream.", 7) == 0 ||
	       strncmp(path, "event.", 6) == 0 || strncmp(path, "env.", 4) == 0;
}

static int resolve(struct layout_builder *b, struct ctf_field *field)
{
	const char *path = field->type->ref;
	struct ctf_field *found = path ? find_relative(b, field, path) : NULL;

	if (!found && path)
		found = find_absolute(b->group, path);
	if (!found && path && names_scope(path))
		return err_set(b->err, -ENOTSUP, "field '%s' refers to '%s', outside of its event",
			       field->full_name, path);
	if (!found || (field->type->kind == CTF_VARIANT ? found->type->kind != CTF_ENUM
							: !ctf_is_number(found->type)))
		return err_set(b->err, -EBADMSG,
			       "field '%s' refers to '%s', which is not a preceding %s",
			       field->full_name, path ?: "",
			       field->type->kind == CTF_VARIANT ? "enumeration" : "number");
	if (found->slot == CTF_NO_SLOT) {
		if (b->group->slot_count == CTF_SLOTS)
			return err_set(b->err, -ENOTSUP,
				       "an event has more than %d variants and sequences",
				       CTF_SLOTS);
		found->slot = b->group->slot_count++;
	}
	field->reference = found;
	return 0;
}

/* Computes the size of a field, if it is constant. */
static void measure(struct ctf_field *f)
{
	const struct ctf_type *type = f->type;

	f->is_fixed = ctf_is_number(type) || type->kind == CTF_REAL || type->kind == CTF_STRUCT ||
		      (type->kind == CTF_ARRAY && f->children[0].is_fixed);
	f->bits = type->size;
	for (size_t i = 0; type->kind == CTF_STRUCT && i < f->child_count; i++) {
		const struct ctf_field *child = &f->children[i];
		uint64_t align = child->type->align;

		f->is_fixed = f->is_fixed && child->is_fixed;
		f->bits = ((f->bits + align - 1) & -align) + child->bits;
		if (f->bits > CTF_FIELD_BITS)
			return;
	}
	if (type->kind == CTF_ARRAY && type->length)
		f->bits = ctf_stride(&f->children[0]) * (type->length - 1ull) + f->children[0].bits;
}

static int build(struct layout_builder *b, struct ctf_field *f, unsigned depth);

static int build_children(struct layout_builder *b, struct ctf_field *f, unsigned depth)
{
	const struct ctf_type *type = f->type;
	bool has_members = type->kind == CTF_STRUCT || type->kind == CTF_VARIANT;

	f->child_count = has_members ? type->count : type->element ? 1 : 0;
	if (f->child_count + b->lookups >= b->layout->budget)
		return err_set(b->err, -EBADMSG, "the metadata describes too many fields");
	b->layout->budget -= f->child_count;
	f->children = arena_alloc(b->layout->arena, f->child_count * sizeof(*f->children) + 1);
	for (size_t i = 0; i < f->child_count; i++) {
		struct ctf_field *child = &f->children[i];
		const char *name = has_members ? type->members[i].name : NULL;

		child->full_name = name ?: "";
		child->name = name && name[0] == '_' ? name + 1 : name;
		child->type = has_members ? type->members[i].type : type->element;
		child->parent = f;

		int code = build(b, child, depth + 1);

		if (code < 0)
			return code;
	}
	return 0;
}

static int build(struct layout_builder *b, struct ctf_field *f, unsigned depth)
{
	f->slot = CTF_NO_SLOT;
	f->is_big =
		f->type->order == CTF_NATIVE ? b->layout->meta->is_big : f->type->order == CTF_BIG;
	if (depth > CTF_DEPTH)
		return err_set(b->err, -EBADMSG, "the metadata nests fields too deeply");

	int code = build_children(b, f, depth);

	if (code == 0 && (f->type->kind == CTF_SEQUENCE || f->type->kind == CTF_VARIANT))
		code = resolve(b, f);
	if (code < 0)
		return code;
	measure(f);
	if (f->bits > CTF_FIELD_BITS)
		return err_set(b->err, -EBADMSG,
			       "the metadata describes a field that is too large");
	return 0;
}

int ctf_layout_add(struct ctf_layout *layout, struct ctf_group *group, unsigned i,
		   const struct ctf_type *type, struct err *err)
{
	struct layout_builder b = { layout, group, i, err, 0 };

	if (!type)
		return 0;

	struct ctf_field *root = arena_new_of(layout->arena, struct ctf_field);

	root->full_name = root->name = "";
	root->type = type;

	int code = build(&b, root, 0);

	if (code < 0)
		return code;
	group->roots[i] = root;
	return 0;
}
