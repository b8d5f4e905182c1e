/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "read/ctf/program_internal.h"
#include "read/raw/raw.h"

struct compiling {
	struct ctf_layout *layout;
	const ctf_wants *wants;
	VEC(struct ctf_op) ops;
	VEC(struct ctf_take) takes;
	VEC(struct ctf_case) cases;
	size_t run; /* the run that is still open, by its number + 1; 0 if none is */
	bool is_too_much;
};

static struct ctf_op *add_op(struct compiling *c, enum ctf_op_kind kind)
{
	struct ctf_op *op = vec_push(&c->ops);

	*op = (struct ctf_op){ .kind = kind, .slot = CTF_NO_SLOT, .align = 1 };
	c->run = kind == CTF_OP_RUN ? c->ops.count : 0;
	return op;
}

/*
 * The run that goes on with something of this alignment.  How far that is from
 * the run's begin is known only if the begin is aligned as much.
 */
static struct ctf_op *open_run(struct compiling *c, uint32_t align)
{
	struct ctf_op *run = c->run ? &c->ops.items[c->run - 1] : NULL;

	if (run && run->bits == 0 && run->align < align)
		run->align = align;
	if (!run || run->align < align || run->bits > CTF_FIELD_BITS) {
		run = add_op(c, CTF_OP_RUN);
		run->align = align;
		run->first = c->takes.count;
	}
	run->bits = (run->bits + align - 1) & -(uint64_t)align;
	return run;
}

static void add_take(struct compiling *c, struct ctf_op *run, struct ctf_take take)
{
	*vec_push(&c->takes) = take;
	run->count++;
}

