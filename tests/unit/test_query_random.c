/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQL over random models.  A query that uses an index or bisection must find the same
 * rows as a full scan, which SQLite performs if a condition is on an expression instead
 * of a column.  Then random SQL.
 */
#include "query_text.h"

static uint64_t seed = 1;

static uint32_t chance(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % below;
}

enum { THREADS = 7, EVENTS = 900 };

/* Small time steps, so that many events coincide; if damaged, some calls overlap or end early. */
static void random_story(struct story *s, bool damaged)
{
	nsec_t now[THREADS] = { 0 };

	for (uint32_t i = 0; i < THREADS; i++)
		story_add(s, REC(TASK, task, 0, 10 + i, .pid = 10 + i / 3 * 3, .comm = 1 + i / 2,
				 .event = TASK_EXISTING));
	story_connect(s, 100);
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t who = chance(THREADS), tid = 10 + who;
		nsec_t start = now[who], end = start + chance(5), back = chance(6);

		now[who] = end;
		switch (chance(9)) {
		case 0:
			story_run(s, tid, start, end);
			break;
		case 1:
			story_wait(s, tid, start, end, STATE_LOCK, 10 + chance(THREADS));
			break;
		case 2:
			story_add(s, REC(SYSCALL, syscall, end, tid,
					 .start = !damaged ? start : end + 3 - back,
					 .nr = chance(300)));
			break;
		case 3:
			story_add(s,
				  REC(BLOCK, block, end, tid, .start = end > back ? end - back : 0,
				      .device = 1, .op = 'R'));
			break;
		case 4:
			story_send(s, tid, end, 100 + chance(2), chance(1000), 5);
			break;
		case 5:
			story_add(s,
				  REC(PROBE_EVENT, probe_event, end, tid, .type = 1 + chance(3)));
			break;
		case 6:
			story_span(s, start, end, 1 + chance(200), chance(200), tid);
			break;
		case 7:
			story_observed(s, tid, end - chance(end - start + 1), end, chance(200));
			break;
		case 8:
			story_add(s, REC(ATTRIBUTE, attribute, end, tid, .trace = { 1 },
					 .span = { 1 + chance(200) }, .key = chance(20),
					 .type = ATTRIBUTE_INT, .value = chance(9)));
			break;
		}
	}
}

/* A condition on a column, or on an expression of it, which cannot use an index. */
static char *condition(const char *column, const char *op, const char *value, bool full_scan)
{
	static const char texts[] = " comm trace_id span_id service operation key ";
	_cleanup_(freep) char *word = must_printf(" %s ", column);
	const char *type = strstr(texts, word) ? "TEXT" : "INTEGER";

	if (full_scan)
		return must_printf("CAST(%s AS %s) %s %s", column, type, op, value);
	return must_printf("%s %s %s", column, op, value);
}

static const struct indexed_table {
	const char *table, *keys, *times;
} indexed_tables[] = {
	{ "intervals", "thread pid tid comm", "start end" },
	{ "wakeups", "thread pid tid comm", "start time" },
	{ "slices", "cpu", "start end" },
	{ "messages", "thread pid tid comm", "time" },
	{ "syscalls", "thread pid tid comm", "start end" },
	{ "block_io", "thread pid tid comm", "start end" },
	{ "probe_events", "thread pid tid comm", "time" },
	{ "spans", "id parent trace_id span_id thread pid tid comm service operation", "" },
	{ "contexts", "thread pid tid comm", "start end" },
	{ "attributes", "span trace_id span_id key", "" },
	{ "threads", "id pid tid comm parent", "" },
	{ "requests", "id parent root trace_id span_id thread", "" },
	{ "request_work", "request thread", "" },
};

/* A random word. The caller frees it. */
static char *random_word(const char *words, char between)
{
	size_t count = 1, which, len;

	for (const char *c = words; *c; c++)
		count += *c == between;
	for (which = chance(count); which; which--)
		words = strchr(words, between) + 1;
	len = strcspn(words, (char[]){ between, 0 });
	return must_printf("%.*s", (int)len, words);
}

