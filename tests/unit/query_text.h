/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_text - the result of an SQL query as text: rows separated by blanks, such
 * as "1|a 2|b", or the error message.
 */
#ifndef SONDE_TESTS_QUERY_TEXT_H
#define SONDE_TESTS_QUERY_TEXT_H

#include "query/query.h"
#include "story.h"
#include "test.h"

struct result {
	char *text;
	size_t size;
	FILE *file;
	size_t columns, rows;
};

static inline int result_begin(void *arg, const char *const *names, size_t count)
{
	struct result *r = arg;

	r->columns = count;
	return 0;
}

static inline int result_row(void *arg, const struct query_value *values)
{
	struct result *r = arg;

	fputs(r->rows++ ? " " : "", r->file);
	for (size_t i = 0; i < r->columns; i++) {
		const struct query_value *v = &values[i];

		fputs(i ? "|" : "", r->file);
		if (v->type == QUERY_INT)
			fprintf(r->file, "%lld", (long long)v->i);
		else if (v->type == QUERY_REAL)
			fprintf(r->file, "%g", v->real);
		else if (v->type != QUERY_NULL)
			fprintf(r->file, "%.*s", (int)v->len, v->s);
	}
	return 0;
}

static inline int result_end(void *arg)
{
	return 0;
}

/* What a query gives, or the sentence of its failure; to be freed. */
static inline char *ask(struct query *q, const char *sql)
{
	struct result r = { 0 };
	struct query_sink sink = { result_begin, result_row, result_end, &r };
	struct err err = { "" };

	r.file = open_memstream(&r.text, &r.size);
	if (query_run(q, sql, &sink, &err) < 0) {
		rewind(r.file);
		fputs(err.text, r.file);
		fputc('\0', r.file);
	}
	fclose(r.file);
	return r.text;
}

static inline void check(struct query *q, const char *sql, const char *want)
{
	_cleanup_(freep) char *got = ask(q, sql);

	if (strcmp(got, want) != 0)
		printf("# %s\n", sql);
	CHECK_STR(got, want);
}

static inline void check_story(const struct story *story, const char *sql, const char *want)
{
	_cleanup_(model_freep) struct model *model = story_model(story);
	_cleanup_(query_freep) struct query *q = query_new(model);

	check(q, sql, want);
}

#endif
