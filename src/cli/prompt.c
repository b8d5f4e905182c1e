/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prompt.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/vec.h"
#include "cli/log.h"

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
	struct sigaction action = { .sa_handler = on_interrupt };

	sigaction(SIGINT, &action, NULL);
	query_set_stop(query, is_interrupted);
}

struct prompt {
	struct query *query;
	const struct query_sink *sink;
	struct out *out;
	VEC(char) typed; /* input not yet split into lines */
	char *line;
	char *sql; /* lines of an incomplete statement, or NULL */
};

static void prompt_done(struct prompt *p)
{
	vec_done(&p->typed);
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
		log_message("%s", err.text);
}

static void show_schema(struct prompt *p, const char *table)
{
	_cleanup_(freep) char *sql = NULL;

	for (const char *c = table; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_') {
			log_message("invalid table name '%s'", table);
			return;
		}
	sql = must_printf(
		"SELECT name, type, description FROM columns WHERE table_name = lower('%s')",
		table);
	run(p, sql);
}

/* Returns false to exit. */
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
		run(p, "SELECT table_name, name, type, description FROM columns");
	else
		fputs("End each SQL statement with a semicolon. Other commands:\n"
		      "  .tables         list the tables\n"
		      "  .schema [NAME]  list the columns of all tables, or of one\n"
		      "  .quit           exit (or Ctrl-D)\n",
		      stderr);
	return true;
}

static void discard_sql(struct prompt *p)
{
	free(p->sql);
	p->sql = NULL;
}

static bool is_blank(const char *line)
{
	return !line[strspn(line, " \t\n;")];
}

/* Returns false to exit. */
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
		discard_sql(p);
	}
	return true;
}

/* Move the first complete line of the input to p->line. */
static bool cut_line(struct prompt *p)
{
	char *end = p->typed.count ? memchr(p->typed.items, '\n', p->typed.count) : NULL;
	size_t len = end ? end + 1 - p->typed.items : 0;

	if (!end)
		return false;
	free(p->line);
	p->line = must_printf("%.*s", (int)len, p->typed.items);
	p->typed.count -= len;
	memmove(p->typed.items, end + 1, p->typed.count);
	return true;
}

/*
 * Wait for input and read it.  Returns 1, 0 at the end of input, or -EINTR after
 * Ctrl-C.  SIGINT is blocked except during ppoll(), so that a Ctrl-C between the
 * prompt and the wait is not missed.
 */
static int read_typed(struct prompt *p)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	sigset_t blocked, before;
	char typed[4096];
	ssize_t n;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	n = interrupted ? -1 : ppoll(&in, 1, NULL, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (n < 0)
		return -EINTR;
	n = read(STDIN_FILENO, typed, sizeof(typed));
	for (ssize_t i = 0; i < n; i++)
		*vec_push(&p->typed) = typed[i];
	return n > 0;
}

/* Returns false at the end of input. */
static bool read_line(struct prompt *p)
{
	int r = -EINTR;

	while (!cut_line(p)) {
		if (r != 1)
			fputs(p->sql ? "  ...> " : "sonde> ", stderr);
		r = read_typed(p);
		if (r <= 0)
			fputc('\n', stderr);
		if (r == 0)
			return false;
		if (r < 0) {
			interrupted = 0;
			p->typed.count = 0;
			discard_sql(p);
		}
	}
	return true;
}

static char *read_all(struct err *err)
{
	char *text = NULL;
	size_t room = 0;

	/* up to EOF: SQL contains no NUL */
	if (getdelim(&text, &room, '\0', stdin) >= 0)
		return text;
	free(text);
	if (ferror(stdin))
		err_errno(err, "cannot read SQL from standard input");
	else
		err_set(err, -ENODATA, "standard input is empty; give SQL");
	return NULL;
}

int prompt_run(struct query *query, const struct query_sink *sink, struct out *out, struct err *err)
{
	_cleanup_(prompt_done) struct prompt p = { .query = query, .sink = sink, .out = out };

	if (!isatty(STDIN_FILENO)) {
		_cleanup_(freep) char *sql = read_all(err);

		return sql ? query_run(query, sql, sink, err) : -ENODATA;
	}
	fputs("Enter SQL, or .help\n", stderr);
	while (read_line(&p) && take_line(&p))
		;
	return 0;
}
