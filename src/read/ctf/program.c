/* SPDX-License-Identifier: Apache-2.0 */
#include "read/ctf/program_internal.h"

#include <string.h>

#include "read/raw/raw.h"

static uint64_t extend(uint64_t value, unsigned size, bool is_signed)
{
	unsigned unused = 64 - size;

	return is_signed ? (uint64_t)((int64_t)(value << unused) >> unused)
			 : value << unused >> unused;
}

/* Little-endian: bits are numbered from the low end of each byte. */
static uint64_t read_little(const uint8_t *data, uint64_t bit, unsigned size)
{
	uint64_t value = 0;

	for (unsigned got = 0; got < size;) {
		unsigned skip = (bit + got) % 8;
		uint64_t byte = data[(bit + got) / 8] >> skip;

		value |= byte << got;
		got += 8 - skip;
	}
	return value;
}

/* Big-endian: bits are numbered from the high end, most significant first. */
static uint64_t read_big(const uint8_t *data, uint64_t bit, unsigned size)
{
	uint64_t value = 0;

	for (unsigned got = 0; got < size;) {
		unsigned skip = (bit + got) % 8;
		unsigned take = 8 - skip < size - got ? 8 - skip : size - got;
		uint8_t byte = data[(bit + got) / 8];

		value = value << take | ((uint8_t)(byte << skip) >> (8 - take));
		got += take;
	}
	return value;
}

uint64_t ctf_read_number(const uint8_t *data, uint64_t bit, unsigned size, bool is_big,
			 bool is_signed)
{
	return extend(is_big ? read_big(data, bit, size) : read_little(data, bit, size), size,
		      is_signed);
}

static inline void put_text(char *to, const void *s, size_t len)
{
	struct raw_text text = { s, len };

	memcpy(to, &text, sizeof(text));
}

/* strnlen() of 16 bytes, the size of most thread names. */
static inline size_t length_of_16(const uint8_t *s)
{
	uint64_t words[2];

	memcpy(words, s, 16);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	for (unsigned i = 0; i < 2; i++) {
		uint64_t low = 0x0101010101010101, high = 0x8080808080808080;
		uint64_t zeros = (words[i] - low) & ~words[i] & high;

		if (zeros)
			return 8 * i + __builtin_ctzll(zeros) / 8;
	}
	return 16;
#else
	return strnlen((const char *)s, 16);
#endif
}

/* Updates a clock from its low bits; the clock does not go back. */
static inline void put_clock(char *to, uint64_t low, unsigned size)
{
	uint64_t clock;

	memcpy(&clock, to, sizeof(clock));
	if (size < 64) {
		uint64_t wrap = 1ull << size;

		low |= clock & -wrap;
		if (low < clock)
			low += wrap;
	}
	memcpy(to, &low, sizeof(low));
}

#define READ_AS(type) \
	({ \
		type loaded_; \
		memcpy(&loaded_, bytes, sizeof(loaded_)); \
		loaded_; \
	})

static void run_load_bits(const struct ctf_load *t, const uint8_t *data, uint64_t at, char *to)
{
	uint64_t n = 0;

	for (unsigned i = 0; t->kind == CTF_BIT_NUMBERS && i < t->length; i++) {
		n = ctf_read_number(data, at + (uint64_t)i * t->stride, t->size, t->is_big,
				    t->is_signed);
		raw_store_number(to + 8 * i, 8, n);
	}
	if (t->kind == CTF_BIT_NUMBERS)
		return;
	n = ctf_read_number(data, at, t->size, t->is_big, t->is_signed);
	if (t->kind == CTF_BIT_CLOCK)
		put_clock(to, n, t->size);
	else
		raw_store_number(to, t->target_size, n);
}

static inline void run_load(const struct ctf_load *t, const uint8_t *data, uint64_t at, char *to)
{
	const uint8_t *bytes = data + at / 8 + t->offset;

	switch (t->kind) {
	case CTF_COPY_4:
		memcpy(to, bytes, 4);
		break;
	case CTF_COPY_8:
		memcpy(to, bytes, 8);
		break;
	case CTF_CLOCK_32:
		put_clock(to, READ_AS(uint32_t), 32);
		break;
	case CTF_CLOCK_64:
		put_clock(to, READ_AS(uint64_t), 64);
		break;
	case CTF_TEXT_16:
		put_text(to, bytes, length_of_16(bytes));
		break;
	case CTF_TEXT:
		put_text(to, bytes, strnlen((const char *)bytes, t->length));
		break;
	case CTF_BYTES:
		memcpy(to, bytes, t->length);
		break;
	case CTF_NUMBER_8:
		raw_store_number(to, t->target_size,
				 t->is_signed ? (uint64_t)(int8_t)*bytes : *bytes);
		break;
	case CTF_NUMBER_16:
		raw_store_number(to, t->target_size,
				 t->is_signed ? (uint64_t)READ_AS(int16_t) : READ_AS(uint16_t));
		break;
	case CTF_NUMBER_32:
		raw_store_number(to, t->target_size,
				 t->is_signed ? (uint64_t)READ_AS(int32_t) : READ_AS(uint32_t));
		break;
	case CTF_NUMBER_64:
		raw_store_number(to, t->target_size, READ_AS(uint64_t));
		break;
	default:
		run_load_bits(t, data, at + t->offset, to);
		break;
	}
}

