/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A word is an argument.  A word with blanks can be a script (sh -c), a header or JSON, and is
 * split into tokens.  A token is an option, KEY=VALUE, an address, or a list of these.  Each level
 * copies the parts that it recognises as harmless, and passes the rest on to the next level.
 */
#include "record/arguments.h"

#include <ctype.h>
#include <string.h>

#define MASK "***"

/* Programs with a short option for a password, by the prefix of their names. */
static const struct tool {
	const char *name;
	char option;
	bool separate; /* without an attached value, the next word is the value */
	enum secret kind;
} tools[] = {
	{ "mysql", 'p', false, SECRET_YES }, { "mariadb", 'p', false, SECRET_YES },
	{ "7z", 'p', false, SECRET_YES },    { "sshpass", 'p', true, SECRET_YES },
	{ "mongo", 'p', true, SECRET_YES },  { "redis-cli", 'a', true, SECRET_YES },
	{ "ldap", 'w', true, SECRET_YES },   { "sqlcmd", 'P', true, SECRET_YES },
	{ "tsql", 'P', true, SECRET_YES },   { "zip", 'P', true, SECRET_YES },
	{ "unzip", 'P', true, SECRET_YES },  { "curl", 'u', true, SECRET_PAIR },
};

/* Prefixes of the tokens of well-known services. */
static const char *const token_prefixes[] = { "ghp_",     "gho_",  "ghs_",  "github_pat_",
					      "glpat-",   "xoxb-", "xoxp-", "sk-ant-",
					      "sk-proj-", "AKIA",  "ASIA",  "eyJ" };
enum { TOKEN_MIN = 16 }; /* characters; a shorter word is a name with the same prefix */

struct argument_scan {
	char *to;                /* next output position */
	const struct tool *tool; /* the last tool in the command line, or NULL */
	enum secret next;        /* of the next word or token, due to an option */
	bool rest;               /* the rest of the word is a secret */
};

static void put_word(struct argument_scan *s, struct view word);

static struct view from(struct view v, size_t at)
{
	return (struct view){ v.s + at, v.len - at };
}

static struct view up_to(struct view v, size_t len)
{
	return (struct view){ v.s, len };
}

static size_t find(struct view v, const char *any)
{
	size_t i = 0;

	while (i < v.len && !strchr(any, v.s[i]))
		i++;
	return i;
}

static bool begins(struct view v, const char *with)
{
	return v.len >= strlen(with) && memcmp(v.s, with, strlen(with)) == 0;
}

static void put(struct argument_scan *s, struct view v)
{
	s->to = mempcpy(s->to, v.s, v.len);
}

static void put_mask(struct argument_scan *s)
{
	s->to = mempcpy(s->to, MASK, strlen(MASK));
}

static bool is_number(struct view v, size_t digits)
{
	for (size_t i = 0; i < v.len; i++)
		if (!isdigit((unsigned char)v.s[i]))
			return false;
	return v.len > 0 && v.len <= digits;
}

/* Base64 can start like a path, but then mostly contains + or =. */
static bool is_path(struct view v)
{
	return (begins(v, "/") || begins(v, "./") || begins(v, "../") || begins(v, "~/")) &&
	       find(v, "+=") == v.len;
}

static bool is_switch(struct view v)
{
	return view_is(v, "true") || view_is(v, "false");
}

static bool is_token(struct view v)
{
	for (size_t i = 0; i < ARRAY_LEN(token_prefixes); i++)
		if (begins(v, token_prefixes[i]) && v.len >= TOKEN_MIN)
			return true;
	return false;
}

/* user:password */
static void put_pair(struct argument_scan *s, struct view pair)
{
	size_t colon = find(pair, ":");
	struct view password = colon < pair.len ? from(pair, colon + 1) : (struct view){ "", 0 };

	if (password.len == 0 || is_number(password, SIZE_MAX)) {
		put(s, pair);
		return;
	}
	put(s, up_to(pair, colon + 1));
	put_mask(s);
}

/* The position of the @ after user and password in an address; its length if there is none. */
static size_t find_at(struct view address)
{
	size_t slash = find(address, "/?#"), colon = find(address, ":"), at = address.len;

	for (size_t i = 0; i < slash; i++)
		if (address.s[i] == '@')
			at = i;
	/* host:port/path, or a password with a slash in it */
	if (at == address.len && colon < slash &&
	    !is_number(from(up_to(address, slash), colon + 1), 5))
		for (size_t i = slash; i < find(address, "?#"); i++)
			if (address.s[i] == '@')
				at = i;
	return at;
}

