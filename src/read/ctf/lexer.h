/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_lexer - tokens of TSDL, the language of CTF metadata.
 *
 * TSDL resembles C declarations and has the same tokens: names, numbers, strings
 * and punctuation.  A metadata file is either plain TSDL text, or TSDL text in
 * packets with binary headers.
 */
#ifndef SONDE_READ_CTF_LEXER_H
#define SONDE_READ_CTF_LEXER_H

#include "base/arena.h"
#include "base/err.h"

/* A token of one character has that character as its kind: { } [ ] ( ) < > ; : , . * + - */
enum ctf_token_kind {
	CTF_END,    /* end of the text */
	CTF_NAME,   /* identifier or keyword */
	CTF_NUMBER, /* without its sign */
	CTF_STRING_LITERAL,
	CTF_ASSIGN,   /* = */
	CTF_TYPE_IS,  /* := */
	CTF_ELLIPSIS, /* ... */
	CTF_ARROW,    /* -> */
	CTF_BAD,      /* invalid; the lexer stops here */
};

struct ctf_token {
	int kind; /* enum ctf_token_kind, or a character */
	unsigned line;
	const char *s; /* NAME: not terminated; STRING_LITERAL: unescaped and terminated */
	size_t len;
	uint64_t number;
};

struct ctf_lexer {
	const char *at, *end; /* borrowed */
	unsigned line;
	struct arena *arena; /* borrowed; holds unescaped strings */
};

struct ctf_token ctf_lexer_next(struct ctf_lexer *lexer);

/* Whether the token is this name. */
bool ctf_token_is(const struct ctf_token *token, const char *word);

/* Whether data is the start of a metadata file. */
bool ctf_is_metadata(const void *data, size_t size);

/*
 * Extracts the text of a metadata file from its packets.  *ret_text is allocated, or
 * NULL if data is plain text.  Returns -EPROTONOSUPPORT if the metadata is CTF 2.
 */
int ctf_metadata_text(const char *name, const void *data, size_t size, char **ret_text,
		      size_t *ret_size, struct err *err);

#endif
