/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_parser - what the parts of the parser of TSDL share.
 *
 * A parser by recursive descent: ctf_parse_type.c takes types (with
 * ctf_parse_scalar.c) and declares their names, ctf_metadata.c the blocks (trace, stream, event,
 * ...) that use them. The first failure sticks: from there on no token matches any more and all
 * loops end, so that only few places have to look.
 */
#ifndef SONDE_READ_CTF_PARSER_H
#define SONDE_READ_CTF_PARSER_H

#include "base/map.h"
#include "read/ctf/lexer.h"
#include "read/ctf/type.h"

enum {
	CTF_DEPTH = 32,  /* how deep types may be nested */
	CTF_WORDS = 256, /* bytes of a name of several words, or of a path */
};

/* A name that stands for a type; "struct x" is that of a struct. */
struct ctf_symbol {
	uint64_t hash;
	const char *name;
	const struct ctf_type *type;
	size_t hidden; /* the symbol of that name further out, by its number; 0 if none */
};

struct ctf_parser {
	const char *name; /* of the file, for messages */
	struct ctf_lexer lexer;
	struct ctf_token token; /* the next that is not taken yet */
	struct arena *arena;
	VEC(struct ctf_symbol) symbols; /* numbered from 1 */
	struct map latest;              /* hash of a name -> number of its symbol */
	unsigned depth;
	struct err *err;
	int code; /* 0 until something failed */
};

/* What stands behind `key =`. */
struct ctf_value {
	bool is_number, is_negative;
	uint64_t number;  /* its amount */
	const char *text; /* else: a string, a name, a path with dots */
};

/* These give up: the sentence is followed by the line. */
__attribute__((format(printf, 3, 4))) void ctf_fail(struct ctf_parser *p, int code, const char *fmt,
						    ...);
void ctf_fail_expected(struct ctf_parser *p, const char *what);

void ctf_advance(struct ctf_parser *p);
bool ctf_accept(struct ctf_parser *p, int kind); /* takes it if it is there */
bool ctf_accept_word(struct ctf_parser *p, const char *word);
void ctf_expect(struct ctf_parser *p, int kind, const char *what); /* or fails */
bool ctf_more(struct ctf_parser *p); /* whether a block goes on: neither } nor the end nor failed */

/* a.b.c, in the arena; also a string. */
const char *ctf_parse_path(struct ctf_parser *p);
struct ctf_value ctf_parse_value(struct ctf_parser *p);

/* Names that are declared from here on end with the scope. */
size_t ctf_scope_begin(struct ctf_parser *p);
void ctf_scope_end(struct ctf_parser *p, size_t begin);

/* One that is nothing yet, in the arena. */
struct ctf_type *ctf_new_type(struct ctf_parser *p, enum ctf_kind kind);

void *ctf_keep(struct ctf_parser *p, const void *items, size_t size); /* a copy there */

uint32_t ctf_align_of(struct ctf_parser *p, const struct ctf_value *v);

/* What stands behind the word for each. */
const struct ctf_type *ctf_parse_integer(struct ctf_parser *p);
const struct ctf_type *ctf_parse_real(struct ctf_parser *p);
const struct ctf_type *ctf_parse_string(struct ctf_parser *p);

/* A type; never NULL.  Of several words, the last may be left for who is declared by it. */
const struct ctf_type *ctf_parse_type(struct ctf_parser *p, bool leave_last);

/* typealias, typedef, or a struct, variant or enum with a name; false if there is none here. */
bool ctf_parse_declaration(struct ctf_parser *p);

#endif
