/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_compile - translates the fields of a packet or an event into a program.
 *
 * The tree of fields is visited once, in the order of the data.  Fields of constant
 * size are added to the open run; any other field closes the run and becomes an
 * operation.  A selected field, or one with a slot, adds a load.
 */
#include <errno.h>
#include <string.h>

#include "read/ctf/program_internal.h"
#include "read/raw/raw.h"

struct compiler {
	struct ctf_layout *layout;
	const ctf_selections *selections;
	VEC(struct ctf_op) ops;
	VEC(struct ctf_load) loads;
	VEC(struct ctf_case) cases;
	size_t run; /* index + 1 of the open run; 0 if none */
	bool is_over_budget;
};

static struct ctf_op *add_op(struct compiler *c, enum ctf_op_kind kind)
{
	struct ctf_op *op = vec_push(&c->ops);

	*op = (struct ctf_op){ .kind = kind, .slot = CTF_NO_SLOT, .align = 1 };
	c->run = kind == CTF_OP_RUN ? c->ops.count : 0;
	return op;
}

/*
 * The run to which a field of this alignment is added.  The distance from the start
 * of the run is constant only if the start has at least the same alignment.
 */
static struct ctf_op *open_run(struct compiler *c, uint32_t align)
{
	struct ctf_op *run = c->run ? &c->ops.items[c->run - 1] : NULL;

	if (run && run->bits == 0 && run->align < align)
		run->align = align;
	if (!run || run->align < align || run->bits > CTF_FIELD_BITS) {
		run = add_op(c, CTF_OP_RUN);
		run->align = align;
		run->first = c->loads.count;
	}
	run->bits = (run->bits + align - 1) & -(uint64_t)align;
	return run;
}

static void add_load(struct compiler *c, struct ctf_op *run, struct ctf_load load)
{
	*vec_push(&c->loads) = load;
	run->count++;
}

