/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/opt.h"
#include "cli/prompt.h"
#include "cli/warn.h"
#include "load/load.h"
#include "query/show.h"

struct query_opts {
	bool csv, json;
	const char *format;
};

#define FIELD(name) offsetof(struct query_opts, name)

static const struct opt query_opts[] = {
	{ OPT_FLAG, 0, "csv", NULL, "write comma-separated values", FIELD(csv) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON: an array of objects", FIELD(json) },
	OPT_FORMAT(struct query_opts, format),
	{ 0 },
};

static const struct query_opts query_defaults = { 0 };

/* SQL contains white space or a semicolon, and is not the name of an existing file. */
static bool is_sql(const char *operand)
{
	return strpbrk(operand, " \t\n;") && access(operand, F_OK) < 0;
}

/* Remove the SQL from the end of the operands, if there is any. */
static const char *take_sql(char **operands)
{
	size_t last = 0;

	while (operands[last + 1])
		last++;
	if (!is_sql(operands[last]))
		return NULL;
	return TAKE(operands[last]);
}

static bool reads_stdin(char **inputs)
{
	for (; *inputs; inputs++)
		if (strcmp(*inputs, "-") == 0)
			return true;
	return false;
}

static int run(struct query *query, const char *sql, const struct query_opts *o, struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	enum show_format format = o->json ? SHOW_JSON : o->csv ? SHOW_CSV : SHOW_TEXT;
	_cleanup_(show_freep) struct show *show = show_new(out, format, isatty(STDOUT_FILENO));

	out_init(out, stdout);

	int r = sql ? query_run(query, sql, show_sink(show), err)
		    : prompt_run(query, show_sink(show), out, err);
	int written = out_finish(out, err);

	return written < 0 ? written : r;
}

static int query_command(const void *opts, char **operands, struct err *err)
{
	const struct query_opts *o = opts;
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	_cleanup_(query_freep) struct query *query = NULL;
	const char *sql = take_sql(operands);

	if (!operands[0])
		return err_usage(err, "give an input before the SQL");
	if (!sql && reads_stdin(operands))
		return err_usage(err, "the input '-' is stdin: give the SQL as an argument");
	if (o->csv && o->json)
		return err_usage(err, "--csv and --json are mutually exclusive");

	struct err damage = { "" };
	int damaged = loaded_open(&loaded, operands, o->format, &damage), r = 0;

	warn_all(&loaded.warnings);
	if (loaded.model) {
		warn_lost(loaded.model);
		query = query_new(loaded.model);
		prompt_catch(query);
		r = run(query, sql, o, err);
	}
	if (r == 0 && damaged < 0)
		*err = damage;
	return r < 0 ? r : damaged;
}

const struct command cmd_query = {
	.name = "query",
	.summary = "query threads, intervals, messages and requests with SQL",
	.synopsis = "[OPTION]... INPUT... [SQL]",
	.examples =
		"  sonde query capture.sonde 'SELECT * FROM tables'\n"
		"  sonde query --csv capture.sonde \"SELECT comm, sum(duration) FROM intervals\n"
		"    WHERE state = 'C' GROUP BY thread ORDER BY 2 DESC LIMIT 10\"\n",
	.opts = query_opts,
	.defaults = &query_defaults,
	.opts_size = sizeof(query_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = query_command,
};
