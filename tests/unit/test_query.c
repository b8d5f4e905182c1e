/* SPDX-License-Identifier: Apache-2.0 */
/* SQL over hand-made models, and malicious SQL. */
#include "query_text.h"
#include "query/show.h"

static void two_threads(struct story *s)
{
	story_add(s, REC(TASK, task, 0, 1, .pid = 1, .comm = 7, .event = TASK_EXISTING));
	story_add(s, REC(TASK, task, 10, 2, .pid = 1, .comm = 8, .event = TASK_EXISTING));
	story_run(s, 1, 0, 10);
	story_add(s, REC(WAIT, wait, 40, 1, .start = 10, .woken = 30, .state = STATE_LOCK,
			 .ready = STATE_READY, .waker = 2, .context = WAKE_TASK, .syscall = 202,
			 .object_kind = OBJECT_FUTEX, .object = 0x1000));
	story_run(s, 1, 40, 50);
	story_run(s, 2, 10, 40);
}

TEST(intervals_have_states_and_causes)
{
	_cleanup_(story_done) struct story s = { 0 };

	two_threads(&s);
	check_story(
		&s,
		"SELECT tid, comm, state, start, end, duration FROM intervals ORDER BY tid, start",
		"1|string 7|R|0|10|10 1|string 7|L|10|30|20 1|string 7|C|30|40|10 "
		"1|string 7|R|40|50|10 2|string 8|R|10|40|30");
	check_story(&s,
		    "SELECT waker_tid, waker_comm, woken_by, syscall, object_type, object_name "
		    "FROM intervals WHERE state = 'L'",
		    "2|string 8|task|futex|futex|0x1000");
}

TEST(a_wakeup_has_its_wait_and_its_run_queue_latency)
{
	_cleanup_(story_done) struct story s = { 0 };

	two_threads(&s);
	story_wait_packet(&s, 1, 50, 60);
	check_story(
		&s,
		"SELECT tid, start, time, duration, delay, state, waker_tid, vector FROM wakeups",
		"1|10|30|20|10|L|2| 1|50|60|10||N||net_rx");
}

TEST(slices_show_the_thread_that_ran)
{
	_cleanup_(story_done) struct story s = { 0 };

	two_threads(&s);
	check_story(&s,
		    "SELECT t.tid, min(t.end, i.end) - max(t.start, i.start) "
		    "FROM intervals i JOIN slices t ON t.cpu = i.cpu AND t.host = i.host "
		    "AND t.start < i.end AND t.end > i.start WHERE i.state = 'C'",
		    "2|10");
}

TEST(messages_have_their_peers)
{
	_cleanup_(story_done) struct story s = { 0 };

	two_threads(&s);
	story_connect(&s, 100);
	story_send(&s, 1, 45, 100, 11, 10);
	story_receive(&s, 2, 48, 101, 11, 10);
	check_story(
		&s,
		"SELECT tid, time, direction, bytes, object_type, local, peer, peer_tid, duration "
		"FROM messages",
		"1|45|send|10|inet|10.0.0.1:100|10.0.0.1:101|2|3 "
		"2|48|receive|10|inet|10.0.0.1:101|10.0.0.1:100|1|3");
}

TEST(syscalls_block_io_probe_events_and_losses_have_tables)
{
	_cleanup_(story_done) struct story s = { 0 };

	two_threads(&s);
	story_add(&s, REC(SYSCALL, syscall, 9, 1, .start = 5, .nr = 0, .result = -11));
	story_add(&s, REC(SYSCALL, syscall, 19, 1, .start = 15, .nr = 9999, .result = -100000));
	story_add(&s, REC(BLOCK, block, 30, 2, .start = 20, .bytes = 4096, .device = 254 << 20 | 1,
			  .op = 'W', .error = -5));
	story_add(&s, REC(PROBE_TYPE, probe_type, 0, 0, .type = 3, .name = 9));
	story_add(&s, REC(PROBE_EVENT, probe_event, 33, 2, .type = 3));
	story_add(&s, REC(LOSS, loss, 50, 0, .start = 1, .end = 2, .count = 7));
	check_story(&s, "SELECT tid, start, end, duration, name, nr, result, error FROM syscalls",
		    "1|5|9|4|read|0|-11|EAGAIN 1|15|19|4||9999|-100000|");
	check_story(&s, "SELECT tid, duration, device, op, bytes, error FROM block_io",
		    "2|10|254:1|W|4096|EIO");
	check_story(&s, "SELECT tid, time, event FROM probe_events", "2|33|string 9");
	check_story(&s, "SELECT start, end, count FROM losses", "1|2|7");
}

