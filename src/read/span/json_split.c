/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scan for matching brackets covers the whole text, so it must be much faster than
 * parsing.  It processes 64 bytes at once: bit masks mark quotes and brackets; the bytes
 * inside of strings are those with an odd number of quotes before them, which is the XOR of
 * all shifts of the mask of quotes.  Brackets outside of strings are only counted, unless
 * the last one can be in the block.
 */
#include "read/span/json_split.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK = 64, AROUND_MAX = 256 << 10 };

struct json_scan {
	size_t depth; /* number of open brackets */
	bool in_string;
};

static bool is_open(uint8_t c)
{
	return c == '{' || c == '[';
}

static bool is_close(uint8_t c)
{
	return c == '}' || c == ']';
}

/*
 * Scans up to `stop`, or one byte more if that is escaped, or until the depth is 0.  Returns the
 * offset after the last byte.
 */
static size_t scan_bytes(struct json_scan *scan, struct view text, size_t at, size_t stop)
{
	for (; at < stop && scan->depth; at++) {
		char c = text.s[at];

		if (scan->in_string && c == '\\')
			at++;
		else if (c == '"')
			scan->in_string = !scan->in_string;
		else if (!scan->in_string && is_open(c))
			scan->depth++;
		else if (!scan->in_string && is_close(c))
			scan->depth--;
	}
	return at;
}

#ifdef __SSE2__
/* Bit i is set if (s[i] | set) == c. */
static uint64_t find_byte(const char *s, char set, char c)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < BLOCK; i += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(s + i));
		__m128i found =
			_mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8(set)), _mm_set1_epi8(c));

		mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(found) << i;
	}
	return mask;
}

