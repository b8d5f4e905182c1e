/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_program - reads just those fields of an event that are wanted.
 *
 * Most of an event is of no interest to us, but where it ends is.  So the fields
 * of each type of event are translated, once, into a few operations: neighbours
 * of fixed size become one run, whose size is added at once and out of which the
 * wanted fields are taken; strings and sequences are passed over; a variant jumps
 * to its option.  Where alignment makes the distance between two fields depend on
 * what was before, a new run begins.
 *
 * The end of the packet is checked once a run, so what is in it can be taken
 * without looking.
 */
#ifndef SONDE_READ_CTF_PROGRAM_H
#define SONDE_READ_CTF_PROGRAM_H

#include "read/ctf/layout.h"

/* How a wanted field is put into its place; the first as enum raw_type. */
enum ctf_want_type {
	CTF_WANT_NUMBER,
	CTF_WANT_TEXT,
	CTF_WANT_ADDRESS,
	CTF_WANT_NUMBERS,
	CTF_WANT_CLOCK, /* the low bits of a clock, which has gone on since */
};

struct ctf_want {
	const struct ctf_field *field; /* borrowed */
	uint16_t place;                /* offset in what the program fills */
	uint8_t size;                  /* bytes there */
	uint8_t type;                  /* enum ctf_want_type */
};

/* Of these, what a field cannot be taken as is passed over. */
typedef VEC(struct ctf_want) ctf_wants;

struct ctf_program {
	const struct ctf_op *ops;
	const struct ctf_take *takes;
	const struct ctf_case *cases;
};

/* Where reading is, in bits from the begin of a packet. */
struct ctf_bits {
	const uint8_t *data; /* of the packet */
	uint64_t at, end;
};

int ctf_program_make(struct ctf_layout *layout, const struct ctf_group *group,
		     const ctf_wants *wants, struct ctf_program *ret, struct err *err);

/* Reads the group's fields and fills in what is wanted; false where the packet ends too early. */
bool ctf_program_run(const struct ctf_program *program, struct ctf_bits *in, void *ret);

/* A number that begins at a bit; sign and all, if it has one. */
uint64_t ctf_read_number(const uint8_t *data, uint64_t bit, unsigned size, bool is_big,
			 bool is_signed);

/*
 * How many elements a sequence with this length may have at a place: more than
 * there are bits left cannot be.
 */
static inline bool ctf_is_length(const struct ctf_bits *in, uint64_t length)
{
	return length <= in->end - in->at;
}

/* The option that a value of its tag stands for: its number, or -1. */
int ctf_option_of(const struct ctf_field *variant, uint64_t tag);

#endif