TEST(spans_have_parents_and_threads)
{
	_cleanup_(story_done) struct story s = { 0 };

	two_threads(&s);
	story_span(&s, 5, 45, 1, 0, 1);
	story_span(&s, 10, 40, 2, 1, 2);
	story_span(&s, 11, 12, 3, 9, 0);
	check_story(&s,
		    "SELECT c.operation, p.operation, c.parent_span_id, c.tid, c.comm, c.duration "
		    "FROM spans c LEFT JOIN spans p ON p.id = c.parent ORDER BY c.start",
		    "string 1|||1|string 7|40 string 2|string 1|0100000000000000|2|string 8|30 "
		    "string 3||0900000000000000|||1");
	check_story(
		&s,
		"SELECT count(*) FROM spans WHERE trace_id = '01000000000000000000000000000000'",
		"3");
	check_story(&s, "SELECT operation FROM spans WHERE span_id = '0200000000000000'",
		    "string 2");
	/* time by state in the first */
	check_story(
		&s,
		"SELECT i.state, sum(min(i.end, s.end) - max(i.start, s.start)) FROM spans s "
		"JOIN intervals i ON i.thread = s.thread AND i.start < s.end AND i.end > s.start "
		"WHERE s.operation = 'string 1' GROUP BY 1 ORDER BY 1",
		"C|10 L|20 R|10");
}

TEST(contexts_show_the_spans_of_threads)
{
	_cleanup_(story_done) struct story s = { 0 };

	two_threads(&s);
	story_span(&s, 5, 45, 1, 0, 1);
	story_span(&s, 10, 40, 2, 1, 2);
	story_span(&s, 11, 12, 3, 0, 0);
	story_context(&s, 1, 5, 1);
	story_context(&s, 1, 42, 0);
	story_observed(&s, 2, 15, 20, 2);
	story_context(&s, 2, 35, 9); /* span 9 is not recorded */
	check_story(&s,
		    "SELECT tid, start, end, duration, cpu_time, source, span, span_id, operation "
		    "FROM contexts",
		    "1|5|42|37|7|published|3|0100000000000000|string 1 1|42|50|8|8|published||| "
		    "2|15|20|5|5|unknown||| 2|20|35|15|15|observed|2|0200000000000000|string 2 "
		    "2|35|40|5|5|published||0900000000000000|");
	check_story(&s, "SELECT operation, cpu_time FROM spans ORDER BY operation",
		    "string 1|7 string 2|15 string 3|");
	check_story(&s, "SELECT source FROM contexts WHERE tid = 2 AND start < 20 AND end > 17",
		    "unknown");
}

