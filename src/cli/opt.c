/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opt.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "read/input.h"

struct parser {
	const struct command *cmd;
	struct arena *arena;
	char **next; /* argument to parse next */
	char *opts;
	struct err *err;
};

static const struct opt *find_short(const struct command *cmd, char name)
{
	for (const struct opt *o = cmd->opts; o->type; o++)
		if (o->short_name == name)
			return o;
	return NULL;
}

static const struct opt *find_long(const struct command *cmd, const char *name, size_t len)
{
	for (const struct opt *o = cmd->opts; o->type; o++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

enum { WORD_MAX = 32 };

/* The Damerau-Levenshtein distance: letters added, left out, changed or swapped. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= a_len; i++)
		for (size_t j = 0; j <= b_len; j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i][j] > d[i - 1][j] + 1)
				d[i][j] = d[i - 1][j] + 1;
			if (d[i][j] > d[i][j - 1] + 1)
				d[i][j] = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i][j] > d[i - 2][j - 2] + 1)
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	return d[a_len][b_len];
}

size_t opt_distance(const char *typed, const char *word)
{
	size_t typed_len = strlen(typed), word_len = strlen(word);

	if (typed_len > WORD_MAX || word_len > WORD_MAX)
		return SIZE_MAX;
	size_t errors = distance(typed, typed_len, word, word_len);
	bool is_prefix = typed_len > 1 && strncmp(typed, word, typed_len) == 0;

	return is_prefix || 3 * errors <= typed_len ? errors : SIZE_MAX;
}

static int unknown_option(struct parser *p, const char *typed)
{
	const struct opt *best = NULL;
	size_t fewest = SIZE_MAX;

	for (const struct opt *o = p->cmd->opts; o->type; o++)
		if (opt_distance(typed, o->name) < fewest) {
			fewest = opt_distance(typed, o->name);
			best = o;
		}
	if (best)
		return err_usage(p->err, "'sonde %s' has no option '--%s'; did you mean '--%s'?",
				 p->cmd->name, typed, best->name);
	return err_usage(p->err, "'sonde %s' has no option '--%s'", p->cmd->name, typed);
}

/* The array is full if the count is 0 or a power of two, and then its size doubles. */
static void list_add(struct arena *arena, struct opt_list *list, const char *item)
{
	size_t n = list->count;

	if ((n & (n - 1)) == 0) {
		const char **more = arena_alloc(arena, (n ? 2 * n : 1) * sizeof(*more));

		if (n)
			memcpy(more, list->items, n * sizeof(*more));
		list->items = more;
	}
	list->items[list->count++] = item;
}

/* Split a copy, because ps shows argv as the command line of this process. */
static int list_split(struct parser *p, const struct opt *o, const char *value)
{
	size_t size = strlen(value) + 1;
	char *copy = memcpy(arena_alloc(p->arena, size), value, size);

	for (char *item; (item = strsep(&copy, ","));) {
		if (!*item)
			return err_usage(p->err, "--%s has an empty item in '%s'", o->name, value);
		list_add(p->arena, (struct opt_list *)(p->opts + o->offset), item);
	}
	return 0;
}

static int bad_value(struct parser *p, const struct opt *o, const char *value, int r,
		     const char *wanted)
{
	if (r == -ERANGE)
		return err_usage(p->err, "--%s: '%s' is too large", o->name, value);
	return err_usage(p->err, "--%s requires %s, not '%s'", o->name, wanted, value);
}

static int store_number(struct parser *p, const struct opt *o, const char *value)
{
	void *field = p->opts + o->offset;
	bool is_pid = o->type == OPT_PID;
	uint64_t n = 0;
	int r = parse_count(value, is_pid ? UINT32_MAX : (unsigned long)-1, &n);

	if (r < 0 || n == 0)
		return bad_value(p, o, value, r, r < 0 ? "a number" : "a number above 0");
	if (is_pid)
		*(uint32_t *)field = n;
	else
		*(unsigned long *)field = n;
	return 0;
}

static int store(struct parser *p, const struct opt *o, const char *value)
{
	void *field = p->opts + o->offset;
	int r;

	if (o->type != OPT_FLAG && o->type != OPT_OPTIONAL && !*value)
		return err_usage(p->err, "--%s requires a value", o->name);
	switch (o->type) {
	case OPT_FLAG:
		*(bool *)field = true;
		return 0;
	case OPT_INPUT_FORMAT:
		if (input_check_format(value, p->err) < 0)
			return -EUSAGE;
		*(const char **)field = value;
		return 0;
	case OPT_STRING:
	case OPT_OPTIONAL:
		*(const char **)field = value;
		return 0;
	case OPT_COUNT:
	case OPT_PID:
		return store_number(p, o, value);
	case OPT_TIME:
		r = parse_time(value, field);
		return r < 0 ? bad_value(p, o, value, r, "a time such as 5s or 1.5ms") : 0;
	case OPT_SIZE:
		r = parse_size(value, field);
		return r < 0 ? bad_value(p, o, value, r, "a size such as 64k or 2M") : 0;
	case OPT_LIST:
		return list_split(p, o, value);
	case OPT_END:
		break;
	}
	return 0;
}

/* An option without "=VALUE": it takes none, or its value is the next argument. */
static int store_bare(struct parser *p, const struct opt *o)
{
	if (o->type == OPT_FLAG || o->type == OPT_OPTIONAL)
		return store(p, o, "");
	if (!*p->next)
		return err_usage(p->err, "--%s requires a value", o->name);
	return store(p, o, *p->next++);
}

static void complete(const struct command *cmd)
{
	for (const struct opt *o = cmd->opts; o->type; o++) {
		if (o->short_name)
			printf("-%c\n", o->short_name);
		if (o->type == OPT_FLAG || o->type == OPT_OPTIONAL)
			printf("--%s\n", o->name);
		if (o->type != OPT_FLAG)
			printf("--%s=\n", o->name);
	}
	puts("--help");
}

static int parse_long(struct parser *p, const char *arg)
{
	size_t len = strcspn(arg, "=");
	const char *value = arg[len] ? arg + len + 1 : NULL;
	const struct opt *o = find_long(p->cmd, arg, len);

	if (!o && strcmp(arg, "help") == 0) {
		opt_help(p->cmd);
		return -ECANCELED;
	}
	if (!o && strcmp(arg, "complete") == 0) {
		complete(p->cmd);
		return -ECANCELED;
	}
	if (!o) {
		_cleanup_(freep) char *typed = must_printf("%.*s", (int)len, arg);

		return unknown_option(p, typed);
	}
	if (o->type == OPT_FLAG && value)
		return err_usage(p->err, "--%s takes no value", o->name);
	return value ? store(p, o, value) : store_bare(p, o);
}

/* Flags can be joined, and the last letter can be followed by its value: -qd5. */
static int parse_short(struct parser *p, const char *arg)
{
	for (; *arg; arg++) {
		const struct opt *o = find_short(p->cmd, *arg);

		if (!o && *arg == 'h') {
			opt_help(p->cmd);
			return -ECANCELED;
		}
		if (!o)
			return err_usage(p->err, "'sonde %s' has no option '-%c'", p->cmd->name,
					 *arg);
		if (o->type != OPT_FLAG && arg[1])
			return store(p, o, arg + 1);

		int r = store_bare(p, o);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_operands(const struct command *cmd, char **operands, size_t count, struct err *err)
{
	if (count < cmd->min_operands)
		return err_usage(err, "missing operand: sonde %s %s", cmd->name, cmd->synopsis);
	if (count > cmd->max_operands)
		return err_usage(err, "unexpected operand '%s': sonde %s %s",
				 operands[cmd->max_operands], cmd->name, cmd->synopsis);
	return 0;
}

int opt_parse(const struct command *cmd, char **argv, struct arena *arena, void *opts,
	      struct err *err)
{
	struct parser p = { cmd, arena, argv, opts, err };
	bool dashes = false;
	size_t count = 0;

	while (*p.next) {
		char *arg = *p.next++;
		int r = 0;

		if (dashes)
			argv[count++] = arg;
		else if (strcmp(arg, "--") == 0)
			dashes = true;
		else if (strncmp(arg, "--", 2) == 0)
			r = parse_long(&p, arg + 2);
		else if (arg[0] == '-' && arg[1])
			r = parse_short(&p, arg + 1);
		else if (cmd->after_dashes)
			r = err_usage(err, "'%s' is not an option; put a command to run after '--'",
				      arg);
		else {
			argv[count++] = arg;
			dashes = cmd->takes_command;
		}
		if (r < 0)
			return r;
	}
	argv[count] = NULL;
	return check_operands(cmd, argv, count, err);
}

int opt_numbers(const struct opt_list *list, const char *option, uint64_t min, uint64_t max,
		uint64_t **ret, struct err *err)
{
	_cleanup_(freep) uint64_t *numbers = must_alloc((list->count + 1) * sizeof(*numbers));

	for (size_t i = 0; i < list->count; i++) {
		int r = parse_count(list->items[i], max, &numbers[i]);

		if (r == -ERANGE)
			return err_usage(err, "--%s: '%s' is too large", option, list->items[i]);
		if (r < 0 || numbers[i] < min)
			return err_usage(err, "--%s requires a number, not '%s'", option,
					 list->items[i]);
	}
	*ret = TAKE(numbers);
	return 0;
}

static struct text option_name(const struct opt *o)
{
	char letter[] = { '-', o->short_name, ',', ' ', '\0' };
	bool optional = o->type == OPT_OPTIONAL;
	struct text t;

	snprintf(t.s, sizeof(t.s), "%s--%s%s%s%s", o->short_name ? letter : "    ", o->name,
		 optional   ? "[="
		 : o->value ? "="
			    : "",
		 o->value ? o->value : "", optional ? "]" : "");
	return t;
}

/* Wrap words before column 80; continuation lines start at column indent. */
static void print_wrapped(const char *words, size_t indent)
{
	size_t at = indent;

	while (*words) {
		size_t len = strcspn(words, " ");

		if (at > indent && at + 1 + len >= 80) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			putchar(' ');
			at++;
		}
		printf("%.*s", (int)len, words);
		at += len;
		words += len + strspn(words + len, " ");
	}
	putchar('\n');
}

void opt_help(const struct command *cmd)
{
	static const struct opt help = { OPT_FLAG, 'h', "help", NULL, "show this help", 0 };
	size_t width = strlen(option_name(&help).s);

	for (const struct opt *o = cmd->opts; o->type; o++)
		if (width < strlen(option_name(o).s))
			width = strlen(option_name(o).s);

	printf("Usage: sonde %s ", cmd->name);
	print_wrapped(cmd->synopsis, strlen("Usage: sonde  ") + strlen(cmd->name));
	printf("%c%s.\n\n", toupper(cmd->summary[0]), cmd->summary + 1);

	const struct opt *o = cmd->opts;
	do {
		const struct opt *shown = o->type ? o : &help;

		printf("  %-*s  ", (int)width, option_name(shown).s);
		print_wrapped(shown->help, 2 + width + 2);
	} while ((o++)->type);
	if (cmd->examples)
		printf("\nExamples:\n%s%s", cmd->examples,
		       cmd->examples[strlen(cmd->examples) - 1] == '\n' ? "" : "\n");
}

bool opt_colour(void)
{
	const char *forbidden = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && (!forbidden || !*forbidden) &&
	       (!terminal || strcmp(terminal, "dumb") != 0);
}