static char *random_value(const char *column)
{
	static const char *const odd[] = { "NULL",
					   "-1",
					   "1e30",
					   "-1e30",
					   "'7'",
					   "''",
					   "0.5",
					   "x'07'",
					   "9223372036854775807",
					   "-9223372036854775808",
					   "12.0" };

	if (chance(6) == 0)
		return must_strdup(odd[chance(ARRAY_LEN(odd))]);
	if (strstr(" comm operation key ", column))
		return must_printf("'string %u'", chance(6));
	return must_printf("%u", chance(chance(2) ? 400 : 20));
}

/* Up to four conditions, in a form that can use indexes and in one that cannot. */
static void random_conditions(const struct indexed_table *k, char **quick, char **slow)
{
	static const char *const ops[] = { "<", "<=", "=", ">=", ">", "IN", "IS" };

	*quick = must_strdup("1");
	*slow = must_strdup("1");
	for (uint32_t i = chance(5); i > 0; i--) {
		bool by_time = *k->times && chance(3);
		_cleanup_(freep) char *column = random_word(by_time ? k->times : k->keys, ' ');
		_cleanup_(freep) char *one = random_value(column), *two = random_value(column);
		const char *op = ops[by_time || chance(4) == 0 ? chance(ARRAY_LEN(ops)) : 2];
		_cleanup_(freep) char *value = strcmp(op, "IN") == 0
						       ? must_printf("(%s, %s)", one, two)
						       : must_strdup(one);
		_cleanup_(freep) char *a = condition(column, op, value, false);
		_cleanup_(freep) char *b = condition(column, op, value, true);
		char *more_quick = must_printf("%s AND %s", *quick, a);
		char *more_slow = must_printf("%s AND %s", *slow, b);

		free(*quick);
		free(*slow);
		*quick = more_quick;
		*slow = more_slow;
	}
}

static void check_random_queries(struct query *q, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		const struct indexed_table *k = &indexed_tables[chance(ARRAY_LEN(indexed_tables))];
		_cleanup_(freep) char *quick = NULL, *slow = NULL;

		random_conditions(k, &quick, &slow);

		_cleanup_(freep) char *quick_sql = must_printf(
			"SELECT count(*), sum(rowid), count(DISTINCT rowid) FROM %s WHERE %s",
			k->table, quick);
		_cleanup_(freep) char *slow_sql = must_printf(
			"SELECT count(*), sum(rowid), count(*) FROM %s WHERE %s", k->table, slow);
		_cleanup_(freep) char *want = ask(q, slow_sql);

		check(q, quick_sql, want);
	}
}

TEST(an_index_finds_the_same_rows_as_a_full_scan)
{
	for (unsigned round = 0; round < 12; round++) {
		_cleanup_(story_done) struct story s = { 0 };

		seed = round + 1;
		random_story(&s, round % 3 == 2);

		_cleanup_(model_freep) struct model *model = story_model(&s);
		_cleanup_(query_freep) struct query *q = query_new(model);

		check_random_queries(q, 400);
	}
}

TEST(joins_find_all_overlaps)
{
	static const char join[] =
		"SELECT count(*), sum(min(i.end, o.end) - max(i.start, o.start)) FROM %s o JOIN "
		"intervals i ON %si.thread = o.thread AND %si.start < o.end AND %si.end > o.start";
	_cleanup_(story_done) struct story s = { 0 };

	random_story(&s, false);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(query_freep) struct query *q = query_new(model);

	for (size_t i = 0; i < 3; i++) {
		const char *table = (const char *[]){ "spans", "syscalls", "block_io" }[i];
		_cleanup_(freep) char *quick = must_printf(join, table, "", "", "");
		_cleanup_(freep) char *slow = must_printf(join, table, "+", "+", "+");
		_cleanup_(freep) char *want = ask(q, slow);

		CHECK(strcmp(want, "0|") != 0);
		check(q, quick, want);
	}
}

