/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>

#include "base/file.h"
#include "base/sort.h"
#include "store/baseline_file.h"
#include "store/pack.h"
#include "store/schema.h"

/* The first failure ends all later writes. */
struct table_writer {
	sqlite3 *db;
	sqlite3_stmt *insert;
	int column; /* last one that was bound */
	int rc;     /* of SQLite */
	const struct baseline *baseline;
	packed_bytes intervals, runs, traits;
};

static void writer_done(struct table_writer *w)
{
	sqlite3_finalize(w->insert);
	sqlite3_close(w->db);
	vec_done(&w->intervals);
	vec_done(&w->runs);
	vec_done(&w->traits);
}

static void execute(struct table_writer *w, const char *sql)
{
	if (w->rc == SQLITE_OK)
		w->rc = sqlite3_exec(w->db, sql, NULL, NULL, NULL);
}

static void put_int(struct table_writer *w, int64_t n)
{
	if (w->rc == SQLITE_OK)
		w->rc = sqlite3_bind_int64(w->insert, ++w->column, n);
}

static void put_null(struct table_writer *w)
{
	if (w->rc == SQLITE_OK)
		w->rc = sqlite3_bind_null(w->insert, ++w->column);
}

static void put_real(struct table_writer *w, double n)
{
	if (w->rc == SQLITE_OK)
		w->rc = sqlite3_bind_double(w->insert, ++w->column, n);
}

static void put_text_n(struct table_writer *w, const char *s, size_t len)
{
	if (w->rc == SQLITE_OK)
		w->rc = sqlite3_bind_text64(w->insert, ++w->column, s, len, SQLITE_STATIC,
					    SQLITE_UTF8);
}

static void put_text(struct table_writer *w, const char *s)
{
	put_text_n(w, s, strlen(s));
}

static void put_string(struct table_writer *w, str_id id)
{
	put_text(w, strtab_get(w->baseline->strings, id));
}

static void put_blob(struct table_writer *w, const packed_bytes *bytes)
{
	/* a pointer to nothing would be NULL */
	if (w->rc == SQLITE_OK)
		w->rc = sqlite3_bind_blob64(w->insert, ++w->column,
					    bytes->count ? bytes->items : (const uint8_t *)"",
					    bytes->count, SQLITE_STATIC);
}

static void put_row(struct table_writer *w)
{
	if (w->rc == SQLITE_OK && sqlite3_step(w->insert) != SQLITE_DONE)
		w->rc = sqlite3_errcode(w->db);
	sqlite3_reset(w->insert);
	w->column = 0;
}