/* user:password@host with or without a scheme, but not the digest of a container image. */
static void put_address(struct argument_scan *s, struct view v)
{
	const char *scheme = memmem(v.s, v.len, "://", 3);
	size_t begin = scheme ? (size_t)(scheme + 3 - v.s) : 0;
	struct view address = from(v, begin);
	size_t at = find_at(address), colon = find(address, ":");
	bool is_digest = begins(from(address, at), "@sha256:");

	if (is_token(v)) {
		put_mask(s);
	} else if (at == address.len || is_digest || (!scheme && find(address, "/") < at)) {
		put(s, v);
	} else if (colon < at) {
		put(s, up_to(v, begin));
		put_pair(s, up_to(address, at));
		put(s, from(address, at));
	} else {
		put(s, up_to(v, begin));
		if (scheme && at >= 20) /* a token instead of a user name */
			put_mask(s);
		else
			put(s, up_to(address, at));
		put(s, from(address, at));
	}
}

/* The length of a leading quoted string, with its quotes; 0 if there is none. */
static size_t quoted(struct view v)
{
	if (v.len < 2 || !strchr("\"'`", v.s[0]))
		return 0;

	const char *end = memchr(v.s + 1, v.s[0], v.len - 1);

	return end ? (size_t)(end - v.s) + 1 : 0;
}

static void put_value(struct argument_scan *s, struct view value, enum secret kind)
{
	size_t q = quoted(value);

	if (q) {
		put(s, up_to(value, 1));
		put_value(s, from(up_to(value, q - 1), 1), kind);
		put(s, from(value, q - 1));
	} else if (kind == SECRET_PAIR) {
		put_pair(s, value);
	} else if (value.len == 0 || is_switch(value) ||
		   (kind == SECRET_WEAK && (is_path(value) || is_number(value, 2)))) {
		put(s, value);
	} else if (kind == SECRET_NO) {
		put_address(s, value);
	} else {
		put_mask(s);
	}
}

/* Remove the dashes, quotes and brackets around a key. */
static struct view trim(struct view key)
{
	while (key.len && strchr("-\"'`{[(", key.s[0]))
		key = from(key, 1);
	while (key.len && strchr("\"'`", key.s[key.len - 1]))
		key.len--;
	return key;
}

/* KEY=VALUE, KEY:VALUE, or an address. */
static void put_piece(struct argument_scan *s, struct view piece)
{
	size_t at = find(piece, "=");

	if (at == piece.len)
		at = find(piece, ":");
	if (at == piece.len) {
		put_address(s, piece);
		return;
	}

	struct view value = from(piece, at + 1);
	enum secret kind = arguments_classify_key(trim(up_to(piece, at)));

	if (piece.s[at] == ':' && (kind < SECRET_WEAK || is_number(value, 5))) {
		put_address(s, piece);
		return;
	}
	put(s, up_to(piece, at + 1));
	put_value(s, value, kind);
}

/* What separates the parameters of a URL, the parts of a connection string, or list items. */
static const char *separators(struct view token)
{
	if (memmem(token.s, token.len, "://", 3) || find(token, "&") < token.len)
		return "?&";
	return find(token, ";") < token.len ? ";" : ",";
}

/* KEY=SECRET: separators and blanks that follow can be part of the secret. */
static bool is_secret(struct view v)
{
	size_t equal = find(v, "=");
	struct view key = trim(up_to(v, equal));
	enum secret kind = equal < v.len ? arguments_classify_key(key) : SECRET_NO;

	return (kind >= SECRET_WEAK || (kind == SECRET_PAIR && v.s[0] == '-')) &&
	       find(key, "?&;,:") == key.len;
}

static void put_pieces(struct argument_scan *s, struct view token)
{
	const char *between = separators(token);

	if (is_secret(token)) {
		put_piece(s, token);
		return;
	}
	for (;;) {
		size_t end = find(token, between);

		put_piece(s, up_to(token, end));
		if (end == token.len)
			return;
		put(s, from(up_to(token, end + 1), end));
		token = from(token, end + 1);
	}
}

/* -pSECRET of an unknown program; but not -p8080, -pthread, -p80:80/tcp. */
static bool is_short_password(struct view token)
{
	bool has_digit = false;

	if (token.len < 4 || !begins(token, "-p") || !isalpha((unsigned char)token.s[2]))
		return false;
	for (size_t i = 2; i < token.len; i++)
		has_digit |= isdigit((unsigned char)token.s[i]) != 0;
	return has_digit && find(token, "/:=.,") == token.len;
}