TEST(attributes_have_values_of_their_types)
{
	_cleanup_(story_done) struct story s = { 0 };
	union {
		double real;
		uint64_t bits;
	} half = { .real = 0.5 };
	const struct {
		uint8_t type;
		uint64_t value;
	} told[] = { { ATTRIBUTE_STRING, 5 },
		     { ATTRIBUTE_BOOL, 1 },
		     { ATTRIBUTE_INT, -7 },
		     { ATTRIBUTE_DOUBLE, half.bits },
		     { 99, 1 } };

	for (uint32_t i = 0; i < ARRAY_LEN(told); i++)
		story_add(&s, REC(ATTRIBUTE, attribute, 9, 1, .trace = { 1 }, .span = { 1 },
				  .key = 30 + i, .type = told[i].type, .value = told[i].value));
	story_add(&s, REC(SPAN, span, 10, 1, .start = 0, .trace = { 1 }, .span = { 1 },
			  .kind = SPAN_SERVER));
	check_story(&s, "SELECT span, key, type, value, typeof(value) FROM attributes",
		    "1|string 30|string|string 5|text 1|string 31|bool|1|integer "
		    "1|string 32|int|-7|integer 1|string 33|double|0.5|real 1|string 34|||null");
	check_story(&s, "SELECT key FROM attributes WHERE value = 'string 5' OR value < 0",
		    "string 30 string 32");
	check_story(&s,
		    "SELECT s.kind, a.value FROM spans s JOIN attributes a ON a.span = s.id "
		    "WHERE a.key = 'string 32'",
		    "server|-7");
}

TEST(requests_are_rebuilt_on_first_use)
{
	_cleanup_(story_done) struct story s = { 0 };

	two_threads(&s);
	story_connect(&s, 100);
	story_receive(&s, 1, 20, 101, 11, 10);
	story_send(&s, 1, 45, 101, 21, 20);
	check_story(
		&s,
		"SELECT r.id, r.kind, r.local, r.entry, r.shape, r.tid, r.parent_unknown, count(*) "
		"FROM requests r JOIN request_work s ON s.request = r.id WHERE r.root = 1",
		"1|network|10.0.0.1:101|10.0.0.1:101|string 7|1|0|1");
}

TEST(an_empty_model_has_empty_tables)
{
	_cleanup_(story_done) struct story s = { 0 };
	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(query_freep) struct query *q = query_new(model);
	_cleanup_(freep) char *names = ask(q, "SELECT name FROM tables");

	CHECK(strlen(names) > 0);
	for (char *at = names, *name; (name = strsep(&at, " "));) {
		_cleanup_(freep) char *sql = must_printf("SELECT count(*) > 0 FROM %s", name);

		/* these two list the other tables */
		check(q, sql, !strcmp(name, "tables") || !strcmp(name, "columns") ? "1" : "0");
	}
}

TEST(functions_convert_and_name_values)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 5000000000);
	check_story(&s, "SELECT ms(1500000), us(1500), ms(NULL), ms('x'), since_start(7000000000)",
		    "1.5|1.5||0|2");
	check_story(&s, "SELECT since_start(-9223372036854775807 - 1)", "");
	check_story(&s,
		    "SELECT bucket(0), bucket(1), bucket(1023), bucket(1024), bucket(-5), "
		    "bucket(9223372036854775807), bucket(NULL)",
		    "0|1|512|1024|0|4611686018427387904|");
	check_story(&s, "SELECT state_name('C'), state_name('y'), state_name(''), state_name(NULL)",
		    "waiting for a CPU|||");
}

TEST(a_percentile_is_the_nearest_rank)
{
	_cleanup_(story_done) struct story s = { 0 };
	static const char numbers[] =
		"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200) ";
	_cleanup_(freep) char *sql = must_printf(
		"%sSELECT percentile(x, 0), percentile(x, 50), percentile(x, 99), "
		"percentile(x, 100), percentile(x / 4.0, 50), percentile(x, 0.6) FROM n",
		numbers);

	check_story(&s, sql, "1|100|198|200|25|2");
	check_story(&s, "SELECT percentile(NULL, 50), percentile(7, 50)", "|7");
	check_story(&s, "SELECT percentile(1, 101)", "percentile(x, p) needs p between 0 and 100");
	check_story(&s, "SELECT percentile(1, NULL) IS NOT NULL", "1");
}

TEST(an_error_shows_its_position)
{
	_cleanup_(story_done) struct story s = { 0 };

	check_story(&s, "SELECT 1;\nSELECT tid\nFROM threads WHER 1",
		    "near \"1\": syntax error\n  FROM threads WHER 1\n                    ^");
	check_story(&s, "SELECT sum(9223372036854775807) FROM tables", "integer overflow");
	check_story(&s, "", "");
	check_story(&s, ";;  -- nothing\n/* at all */", "");
}

