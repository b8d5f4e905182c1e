/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>

#include "base/file.h"
#include "base/mapping.h"
#include "store/baseline_file.h"
#include "store/pack.h"
#include "store/schema.h"

/*
 * Steps of SQLite between two checks, and steps for each byte of a file.  A row takes about two
 * steps per column, and a column at least a byte.
 */
enum { STEPS_BETWEEN_CHECKS = 10000, STEPS_PER_BYTE = 20 };

/* The first failure ends all later reads. */
struct table_reader {
	sqlite3 *db;
	sqlite3_stmt *stmt;
	const char *name; /* of the file */
	const char *table;
	struct baseline *baseline;
	int column;         /* next one */
	uint64_t rows;      /* of this table, before the current one */
	int64_t last;       /* key of the row before */
	size_t bytes_left;  /* of the file, for texts and blobs */
	size_t checks_left; /* until a read takes too long */
	struct map recordings;
	double options[LEARN_OPTIONS];
	uint32_t has_options; /* bits of those that were read */
	int r;
	struct err *err;
};

static void reader_done(struct table_reader *in)
{
	sqlite3_finalize(in->stmt);
	sqlite3_close(in->db);
	baseline_free(in->baseline);
	map_done(&in->recordings);
}

static void fail(struct table_reader *in, const char *why)
{
	if (in->r == 0)
		in->r = err_set(in->err, -EBADMSG, "'%s' is damaged: table '%s': %s", in->name,
				in->table, why);
}

static void fail_by_sqlite(struct table_reader *in)
{
	int rc = sqlite3_errcode(in->db);

	if (in->r)
		return;
	if (rc == SQLITE_NOMEM)
		in->r = err_set(in->err, -ENOMEM, "cannot read '%s': not enough memory", in->name);
	else if (rc == SQLITE_INTERRUPT)
		in->r = err_set(in->err, -EBADMSG, "'%s' is damaged: its pages form a loop",
				in->name);
	else
		in->r = err_set(in->err, -EBADMSG, "'%s' is damaged: %s", in->name,
				sqlite3_errmsg(in->db));
}

static bool next_is(struct table_reader *in, int type)
{
	if (sqlite3_column_type(in->stmt, in->column) == type)
		return true;
	fail(in, "a value has the wrong type");
	return false;
}

static uint64_t get_digest(struct table_reader *in)
{
	return next_is(in, SQLITE_INTEGER) ? sqlite3_column_int64(in->stmt, in->column++) : 0;
}

/* The digest by which rows are ordered. */
static uint64_t get_key(struct table_reader *in)
{
	int64_t key = get_digest(in);

	if (in->rows && key <= in->last)
		fail(in, "keys are not in order");
	in->last = key;
	return key;
}

static uint64_t get_count(struct table_reader *in, uint64_t most)
{
	uint64_t n = get_digest(in);

	if (n > most)
		fail(in, "a number is out of range");
	return n;
}

/* A time, size or count of any magnitude that sums leave room for. */
static uint64_t get_number(struct table_reader *in)
{
	return get_count(in, INT64_MAX);
}

/* Text or bytes, valid until the next row. */
static struct view get_bytes(struct table_reader *in, int type)
{
	struct view bytes = { "", 0 };

	if (!next_is(in, type))
		return bytes;
	/* first the content, then its size: text of another encoding is converted */
	const void *content = type == SQLITE_TEXT ? sqlite3_column_text(in->stmt, in->column)
						  : sqlite3_column_blob(in->stmt, in->column);
	int size = sqlite3_column_bytes(in->stmt, in->column++);

	if (size)
		bytes = (struct view){ content, size };
	if (!bytes.s || bytes.len > in->bytes_left) {
		fail(in, "rows share their pages");
		return (struct view){ "", 0 };
	}
	in->bytes_left -= bytes.len;
	return bytes;
}

static str_id get_string(struct table_reader *in)
{
	struct view text = get_bytes(in, SQLITE_TEXT);

	return strtab_add_n(in->baseline->strings, text.s, text.len);
}

static void read_option(struct table_reader *in)
{
	struct view name = get_bytes(in, SQLITE_TEXT);
	double value = next_is(in, SQLITE_FLOAT) ? sqlite3_column_double(in->stmt, in->column) : 0;
	int i = 0;

	while (i < LEARN_OPTIONS && !view_is(name, baseline_options[i].name))
		i++;
	if (i == LEARN_OPTIONS || in->has_options & 1u << i) {
		fail(in, "an option is unknown");
		return;
	}
	if (!(value >= baseline_options[i].least && value <= baseline_options[i].most) ||
	    (baseline_options[i].is_integer && value != (uint32_t)value)) {
		fail(in, "an option is out of range");
		return;
	}
	in->has_options |= 1u << i;
	in->options[i] = value;
}

