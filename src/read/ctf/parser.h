/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_parser - the recursive-descent parser of TSDL.
 *
 * parse_type.c and parse_scalar.c parse and declare types, metadata.c parses the
 * blocks (trace, stream, event, ...) that use them.  After the first error no token
 * matches any more, so all loops end and most callers need no error check.
 */
#ifndef SONDE_READ_CTF_PARSER_H
#define SONDE_READ_CTF_PARSER_H

#include "base/map.h"
#include "read/ctf/lexer.h"
#include "read/ctf/type.h"

enum {
	CTF_DEPTH = 32,  /* maximum nesting of types */
	CTF_WORDS = 256, /* maximum size of a path or a name of several words, in bytes */
};

/* A declared type; the name of a struct is "struct x". */
struct ctf_symbol {
	uint64_t hash;
	const char *name;
	const struct ctf_type *type;
	size_t hidden; /* number of the symbol with that name in an outer scope; 0 if none */
};

struct ctf_parser {
	const char *name; /* name of the file, for messages */
	struct ctf_lexer lexer;
	struct ctf_token token; /* lookahead */
	struct arena *arena;
	VEC(struct ctf_symbol) symbols; /* numbered from 1 */
	struct map latest;              /* hash of a name -> number of its symbol */
	unsigned depth;
	struct err *err;
	int code; /* negative errno after an error, otherwise 0 */
};

/* The value in `key = value`. */
struct ctf_value {
	bool is_number, is_negative;
	uint64_t number;  /* magnitude */
	const char *text; /* if not a number: a string, a name or a dotted path */
};

/* Set the error, with the line number, and stop the parser. */
__attribute__((format(printf, 3, 4))) void ctf_fail(struct ctf_parser *p, int code, const char *fmt,
						    ...);
void ctf_fail_expected(struct ctf_parser *p, const char *what);

void ctf_advance(struct ctf_parser *p);
bool ctf_accept(struct ctf_parser *p, int kind); /* consumes a token of this kind, if it is next */
bool ctf_accept_word(struct ctf_parser *p, const char *word);
void ctf_expect(struct ctf_parser *p, int kind, const char *what); /* consumes it or fails */
bool ctf_in_block(struct ctf_parser *p); /* whether a block continues: no }, end or error yet */

/* Parses a.b.c or a string; the result is in the arena. */
const char *ctf_parse_path(struct ctf_parser *p);
struct ctf_value ctf_parse_value(struct ctf_parser *p);

/* Types declared between these two calls are local to the scope. */
size_t ctf_scope_begin(struct ctf_parser *p);
void ctf_scope_end(struct ctf_parser *p, size_t begin);

/* Allocates a type in the arena. */
struct ctf_type *ctf_new_type(struct ctf_parser *p, enum ctf_kind kind);

void *ctf_copy_to_arena(struct ctf_parser *p, const void *items, size_t size);

uint32_t ctf_align_of(struct ctf_parser *p, const struct ctf_value *v);

/* Parse what follows the keyword `integer`, `floating_point` or `string`. */
const struct ctf_type *ctf_parse_integer(struct ctf_parser *p);
const struct ctf_type *ctf_parse_real(struct ctf_parser *p);
const struct ctf_type *ctf_parse_string(struct ctf_parser *p);

/* Parses a type; never NULL.  If leave_last, the last of several words is the declared name. */
const struct ctf_type *ctf_parse_type(struct ctf_parser *p, bool leave_last);

/* Parses a typealias, a typedef, or a named struct, variant or enum; false if none is next. */
bool ctf_parse_declaration(struct ctf_parser *p);

#endif