static bool is_host_order(const struct ctf_field *f)
{
	return f->type->size == 8 || f->is_big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* Loads a number at the current end of a run. */
static struct ctf_load number_load(const struct ctf_op *run, const struct ctf_field *f,
				   unsigned target_size)
{
	struct ctf_load load = { .kind = CTF_BIT_NUMBER,
				 .size = f->type->size,
				 .target_size = target_size,
				 .is_signed = f->type->is_signed,
				 .is_big = f->is_big,
				 .offset = run->bits };
	bool is_bytes = run->align >= 8 && run->bits % 8 == 0 && is_host_order(f);

	if (!is_bytes || (load.size & (load.size - 1)) || load.size < 8)
		return load;
	load.offset /= 8;
	if (load.size == 8 * target_size && target_size >= 4)
		load.kind = target_size == 4 ? CTF_COPY_4 : CTF_COPY_8;
	else
		load.kind = load.size == 8    ? CTF_NUMBER_8
			    : load.size == 16 ? CTF_NUMBER_16
			    : load.size == 32 ? CTF_NUMBER_32
					      : CTF_NUMBER_64;
	return load;
}

static void load_number(struct compiler *c, struct ctf_op *run, const struct ctf_field *f,
			const struct ctf_selection *selection)
{
	struct ctf_load load = number_load(run, f, selection->size);

	if (selection->type == CTF_SELECT_CLOCK && !f->type->is_signed) {
		load.kind = load.kind == CTF_NUMBER_32 ? CTF_CLOCK_32
			    : load.kind == CTF_COPY_8  ? CTF_CLOCK_64
						       : CTF_BIT_CLOCK;
		if (load.kind == CTF_BIT_CLOCK)
			load.offset = run->bits;
	} else if (selection->type != CTF_SELECT_NUMBER) {
		return;
	}
	load.target = selection->target;
	add_load(c, run, load);
}

/* Whether an array is an IP address: 4 or 16 bytes in network byte order. */
static bool is_address(const struct ctf_field *f)
{
	const struct ctf_field *element = &f->children[0];

	return f->type->kind == CTF_ARRAY && ctf_is_number(element->type) &&
	       (element->type->size == 8 || element->is_big) &&
	       ctf_stride(element) == element->type->size && (f->bits == 32 || f->bits == 128);
}

static void load_array(struct compiler *c, struct ctf_op *run, const struct ctf_field *f,
		       const struct ctf_selection *selection)
{
	const struct ctf_field *element = &f->children[0];
	struct ctf_load load = { .target = selection->target, .length = f->type->length };
	bool is_bytes = run->align >= 8 && run->bits % 8 == 0;

	if (selection->type == CTF_SELECT_TEXT && ctf_is_text(f->type) && is_bytes) {
		load.kind = load.length == 16 ? CTF_TEXT_16 : CTF_TEXT;
		load.offset = run->bits / 8;
	} else if (selection->type == CTF_SELECT_ADDRESS && is_address(f) && is_bytes &&
		   f->bits / 8 <= selection->size) {
		load.kind = CTF_BYTES;
		load.offset = run->bits / 8;
		load.length = f->bits / 8;
	} else if (selection->type == CTF_SELECT_NUMBERS && ctf_is_number(element->type)) {
		load = number_load(run, element, 8);
		load.kind = CTF_BIT_NUMBERS;
		load.offset = run->bits;
		load.target = selection->target;
		load.stride = ctf_stride(element);
		load.length = f->type->length < selection->size / 8u ? f->type->length
								     : selection->size / 8u;
	} else {
		return;
	}
	add_load(c, run, load);
}

/* Adds a number or an array of constant size to the open run. */
static void compile_fixed(struct compiler *c, const struct ctf_field *f)
{
	struct ctf_op *run = open_run(c, f->type->align);

	if (f->slot != CTF_NO_SLOT) {
		struct ctf_load load = number_load(run, f, 8);

		load.to_slot = true;
		load.target = f->slot * sizeof(uint64_t);
		add_load(c, run, load);
	}
	for (size_t i = 0; i < c->selections->count; i++) {
		const struct ctf_selection *selection = &c->selections->items[i];

		if (selection->field != f)
			continue;
		if (ctf_is_number(f->type))
			load_number(c, run, f, selection);
		else if (f->type->kind == CTF_ARRAY)
			load_array(c, run, f, selection);
	}
	run->bits += f->bits;
}

/* The selection of a field as text, or NULL. */
static const struct ctf_selection *text_selection(struct compiler *c, const struct ctf_field *f)
{
	for (size_t i = 0; i < c->selections->count; i++)
		if (c->selections->items[i].field == f &&
		    c->selections->items[i].type == CTF_SELECT_TEXT)
			return &c->selections->items[i];
	return NULL;
}

static void compile_text(struct compiler *c, const struct ctf_field *f, enum ctf_op_kind kind)
{
	const struct ctf_selection *selection = text_selection(c, f);
	struct ctf_op *op = add_op(c, kind);

	op->align = f->type->align;
	op->first = c->loads.count;
	op->count = selection ? 1 : 0;
	if (selection)
		*vec_push(&c->loads) =
			(struct ctf_load){ .kind = CTF_TEXT, .target = selection->target };
	if (kind == CTF_OP_ITEMS) {
		op->slot = f->reference->slot;
		op->bits = ctf_stride(&f->children[0]);
		op->next = f->children[0].bits;
		if (!ctf_is_text(f->type))
			op->count = 0;
	}
}

static void compile(struct compiler *c, const struct ctf_field *f);

static void compile_loop(struct compiler *c, const struct ctf_field *f)
{
	size_t loop = c->ops.count;
	struct ctf_op *op = add_op(c, CTF_OP_LOOP);

	op->align = f->type->align;
	op->count = f->type->length;
	if (f->type->kind == CTF_SEQUENCE)
		op->slot = f->reference->slot;
	compile(c, &f->children[0]);
	add_op(c, CTF_OP_END);
	c->ops.items[loop].next = c->ops.count;
}

/* Adds the tag values that select an option. */
static void add_cases(struct compiler *c, const struct ctf_field *f, size_t option, uint32_t next)
{
	const struct ctf_type *tag = f->reference->type;
	uint64_t bias = tag->is_signed ? CTF_SIGN_BIT : 0;

	for (size_t i = 0; i < tag->count; i++)
		if (strcmp(tag->labels[i].word, f->children[option].full_name) == 0)
			*vec_push(&c->cases) =
				(struct ctf_case){ tag->labels[i].low ^ bias,
						   tag->labels[i].high ^ bias, next };
}

static void compile_variant(struct compiler *c, const struct ctf_field *f)
{
	uint64_t lookups = (uint64_t)f->child_count * f->reference->type->count / 8;
	size_t variant = c->ops.count;
	struct ctf_op *op = add_op(c, CTF_OP_VARIANT);
	VEC(uint32_t) targets = { 0 };
	VEC(size_t) jumps = { 0 };

	if (lookups >= c->layout->budget) {
		c->is_over_budget = true;
		return;
	}
	c->layout->budget -= lookups;
	op->slot = f->reference->slot;
	op->is_signed = f->reference->type->is_signed;
	for (size_t i = 0; i < f->child_count; i++) {
		*vec_push(&targets) = c->ops.count;
		c->run = 0;
		compile(c, &f->children[i]);
		*vec_push(&jumps) = c->ops.count;
		add_op(c, CTF_OP_JUMP);
	}
	c->ops.items[variant].first = c->cases.count;
	for (size_t i = 0; i < f->child_count; i++) {
		add_cases(c, f, i, targets.items[i]);
		c->ops.items[jumps.items[i]].next = c->ops.count;
	}
	c->ops.items[variant].count = c->cases.count - c->ops.items[variant].first;
	vec_done(&targets);
	vec_done(&jumps);
}

static void compile(struct compiler *c, const struct ctf_field *f)
{
	switch (f->type->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
	case CTF_REAL:
		compile_fixed(c, f);
		break;
	case CTF_STRING:
		compile_text(c, f, CTF_OP_STRING);
		break;
	case CTF_STRUCT:
		open_run(c, f->type->align);
		for (size_t i = 0; i < f->child_count; i++)
			compile(c, &f->children[i]);
		break;
	case CTF_ARRAY:
		if (f->is_fixed)
			compile_fixed(c, f);
		else
			compile_loop(c, f);
		break;
	case CTF_SEQUENCE:
		if (f->children[0].is_fixed)
			compile_text(c, f, CTF_OP_ITEMS);
		else
			compile_loop(c, f);
		break;
	case CTF_VARIANT:
		compile_variant(c, f);
		break;
	}
}

static void *copy_to_arena(struct compiler *c, const void *items, size_t size)
{
	void *copy = arena_alloc(c->layout->arena, size + 1);

	if (size)
		memcpy(copy, items, size);
	return copy;
}

int ctf_program_compile(struct ctf_layout *layout, const struct ctf_group *group,
			const ctf_selections *selections, struct ctf_program *ret, struct err *err)
{
	struct compiler c = { .layout = layout, .selections = selections };

	for (unsigned i = 0; i < CTF_ROOTS; i++)
		if (group->roots[i])
			compile(&c, group->roots[i]);
	add_op(&c, CTF_OP_END);
	ret->ops = copy_to_arena(&c, c.ops.items, c.ops.count * sizeof(c.ops.items[0]));
	ret->loads = copy_to_arena(&c, c.loads.items, c.loads.count * sizeof(c.loads.items[0]));
	ret->cases = copy_to_arena(&c, c.cases.items, c.cases.count * sizeof(c.cases.items[0]));
	vec_done(&c.ops);
	vec_done(&c.loads);
	vec_done(&c.cases);
	if (c.is_over_budget)
		return err_set(err, -EBADMSG, "the metadata describes too many variants");
	return 0;
}