static void read_recording(struct table_reader *in)
{
	struct recording r = { .digest = get_key(in) };

	r.length = get_number(in);
	r.traces = get_number(in);
	r.spans = get_number(in);
	r.cut = get_number(in);
	r.orphaned = get_number(in);
	r.lost = get_number(in);
	*vec_push(&in->baseline->recordings) = r;
	*map_insert(&in->recordings, r.digest) = 1;
}

static void read_type(struct table_reader *in)
{
	struct trace_type t = { .type = get_key(in) };

	t.folded = get_digest(in);
	t.traces = get_number(in);
	t.service = get_string(in);
	t.operation = get_string(in);
	if (in->rows >= TYPES_KEPT)
		fail(in, "too many types");
	*vec_push(&in->baseline->types) = t;
}

static void read_key(struct table_reader *in)
{
	struct view name = get_bytes(in, SQLITE_TEXT);
	uint64_t key = get_digest(in), observed = get_number(in);
	enum key_kind kind = 0;

	while (kind < KEY_KINDS && !view_is(name, key_kind_names[kind]))
		kind++;
	if (kind == KEY_KINDS)
		fail(in, "a kind is unknown");
	else if (map_find(&in->baseline->counts[kind], key))
		fail(in, "a key occurs twice");
	else
		*map_insert(&in->baseline->counts[kind], key) = observed;
}

static void check_span(struct table_reader *in, const struct kept_span *s)
{
	if (!map_find(&in->recordings, s->recording))
		fail(in, "a span has an unknown recording");
	for (enum key_kind kind = 0; kind < KEY_KINDS; kind++)
		if (!map_find(&in->baseline->counts[kind], s->keys[kind]))
			fail(in, "a span has an unknown key");
}

static void read_span(struct table_reader *in)
{
	struct kept_span s = { .identity = get_key(in) };

	s.recording = get_digest(in);
	s.quarter = get_count(in, 3);
	for (enum key_kind kind = 0; kind < KEY_KINDS; kind++)
		s.keys[kind] = get_digest(in);
	s.type = get_digest(in);
	s.position = get_number(in);
	s.service = get_string(in);
	s.operation = get_string(in);
	s.duration = get_number(in);
	s.queueing = get_number(in);
	s.own = get_number(in);
	s.cpu = get_number(in);
	s.disk_bytes = get_number(in);
	s.network_bytes = get_number(in);
	s.has_states = get_count(in, 1);

	struct view intervals = get_bytes(in, SQLITE_BLOB), runs = get_bytes(in, SQLITE_BLOB);
	struct view traits = get_bytes(in, SQLITE_BLOB);
	const char *why = unpack_states(intervals, runs, in->baseline->arena, &s);

	if (!why)
		why = unpack_traits(traits, in->baseline->arena, &s);
	if (why)
		fail(in, why);
	check_span(in, &s);
	if (in->r == 0)
		*vec_push(&in->baseline->samples) = s;
}