static void begin_table(struct table_writer *w, enum baseline_table table)
{
	const struct table_schema *of = &baseline_tables[table];
	char sql[256];
	int length = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (?", of->name);

	for (int i = 1; i < of->columns; i++)
		length += snprintf(sql + length, sizeof(sql) - length, ",?");
	snprintf(sql + length, sizeof(sql) - length, ")");
	execute(w, of->sql);
	sqlite3_finalize(TAKE(w->insert));
	if (w->rc == SQLITE_OK)
		w->rc = sqlite3_prepare_v2(w->db, sql, -1, &w->insert, NULL);
}

static void write_options(struct table_writer *w)
{
	double numbers[LEARN_OPTIONS];

	options_to_numbers(&w->baseline->options, numbers);
	begin_table(w, BASELINE_OPTIONS);
	for (int i = 0; i < LEARN_OPTIONS; i++) {
		put_text(w, baseline_options[i].name);
		put_real(w, numbers[i]);
		put_row(w);
	}
}

/* The order of rows: keys are unsigned in memory, and signed in SQLite. */
struct ordered_row {
	int64_t key;
	uint32_t kind;
	uint64_t value; /* index, or count */
};

static bool is_row_first(const struct ordered_row *a, const struct ordered_row *b)
{
	return a->kind != b->kind ? a->kind < b->kind : a->key < b->key;
}

typedef VEC(struct ordered_row) row_order;

/* Rows in order make small files, and the same ones each time. */
#define order_of(items_, key_) \
	({ \
		row_order order_ = { 0 }; \
		for (size_t i_ = 0; i_ < (items_)->count; i_++) \
			*vec_push(&order_) = \
				(struct ordered_row){ (int64_t)(items_)->items[i_].key_, 0, i_ }; \
		sort_items(order_.items, order_.count, is_row_first); \
		order_; \
	})

static void write_recordings(struct table_writer *w)
{
	row_order order = order_of(&w->baseline->recordings, digest);

	begin_table(w, BASELINE_RECORDINGS);
	for (size_t i = 0; i < order.count; i++) {
		const struct recording *r = &w->baseline->recordings.items[order.items[i].value];

		put_int(w, r->digest);
		put_int(w, r->length);
		put_int(w, r->traces);
		put_int(w, r->spans);
		put_int(w, r->cut);
		put_int(w, r->orphaned);
		put_int(w, r->lost);
		put_row(w);
	}
	vec_done(&order);
}

static void write_types(struct table_writer *w)
{
	row_order order = order_of(&w->baseline->types, type);

	begin_table(w, BASELINE_TYPES);
	for (size_t i = 0; i < order.count; i++) {
		const struct trace_type *t = &w->baseline->types.items[order.items[i].value];

		put_int(w, t->type);
		put_int(w, t->folded);
		put_int(w, t->traces);
		put_string(w, t->service);
		put_string(w, t->operation);
		put_row(w);
	}
	vec_done(&order);
}

static void write_keys(struct table_writer *w)
{
	row_order order = { 0 };
	uint64_t key, observed;

	for (enum key_kind kind = 0; kind < KEY_KINDS; kind++)
		for (size_t at = 0; map_next(&w->baseline->counts[kind], &at, &key, &observed);)
			*vec_push(&order) = (struct ordered_row){ (int64_t)key, kind, observed };
	sort_items(order.items, order.count, is_row_first);
	begin_table(w, BASELINE_KEYS);
	for (size_t i = 0; i < order.count; i++) {
		put_text(w, key_kind_names[order.items[i].kind]);
		put_int(w, order.items[i].key);
		put_int(w, order.items[i].value);
		put_row(w);
	}
	vec_done(&order);
}

static void write_span(struct table_writer *w, const struct kept_span *s)
{
	put_int(w, s->identity);
	put_int(w, s->recording);
	put_int(w, s->quarter);
	for (enum key_kind kind = 0; kind < KEY_KINDS; kind++)
		put_int(w, s->keys[kind]);
	put_int(w, s->type);
	put_int(w, s->position);
	put_string(w, s->service);
	put_string(w, s->operation);
	put_int(w, s->duration);
	put_int(w, s->queueing);
	put_int(w, s->own);
	put_int(w, s->cpu);
	put_int(w, s->disk_bytes);
	put_int(w, s->network_bytes);
	put_int(w, s->has_states);
	pack_states(s, &w->intervals, &w->runs);
	put_blob(w, &w->intervals);
	put_blob(w, &w->runs);
	pack_traits(s, &w->traits);
	put_blob(w, &w->traits);
	put_row(w);
}

static void write_spans(struct table_writer *w)
{
	row_order order = order_of(&w->baseline->samples, identity);

	begin_table(w, BASELINE_SPANS);
	for (size_t i = 0; i < order.count; i++)
		write_span(w, &w->baseline->samples.items[order.items[i].value]);
	vec_done(&order);
}

static void put_profile_key(struct table_writer *w, const struct profile *p)
{
	put_text(w, key_kind_names[p->kind]);
	put_int(w, p->key);
	put_int(w, p->part_of ? p->part + 1 : 0);
}

static void write_profile(struct table_writer *w, const struct profile *p)
{
	put_profile_key(w, p);
	if (p->kind == KEY_POSITION) {
		put_int(w, p->type);
		put_int(w, p->position);
	} else {
		put_null(w);
		put_null(w);
	}
	put_string(w, p->service);
	put_string(w, p->operation);
	put_int(w, p->observed);
	put_int(w, p->samples);
	put_int(w, p->interval_count);
	put_int(w, p->band.floor);
	put_real(w, p->limit);
	put_real(w, p->mean_duration);
	put_int(w, p->p50);
	put_int(w, p->p95);
	put_int(w, p->p99);
	put_real(w, p->cpu);
	put_real(w, p->disk_bytes);
	put_real(w, p->network_bytes);
	put_row(w);
}

static void write_patterns(struct table_writer *w, const struct profile *p)
{
	for (uint32_t i = 0; i < p->interval_count; i++) {
		const struct interval_profile *of = &p->intervals[i];

		for (uint32_t rank = 0; rank < of->pattern_count; rank++) {
			const struct pattern *pattern = &of->patterns[rank];

			put_profile_key(w, p);
			put_int(w, i);
			put_int(w, rank + 1);
			put_text_n(w, (const char *)pattern->letters, pattern->length);
			put_int(w, pattern->support);
			put_int(w, of->sequences);
			put_row(w);
		}
	}
}

/* A time that no sample has needs no row. */
static void write_interval_bands(struct table_writer *w, const struct profile *p, int interval,
				 const struct interval_profile *of)
{
	for (enum span_feature f = 0; f < FEATURE_COUNT; f++) {
		const struct band *band = &of->bands[f];

		if (band->mean == 0)
			continue;
		put_profile_key(w, p);
		put_int(w, interval);
		put_text(w, feature_name(f));
		put_real(w, band->low);
		put_real(w, band->middle);
		put_real(w, band->high);
		put_real(w, band->mean);
		put_real(w, band->deviation);
		put_int(w, band->by_quantiles);
		put_row(w);
	}
}

static void write_bands(struct table_writer *w, const struct profile *p)
{
	write_interval_bands(w, p, BASELINE_ALL_INTERVALS, &p->all);
	for (uint32_t i = 0; i < p->interval_count; i++)
		write_interval_bands(w, p, i, &p->intervals[i]);
}

/* A part of a divided profile: its range or its text. */
static void write_part(struct table_writer *w, const struct profile *p)
{
	const struct split *split = p->part_of;

	if (!split)
		return;

	const struct split_part *part = &split->parts[p->part];

	put_profile_key(w, p);
	put_text(w, span_trait_kind_name(split->kind));
	put_text(w, split->key);
	for (int end = 0; end < 2; end++)
		if (split->is_text)
			put_null(w);
		else
			put_int(w, end ? part->to : part->from);
	if (part->text)
		put_text(w, part->text);
	else
		put_null(w);
	put_row(w);
}

/* A profile and its parts, in one table. */
static void write_with_parts(struct table_writer *w, const struct profile *p,
			     void (*write)(struct table_writer *w, const struct profile *p))
{
	write(w, p);
	for (uint32_t i = 0; p->split && i < p->split->part_count; i++)
		write(w, p->split->parts[i].profile);
}

static void write_derived(struct table_writer *w, const struct profiles *profiles)
{
	static const struct {
		enum baseline_table table;
		void (*write)(struct table_writer *w, const struct profile *p);
	} tables[] = { { BASELINE_PROFILES, write_profile },
		       { BASELINE_PATTERNS, write_patterns },
		       { BASELINE_BANDS, write_bands },
		       { BASELINE_PARTS, write_part } };

	for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
		begin_table(w, tables[t].table);
		for (size_t i = 0; i < profiles->items.count && w->rc == SQLITE_OK; i++)
			write_with_parts(w, &profiles->items.items[i], tables[t].write);
	}
}