struct interpreter {
	const struct ctf_program *program;
	struct ctf_bits in;
	char *ret;
	uint64_t slots[CTF_SLOTS];
};

static inline bool run_run(struct interpreter *r, const struct ctf_op *op)
{
	if (op->bits > r->in.end - r->in.at)
		return false;
	for (uint32_t i = 0; i < op->count; i++) {
		const struct ctf_load *t = &r->program->loads[op->first + i];

		run_load(t, r->in.data, r->in.at,
			 (t->to_slot ? (char *)r->slots : r->ret) + t->target);
	}
	r->in.at += op->bits;
	return true;
}

static bool run_string(struct interpreter *r, const struct ctf_op *op)
{
	const uint8_t *s = r->in.data + r->in.at / 8;
	const uint8_t *end = memchr(s, '\0', (r->in.end - r->in.at) / 8);

	if (!end)
		return false;
	if (op->count)
		put_text(r->ret + r->program->loads[op->first].target, s, end - s);
	r->in.at += 8 * (end - s + 1);
	return true;
}

static bool run_items(struct interpreter *r, const struct ctf_op *op)
{
	uint64_t length = r->slots[op->slot], bits = 0;

	if (!ctf_length_fits(&r->in, length))
		return false;
	if (length && __builtin_mul_overflow(length - 1, op->bits, &bits))
		return false;
	bits += length ? op->next : 0;
	if (bits > r->in.end - r->in.at)
		return false;
	if (op->count) {
		const char *s = (const char *)r->in.data + r->in.at / 8;

		put_text(r->ret + r->program->loads[op->first].target, s, strnlen(s, length));
	}
	r->in.at += bits;
	return true;
}

static uint32_t option_at(struct interpreter *r, const struct ctf_op *op)
{
	uint64_t tag = r->slots[op->slot] ^ (op->is_signed ? CTF_SIGN_BIT : 0);
	const struct ctf_case *cases = r->program->cases + op->first;

	for (uint32_t i = 0; i < op->count; i++)
		if (tag >= cases[i].low && tag <= cases[i].high)
			return cases[i].next;
	return 0;
}

static bool run_from(struct interpreter *r, uint32_t at);

/* The recursion is limited by CTF_DEPTH. */
static bool run_loop(struct interpreter *r, const struct ctf_op *op, uint32_t body)
{
	uint64_t length = op->slot == CTF_NO_SLOT ? op->count : r->slots[op->slot];

	if (!ctf_length_fits(&r->in, length))
		return false;
	for (uint64_t i = 0, before; i < length; i++) {
		before = r->in.at;
		if (!run_from(r, body))
			return false;
		if (r->in.at == before && i)
			break; /* empty elements: repeating them has no effect */
	}
	return true;
}

static bool run_from(struct interpreter *r, uint32_t at)
{
	for (;;) {
		const struct ctf_op *op = &r->program->ops[at++];
		bool is_good = true;

		r->in.at = (r->in.at + op->align - 1) & -(uint64_t)op->align;
		if (r->in.at > r->in.end)
			return false;
		switch ((enum ctf_op_kind)op->kind) {
		case CTF_OP_END:
			return true;
		case CTF_OP_RUN:
			is_good = run_run(r, op);
			break;
		case CTF_OP_STRING:
			is_good = run_string(r, op);
			break;
		case CTF_OP_ITEMS:
			is_good = run_items(r, op);
			break;
		case CTF_OP_LOOP:
			is_good = run_loop(r, op, at);
			at = op->next;
			break;
		case CTF_OP_VARIANT:
			at = option_at(r, op);
			is_good = at != 0;
			break;
		case CTF_OP_JUMP:
			at = op->next;
			break;
		}
		if (!is_good)
			return false;
	}
}

bool ctf_program_run(const struct ctf_program *program, struct ctf_bits *in, void *ret)
{
	struct interpreter r;

	r.program = program;
	r.in = *in;
	r.ret = ret;
	if (!run_from(&r, 0))
		return false;
	*in = r.in;
	return true;
}

int ctf_option_of(const struct ctf_field *variant, uint64_t tag)
{
	const struct ctf_type *type = variant->reference->type;
	uint64_t bias = type->is_signed ? CTF_SIGN_BIT : 0;

	for (size_t o = 0; o < variant->child_count; o++)
		for (size_t i = 0; i < type->count; i++)
			if ((tag ^ bias) >= (type->labels[i].low ^ bias) &&
			    (tag ^ bias) <= (type->labels[i].high ^ bias) &&
			    strcmp(type->labels[i].word, variant->children[o].full_name) == 0)
				return o;
	return -1;
}