static void read_rows(struct table_reader *in, const char *sql, void (*row)(struct table_reader *))
{
	int rc = SQLITE_DONE;

	if (in->r)
		return;
	if (sqlite3_prepare_v2(in->db, sql, -1, &in->stmt, NULL) != SQLITE_OK) {
		fail_by_sqlite(in);
		return;
	}
	for (in->rows = 0; in->r == 0 && (rc = sqlite3_step(in->stmt)) == SQLITE_ROW; in->rows++) {
		in->column = 0;
		row(in);
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		fail_by_sqlite(in);
	sqlite3_finalize(TAKE(in->stmt));
}

static void read_table(struct table_reader *in, enum baseline_table table,
		       void (*row)(struct table_reader *))
{
	char sql[64];

	in->table = baseline_tables[table].name;
	snprintf(sql, sizeof(sql), "SELECT * FROM %s", in->table);
	read_rows(in, sql, row);
}

/* An element of the schema: only the tables of a baseline may be there, as they are defined. */
static void check_schema(struct table_reader *in)
{
	const char *type = (const char *)sqlite3_column_text(in->stmt, 0);
	const char *name = (const char *)sqlite3_column_text(in->stmt, 1);
	const char *sql = (const char *)sqlite3_column_text(in->stmt, 2);

	for (int i = 0; i < BASELINE_TABLES && type && name && sql; i++)
		if (strcmp(type, "table") == 0 && strcmp(name, baseline_tables[i].name) == 0 &&
		    strcmp(sql, baseline_tables[i].sql) == 0)
			return;
	in->r = err_set(in->err, -EBADMSG, "'%s' contains the %s '%s', which no baseline has",
			in->name, type ?: "element", name ?: "");
}

static int is_too_long(void *arg)
{
	struct table_reader *in = arg;

	return in->checks_left-- == 0;
}

/* Opens the bytes as a database that cannot be written and contains no code that is run. */
static void open_bytes(struct table_reader *in, struct view bytes)
{
	static const struct {
		int option, value;
	} config[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
	};
	int most = bytes.len < INT_MAX ? bytes.len : INT_MAX;

	if (sqlite3_open_v2(":memory:", &in->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK) {
		fail_by_sqlite(in);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(config); i++)
		sqlite3_db_config(in->db, config[i].option, config[i].value, NULL);
	sqlite3_limit(in->db, SQLITE_LIMIT_LENGTH, most);
	sqlite3_limit(in->db, SQLITE_LIMIT_ATTACHED, 0);
	in->bytes_left = bytes.len;
	in->checks_left = 100 + bytes.len / STEPS_BETWEEN_CHECKS * STEPS_PER_BYTE;
	sqlite3_progress_handler(in->db, STEPS_BETWEEN_CHECKS, is_too_long, in);
	if (sqlite3_deserialize(in->db, "main", (unsigned char *)bytes.s, bytes.len, bytes.len,
				SQLITE_DESERIALIZE_READONLY) != SQLITE_OK ||
	    sqlite3_exec(in->db, "PRAGMA cell_size_check = on", NULL, NULL, NULL) != SQLITE_OK)
		fail_by_sqlite(in);
}

static void read_tables(struct table_reader *in)
{
	in->table = "sqlite_schema";
	read_rows(in, "SELECT type, name, sql FROM sqlite_schema", check_schema);
	read_table(in, BASELINE_OPTIONS, read_option);
	if (in->has_options != (1u << LEARN_OPTIONS) - 1)
		fail(in, "an option is missing");
	in->baseline->options = options_of_numbers(in->options);
	if (in->baseline->options.gap_least > in->baseline->options.gap_most)
		fail(in, "an option is out of range");
	read_table(in, BASELINE_RECORDINGS, read_recording);
	read_table(in, BASELINE_TYPES, read_type);
	read_table(in, BASELINE_KEYS, read_key);
	read_table(in, BASELINE_SPANS, read_span);
}

int baseline_load_bytes(struct view bytes, const char *name, struct baseline **ret, struct err *err)
{
	_cleanup_(reader_done) struct table_reader in = { .name = name, .err = err };
	struct baseline_header header;

	if (!baseline_read_header(bytes, &header))
		return err_set(err, -EBADMSG, "'%s' is not a baseline of sonde", name);
	if (header.version != BASELINE_VERSION)
		return err_set(err, -EPROTONOSUPPORT,
			       "'%s' is a baseline of version %u; this sonde reads version %d",
			       name, header.version, BASELINE_VERSION);
	if (header.has_log)
		return err_set(err, -EBADMSG,
			       "'%s' is in WAL mode; run PRAGMA journal_mode = delete on it", name);
	if (bytes.len < header.size)
		return err_set(err, -EBADMSG, "'%s' is truncated", name);
	in.baseline = baseline_new(&learn_defaults);
	open_bytes(&in, bytes);
	read_tables(&in);
	if (in.r < 0)
		return in.r;
	baseline_finish(in.baseline);
	*ret = TAKE(in.baseline);
	return 0;
}

int baseline_load(const char *path, struct baseline **ret, struct err *err)
{
	_cleanup_(baseline_freep) struct baseline *baseline = NULL;
	_cleanup_(file_unmap) struct view bytes = { 0 };
	int r = file_map(path, &bytes, err);

	if (r == 0)
		r = baseline_load_bytes(bytes, path, &baseline, err);
	if (r == 0 && bytes.len && mapping_is_lost(bytes.s))
		r = err_set(err, -EIO, "cannot read '%s': it was truncated meanwhile", path);
	if (r == 0)
		*ret = TAKE(baseline);
	return r;
}