static unsigned looks;

static bool stop_soon(void)
{
	return ++looks > 3;
}

TEST(a_long_query_can_be_stopped)
{
	_cleanup_(story_done) struct story s = { 0 };
	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(query_freep) struct query *q = query_new(model);

	looks = 0;
	query_set_stop(q, stop_soon);
	check(q,
	      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(x) FROM "
	      "n",
	      "interrupted");
	query_set_stop(q, NULL);
	check(q, "SELECT 1", "1"); /* the next query runs */
}

TEST(sql_can_only_read_the_tables)
{
	static const char *const forbidden[] = {
		"CREATE TABLE x(a)",
		"CREATE TEMP VIEW x AS SELECT 1",
		"CREATE VIRTUAL TABLE x USING fts5(a)",
		"INSERT INTO sqlite_master VALUES (1, 1, 1, 1, 1)",
		"ATTACH ':memory:' AS x",
		"DETACH main",
		"VACUUM",
		"VACUUM INTO '/dev/shm/sonde-test-query'",
		"ANALYZE",
		"BEGIN",
		"SAVEPOINT x",
		"PRAGMA journal_mode = wal",
		"PRAGMA hard_heap_limit = 0",
		"PRAGMA database_list",
	};
	_cleanup_(story_done) struct story s = { 0 };
	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(query_freep) struct query *q = query_new(model);

	for (size_t i = 0; i < ARRAY_LEN(forbidden); i++)
		check(q, forbidden[i], "queries are read-only: use SELECT");
	check(q, "DELETE FROM threads", "table threads may not be modified");
	check(q, "SELECT load_extension('libm.so.6')",
	      "not authorized to use function: load_extension\n  SELECT "
	      "load_extension('libm.so.6')\n"
	      "         ^");
	check(q, "SELECT readfile('/etc/passwd')",
	      "no such function: readfile\n  SELECT readfile('/etc/passwd')\n         ^");
	check(q, "SELECT count(*) FROM sqlite_master", "0");
}

TEST(functions_with_side_effects_or_addresses_are_denied)
{
	static const char *const calls[] = {
		"fts3_tokenizer('simple')",
		"fts3_tokenizer('mine', x'4141414141414141')",
		"fts5(NULL)",
		"fts5_source_id()",
		"rtreecheck('main', 'threads')",
		"rtreenode(2, zeroblob(100))",
		"sqlite_log(1, 'x')",
		"load_extension('x')",
	};
	_cleanup_(story_done) struct story s = { 0 };
	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(query_freep) struct query *q = query_new(model);

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		_cleanup_(freep) char *sql = must_printf("SELECT %s", calls[i]);
		_cleanup_(freep) char *said = ask(q, sql);

		CHECK(strstr(said, "not authorized") || strstr(said, "no such function"));
	}
	check(q, "SELECT '[1,2]' -> 1, iif(1, 2, 3), round(pow(2, 10)), format('%d', 7)",
	      "2|2|1024|7");
}

TEST(internal_tables_of_sqlite_are_denied)
{
	static const char *const tables[] = {
		"dbstat",       "sqlite_stmt",          "sqlite_dbpage", "bytecode",
		"fts3tokenize", "pragma_database_list", "fsdir('/')",    "pragma_compile_options",
	};
	_cleanup_(story_done) struct story s = { 0 };
	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(query_freep) struct query *q = query_new(model);

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		_cleanup_(freep) char *sql = must_printf("SELECT count(*) FROM %s", tables[i]);
		_cleanup_(freep) char *said = ask(q, sql);

		CHECK(strstr(said, "no such table") || strstr(said, "not authorized") ||
		      strstr(said, "constructor failed"));
	}
}

