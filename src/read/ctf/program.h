/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_program - decodes selected fields of an event.
 *
 * Sonde needs few fields of an event, but must find the end of each event.  So each
 * event type is compiled once into a short program: adjacent fields of constant
 * size become one run, which is skipped as a whole after its selected fields are
 * loaded; strings and sequences are skipped one by one; a variant jumps to the
 * option that its tag selects.  If alignment makes the distance between two fields
 * depend on preceding data, a new run begins.
 *
 * The end of the packet is checked once per run, so loads need no bounds check.
 */
#ifndef SONDE_READ_CTF_PROGRAM_H
#define SONDE_READ_CTF_PROGRAM_H

#include "read/ctf/layout.h"

/* How to convert a selected field; the first four match enum raw_type. */
enum ctf_select_type {
	CTF_SELECT_NUMBER,
	CTF_SELECT_TEXT,
	CTF_SELECT_ADDRESS,
	CTF_SELECT_NUMBERS,
	CTF_SELECT_CLOCK, /* the low bits of a timestamp; the high bits follow from the previous one
			   */
};

struct ctf_selection {
	const struct ctf_field *field; /* borrowed */
	uint16_t target;               /* offset in the struct that the program fills */
	uint8_t size;                  /* size of the target, in bytes */
	uint8_t type;                  /* enum ctf_select_type */
};

/* Selections whose type does not suit the field are ignored. */
typedef VEC(struct ctf_selection) ctf_selections;

struct ctf_program {
	const struct ctf_op *ops;
	const struct ctf_load *loads;
	const struct ctf_case *cases;
};

/* A read position, in bits from the start of a packet. */
struct ctf_bits {
	const uint8_t *data; /* start of the packet */
	uint64_t at, end;
};

int ctf_program_compile(struct ctf_layout *layout, const struct ctf_group *group,
			const ctf_selections *selections, struct ctf_program *ret, struct err *err);

/* Reads the fields of a group into ret; false if the packet ends too early. */
bool ctf_program_run(const struct ctf_program *program, struct ctf_bits *in, void *ret);

/* Reads a number of `size` bits, with sign extension if it is signed. */
uint64_t ctf_read_number(const uint8_t *data, uint64_t bit, unsigned size, bool is_big,
			 bool is_signed);

/*
 * Whether a sequence of this length can be valid: a length above the number of
 * remaining bits is rejected.
 */
static inline bool ctf_length_fits(const struct ctf_bits *in, uint64_t length)
{
	return length <= in->end - in->at;
}

/* The index of the option that a tag selects, or -1. */
int ctf_option_of(const struct ctf_field *variant, uint64_t tag);

#endif