static bool is_host_order(const struct ctf_field *f)
{
	return f->type->size == 8 || f->is_big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* How to take a number that begins at offset bits of a run. */
static struct ctf_take number_take(const struct ctf_op *run, const struct ctf_field *f,
				   unsigned place_size)
{
	struct ctf_take take = { .kind = CTF_BIT_NUMBER,
				 .size = f->type->size,
				 .place_size = place_size,
				 .is_signed = f->type->is_signed,
				 .is_big = f->is_big,
				 .offset = run->bits };
	bool is_bytes = run->align >= 8 && run->bits % 8 == 0 && is_host_order(f);

	if (!is_bytes || (take.size & (take.size - 1)) || take.size < 8)
		return take;
	take.offset /= 8;
	if (take.size == 8 * place_size && place_size >= 4)
		take.kind = place_size == 4 ? CTF_COPY_4 : CTF_COPY_8;
	else
		take.kind = take.size == 8    ? CTF_NUMBER_8
			    : take.size == 16 ? CTF_NUMBER_16
			    : take.size == 32 ? CTF_NUMBER_32
					      : CTF_NUMBER_64;
	return take;
}

static void take_number(struct compiling *c, struct ctf_op *run, const struct ctf_field *f,
			const struct ctf_want *want)
{
	struct ctf_take take = number_take(run, f, want->size);

	if (want->type == CTF_WANT_CLOCK && !f->type->is_signed) {
		take.kind = take.kind == CTF_NUMBER_32 ? CTF_CLOCK_32
			    : take.kind == CTF_COPY_8  ? CTF_CLOCK_64
						       : CTF_BIT_CLOCK;
		if (take.kind == CTF_BIT_CLOCK)
			take.offset = run->bits;
	} else if (want->type != CTF_WANT_NUMBER) {
		return;
	}
	take.place = want->place;
	add_take(c, run, take);
}

/* Whether the bytes of an array are in the order of the network: 4 or 16 of them are an address. */
static bool is_address(const struct ctf_field *f)
{
	const struct ctf_field *element = &f->children[0];

	return f->type->kind == CTF_ARRAY && ctf_is_number(element->type) &&
	       (element->type->size == 8 || element->is_big) &&
	       ctf_stride(element) == element->type->size && (f->bits == 32 || f->bits == 128);
}

static void take_array(struct compiling *c, struct ctf_op *run, const struct ctf_field *f,
		       const struct ctf_want *want)
{
	const struct ctf_field *element = &f->children[0];
	struct ctf_take take = { .place = want->place, .length = f->type->length };
	bool is_bytes = run->align >= 8 && run->bits % 8 == 0;

	if (want->type == CTF_WANT_TEXT && ctf_is_text(f->type) && is_bytes) {
		take.kind = take.length == 16 ? CTF_TEXT_16 : CTF_TEXT;
		take.offset = run->bits / 8;
	} else if (want->type == CTF_WANT_ADDRESS && is_address(f) && is_bytes &&
		   f->bits / 8 <= want->size) {
		take.kind = CTF_BYTES;
		take.offset = run->bits / 8;
		take.length = f->bits / 8;
	} else if (want->type == CTF_WANT_NUMBERS && ctf_is_number(element->type)) {
		take = number_take(run, element, 8);
		take.kind = CTF_BIT_NUMBERS;
		take.offset = run->bits;
		take.place = want->place;
		take.stride = ctf_stride(element);
		take.length = f->type->length < want->size / 8u ? f->type->length : want->size / 8u;
	} else {
		return;
	}
	add_take(c, run, take);
}

/* Something of fixed size that is taken as a whole. */
static void compile_fixed(struct compiling *c, const struct ctf_field *f)
{
	struct ctf_op *run = open_run(c, f->type->align);

	if (f->slot != CTF_NO_SLOT) {
		struct ctf_take take = number_take(run, f, 8);

		take.to_slot = true;
		take.place = f->slot * sizeof(uint64_t);
		add_take(c, run, take);
	}
	for (size_t i = 0; i < c->wants->count; i++) {
		const struct ctf_want *want = &c->wants->items[i];

		if (want->field != f)
			continue;
		if (ctf_is_number(f->type))
			take_number(c, run, f, want);
		else if (f->type->kind == CTF_ARRAY)
			take_array(c, run, f, want);
	}
	run->bits += f->bits;
}

/* The want of a field as text. */
static const struct ctf_want *text_want(struct compiling *c, const struct ctf_field *f)
{
	for (size_t i = 0; i < c->wants->count; i++)
		if (c->wants->items[i].field == f && c->wants->items[i].type == CTF_WANT_TEXT)
			return &c->wants->items[i];
	return NULL;
}

static void compile_text(struct compiling *c, const struct ctf_field *f, enum ctf_op_kind kind)
{
	const struct ctf_want *want = text_want(c, f);
	struct ctf_op *op = add_op(c, kind);

	op->align = f->type->align;
	op->first = c->takes.count;
	op->count = want ? 1 : 0;
	if (want)
		*vec_push(&c->takes) = (struct ctf_take){ .kind = CTF_TEXT, .place = want->place };
	if (kind == CTF_OP_ITEMS) {
		op->slot = f->reference->slot;
		op->bits = ctf_stride(&f->children[0]);
		op->next = f->children[0].bits;
		if (!ctf_is_text(f->type))
			op->count = 0;
	}
}

static void compile(struct compiling *c, const struct ctf_field *f);

static void compile_loop(struct compiling *c, const struct ctf_field *f)
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

/* The values of the tag that stand for an option. */
static void add_cases(struct compiling *c, const struct ctf_field *f, size_t option, uint32_t next)
{
	const struct ctf_type *tag = f->reference->type;
	uint64_t bias = tag->is_signed ? CTF_SIGN_BIT : 0;

	for (size_t i = 0; i < tag->count; i++)
		if (strcmp(tag->labels[i].word, f->children[option].full_name) == 0)
			*vec_push(&c->cases) =
				(struct ctf_case){ tag->labels[i].low ^ bias,
						   tag->labels[i].high ^ bias, next };
}

static void compile_variant(struct compiling *c, const struct ctf_field *f)
{
	uint64_t looks = (uint64_t)f->child_count * f->reference->type->count / 8;
	size_t variant = c->ops.count;
	struct ctf_op *op = add_op(c, CTF_OP_VARIANT);
	VEC(uint32_t) targets = { 0 };
	VEC(size_t) jumps = { 0 };

	if (looks >= c->layout->budget) {
		c->is_too_much = true;
		return;
	}
	c->layout->budget -= looks;
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

static void compile(struct compiling *c, const struct ctf_field *f)
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

static void *keep(struct compiling *c, const void *items, size_t size)
{
	void *copy = arena_alloc(c->layout->arena, size + 1);

	if (size)
		memcpy(copy, items, size);
	return copy;
}

int ctf_program_make(struct ctf_layout *layout, const struct ctf_group *group,
		     const ctf_wants *wants, struct ctf_program *ret, struct err *err)
{
	struct compiling c = { .layout = layout, .wants = wants };

	for (unsigned i = 0; i < CTF_ROOTS; i++)
		if (group->roots[i])
			compile(&c, group->roots[i]);
	add_op(&c, CTF_OP_END);
	ret->ops = keep(&c, c.ops.items, c.ops.count * sizeof(c.ops.items[0]));
	ret->takes = keep(&c, c.takes.items, c.takes.count * sizeof(c.takes.items[0]));
	ret->cases = keep(&c, c.cases.items, c.cases.count * sizeof(c.cases.items[0]));
	vec_done(&c.ops);
	vec_done(&c.takes);
	vec_done(&c.cases);
	if (c.is_too_much)
		return err_set(err, -EBADMSG, "its metadata describes too many variants");
	return 0;
}