static void write_tables(struct table_writer *w, const struct profiles *profiles)
{
	char sql[128];

	w->rc = sqlite3_open_v2(":memory:", &w->db,
				SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
				NULL);
	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d; BEGIN",
		 BASELINE_APPLICATION, BASELINE_VERSION);
	execute(w, sql);
	write_options(w);
	write_recordings(w);
	write_types(w);
	write_keys(w);
	write_spans(w);
	write_derived(w, profiles);
	execute(w, "COMMIT");
}

static int write_bytes(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		size -= n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

static int write_file(const char *path, const uint8_t *bytes, size_t size, struct err *err)
{
	_cleanup_(freep) char *temporary = NULL;
	_cleanup_(closep) int fd = file_create_temporary(path, &temporary, err);

	if (fd < 0)
		return fd;

	int r = write_bytes(fd, bytes, size);

	if (r < 0)
		err_set(err, r, "cannot write '%s': %s", path, strerror(-r));
	else
		r = file_replace(temporary, path, err);
	if (r < 0)
		unlink(temporary);
	return r;
}

int baseline_save(const struct baseline *baseline, const struct profiles *profiles,
		  const char *path, struct err *err)
{
	_cleanup_(writer_done) struct table_writer w = { .baseline = baseline };
	int r = file_check_output(path, err);
	sqlite3_int64 size = 0;

	if (r < 0)
		return r;
	write_tables(&w, profiles);
	if (w.rc != SQLITE_OK)
		return err_set(err, -EIO, "cannot write '%s': %s", path, sqlite3_errstr(w.rc));

	uint8_t *bytes = sqlite3_serialize(w.db, "main", &size, 0);

	if (!bytes)
		return err_set(err, -ENOMEM, "cannot write '%s': not enough memory", path);
	r = write_file(path, bytes, size, err);
	sqlite3_free(bytes);
	return r;
}