/* Portable, since the baseline of x86-64 does not include popcnt. */
static size_t count_bits(uint64_t n)
{
	n -= n >> 1 & 0x5555555555555555;
	n = (n & 0x3333333333333333) + (n >> 2 & 0x3333333333333333);
	n = (n + (n >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return n * 0x0101010101010101 >> 56;
}

/* The same as scan_bytes() for a block; false if the block contains a backslash. */
static bool scan_block(struct json_scan *scan, const char *s, size_t *at)
{
	uint64_t strings = find_byte(s, 0, '"');
	/* brackets and braces differ in bit 0x20 */
	uint64_t opens = find_byte(s, 0x20, '{'), closes = find_byte(s, 0x20, '}');

	if (find_byte(s, 0, '\\'))
		return false;
	for (unsigned shift = 1; shift < BLOCK; shift *= 2)
		strings ^= strings << shift;
	if (scan->in_string)
		strings = ~strings;
	opens &= ~strings;
	closes &= ~strings;

	size_t closed = count_bits(closes);

	if (scan->depth > closed) {
		scan->depth += count_bits(opens) - closed;
	} else {
		for (uint64_t rest = opens | closes; rest; rest &= rest - 1) {
			unsigned bit = __builtin_ctzll(rest);

			scan->depth += opens >> bit & 1 ? 1 : -1;
			if (!scan->depth) {
				*at += bit + 1;
				return true;
			}
		}
	}
	scan->in_string = strings >> (BLOCK - 1);
	*at += BLOCK;
	return true;
}
#else
static bool scan_block(struct json_scan *scan, const char *s, size_t *at)
{
	return false;
}
#endif

/* Offset after the object or list that contains `at`; 0 if it does not end. */
static size_t close_end(struct view text, size_t at)
{
	struct json_scan scan = { .depth = 1 };

	while (at < text.len && scan.depth) {
		bool block = text.len - at >= BLOCK;

		if (!block || !scan_block(&scan, text.s + at, &at))
			at = scan_bytes(&scan, text, at, block ? at + BLOCK : text.len);
	}
	return scan.depth ? 0 : at;
}

/* Offset after the object or list that starts at `at`; 0 if there is none or it does not end. */
static size_t open_end(struct view text, size_t at)
{
	return at < text.len && is_open(text.s[at]) ? close_end(text, at + 1) : 0;
}

static size_t string_end(struct view text, size_t at)
{
	for (at++; at < text.len && text.s[at] != '"'; at++)
		if (text.s[at] == '\\')
			at++;
	return at < text.len ? at + 1 : 0;
}

size_t json_skip_blanks(struct view text, size_t at)
{
	while (at < text.len && memchr(" \t\r\n", text.s[at], 4))
		at++;
	return at;
}

static bool has(struct view text, size_t at, char c)
{
	return at < text.len && text.s[at] == c;
}

/* Offset after a value; 0 if it does not end. */
static size_t skip_value(struct view text, size_t at)
{
	if (at < text.len && is_open(text.s[at]))
		return close_end(text, at + 1);
	if (has(text, at, '"'))
		return string_end(text, at);
	while (at < text.len && text.s[at] != ',' && !is_close(text.s[at]))
		at++;
	return at < text.len ? at : 0;
}

static bool is_named(struct view name, const char *const names[JSON_NAMES])
{
	for (size_t i = 0; i < JSON_NAMES; i++)
		if (names[i] && view_is(name, names[i]))
			return true;
	return false;
}

struct json_list {
	size_t begin, end; /* offset after '[', and offset of ']' or of the end of the text */
	size_t only;       /* offset of the only item if that is an object or list; otherwise 0 */
};

/* The list that starts at `at`. */
static struct json_list list_at(struct view text, size_t at)
{
	size_t first = json_skip_blanks(text, at + 1), first_end = open_end(text, first);
	size_t next = first_end ? json_skip_blanks(text, first_end) : first;

	if (has(text, next, ']'))
		return (struct json_list){ at + 1, next, first_end ? first : 0 };

	size_t end = close_end(text, next);

	return (struct json_list){ at + 1, end ? end - 1 : text.len, 0 };
}

/* Finds the only list with one of these names in the object at `at`. */
static bool find_member(struct view text, size_t at, const char *const names[JSON_NAMES],
			struct json_list *ret)
{
	struct json_list list = { 0 };

	do {
		size_t name = json_skip_blanks(text, at + 1);
		size_t name_end = has(text, name, '"') ? string_end(text, name) : 0;
		size_t colon = json_skip_blanks(text, name_end);
		size_t value = json_skip_blanks(text, colon + 1);

		if (!name_end || !has(text, colon, ':'))
			return false;

		struct view name_text = { text.s + name + 1, name_end - name - 2 };
		bool matches = is_named(name_text, names);

		/* an escaped name can be any name; and there must be exactly one list */
		if (memchr(name_text.s, '\\', name_text.len) ||
		    (matches && (list.end || !has(text, value, '['))))
			return false;
		if (matches)
			list = list_at(text, value);
		if (matches && view_is(name_text, "spans"))
			list.only = 0;
		at = json_skip_blanks(text, matches ? list.end + 1 : skip_value(text, value));
	} while (has(text, at, ','));
	if (!list.end || (list.end < text.len && !has(text, at, '}')))
		return false;
	*ret = list;
	return true;
}

/* The innermost list that matches the shape; its end is 0 if there is none. */
static struct json_list find_list(struct view text, const struct json_shape *shape)
{
	size_t at = json_skip_blanks(text, 0);
	struct json_list found = { 0 };

	for (size_t level = 0; level < JSON_LEVELS; level++, at = found.only) {
		if (has(text, at, '['))
			found = list_at(text, at);
		else if (!has(text, at, '{') || !find_member(text, at, shape->names[level], &found))
			break;
		if (!found.only)
			break;
	}
	return found;
}

bool json_split_begin(struct json_split *split, struct view text, const struct json_shape *shape)
{
	struct json_list list = find_list(text, shape);

	if (!list.end || text.len - (list.end - list.begin) > AROUND_MAX)
		return false;
	*split = (struct json_split){
		.text = text, .begin = list.begin, .end = list.end, .at = list.begin
	};
	return true;
}

void json_split_done(struct json_split *split)
{
	free(split->document);
	*split = (struct json_split){ 0 };
}

/*
 * The end of items with at least size bytes from `at` on, or the end of the list.  Takes the
 * rest of the list if an item is not an object or list, or a comma is missing: the parser
 * reports the error.
 */
static size_t items_end(const struct json_split *split, size_t at, size_t size)
{
	for (size_t begin = at;;) {
		at = json_skip_blanks(split->text, at);

		size_t end = at < split->end ? open_end(split->text, at) : 0;
		size_t next = end ? json_skip_blanks(split->text, end) : 0;

		if (next >= split->end || !has(split->text, next, ','))
			return split->end;
		if (end - begin >= size)
			return end;
		at = next + 1;
	}
}

bool json_split_next(struct json_split *split, size_t size, struct view *ret)
{
	const char *s = split->text.s;
	size_t before = split->begin, after = split->text.len - split->end;

	if (split->at > split->end)
		return false;
	split->items = split->at;
	split->items_end = items_end(split, split->at, size);
	/* after the comma, or after the list at its end */
	split->at = json_skip_blanks(split->text, split->items_end) + 1;
	if (split->items > before && json_skip_blanks(split->text, split->items) == split->end)
		split->items--; /* include a trailing comma: the parser reports the error */

	size_t items = split->items_end - split->items, length = before + items + after;

	if (length > split->capacity) {
		split->capacity = length + length / 4;
		split->document = must_realloc(split->document, split->capacity);
	}
	memcpy(split->document, s, before);
	memcpy(split->document + before, s + split->items, items);
	memcpy(split->document + before + items, s + split->end, after);
	*ret = (struct view){ split->document, length };
	return true;
}

size_t json_split_offset(const struct json_split *split, size_t offset)
{
	size_t items = split->items_end - split->items;

	if (offset < split->begin)
		return offset;
	if (offset < split->begin + items)
		return offset - split->begin + split->items;
	return offset - split->begin - items + split->end;
}
