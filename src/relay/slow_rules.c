/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/slow_rules.h"

#include <errno.h>
#include <fnmatch.h>

#include "base/text.h"

/* Where the parser is, for errors. */
struct position {
	const char *name;
	size_t line;
	struct err *err;
};

enum { WORDS = 3 };

int slow_limit_parse(const char *text, struct slow_limit *ret)
{
	struct slow_limit limit = { 0 };

	if (strcmp(text, "none") == 0)
		limit.kind = SLOW_NONE;
	else if (strcmp(text, "all") == 0)
		limit.kind = SLOW_ALL;
	else if (parse_percentile(text, &limit.percentile) == 0)
		limit.kind = SLOW_PERCENTILE;
	else if (parse_time(text, &limit.time) == 0 && limit.time)
		limit.kind = SLOW_TIME;
	else
		return -EINVAL;
	*ret = limit;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct view *line)
{
	for (; line->len && is_blank(line->s[0]); line->len--)
		line->s++;
}

static int refuse(const struct position *at, const char *why)
{
	return err_set(at->err, -EINVAL, "'%s', line %zu: %s", at->name, at->line, why);
}

/* The word at the start of a line, without its quotes; NULL if a quote is not closed. */
static struct view first_word(struct view line)
{
	struct view word = { line.s, 0 };
	const char *end;

	if (line.s[0] == '"' || line.s[0] == '\'') {
		end = memchr(line.s + 1, line.s[0], line.len - 1);
		return end ? (struct view){ line.s + 1, end - line.s - 1 } : (struct view){ 0 };
	}
	while (word.len < line.len && !is_blank(line.s[word.len]))
		word.len++;
	return word;
}

/* Takes a word off the line: 1, or 0 at its end. */
static int next_word(const struct position *at, struct view *line, char ret[SLOW_NAME_MAX])
{
	skip_blanks(line);
	if (!line->len || line->s[0] == '#')
		return 0;

	struct view word = first_word(*line);
	size_t taken = word.len + (word.s == line->s ? 0 : 2);

	if (!word.s)
		return refuse(at, "a quote is not closed");
	if (word.len >= SLOW_NAME_MAX)
		return refuse(at, "a word is longer than 255 bytes");
	if (memchr(word.s, '\0', word.len))
		return refuse(at, "a word contains a NUL");
	memcpy(ret, word.s, word.len);
	ret[word.len] = '\0';
	line->s += taken;
	line->len -= taken;
	if (line->len && !is_blank(line->s[0]))
		return refuse(at, "expected a blank after a quote");
	return 1;
}

/* 1, or 0 if the line is empty. */
static int parse_line(const struct position *at, struct view line, struct slow_rule *ret)
{
	char words[WORDS][SLOW_NAME_MAX], rest[SLOW_NAME_MAX];
	int r = 1, n = 0;

	for (; n < WORDS && r > 0; n += r > 0)
		r = next_word(at, &line, words[n]);
	if (n == WORDS && r > 0 && (r = next_word(at, &line, rest)) > 0)
		n++;
	if (r < 0 || n == 0)
		return r;
	if (n != WORDS)
		return refuse(at, "expected SERVICE OPERATION THRESHOLD; quote names with blanks");
	memcpy(ret->service, words[0], SLOW_NAME_MAX);
	memcpy(ret->operation, words[1], SLOW_NAME_MAX);
	if (slow_limit_parse(words[2], &ret->limit) < 0)
		return refuse(at, "a threshold is a time such as 5ms, a percentile such as p95, "
				  "'all' or 'none'");
	return 1;
}

int slow_rules_parse(const char *name, struct view text, slow_rules *ret, struct err *err)
{
	struct position at = { .name = name, .line = 1, .err = err };
	slow_rules rules = { 0 };
	struct slow_rule rule;
	int r = 0;

	for (; text.len && r >= 0; at.line++) {
		const char *end = memchr(text.s, '\n', text.len);
		struct view line = { text.s, end ? (size_t)(end - text.s) : text.len };

		r = parse_line(&at, line, &rule);
		if (r > 0 && rules.count == SLOW_RULES_MAX)
			r = refuse(&at, "more than 1000 rules");
		if (r > 0)
			*vec_push(&rules) = rule;
		text.s += line.len + (end != NULL);
		text.len -= line.len + (end != NULL);
	}
	if (r < 0) {
		vec_done(&rules);
		return r;
	}
	*ret = rules;
	return 0;
}

/* Patterns need a NUL at the end of a name. */
static void copy_name(char to[SLOW_NAME_MAX], struct view name)
{
	size_t n = name.len < SLOW_NAME_MAX - 1 ? name.len : SLOW_NAME_MAX - 1;

	if (n)
		memcpy(to, name.s, n);
	to[n] = '\0';
}

const struct slow_rule *slow_rules_find(const slow_rules *rules, struct view service,
					struct view operation)
{
	char service_name[SLOW_NAME_MAX], operation_name[SLOW_NAME_MAX];

	copy_name(service_name, service);
	copy_name(operation_name, operation);
	for (size_t i = 0; i < rules->count; i++)
		if (fnmatch(rules->items[i].service, service_name, 0) == 0 &&
		    fnmatch(rules->items[i].operation, operation_name, 0) == 0)
			return &rules->items[i];
	return NULL;
}
