/* SPDX-License-Identifier: Apache-2.0 */
#include "read/ctf/lexer.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

enum { CHARACTERS_FROM = 32 }; /* single-character tokens are above all other kinds */
_Static_assert((int)CTF_BAD < (int)CHARACTERS_FROM, "token kinds and characters overlap");

static void skip_line(struct ctf_lexer *l)
{
	const char *newline = memchr(l->at, '\n', l->end - l->at);

	l->at = newline ?: l->end;
}

static void skip_comment(struct ctf_lexer *l)
{
	for (l->at += 2; l->at < l->end; l->at++) {
		l->line += *l->at == '\n';
		if (l->end - l->at >= 2 && l->at[0] == '*' && l->at[1] == '/') {
			l->at += 2;
			return;
		}
	}
}

static void skip_blanks(struct ctf_lexer *l)
{
	while (l->at < l->end) {
		char next = l->end - l->at >= 2 ? l->at[1] : '\0';

		if (*l->at == '/' && next == '*') {
			skip_comment(l);
		} else if ((*l->at == '/' && next == '/') || *l->at == '#') {
			skip_line(l);
		} else if (isspace((unsigned char)*l->at)) {
			l->line += *l->at++ == '\n';
		} else {
			return;
		}
	}
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void read_name(struct ctf_lexer *l, struct ctf_token *t)
{
	t->kind = CTF_NAME;
	t->s = l->at;
	while (l->at < l->end && is_name_char(*l->at))
		l->at++;
	t->len = l->at - t->s;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* Decimal, 0x or 0; the suffixes of C (u, l) are ignored. */
static void read_number(struct ctf_lexer *l, struct ctf_token *t)
{
	int base = 10;

	t->kind = CTF_NUMBER;
	if (*l->at == '0' && l->end - l->at >= 2) {
		bool is_hex = (l->at[1] | 32) == 'x';

		base = is_hex ? 16 : 8;
		l->at += is_hex ? 2 : 0;
	}
	for (; l->at < l->end && is_name_char(*l->at); l->at++) {
		char c = *l->at;

		if (digit_of(c) < base) {
			if (__builtin_mul_overflow(t->number, base, &t->number) ||
			    __builtin_add_overflow(t->number, digit_of(c), &t->number))
				t->kind = CTF_BAD;
		} else if ((c | 32) != 'u' && (c | 32) != 'l') {
			t->kind = CTF_BAD;
		}
	}
}

static char unescape(struct ctf_lexer *l)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	char c = *l->at++;
	const char *found = c ? strchr(from, c) : NULL;
	int value = 0;

	if (found)
		return to[found - from];
	if (c == 'x') {
		for (int i = 0; i < 2 && l->at < l->end && digit_of(*l->at) < 16; i++)
			value = value * 16 + digit_of(*l->at++);
		return value;
	}
	if (digit_of(c) >= 8)
		return c;
	value = digit_of(c);
	for (int i = 0; i < 2 && l->at < l->end && digit_of(*l->at) < 8; i++)
		value = value * 8 + digit_of(*l->at++);
	return value;
}

static void read_string(struct ctf_lexer *l, struct ctf_token *t)
{
	const char *close = ++l->at;

	while (close < l->end && *close != '"' && *close != '\n')
		close += *close == '\\' && l->end - close > 1 ? 2 : 1;
	if (close >= l->end || *close != '"') {
		t->kind = CTF_BAD;
		return;
	}

	char *s = arena_alloc(l->arena, close - l->at + 1);

	t->kind = CTF_STRING_LITERAL;
	t->s = s;
	while (l->at < close) {
		char c = *l->at++;

		s[t->len++] = c == '\\' ? unescape(l) : c;
	}
	l->at = close + 1;
}

static void read_punctuation(struct ctf_lexer *l, struct ctf_token *t)
{
	size_t left = l->end - l->at;

	if (left >= 3 && memcmp(l->at, "...", 3) == 0)
		t->kind = CTF_ELLIPSIS;
	else if (left >= 2 && memcmp(l->at, ":=", 2) == 0)
		t->kind = CTF_TYPE_IS;
	else if (left >= 2 && memcmp(l->at, "->", 2) == 0)
		t->kind = CTF_ARROW;
	else if (*l->at == '=')
		t->kind = CTF_ASSIGN;
	else if (*l->at && strchr("{}[]()<>;:,.*+-", *l->at))
		t->kind = *l->at;
	else
		t->kind = CTF_BAD;
	l->at += t->kind == CTF_ELLIPSIS                          ? 3
		 : t->kind == CTF_TYPE_IS || t->kind == CTF_ARROW ? 2
								  : 1;
}

struct ctf_token ctf_lexer_next(struct ctf_lexer *l)
{
	skip_blanks(l);

	struct ctf_token t = { .kind = CTF_END, .line = l->line, .s = "" };

	if (l->at == l->end)
		return t;
	if (isdigit((unsigned char)*l->at))
		read_number(l, &t);
	else if (is_name_char(*l->at))
		read_name(l, &t);
	else if (*l->at == '"')
		read_string(l, &t);
	else
		read_punctuation(l, &t);
	if (t.kind == CTF_BAD)
		l->at = l->end;
	return t;
}

bool ctf_token_is(const struct ctf_token *t, const char *word)
{
	return t->kind == CTF_NAME && strlen(word) == t->len && memcmp(t->s, word, t->len) == 0;
}

/* The header of a metadata packet, without padding. */
struct metadata_packet {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t checksum;
	uint32_t content_bits, packet_bits; /* including this header */
	uint8_t compression, encryption, checksum_scheme;
	uint8_t major, minor;
} __attribute__((packed));

#define PACKET_MAGIC 0x75d11d57u

static bool is_packet(const void *data, size_t size)
{
	uint32_t magic;

	if (size < sizeof(magic))
		return false;
	memcpy(&magic, data, sizeof(magic));
	return magic == PACKET_MAGIC || magic == __builtin_bswap32(PACKET_MAGIC);
}

/* The metadata of CTF 2 is JSON, with a record separator before each fragment. */
static bool is_version_2(const char *data, size_t size)
{
	size_t at = 1;

	if (!size || data[0] != '\x1e')
		return false;
	while (at < size && (data[at] == ' ' || data[at] == '\t' || data[at] == '\n'))
		at++;
	return at < size && data[at] == '{';
}

bool ctf_is_metadata(const void *data, size_t size)
{
	static const char begin[] = "/* CTF 1.8";

	return is_packet(data, size) || is_version_2(data, size) ||
	       (size >= sizeof(begin) - 1 && memcmp(data, begin, sizeof(begin) - 1) == 0);
}

/* Reads the sizes of a packet, in bytes; returns NULL or the problem. */
static const char *read_packet_header(const char *data, size_t left, size_t *ret_content,
				      size_t *ret_packet)
{
	struct metadata_packet head;

	if (left < sizeof(head) || !is_packet(data, left))
		return "bad packet magic";
	memcpy(&head, data, sizeof(head));

	bool is_swapped = head.magic != PACKET_MAGIC;
	size_t content =
		(is_swapped ? __builtin_bswap32(head.content_bits) : head.content_bits) / 8;
	size_t packet = (is_swapped ? __builtin_bswap32(head.packet_bits) : head.packet_bits) / 8;

	if (head.compression || head.encryption)
		return "compressed or encrypted packet";
	if (content < sizeof(head) || content > packet || packet > left)
		return "invalid packet size";
	*ret_content = content;
	*ret_packet = packet;
	return NULL;
}

int ctf_metadata_text(const char *name, const void *data, size_t size, char **ret_text,
		      size_t *ret_size, struct err *err)
{
	_cleanup_(freep) char *text = NULL;
	const char *bytes = data;
	size_t used = 0, content, packet;

	if (is_version_2(data, size))
		return err_set(err, -EPROTONOSUPPORT, "'%s' is CTF 2", name);
	if (!is_packet(data, size)) {
		*ret_text = NULL;
		*ret_size = size;
		return 0;
	}
	text = must_alloc(size);
	for (size_t at = 0; at < size; at += packet) {
		const char *problem = read_packet_header(bytes + at, size - at, &content, &packet);

		if (problem)
			return err_set(err, -EBADMSG, "'%s' is damaged: %s at byte %zu", name,
				       problem, at);
		memcpy(text + used, bytes + at + sizeof(struct metadata_packet),
		       content - sizeof(struct metadata_packet));
		used += content - sizeof(struct metadata_packet);
	}
	*ret_text = TAKE(text);
	*ret_size = used;
	return 0;
}
