/* SPDX-License-Identifier: Apache-2.0 */
/* ctf_program_parts - of what a program is made; for ctf_compile.c and ctf_program.c alone. */
#ifndef SONDE_READ_CTF_PROGRAM_INTERNAL_H
#define SONDE_READ_CTF_PROGRAM_INTERNAL_H

#include "read/ctf/program.h"

enum ctf_op_kind {
	CTF_OP_END,
	CTF_OP_RUN,     /* bits, out of which takes[first .. first + count] are taken */
	CTF_OP_STRING,  /* up to a NUL; taken if count */
	CTF_OP_ITEMS,   /* slot times bits; taken if count */
	CTF_OP_LOOP,    /* what is behind, up to END; slot or count times; then on at next */
	CTF_OP_VARIANT, /* cases[first .. first + count], by slot */
	CTF_OP_JUMP,    /* to next */
};

struct ctf_op {
	uint8_t kind;
	uint8_t slot;   /* or CTF_NO_SLOT */
	bool is_signed; /* VARIANT: its tag */
	uint32_t align; /* bits, before all else */
	uint32_t first, count;
	uint32_t next; /* ITEMS: the bits of one */
	uint64_t bits; /* RUN: of all; ITEMS: from one to the next */
};

enum ctf_take_kind {
	CTF_COPY_4, /* offset is in bytes for these: as they stand, */
	CTF_COPY_8,
	CTF_TEXT_16, /* text in 16 bytes, */
	CTF_TEXT,    /* in `length` bytes, */
	CTF_BYTES,   /* `length` bytes, */
	CTF_NUMBER_8,
	CTF_NUMBER_16,
	CTF_NUMBER_32,
	CTF_NUMBER_64, /* whole bytes, host's order */
	CTF_CLOCK_32,  /* the low bits of a clock */
	CTF_CLOCK_64,
	CTF_BIT_NUMBER,  /* offset is in bits: any number */
	CTF_BIT_NUMBERS, /* `length` of them, `stride` bits apart */
	CTF_BIT_CLOCK,
};

struct ctf_take {
	uint8_t kind;
	uint8_t size;       /* bits of a number */
	uint8_t place_size; /* bytes */
	bool is_signed, is_big;
	bool to_slot; /* place is a slot's, not one of what is filled */
	uint16_t place;
	uint32_t offset; /* from the begin of the run */
	uint32_t length, stride;
};

struct ctf_case {
	uint64_t low, high; /* of the tag; signed ones are moved up by 2^63, so that they compare */
	uint32_t next;
};

#define CTF_SIGN_BIT (1ull << 63)

#endif
