/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prompt.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	interrupted = 1;
}

static bool is_interrupted(void)
{
	return interrupted;
}

void prompt_catch(struct query *query)
{
	struct sigaction action = { .sa_handler = on_interrupt }; /* which ends a read, too */

	sigaction(SIGINT, &action, NULL);
	query_set_stop(query, is_interrupted);
}

struct prompt {
	struct query *query;
	const struct query_sink *sink;
	struct out *out;
	char *line; /* as getline() has it */
	size_t room;
	char *sql; /* lines that are no whole statement yet */
};

static void prompt_done(struct prompt *p)
{
	free(p->line);
	free(p->sql);
}

static void run(struct prompt *p, const char *sql)
{
	struct err err = { "" };
	int r = query_run(p->query, sql, p->sink, &err);

	interrupted = 0;
	out_flush(p->out);
	if (r < 0)
		fprintf(stderr, "sonde: %s\n", err.text);
}

static void show_schema(struct prompt *p, const char *table)
{
	_cleanup_(freep) char *sql = NULL;

	for (const char *c = table; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_') {
			fprintf(stderr, "sonde: '%s' is no name of a table\n", table);
			return;
		}
	sql = must_printf("SELECT name, type, meaning FROM columns WHERE table_name = lower('%s')",
			  table);
	run(p, sql);
}

/* False when it is to end. */
static bool run_command(struct prompt *p, char *line)
{
	const char *word = strtok(line, " \t\n"), *table = strtok(NULL, " \t\n");

	if (strcmp(word, ".quit") == 0 || strcmp(word, ".exit") == 0)
		return false;
	if (strcmp(word, ".tables") == 0)
		run(p, "SELECT * FROM tables");
	else if (strcmp(word, ".schema") == 0 && table)
		show_schema(p, table);
	else if (strcmp(word, ".schema") == 0)
		run(p, "SELECT table_name, name, type, meaning FROM columns");
	else
		fputs("A statement ends with a semicolon. Beside SQL there is\n"
		      "  .tables         what tables there are\n"
		      "  .schema [NAME]  the columns of all, or of one\n"
		      "  .quit           end, as does Ctrl-D\n",
		      stderr);
	return true;
}

static void forget(struct prompt *p)
{
	free(p->sql);
	p->sql = NULL;
}

static bool is_blank(const char *line)
{
	return !line[strspn(line, " \t\n;")];
}

/* False when it is to end. */
static bool take_line(struct prompt *p)
{
	if (!p->sql && p->line[0] == '.')
		return run_command(p, p->line);
	if (!p->sql && is_blank(p->line))
		return true;

	char *longer = must_printf("%s%s", p->sql ? p->sql : "", p->line);

	free(p->sql);
	p->sql = longer;
	if (query_is_complete(p->sql)) {
		run(p, p->sql);
		forget(p);
	}
	return true;
}

/* False at the end of input. */
static bool read_line(struct prompt *p)
{
	for (;;) {
		fputs(p->sql ? "  ...> " : "sonde> ", stderr);
		errno = 0;
		if (getline(&p->line, &p->room, stdin) >= 0)
			return true;
		fputc('\n', stderr);
		if (errno != EINTR)
			return false;
		clearerr(stdin);
		interrupted = 0;
		forget(p);
	}
}

static char *read_all(struct err *err)
{
	char *text = NULL;
	size_t room = 0;

	/* up to a NUL, which no SQL has */
	if (getdelim(&text, &room, '\0', stdin) >= 0)
		return text;
	free(text);
	if (ferror(stdin))
		err_errno(err, "cannot read SQL from standard input");
	else
		err_set(err, -ENODATA, "standard input has no SQL");
	return NULL;
}

int prompt_run(struct query *query, const struct query_sink *sink, struct out *out, struct err *err)
{
	_cleanup_(prompt_done) struct prompt p = { .query = query, .sink = sink, .out = out };

	if (!isatty(STDIN_FILENO)) {
		_cleanup_(freep) char *sql = read_all(err);

		return sql ? query_run(query, sql, sink, err) : -ENODATA;
	}
	fputs("SQL, or .help\n", stderr);
	while (read_line(&p) && take_line(&p))
		;
	return 0;
}
