/* SPDX-License-Identifier: Apache-2.0 */
#include "store/baseline_file.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "build.h"
#include "bytes.h"
#include "learned.h"
#include "test.h"

static int save(const struct baseline *b, const char *path)
{
	struct profiles profiles = { 0 };
	struct err err = { "" };
	int r;

	profiles_build(b, 1, &profiles);
	r = baseline_save(b, &profiles, path, &err);
	profiles_done(&profiles);
	return r;
}

/* A baseline of two recordings; the caller frees both. */
static struct baseline *learn(void)
{
	struct baseline *b = baseline_new(&learn_defaults);

	learn_traces(b, 0, 60);
	learn_traces(b, 60, 40);
	baseline_finish(b);
	return b;
}

static char *path_of(const char *name)
{
	return must_strdup(scratch(name));
}

static struct baseline *load(const char *path)
{
	struct baseline *b = NULL;
	struct err err = { "" };

	CHECK_INT(baseline_load(path, &b, &err), 0);
	CHECK_STR(err.text, "");
	return b;
}

static void check_equal(const struct baseline *a, const struct baseline *b)
{
	_cleanup_(freep) char *of_a = baseline_text(a), *of_b = baseline_text(b);
	struct profiles profiles[2] = { 0 };

	CHECK(strcmp(of_a, of_b) == 0);
	profiles_build(a, 1, &profiles[0]);
	profiles_build(b, 2, &profiles[1]);

	_cleanup_(freep) char *p = profiles_text(a, &profiles[0]);
	_cleanup_(freep) char *q = profiles_text(b, &profiles[1]);

	CHECK(strcmp(p, q) == 0);
	profiles_done(&profiles[0]);
	profiles_done(&profiles[1]);
}

/* Runs SQL on a file, without the checks of a baseline. */
static void alter(const char *path, const char *sql)
{
	sqlite3 *db;

	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static int64_t number_of(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *stmt = NULL;
	int64_t n = -1;

	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

/* The message about a file, after its name. */
static const char *load_error(const char *path, int code)
{
	static struct err err;
	struct baseline *b = NULL;
	const char *after;

	err.text[0] = '\0';
	CHECK_INT(baseline_load(path, &b, &err), code);
	CHECK(!b);
	baseline_free(b);
	after = strstr(err.text, "' ");
	return after ? after + 2 : err.text;
}

/* The message about a baseline that some SQL has changed. */
static const char *error_after(const char *sql)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("altered");

	CHECK_INT(save(b, path), 0);
	alter(path, sql);
	return load_error(path, -EBADMSG);
}

TEST(a_loaded_baseline_equals_the_saved_one)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("saved");

	CHECK_INT(save(b, path), 0);

	_cleanup_(baseline_freep) struct baseline *loaded = load(path);

	check_equal(b, loaded);
}

TEST(an_empty_baseline_is_saved_and_loaded)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);
	_cleanup_(freep) char *path = path_of("empty");

	baseline_finish(b);
	CHECK_INT(save(b, path), 0);

	_cleanup_(baseline_freep) struct baseline *loaded = load(path);

	check_equal(b, loaded);
}

TEST(options_and_strange_names_are_kept)
{
	struct learn_options options = { 0.8, 1, 5, true, 2.5, 0.75 };
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&options);
	_cleanup_(freep) char *path = path_of("options");
	struct observation o = hand_trace(1)->shop;

	baseline_begin(b, hand_spans());
	o.service = span_set_intern((struct span_set *)hand_spans(), "\xff'\";\n");
	o.identity = o.name = o.subtree = o.type = UINT64_MAX;
	o.duration = o.queueing = o.position = INT64_MAX;
	baseline_add_observation(b, &o);
	baseline_end(b, &(struct observation_counts){ 1, 2, 3 });
	baseline_finish(b);
	CHECK_INT(save(b, path), 0);

	_cleanup_(baseline_freep) struct baseline *loaded = load(path);

	check_equal(b, loaded);
}

TEST(learning_into_a_file_equals_learning_at_once)
{
	_cleanup_(baseline_freep) struct baseline *once = baseline_new(&learn_defaults);
	_cleanup_(baseline_freep) struct baseline *first = baseline_new(&learn_defaults);
	_cleanup_(freep) char *path = path_of("into");

	learn_traces(once, 0, 9000); /* more than a key keeps */
	learn_traces(once, 8000, 7000);
	baseline_finish(once);

	learn_traces(first, 8000, 7000);
	baseline_finish(first);
	CHECK_INT(save(first, path), 0);

	_cleanup_(baseline_freep) struct baseline *into = load(path);

	CHECK(learn_traces(into, 0, 9000));
	baseline_finish(into);
	check_equal(once, into);
}

