/* SPDX-License-Identifier: Apache-2.0 */
/* ctf_program_internal - the operations of a program, for compile.c and program.c. */
#ifndef SONDE_READ_CTF_PROGRAM_INTERNAL_H
#define SONDE_READ_CTF_PROGRAM_INTERNAL_H

#include "read/ctf/program.h"

enum ctf_op_kind {
	CTF_OP_END,
	CTF_OP_RUN,    /* fields of constant size; executes loads[first .. first + count] */
	CTF_OP_STRING, /* up to a NUL; loaded if count is 1 */
	CTF_OP_ITEMS,  /* as many elements as the slot holds; loaded if count is 1 */
	CTF_OP_LOOP, /* repeats the operations up to END, slot or count times; continues at next */
	CTF_OP_VARIANT, /* jumps to the case of cases[first .. first + count] that the slot selects
			 */
	CTF_OP_JUMP,    /* continues at next */
};

struct ctf_op {
	uint8_t kind;
	uint8_t slot;   /* or CTF_NO_SLOT */
	bool is_signed; /* VARIANT: signedness of the tag */
	uint32_t align; /* alignment before the operation, in bits */
	uint32_t first, count;
	uint32_t next; /* ITEMS: size of an element, in bits */
	uint64_t bits; /* RUN: total size; ITEMS: distance between elements; in bits */
};

enum ctf_load_kind {
	CTF_COPY_4, /* up to CTF_CLOCK_64, offset is in bytes */
	CTF_COPY_8,
	CTF_TEXT_16, /* text in 16 bytes */
	CTF_TEXT,    /* text in `length` bytes */
	CTF_BYTES,   /* `length` bytes, copied */
	CTF_NUMBER_8,
	CTF_NUMBER_16,
	CTF_NUMBER_32,
	CTF_NUMBER_64, /* whole bytes in host byte order */
	CTF_CLOCK_32,  /* the low bits of a timestamp */
	CTF_CLOCK_64,
	CTF_BIT_NUMBER,  /* from here on, offset is in bits */
	CTF_BIT_NUMBERS, /* `length` numbers, `stride` bits apart */
	CTF_BIT_CLOCK,
};

struct ctf_load {
	uint8_t kind;
	uint8_t size;        /* size of a number, in bits */
	uint8_t target_size; /* size of the target, in bytes */
	bool is_signed, is_big;
	bool to_slot; /* target is an offset in the slots, not in the output struct */
	uint16_t target;
	uint32_t offset; /* from the start of the run */
	uint32_t length, stride;
};

struct ctf_case {
	uint64_t low, high; /* tags; the sign bit of signed tags is flipped so that they compare as
			       unsigned */
	uint32_t next;
};

#define CTF_SIGN_BIT (1ull << 63)

#endif
