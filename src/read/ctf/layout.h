/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_layout - the fields of packets and events, each where it stands.
 *
 * A declared type may be used in many places.  Here every use is a field of its
 * own, in a tree, so that a sequence can point to the field that has its length
 * and a variant to the one that has its tag, wherever those are.  Such fields get
 * a slot: whoever reads an event keeps their values there.
 *
 * A few lines of metadata could describe billions of fields, by types that double
 * one another; so the number of fields is limited in proportion to its text.
 */
#ifndef SONDE_READ_CTF_LAYOUT_H
#define SONDE_READ_CTF_LAYOUT_H

#include "read/ctf/type.h"

enum {
	CTF_SLOTS = 64, /* of one packet, of one event */
	CTF_NO_SLOT = 255,
};

struct ctf_field {
	const char *name; /* as people see it, without the leading underscore; NULL in an array */
	const char *full_name; /* as metadata refers to it */
	const struct ctf_type *type;
	const struct ctf_field *parent; /* NULL of a root */
	struct ctf_field *children;     /* members, options; of an array: its one element */
	uint32_t child_count;
	uint8_t slot;                /* CTF_NO_SLOT if nobody refers to it */
	bool is_big;                 /* numbers: byte order */
	bool is_fixed;               /* always takes the same number of bits, that is */
	uint64_t bits;               /* up to CTF_FIELD_BITS */
	struct ctf_field *reference; /* SEQUENCE: length; VARIANT: tag */
};

#define CTF_FIELD_BITS (1ull << 31)

/* Fields that are read one after the other: these of a packet, or these of an event. */
enum { CTF_ROOTS = 3 };
struct ctf_group {
	const char *names[CTF_ROOTS];       /* "stream.event.context", ... */
	struct ctf_field *roots[CTF_ROOTS]; /* NULL where there is none */
	unsigned slot_count;
};

struct ctf_layout {
	const struct ctf_metadata *meta;
	struct arena *arena;
	uint64_t budget; /* how many fields may be made yet */
};

/* Sets group->roots[i] to the fields of a struct; NULL, if that is. */
int ctf_layout_add(struct ctf_layout *layout, struct ctf_group *group, unsigned i,
		   const struct ctf_type *type, struct err *err);

static inline bool ctf_is_number(const struct ctf_type *type)
{
	return type->kind == CTF_INTEGER || type->kind == CTF_ENUM;
}

/* An array or sequence of characters. */
static inline bool ctf_is_text(const struct ctf_type *type)
{
	return (type->kind == CTF_ARRAY || type->kind == CTF_SEQUENCE) &&
	       type->element->kind == CTF_INTEGER && type->element->is_text &&
	       type->element->size == 8 && type->element->align % 8 == 0;
}

/* The bits from one element of an array to the next. */
static inline uint64_t ctf_stride(const struct ctf_field *element)
{
	return (element->bits + element->type->align - 1) & -(uint64_t)element->type->align;
}

#endif