static bool put_short_option(struct argument_scan *s, struct view token)
{
	const struct tool *tool = s->tool;
	bool is_tools = tool && token.len >= 2 && token.s[0] == '-' && token.s[1] == tool->option;

	if (!is_tools && !is_short_password(token))
		return false;
	put(s, up_to(token, 2));
	if (token.len > 2)
		put_value(s, from(token, 2), is_tools ? tool->kind : SECRET_YES);
	else if (tool->separate)
		s->next = tool->kind;
	return true;
}

static void note_tool(struct argument_scan *s, struct view token)
{
	for (size_t i = token.len; i-- > 0;)
		if (token.s[i] == '/') {
			token = from(token, i + 1);
			break;
		}
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (begins(token, tools[i].name))
			s->tool = &tools[i];
}

/* "Authorization:" makes the rest of its word a secret, a JSON key only its value. */
static void note_key(struct argument_scan *s, struct view token)
{
	struct view key = trim(up_to(token, token.len - 1));
	enum secret kind = arguments_classify_key(key);

	if (kind < SECRET_WEAK)
		return;
	if (token.len > 2 && strchr("\"'`", token.s[token.len - 2]))
		s->next = kind;
	else
		s->rest = true;
}

static void put_token(struct argument_scan *s, struct view token)
{
	enum secret kind = s->next;
	bool is_option = token.s[0] == '-';

	s->next = SECRET_NO;
	if (kind != SECRET_NO && !is_option) {
		put_value(s, token, kind);
	} else if (quoted(token) == token.len) {
		put(s, up_to(token, 1));
		put_word(s, from(up_to(token, token.len - 1), 1));
		put(s, from(token, token.len - 1));
	} else if (!put_short_option(s, token)) {
		put_pieces(s, token);
		if (is_option && find(token, "=") == token.len)
			s->next = arguments_classify_key(trim(token));
		else if (view_is(token, "Bearer"))
			s->next = SECRET_YES;
		else if (token.s[token.len - 1] == ':')
			note_key(s, token);
		if (!is_option)
			note_tool(s, token);
	}
}

/* The length up to the first blank outside of quotes. */
static size_t token_length(struct view v)
{
	size_t i = 0;

	while (i < v.len && !isspace((unsigned char)v.s[i])) {
		bool may_open = i == 0 || strchr("=:", v.s[i - 1]);
		size_t q = may_open ? quoted(from(v, i)) : 0;

		i += q ? q : 1;
	}
	return i;
}

static void put_word(struct argument_scan *s, struct view word)
{
	size_t tokens = 0;

	if (s->next != SECRET_NO && word.len && word.s[0] != '-') {
		put_value(s, word, s->next);
		s->next = SECRET_NO;
		return;
	}
	if (is_secret(word)) {
		put_piece(s, word);
		return;
	}
	while (word.len > 0) {
		size_t len = isspace((unsigned char)word.s[0]) ? 0 : token_length(word);

		if (len == 0) {
			put(s, up_to(word, 1));
			word = from(word, 1);
			continue;
		}
		tokens++;
		if (s->rest) {
			put_mask(s);
			break;
		}
		put_token(s, up_to(word, len));
		word = from(word, len);
	}
	s->rest = false;
	if (tokens > 1) /* an option at the end of a script does not apply to the next argument */
		s->next = SECRET_NO;
}

char *arguments_mask(const char *words, size_t len)
{
	/* in the worst case each character becomes a mask */
	_cleanup_(freep) char *text = must_alloc(strlen(MASK) * len + 1);
	struct argument_scan s = { .to = text };

	while (len > 0 && words[len - 1] == '\0')
		len--;
	for (struct view left = { words, len }; left.len > 0;) {
		size_t n = strnlen(left.s, left.len);

		put_word(&s, up_to(left, n));
		left = from(left, n < left.len ? n + 1 : n);
		if (left.len > 0)
			*s.to++ = ' ';
	}
	*s.to = '\0';
	return TAKE(text);
}

char *arguments_program(const char *words, size_t len)
{
	size_t n = 0;

	while (n < len && words[n] && !isspace((unsigned char)words[n]))
		n++;
	return must_printf("%.*s", (int)n, words);
}
