/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_lexer - the words of TSDL, the language in which CTF traces are described.
 *
 * It looks like C's declarations, so its words are C's: names, numbers, strings,
 * punctuation; comments and blanks are nothing.  A metadata file is either that
 * text, or the same cut into packets with binary headers.
 */
#ifndef SONDE_READ_CTF_LEXER_H
#define SONDE_READ_CTF_LEXER_H

#include "base/arena.h"
#include "base/err.h"

/* What is of none of these is its character: { } [ ] ( ) < > ; : , . * + - */
enum ctf_token_kind {
	CTF_END,    /* of the text */
	CTF_NAME,   /* also the words of the language */
	CTF_NUMBER, /* without its sign */
	CTF_STRING_LITERAL,
	CTF_ASSIGN,   /* = */
	CTF_TYPE_IS,  /* := */
	CTF_ELLIPSIS, /* ... */
	CTF_ARROW,    /* -> */
	CTF_BAD,      /* of no kind; the text ends here */
};

struct ctf_token {
	int kind; /* enum ctf_token_kind, or a character */
	unsigned line;
	const char *s; /* NAME: not terminated; STRING_LITERAL: what it stands for, terminated */
	size_t len;
	uint64_t number;
};

struct ctf_lexer {
	const char *at, *end; /* borrowed */
	unsigned line;
	struct arena *arena; /* borrowed; for strings */
};

struct ctf_token ctf_lexer_next(struct ctf_lexer *lexer);

/* Whether a name is this word. */
bool ctf_token_is(const struct ctf_token *token, const char *word);

/* Whether a metadata file begins so. */
bool ctf_is_metadata(const void *data, size_t size);

/*
 * The text of a metadata file, out of its packets if it has them.  *ret_text is
 * memory of its own, or NULL if data is the text already.  -EPROTONOSUPPORT if it is
 * of CTF 2.
 */
int ctf_metadata_text(const char *name, const void *data, size_t size, char **ret_text,
		      size_t *ret_size, struct err *err);

#endif