TEST(rows_are_sorted_as_declared)
{
	static const char *const orders[][2] = {
		{ "intervals", "thread, start" },   { "wakeups", "thread, start" },
		{ "slices", "host, cpu, start" },   { "messages", "thread, time" },
		{ "syscalls", "thread, end" },      { "block_io", "thread, end" },
		{ "probe_events", "thread, time" }, { "spans", "id" },
	};
	_cleanup_(story_done) struct story s = { 0 };

	random_story(&s, false);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(query_freep) struct query *q = query_new(model);

	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		const char *table = orders[i][0], *order = orders[i][1];
		_cleanup_(freep) char *got_sql =
			must_printf("SELECT %s FROM %s ORDER BY %s", order, table, order);
		/* sort shuffled rows, so that SQLite cannot use the order of the table */
		_cleanup_(freep) char *want_sql = must_printf(
			"SELECT * FROM (SELECT %s FROM %s ORDER BY random()) ORDER BY %s", order,
			table, order);
		_cleanup_(freep) char *plan_sql = must_printf(
			"EXPLAIN QUERY PLAN SELECT %s FROM %s ORDER BY %s", order, table, order);
		_cleanup_(freep) char *want = ask(q, want_sql), *plan = ask(q, plan_sql);

		check(q, got_sql, want);
		CHECK(!strstr(plan, "TEMP B-TREE"));
	}
	_cleanup_(freep) char *plan = ask(
		q, "EXPLAIN QUERY PLAN SELECT * FROM intervals WHERE thread = 3 ORDER BY start");

	CHECK(!strstr(plan, "TEMP B-TREE"));
	check(q, "SELECT count(*) FROM (SELECT thread FROM intervals ORDER BY start DESC LIMIT 1)",
	      "1");
}

TEST(an_or_of_conditions_returns_each_row_once)
{
	_cleanup_(story_done) struct story s = { 0 };

	random_story(&s, false);
	check_story(&s,
		    "SELECT (SELECT count(*) FROM intervals WHERE tid = 11 OR comm = 'string 1' OR "
		    "thread = 2) - (SELECT count(*) FROM intervals WHERE +tid = 11 OR "
		    "+comm = 'string 1' OR +thread = 2)",
		    "0");
}

static unsigned stop_calls;

static bool stop_soon(void)
{
	return ++stop_calls > 3;
}

/* Words of SQL in random order. */
TEST(random_sql_fails_cleanly)
{
	static const char words[] =
		"SELECT|*|FROM|threads|intervals|wakeups|messages|spans|requests|request_work|"
		"stacks|syscalls|block_io|slices|columns|WHERE|=|<|>=|BETWEEN|AND|OR|NOT|IN|(|)|,|"
		"thread|tid|start|end|duration|comm|state|name|GROUP BY|ORDER BY|DESC|LIMIT 3|JOIN|"
		"LEFT JOIN|ON|USING|count(*)|sum(duration)|percentile(duration, "
		"50)|ms(duration)|UNION|EXCEPT|"
		"WITH x AS|1|'x'|NULL|x'00'|1e999|-|+|+|CASE WHEN|THEN|ELSE|END|AS a|EXISTS|"
		"NATURAL JOIN|rowid|;|?1|MATCH|GLOB|COLLATE NOCASE|IS|DISTINCT|OVER ()|HAVING|"
		"VALUES (1)";
	_cleanup_(story_done) struct story s = { 0 };

	random_story(&s, true);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(query_freep) struct query *q = query_new(model);
	unsigned good = 0;

	seed = 5;
	query_set_stop(q, stop_soon);
	for (unsigned i = 0; i < 20000; i++) {
		char sql[512] = "SELECT * FROM ";

		for (uint32_t k = 1 + chance(9); k > 0; k--) {
			_cleanup_(freep) char *word = random_word(words, '|');

			strcat(sql, word);
			strcat(sql, " ");
		}
		stop_calls = 0;

		_cleanup_(freep) char *said = ask(q, sql);

		good += !strstr(said, "error") && !strstr(said, "no such");
	}
	CHECK(good > 100); /* some statements are valid */
	query_set_stop(q, NULL);
	check(q, "SELECT count(*) FROM threads", "7");
}
