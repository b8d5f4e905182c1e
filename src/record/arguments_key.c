/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments_key - recognise the names of secrets.
 *
 * Names are split into words, at punctuation and between a lower-case and an upper-case letter, so
 * that --maxTokens, tokenizer and keyboard do not match token and key.  The last word takes
 * precedence: --password-file is a file.
 */
#include "record/arguments.h"

#include <ctype.h>
#include <string.h>

enum { KEY_MAX = 128 };

/* A name in lower case: with blanks around all words, and without any blanks. */
struct name {
	char words[2 * KEY_MAX + 4];
	char joined[KEY_MAX + 1];
};

static const char *const harmless_ends[] = {
	"algorithm", "budget",  "column", "count",    "dir",      "directory", "enabled",
	"endpoint",  "env",     "expiry", "field",    "file",     "files",     "format",
	"header",    "host",    "id",     "interval", "len",      "length",    "limit",
	"manager",   "max",     "method", "min",      "mode",     "name",      "names",
	"path",      "policy",  "port",   "prompt",   "provider", "required",  "rotation",
	"server",    "service", "size",   "stdin",    "store",    "timeout",   "ttl",
	"type",      "uri",     "url",    "version",
};

/* These match anywhere in a name. */
static const char *const passwords[] = { "password", "passwd", "passphrase", "passcode",
					 "authorization" };
static const char *const secrets[] = {
	"secret",     "credential", "apikey",    "accesskey", "privatekey",
	"authkey",    "signingkey", "masterkey", "sharedkey", "encryptionkey",
	"accountkey", "licensekey", "cookie",
};
/* These match whole words only. */
static const char *const password_words[] = { " pwd ", " bearer " };
static const char *const secret_words[] = { " token ", " pass ", " pw ", " jwt ", " sas " };

static bool is_end(const struct name *name, const char *word)
{
	size_t len = strlen(word), all = strlen(name->words);

	return all >= len + 2 && name->words[all - len - 2] == ' ' &&
	       strncmp(name->words + all - len - 1, word, len) == 0;
}

static bool has(const char *text, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(text, parts[i]))
			return true;
	return false;
}
#define HAS(text, parts) has(text, parts, ARRAY_LEN(parts))

static bool ends_harmless(const struct name *name)
{
	for (size_t i = 0; i < ARRAY_LEN(harmless_ends); i++)
		if (is_end(name, harmless_ends[i]))
			return true;
	return false;
}

/* Returns false if the key cannot be a name. */
static bool split(struct view key, struct name *ret)
{
	size_t words = 0, joined = 0;
	char before = 0;

	if (key.len == 0 || key.len > KEY_MAX)
		return false;
	ret->words[words++] = ' ';
	for (size_t i = 0; i < key.len; before = key.s[i++]) {
		char c = key.s[i];

		if (c == '/' || c == '\\' || isspace((unsigned char)c))
			return false;
		if (!isalnum((unsigned char)c) ||
		    (isupper((unsigned char)c) && islower((unsigned char)before)))
			if (ret->words[words - 1] != ' ')
				ret->words[words++] = ' ';
		if (!isalnum((unsigned char)c))
			continue;
		ret->words[words++] = ret->joined[joined++] = tolower((unsigned char)c);
	}
	if (ret->words[words - 1] != ' ')
		ret->words[words++] = ' ';
	ret->words[words] = ret->joined[joined] = '\0';
	return true;
}

/* For example authtoken. */
static bool ends_in_token(const char *joined)
{
	size_t len = strlen(joined);

	return len > 5 && strcmp(joined + len - 5, "token") == 0;
}

enum secret arguments_classify_key(struct view key)
{
	struct name name;

	if (!split(key, &name))
		return SECRET_NO;
	/* the id of an AWS key is masked, too */
	if (strncmp(name.words, " aws ", 5) == 0 && strstr(name.words, " key "))
		return SECRET_WEAK;
	if (ends_harmless(&name) || strncmp(name.words, " no ", 4) == 0 ||
	    strncmp(name.words, " ask ", 5) == 0)
		return SECRET_NO;
	if (strcmp(name.joined, "user") == 0 || strcmp(name.joined, "proxyuser") == 0 ||
	    strcmp(name.joined, "auth") == 0)
		return SECRET_PAIR;
	if (HAS(name.joined, passwords) || HAS(name.words, password_words))
		return SECRET_YES;
	if (strcmp(name.joined, "key") == 0 || HAS(name.joined, secrets) ||
	    HAS(name.words, secret_words) || ends_in_token(name.joined))
		return SECRET_WEAK;
	return SECRET_NO;
}
