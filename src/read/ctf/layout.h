/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_layout - the tree of fields of a packet or an event.
 *
 * A type can be used several times.  Each use becomes a separate field in a tree,
 * so that a sequence can refer to the field that contains its length, and a
 * variant to the field that contains its tag.  Fields referred to in this way get
 * a slot, in which the decoder stores their values while it reads an event.
 *
 * Nested types can describe billions of fields in a few lines of metadata, so the
 * number of fields is limited in proportion to the size of the metadata.
 */
#ifndef SONDE_READ_CTF_LAYOUT_H
#define SONDE_READ_CTF_LAYOUT_H

#include "read/ctf/type.h"

enum {
	CTF_SLOTS = 64, /* per packet or event */
	CTF_NO_SLOT = 255,
};

struct ctf_field {
	const char *name;      /* for display, without the leading underscore; NULL in an array */
	const char *full_name; /* as in the metadata */
	const struct ctf_type *type;
	const struct ctf_field *parent; /* NULL for a root */
	struct ctf_field *children;     /* members or options; ARRAY, SEQUENCE: the element */
	uint32_t child_count;
	uint8_t slot;                /* CTF_NO_SLOT if no field refers to it */
	bool is_big;                 /* byte order of a number */
	bool is_fixed;               /* constant size, in `bits` */
	uint64_t bits;               /* at most CTF_FIELD_BITS */
	struct ctf_field *reference; /* SEQUENCE: length; VARIANT: tag */
};

#define CTF_FIELD_BITS (1ull << 31)

/* The structs that are read together: those of a packet, or those of an event. */
enum { CTF_ROOTS = 3 };
struct ctf_group {
	const char *names[CTF_ROOTS];       /* "stream.event.context", ... */
	struct ctf_field *roots[CTF_ROOTS]; /* NULL if absent */
	unsigned slot_count;
};

struct ctf_layout {
	const struct ctf_metadata *meta;
	struct arena *arena;
	uint64_t budget; /* number of fields that can still be created */
};

/* Sets group->roots[i] to the fields of a struct type, or to NULL if type is NULL. */
int ctf_layout_add(struct ctf_layout *layout, struct ctf_group *group, unsigned i,
		   const struct ctf_type *type, struct err *err);

static inline bool ctf_is_number(const struct ctf_type *type)
{
	return type->kind == CTF_INTEGER || type->kind == CTF_ENUM;
}

/* Whether it is an array or sequence of characters. */
static inline bool ctf_is_text(const struct ctf_type *type)
{
	return (type->kind == CTF_ARRAY || type->kind == CTF_SEQUENCE) &&
	       type->element->kind == CTF_INTEGER && type->element->is_text &&
	       type->element->size == 8 && type->element->align % 8 == 0;
}

/* Distance between two elements of an array, in bits. */
static inline uint64_t ctf_stride(const struct ctf_field *element)
{
	return (element->bits + element->type->align - 1) & -(uint64_t)element->type->align;
}

#endif