TEST(excessive_queries_fail_with_a_message)
{
	static const char *const large[] = {
		"SELECT length(zeroblob(1000000000))",
		"SELECT length(hex(zeroblob(40000000)))",
		"SELECT replace(hex(zeroblob(30000000)), '0', 'abcdefghijklmnopqrstuvwxyz')",
	};
	_cleanup_(story_done) struct story s = { 0 };
	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(query_freep) struct query *q = query_new(model);
	_cleanup_(freep) char *deep = must_alloc(40000);

	for (size_t i = 0; i < ARRAY_LEN(large); i++)
		check(q, large[i], "string or blob too big");
	strcpy(deep, "SELECT ");
	memset(deep + strlen(deep), '(', 10000);
	_cleanup_(freep) char *said = ask(q, deep);
	CHECK(strstr(said, "parser stack overflow") || strstr(said, "too"));
	_cleanup_(freep) char *minus = must_printf("SELECT %0*d", 2000, 1);
	memset(minus + 7, '-', 1999); /* a comment */
	_cleanup_(freep) char *comment = ask(q, minus);
	CHECK(*comment);
}

/* Compare the output of a query in one of the formats. */
static char *show(const struct model *model, enum show_format format, bool safe, const char *sql)
{
	_cleanup_(query_freep) struct query *q = query_new(model);
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct err err = { "" };
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	out_init(out, file);

	_cleanup_(show_freep) struct show *s = show_new(out, format, safe);

	CHECK_INT(query_run(q, sql, show_sink(s), &err), 0);
	out_flush(out);
	fclose(file);
	return text;
}

static void check_shown(enum show_format format, bool safe, const char *sql, const char *want)
{
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(freep) char *got = show(model, format, safe, sql);

	CHECK_STR(got, want);
}

TEST(tables_are_aligned_and_control_characters_escaped)
{
	check_shown(SHOW_TEXT, true,
		    "SELECT 1 AS n, 'a' AS word, 2.5 AS real UNION ALL SELECT 100, 'longer', NULL "
		    "UNION ALL SELECT NULL, char(27, 10, 0xe4) || x'ff', 1e-9",
		    "  n  word          real\n  1  a            2.500\n100  longer\n"
		    "     \\x1b\\nä\\xff  1e-09\n");
	check_shown(SHOW_TEXT, true, "SELECT 1 AS a WHERE 0; SELECT 'x' AS b", "a\n\nb\nx\n");
	check_shown(
		SHOW_CSV, false,
		"SELECT 'a,b' AS x, 'c\"d' AS \"y,z\", '' AS e, NULL AS n, ' f' AS f, x'ff' AS b, "
		"char(27) || CAST(x'ff' AS TEXT) AS g",
		"x,\"y,z\",e,n,f,b,g\n\"a,b\",\"c\"\"d\",\"\",,\" f\",ff,\x1b\xef\xbf\xbd\n");
	check_shown(SHOW_CSV, true, "SELECT char(27) || '\"' AS x", "x\n\"\\x1b\"\"\"\n");
	check_shown(
		SHOW_JSON, false,
		"SELECT 1 AS a, 'x' AS a, NULL AS a_2, x'0a' AS b UNION ALL SELECT 1.5, 2, 3, 4",
		"[{\"a\":1,\"a_2\":\"x\",\"a_2_2\":null,\"b\":\"0a\"},"
		"{\"a\":1.5,\"a_2\":2,\"a_2_2\":3,\"b\":4}]\n");
	check_shown(SHOW_JSON, false, "SELECT 1 AS a WHERE 0", "[]\n");
}

TEST(long_results_are_written_in_windows)
{
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(freep) char *got = show(
		model, SHOW_TEXT, true,
		"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2500) "
		"SELECT x, printf('%.*c', x % 3 + 1, 'y') AS y, hex(zeroblob(x * 40)) AS z FROM n");
	size_t lines = 0;

	for (const char *c = got; *c; c++)
		lines += *c == '\n';
	CHECK_INT(lines, 2501);
	CHECK(strstr(got, "\n999  y    000"));
	CHECK(strstr(got, "\n2500  yy   000"));
}
