/* SPDX-License-Identifier: Apache-2.0 */
#include "read/text/pattern.h"

#include <assert.h>
#include <string.h>

enum { COMM_MAX = 15 };

const struct raw_field *text_find_field(const struct raw_layout *layout, const char *name,
					size_t len)
{
	if (!layout)
		return NULL;
	for (const struct raw_field *f = layout->fields;
	     f < layout->fields + RAW_FIELDS && f->names; f++)
		if (raw_is_one_of(f->names, name, len))
			return f;
	return NULL;
}

/* Parses the text between two braces. */
static void init_value(struct text_step *step, const char *s, const char *end,
		       const struct raw_layout *layout)
{
	const char *colon = memchr(s, ':', end - s);

	step->name = s;
	step->name_len = (colon ?: end) - s;
	step->field = text_find_field(layout, s, step->name_len);
	if (colon)
		step->form = colon[1];
	else
		step->form = step->field ? text_form_of(step->field) : TEXT_TEXT;
}

void text_pattern_init(struct text_pattern *pattern, const char *words,
		       const struct raw_layout *layout)
{
	*pattern = (struct text_pattern){ 0 };
	for (const char *p = words;;) {
		struct text_step *step = &pattern->steps[pattern->count];
		size_t len = strcspn(p, "{");

		step->literal = p;
		step->literal_len = len;
		if (!p[len])
			return;
		p += len + 1;
		init_value(step, p, p + strcspn(p, "}"), layout);
		p += strcspn(p, "}") + 1;
		pattern->count++;
		assert(pattern->count <= TEXT_VALUES_MAX);
	}
}

static inline bool is_at(const char *p, const char *end, const struct text_step *step)
{
	return end - p >= step->literal_len && memcmp(p, step->literal, step->literal_len) == 0;
}

/* Whether the value of a step and the next literal follow the literal at p; checks numbers only. */
static bool continues(const struct text_step *step, const char *p, const char *end)
{
	uint64_t n;

	if (step->form != TEXT_NUMBER)
		return true;
	p = text_decimal(p + step->literal_len, end, &n);
	return p && is_at(p, end, step + 1);
}

/* The first occurrence of the literal of step, or NULL. */
static const char *find_literal(const char *p, const char *end, const struct text_step *step)
{
	if (!step->literal_len)
		return end;
	if (step->literal_len == 1)
		return memchr(p, step->literal[0], end - p);
	return memmem(p, end - p, step->literal, step->literal_len);
}

/*
 * The end of a thread's name.  Names have at most COMM_MAX bytes, so the last match of the next
 * literal within that length is the right one.  This does not hold for a literal of a single
 * character, which can occur again shortly after the name; there, the first match is taken.
 */
static const char *comm_end(const char *p, const char *end, const struct text_step *next)
{
	const char *found = NULL;
	const char *last = end - p > COMM_MAX ? p + COMM_MAX : end - 1;

	if (!next->literal_len)
		return end;
	for (const char *q = p; q <= last; q++) {
		if (*q != next->literal[0] || !is_at(q, end, next) || !continues(next, q, end))
			continue;
		found = q;
		if (next->literal_len == 1)
			break;
	}
	return found ?: find_literal(p, end, next);
}

/* The last occurrence of the literal of step, or NULL. */
static const char *find_last(const char *p, const char *end, const struct text_step *step)
{
	if (!step->literal_len)
		return end;
	if (end - p < step->literal_len)
		return NULL;
	for (const char *q = end - step->literal_len; q >= p; q--)
		if (*q == step->literal[0] && is_at(q, end, step))
			return q;
	return NULL;
}

/* Parses the value at p; returns its end, or NULL. */
static const char *parse_value(const struct text_step *step, const char *p, const char *end,
			       struct raw_event *e)
{
	const char *stop;

	switch (step->form) {
	case TEXT_COMM:
		stop = comm_end(p, end, step + 1);
		break;
	case TEXT_PATH:
		stop = find_last(p, end, step + 1);
		break;
	case TEXT_TEXT:
		stop = find_literal(p, end, step + 1);
		break;
	default:
		return text_parse(e, step->field, step->form, p, end);
	}
	if (stop && step->field && step->field->type == RAW_TEXT)
		*(struct raw_text *)((char *)e + step->field->offset) =
			(struct raw_text){ p, stop - p };
	return stop;
}

bool text_pattern_match(const struct text_pattern *pattern, const char *p, const char *end,
			struct raw_event *e, struct raw_text *values)
{
	const struct text_step *step = pattern->steps;

	for (size_t i = 0; i < pattern->count; i++, step++) {
		if (!is_at(p, end, step))
			return false;
		p += step->literal_len;

		const char *stop = parse_value(step, p, end, e);

		if (!stop)
			return false;
		if (values)
			values[i] = (struct raw_text){ p, stop - p };
		p = stop;
	}
	return is_at(p, end, step);
}

static bool is_key_char(char c)
{
	return c == '_' || c == '.' || text_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/*
 * The next "key=" from p on, and its equals sign; end if there is none.  A key at p itself counts
 * only if first is set: after an equals sign it is a value.
 */
static const char *find_key(const char *p, const char *end, bool first, const char **ret_equals)
{
	for (const char *from = p; from < end;) {
		const char *equals = memchr(from, '=', end - from);
		const char *key = equals;

		if (!equals)
			break;
		while (key > p && is_key_char(key[-1]))
			key--;
		*ret_equals = equals;
		if (key < equals && (key == p ? first : strchr(" [,\t", key[-1]) && key[-1]))
			return key;
		from = equals + 1;
	}
	return end;
}

/* The next pair from *p on; moves *p after it.  False if there is none. */
static bool next_pair(const char **p, const char *end, struct raw_text *ret_key,
		      struct raw_text *ret_value)
{
	const char *equals, *other;
	const char *key = find_key(*p, end, true, &equals);

	if (key == end)
		return false;

	const char *next = find_key(equals + 1, end, false, &other), *stop = next;

	while (stop > equals + 1 && (stop[-1] == ' ' || stop[-1] == ',' || stop[-1] == '['))
		stop--;
	if (stop[-1] == ']' && !memchr(equals, '[', stop - equals))
		stop--; /* bracket of [key=value] */
	*ret_key = (struct raw_text){ key, equals - key };
	*ret_value = (struct raw_text){ equals + 1, stop - equals - 1 };
	*p = next;
	return true;
}

void text_parse_pairs(const struct raw_layout *layout, struct view text, struct raw_event *e)
{
	const char *p = text.s;
	struct raw_text key, value;

	while (next_pair(&p, text.s + text.len, &key, &value)) {
		const struct raw_field *field = text_find_field(layout, key.s, key.len);

		if (field)
			text_parse_any(e, field, value);
	}
}

void text_visit(const struct raw_visitor *visitor, void *arg, struct raw_text name,
		struct raw_text value)
{
	_cleanup_(freep) char *terminated = must_printf("%.*s", (int)name.len, name.s);

	visitor->text(arg, terminated, value.s, value.len);
}

void text_visit_pairs(struct view text, const struct raw_visitor *visitor, void *arg)
{
	const char *p = text.s;
	struct raw_text key, value;
	bool any = false;

	while (next_pair(&p, text.s + text.len, &key, &value)) {
		text_visit(visitor, arg, key, value);
		any = true;
	}
	if (!any && text.len)
		visitor->text(arg, "text", text.s, text.len);
}