TEST(a_recording_that_a_file_contains_is_not_learned_again)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("again");

	CHECK_INT(save(b, path), 0);

	_cleanup_(baseline_freep) struct baseline *loaded = load(path);

	CHECK(!learn_traces(loaded, 60, 40));
	baseline_finish(loaded);
	check_equal(b, loaded);
}

TEST(equal_baselines_make_equal_files)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(baseline_freep) struct baseline *other = baseline_new(&learn_defaults);
	_cleanup_(freep) char *path = path_of("one"), *other_path = path_of("other");

	learn_traces(other, 60, 40);
	learn_traces(other, 0, 60);
	baseline_finish(other);
	CHECK_INT(save(b, path), 0);
	CHECK_INT(save(other, other_path), 0);

	_cleanup_(bytes_done) struct bytes one = bytes_read(path), two = bytes_read(other_path);

	CHECK(one.size == two.size && memcmp(one.data, two.data, one.size) == 0);
}

TEST(derived_tables_contain_profiles_patterns_and_bands)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("derived");

	CHECK_INT(save(b, path), 0);
	/* two spans, each by position, subtree and operation */
	CHECK_INT(number_of(path, "SELECT count(*) FROM profiles"), 6);
	CHECK_INT(number_of(path, "SELECT count(*) FROM patterns WHERE kind = 'position' AND "
				  "letters = 'RD' AND support = 100 AND sequences = 100"),
		  1);
	CHECK_INT(number_of(path,
			    "SELECT count(*) FROM bands JOIN profiles USING (kind, key, part) "
			    "WHERE feature = 'lock' AND by_quantiles AND "
			    "service = 'shop'"),
		  5);
	CHECK_INT(number_of(path,
			    "SELECT count(*) FROM bands JOIN profiles USING (kind, key, part) "
			    "WHERE feature = 'disk' AND low < middle AND middle < high AND "
			    "service = 'database'"),
		  5);
	CHECK_INT(number_of(path, "PRAGMA integrity_check") == -1, 0);
}

TEST(a_file_is_private_and_found_by_its_content)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("private"), *database = path_of("database");
	struct stat st;

	CHECK_INT(save(b, path), 0);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(baseline_is_file(path));
	alter(database, "CREATE TABLE t (x)");
	CHECK(!baseline_is_file(database));
	CHECK(!baseline_is_file("/dev/null"));
	CHECK(!baseline_is_file("/nonexistent"));
	CHECK_STR(load_error(database, -EBADMSG), "is not a baseline of sonde");
}

TEST(a_failed_save_leaves_the_old_file)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("old");
	struct rlimit old, small = { 8192, 8192 };

	CHECK_INT(save(b, path), 0);

	_cleanup_(bytes_done) struct bytes before = bytes_read(path);

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	CHECK_INT(save(b, path), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);

	_cleanup_(bytes_done) struct bytes after = bytes_read(path);

	CHECK(before.size == after.size && memcmp(before.data, after.data, after.size) == 0);
}

TEST(a_symbolic_link_is_not_followed)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("target"), *link = path_of("link");

	CHECK_INT(save(b, path), 0);
	unlink(link);
	CHECK_INT(symlink(path, link), 0);
	CHECK_INT(save(b, link), -ELOOP);
}

TEST(another_version_is_refused)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("version");

	CHECK_INT(save(b, path), 0);
	alter(path, "PRAGMA user_version = 2");
	CHECK(baseline_is_file(path));
	CHECK_STR(load_error(path, -EPROTONOSUPPORT),
		  "is a baseline of version 2; this sonde reads version 1");
}

TEST(a_file_with_a_log_beside_it_is_refused)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("log");

	CHECK_INT(save(b, path), 0);
	alter(path, "PRAGMA journal_mode = wal");
	CHECK_STR(load_error(path, -EBADMSG),
		  "is in WAL mode; run PRAGMA journal_mode = delete on it");
	alter(path, "PRAGMA journal_mode = delete");

	_cleanup_(baseline_freep) struct baseline *loaded = load(path);

	check_equal(b, loaded);
}

