/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_rust - demangle Rust names (v0 mangling, RFC 2603).
 *
 * A mangled name starts with _R and has a grammar of paths, types and constants,
 * each with a letter as prefix.  B and a number is a back reference to an earlier
 * position, so that a short name can expand without end.  So depth and number of
 * steps are limited, and output stops at the end of the buffer.  Lifetimes and
 * the disambiguators of crates are omitted, as they do not help to read stacks.
 */
#include "record/symbol/internal.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH_MAX = 100, STEPS_MAX = 10000 };

struct rust {
	const char *s; /* mangled name, without _R */
	size_t at;
	char *out;
	size_t used;
	int depth, quiet;
	size_t steps;
	bool failed, full;
};

static void print_path(struct rust *r, bool in_value);
static void print_type(struct rust *r);

static char peek(const struct rust *r)
{
	return r->failed ? '\0' : r->s[r->at];
}

static bool eat(struct rust *r, char c)
{
	if (peek(r) != c || c == '\0')
		return false;
	r->at++;
	return true;
}

static char next(struct rust *r)
{
	char c = peek(r);

	if (c == '\0')
		r->failed = true;
	else
		r->at++;
	return c;
}

static void put_n(struct rust *r, const char *s, size_t len)
{
	if (r->quiet || r->failed)
		return;
	if (len > NAME_ROOM - 1 - r->used) {
		len = NAME_ROOM - 1 - r->used;
		r->full = r->failed = true; /* the buffer is full */
	}
	memcpy(r->out + r->used, s, len);
	r->used += len;
	r->out[r->used] = '\0';
}

static void put(struct rust *r, const char *s)
{
	put_n(r, s, strlen(s));
}

static void put_number(struct rust *r, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	put(r, text);
}

/* `_` is 0, `0_` is 1, and so on, in base 62. */
static uint64_t base62(struct rust *r)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	uint64_t n = 0;

	if (eat(r, '_'))
		return 0;
	while (!eat(r, '_')) {
		char c = next(r);
		const char *digit = c ? strchr(digits, c) : NULL;

		if (!digit) {
			r->failed = true;
			return 0;
		}
		n = n * 62 + (digit - digits);
	}
	return n + 1;
}

/* The number after an optional letter; 0 without it. */
static uint64_t maybe62(struct rust *r, char letter)
{
	return eat(r, letter) ? base62(r) + 1 : 0;
}

/* An identifier with its length as prefix; the bytes are borrowed. */
static const char *identifier(struct rust *r, size_t *ret_len)
{
	size_t len = 0;

	eat(r, 'u');
	if (!isdigit((unsigned char)peek(r)))
		r->failed = true;
	if (!eat(r, '0')) /* after a 0 starts the next identifier */
		while (isdigit((unsigned char)peek(r)) && len < 100000)
			len = len * 10 + (next(r) - '0');
	eat(r, '_');
	if (r->failed || strnlen(r->s + r->at, len) < len) {
		r->failed = true;
		len = 0;
	}
	const char *name = r->s + r->at;
	r->at += len;
	*ret_len = len;
	return name;
}

/* Follow a back reference and return. */
static void backref(struct rust *r, void (*print)(struct rust *r, bool in_value), bool in_value)
{
	size_t here = r->at - 1;
	uint64_t to = base62(r);
	size_t back = r->at;

	if (r->failed || to >= here) {
		r->failed = true;
		return;
	}
	r->at = to;
	print(r, in_value);
	r->at = back;
}

static void type_again(struct rust *r, bool in_value)
{
	print_type(r);
}

static bool enter(struct rust *r)
{
	if (r->depth >= DEPTH_MAX || ++r->steps > STEPS_MAX)
		r->failed = true;
	if (r->failed)
		return false;
	r->depth++;
	return true;
}

static void print_nested(struct rust *r, bool in_value)
{
	char space = next(r);

	print_path(r, in_value);
	uint64_t number = maybe62(r, 's');
	size_t len;
	const char *name = identifier(r, &len);

	if (isupper((unsigned char)space)) {
		put(r, "::{");
		if (space == 'C' || space == 'S')
			put(r, space == 'C' ? "closure" : "shim");
		else
			put_n(r, &space, 1);
		put(r, len ? ":" : "");
		put_n(r, name, len);
		put(r, "#");
		put_number(r, number);
		put(r, "}");
	} else if (len) {
		put(r, "::");
		put_n(r, name, len);
	}
}

static void print_const(struct rust *r, bool in_value)
{
	static const char plain[] = "hstmlxyinojabc"; /* types whose constants are numbers */
	uint64_t n = 0;

	if (eat(r, 'p')) {
		put(r, "_");
	} else if (eat(r, 'B')) {
		backref(r, print_const, false);
	} else {
		char type = next(r);

		if (!type || !strchr(plain, type)) {
			r->failed = true;
			return;
		}
		put(r, eat(r, 'n') ? "-" : "");
		while (isxdigit((unsigned char)peek(r))) {
			char c = next(r);

			n = n * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
		}
		r->failed = r->failed || !eat(r, '_');
		if (type == 'b')
			put(r, n ? "true" : "false");
		else
			put_number(r, n);
	}
}

static void print_arguments(struct rust *r, bool in_value)
{
	size_t count = 0;

	while (!r->failed && !eat(r, 'E')) {
		if (maybe62(r, 'L'))
			continue;
		put(r, count++ ? ", " : in_value ? "::<" : "<");
		if (eat(r, 'K'))
			print_const(r, false);
		else
			print_type(r);
	}
	put(r, count ? ">" : "");
}

/* <Type> or <Type as Trait>; the path of the impl is omitted. */
static void print_impl(struct rust *r, char kind)
{
	if (kind != 'Y') {
		maybe62(r, 's');
		r->quiet++;
		print_path(r, false);
		r->quiet--;
	}
	put(r, "<");
	print_type(r);
	if (kind != 'M') {
		put(r, " as ");
		print_path(r, false);
	}
	put(r, ">");
}

static void print_path(struct rust *r, bool in_value)
{
	size_t len;
	char kind;

	if (!enter(r))
		return;
	switch (kind = next(r)) {
	case 'C':
		maybe62(r, 's');
		const char *name = identifier(r, &len);
		put_n(r, name, len);
		break;
	case 'N':
		print_nested(r, in_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		print_impl(r, kind);
		break;
	case 'I':
		print_path(r, in_value);
		print_arguments(r, in_value);
		break;
	case 'B':
		backref(r, print_path, in_value);
		break;
	default:
		r->failed = true;
	}
	r->depth--;
}

static void print_list(struct rust *r, bool tuple)
{
	size_t count = 0;

	put(r, "(");
	for (; !r->failed && !eat(r, 'E'); count++) {
		put(r, count ? ", " : "");
		print_type(r);
	}
	put(r, tuple && count == 1 ? ",)" : ")");
}

static void print_fn(struct rust *r)
{
	maybe62(r, 'G');
	put(r, eat(r, 'U') ? "unsafe " : "");
	if (eat(r, 'K')) {
		size_t len = 1;
		const char *abi = eat(r, 'C') ? "C" : identifier(r, &len);

		put(r, "extern \"");
		put_n(r, abi, len);
		put(r, "\" ");
	}
	put(r, "fn");
	print_list(r, false);
	if (eat(r, 'u'))
		return;
	put(r, " -> ");
	print_type(r);
}

/* Trait<Args, Name = Type>: the bindings follow the path, but are printed inside its brackets. */
static void print_trait(struct rust *r)
{
	bool inside = false;
	size_t len;

	print_path(r, false);
	while (eat(r, 'p')) {
		const char *name = identifier(r, &len);

		if (!inside && r->used > 0 && r->out[r->used - 1] == '>') {
			r->used -= !r->quiet;
			put(r, ", ");
		} else {
			put(r, inside ? ", " : "<");
		}
		inside = true;
		put_n(r, name, len);
		put(r, " = ");
		print_type(r);
	}
	put(r, inside ? ">" : "");
}

static void print_dyn(struct rust *r)
{
	maybe62(r, 'G');
	put(r, "dyn ");
	for (bool first = true; !r->failed && !eat(r, 'E'); first = false) {
		put(r, first ? "" : " + ");
		print_trait(r);
	}
	r->failed = r->failed || !maybe62(r, 'L');
}

static void print_behind(struct rust *r, const char *what)
{
	maybe62(r, 'L');
	put(r, what);
	print_type(r);
}

static void print_array(struct rust *r, bool sized)
{
	put(r, "[");
	print_type(r);
	if (sized) {
		put(r, "; ");
		print_const(r, false);
	}
	put(r, "]");
}

static const char *basic_type(char c)
{
	static const char *const names[26] = {
		['a' - 'a'] = "i8",   ['b' - 'a'] = "bool",  ['c' - 'a'] = "char",
		['d' - 'a'] = "f64",  ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",
		['h' - 'a'] = "u8",   ['i' - 'a'] = "isize", ['j' - 'a'] = "usize",
		['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",   ['n' - 'a'] = "i128",
		['o' - 'a'] = "u128", ['p' - 'a'] = "_",     ['s' - 'a'] = "i16",
		['t' - 'a'] = "u16",  ['u' - 'a'] = "()",    ['v' - 'a'] = "...",
		['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",   ['z' - 'a'] = "!",
	};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void print_type(struct rust *r)
{
	char kind = peek(r);

	if (!enter(r))
		return;
	if (kind && strchr("CMXYNI", kind)) {
		print_path(r, false);
		r->depth--;
		return;
	}
	next(r);
	switch (kind) {
	case 'A':
	case 'S':
		print_array(r, kind == 'A');
		break;
	case 'T':
		print_list(r, true);
		break;
	case 'R':
	case 'Q':
		print_behind(r, kind == 'R' ? "&" : "&mut ");
		break;
	case 'P':
	case 'O':
		print_behind(r, kind == 'P' ? "*const " : "*mut ");
		break;
	case 'F':
		print_fn(r);
		break;
	case 'D':
		print_dyn(r);
		break;
	case 'B':
		backref(r, type_again, false);
		break;
	default:
		if (basic_type(kind))
			put(r, basic_type(kind));
		else
			r->failed = true;
	}
	r->depth--;
}

bool rust_demangle(const char *raw, char buf[static NAME_ROOM])
{
	struct rust r = { .out = buf };

	if (strncmp(raw, "_R", 2) != 0 || !isupper((unsigned char)raw[2]))
		return false;
	r.s = raw + 2;
	print_path(&r, true);
	return (!r.failed || r.full) && r.used > 0;
}