TEST(elements_beside_the_tables_are_refused)
{
	CHECK_STR(error_after("CREATE VIEW v AS SELECT 1"),
		  "contains the view 'v', which no baseline has");
	CHECK_STR(error_after("DROP TABLE spans; CREATE VIEW spans AS SELECT 1"),
		  "contains the view 'spans', which no baseline has");
	CHECK_STR(error_after("CREATE TRIGGER t AFTER INSERT ON spans BEGIN SELECT 1; END"),
		  "contains the trigger 't', which no baseline has");
	CHECK_STR(error_after("CREATE VIRTUAL TABLE f USING fts5(x)"),
		  "contains the table 'f', which no baseline has");
	CHECK_STR(error_after("CREATE INDEX i ON spans (abs(type))"),
		  "contains the index 'i', which no baseline has");
	CHECK_STR(error_after("ALTER TABLE keys ADD COLUMN x INTEGER AS (abs(key))"),
		  "contains the table 'keys', which no baseline has");
	CHECK_STR(error_after("DROP TABLE types"), "is damaged: no such table: types");
}

TEST(invalid_values_are_refused)
{
	static const struct {
		const char *sql, *message;
	} cases[] = {
		{ "UPDATE options SET value = -1 WHERE name = 'sigma'",
		  "is damaged: table 'options': an option is out of range" },
		{ "UPDATE options SET value = 9e999 WHERE name = 'cv'",
		  "is damaged: table 'options': an option is out of range" },
		{ "UPDATE options SET value = 3 WHERE name = 'gap_least'",
		  "is damaged: table 'options': an option is out of range" },
		{ "UPDATE options SET value = 1.5 WHERE name = 'gap_most'",
		  "is damaged: table 'options': an option is out of range" },
		{ "DELETE FROM options WHERE name = 'cv'",
		  "is damaged: table 'options': an option is missing" },
		{ "INSERT INTO options VALUES ('x', 1)",
		  "is damaged: table 'options': an option is unknown" },
		{ "UPDATE types SET traces = -1",
		  "is damaged: table 'types': a number is out of range" },
		{ "DELETE FROM recordings",
		  "is damaged: table 'spans': a span has an unknown recording" },
		{ "DELETE FROM keys WHERE kind = 'subtree'",
		  "is damaged: table 'spans': a span has an unknown key" },
		{ "INSERT INTO keys VALUES ('x', 1, 1)",
		  "is damaged: table 'keys': a kind is unknown" },
		{ "UPDATE spans SET quarter = 4",
		  "is damaged: table 'spans': a number is out of range" },
		{ "UPDATE spans SET duration = -5",
		  "is damaged: table 'spans': a number is out of range" },
		{ "UPDATE spans SET runs = x''",
		  "is damaged: table 'spans': an interval has more runs than there are" },
		{ "UPDATE spans SET traits = x'000161'", /* without a value */
		  "is damaged: table 'spans': a trait is invalid" },
		{ "UPDATE spans SET traits = x'06016102'", /* of an unknown kind */
		  "is damaged: table 'spans': a trait is invalid" },
		{ "UPDATE spans SET traits = x'010561'", /* a longer key than there are bytes */
		  "is damaged: table 'spans': a trait is invalid" },
		{ "UPDATE spans SET traits = x'00010002'", /* NUL in a key */
		  "is damaged: table 'spans': a trait is invalid" },
		{ "UPDATE spans SET traits = x'00ffffffffffffffffff0102'", /* a length of 2^64 - 1
									    */
		  "is damaged: table 'spans': a trait is invalid" },
		{ "UPDATE spans SET traits = zeroblob(51)", /* 17 traits without a name */
		  "is damaged: table 'spans': a span has too many traits" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(error_after(cases[i].sql), cases[i].message);
}

TEST(a_value_of_another_type_is_refused)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("type");

	CHECK_INT(save(b, path), 0);
	/* a strict table checks types; its definition has to be the right one again */
	alter(path, "PRAGMA writable_schema = on; UPDATE sqlite_schema "
		    "SET sql = replace(sql, ' STRICT', '') WHERE name = 'spans'");
	alter(path, "UPDATE spans SET duration = 'x'");
	alter(path, "PRAGMA writable_schema = on; UPDATE sqlite_schema "
		    "SET sql = sql || ' STRICT' WHERE name = 'spans'");
	CHECK_STR(load_error(path, -EBADMSG),
		  "is damaged: table 'spans': a value has the wrong type");
}

TEST(pages_that_repeat_end_in_an_error)
{
	enum { PAGE = 4096, CELLS = 12 }; /* offset of the cells in a page that refers to others */
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("pages");

	CHECK_INT(save(b, path), 0);

	int64_t root = number_of(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'spans'");
	_cleanup_(bytes_done) struct bytes all = bytes_read(path);
	uint8_t *page = all.data + (root - 1) * PAGE;
	unsigned int cells = page[3] << 8 | page[4];
	uint8_t *first = page + (page[CELLS] << 8 | page[CELLS + 1]);

	CHECK(page[0] == 5 && cells > 2);
	for (unsigned int i = 1; i < cells; i++)
		memcpy(page + (page[CELLS + 2 * i] << 8 | page[CELLS + 2 * i + 1]), first, 4);
	bytes_write(&all, path);
	CHECK_STR(load_error(path, -EBADMSG), "is damaged: table 'spans': keys are not in order");
}

TEST(invalid_intervals_and_runs_are_refused)
{
	static const struct {
		const char *intervals, *runs, *message;
	} cases[] = {
		{ "00000000000000", "", NULL },
		{ "01050000000000", "5205", NULL },
		{ "01050000000000", "5a05", "a run has an unknown state" },
		{ "01050000000000", "d205", "an interval has more runs than there are" },
		{ "01050000000000", "52", "an interval has more runs than there are" },
		{ "01050000000000", "5285", "an interval has more runs than there are" },
		{ "01050000000000", "520552", "the last run is incomplete" },
		{ "01050000000000", "52055205", "there are more runs than those of the intervals" },
		{ "ffffffff0f050000000000", "5205", "an interval has more runs than there are" },
		{ "010500000000", "5205", "the last interval is incomplete" },
		{ "0105000000000000", "5205", "the last interval is incomplete" },
		{ "0105000000000080", "5205", "the last interval is incomplete" },
		{ "01ffffffffffffffffff020000000000", "5205", "a time of an interval is invalid" },
		{ "01ffffffffffffffff7f0000000000", "5201", "the time of a run is invalid" },
		{ "01ffffffffffffffff7f0100000000", "5200", "a time of an interval is invalid" },
		{ "0180808080808080808080000000000000", "5205",
		  "a time of an interval is invalid" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(baseline_freep) struct baseline *b = learn();
		_cleanup_(freep) char *path = path_of("states");
		_cleanup_(freep) char *sql =
			must_printf("UPDATE spans SET intervals = x'%s', runs = x'%s'",
				    cases[i].intervals, cases[i].runs);

		CHECK_INT(save(b, path), 0);
		alter(path, sql);
		if (cases[i].message) {
			const char *message = load_error(path, -EBADMSG);

			CHECK_STR(message + strlen("is damaged: table 'spans': "),
				  cases[i].message);
		} else {
			_cleanup_(baseline_freep) struct baseline *loaded = load(path);

			CHECK(loaded && loaded->samples.count == 200);
		}
	}
}

/* Loading ends, with a result or a message. */
static void check_bytes(const struct bytes *bytes)
{
	struct baseline *b = NULL;
	struct err err = { "" };
	int r = baseline_load_bytes((struct view){ (const char *)bytes->data, bytes->size }, "x",
				    &b, &err);

	CHECK((r == 0) == (b != NULL) && (r < 0) == (err.text[0] != '\0'));
	baseline_free(b);
}

TEST(a_truncated_file_is_refused)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("truncated");

	CHECK_INT(save(b, path), 0);

	_cleanup_(bytes_done) struct bytes all = bytes_read(path);

	for (size_t size = 0; size < all.size; size += 509) {
		struct baseline *none = NULL;
		struct err err = { "" };

		CHECK_INT(baseline_load_bytes((struct view){ (const char *)all.data, size }, "x",
					      &none, &err),
			  -EBADMSG);
		CHECK(!none);
	}
}

TEST(a_corrupted_file_gives_a_result_or_a_message)
{
	_cleanup_(baseline_freep) struct baseline *b = learn();
	_cleanup_(freep) char *path = path_of("corrupted");

	CHECK_INT(save(b, path), 0);

	_cleanup_(bytes_done) struct bytes all = bytes_read(path);

	for (uint64_t round = 0; round < 3000; round++) {
		size_t at = random_share(round, 1) * all.size;
		uint8_t before = all.data[at];

		if (round % 2) /* the header of a page */
			at = at / 4096 * 4096 + at % 16 + (at < 4096 ? 100 : 0);
		before = all.data[at];
		all.data[at] = random_share(round, 2) * 256;
		check_bytes(&all);
		all.data[at] = before;
	}
}
