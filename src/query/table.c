/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table - our tables as virtual tables of SQLite.
 *
 * A scan visits numbers, which are rows of a plain table or timelines: all numbers, one
 * number, or those that an index has for a value.  In each timeline, it finds the first
 * item within the time bounds by bisection, and leaves the timeline after the last.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "query/plan.h"

struct vtab {
	sqlite3_vtab base;
	struct table_state *state;
};

const char *query_type_name(enum query_type type)
{
	static const char *const names[] = {
		[QUERY_INT] = "INTEGER",
		[QUERY_REAL] = "REAL",
		[QUERY_TEXT] = "TEXT",
		[QUERY_BLOB] = "BLOB", /* no type conversion in comparisons */
	};

	return names[type];
}

/* Declare columns such as `"tid" INTEGER, "comm" TEXT`. */
static int declare(sqlite3 *db, const struct query_table *table)
{
	sqlite3_str *sql = sqlite3_str_new(db);

	for (int i = 0; i < table->column_count; i++)
		sqlite3_str_appendf(sql, "%s\"%w\" %s", i ? ", " : "CREATE TABLE x(",
				    table->columns[i].name,
				    query_type_name(table->columns[i].type));
	sqlite3_str_appendchar(sql, 1, ')');

	char *text = sqlite3_str_finish(sql);
	int rc = text ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;

	sqlite3_free(text);
	return rc;
}

static int table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret, char **error)
{
	struct table_state *state = aux;
	int rc;

	state->query->is_declaring = true;
	rc = declare(db, state->table);
	state->query->is_declaring = false;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);

	struct vtab *vtab = must_alloc(sizeof(*vtab));

	vtab->state = state;
	*ret = &vtab->base;
	return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *vtab)
{
	free(vtab);
	return SQLITE_OK;
}

static int table_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	return plan_best(((struct vtab *)vtab)->state, info);
}

static int table_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	struct table_state *state = ((struct vtab *)vtab)->state;
	struct table_cursor *c = must_alloc(sizeof(*c));

	c->query = state->query;
	c->table = state->table;
	*ret = &c->base;
	return SQLITE_OK;
}

static int table_close(sqlite3_vtab_cursor *base)
{
	free(base);
	return SQLITE_OK;
}

static struct table_state *state_of(const struct table_cursor *c)
{
	return ((struct vtab *)c->base.pVtab)->state;
}

/* The index key of a value; false for NULL, which equals nothing. */
static bool index_key(struct cell *cell, uint64_t *ret)
{
	if (cell->type == QUERY_INT)
		*ret = cell->i;
	else if (cell->type == QUERY_TEXT)
		*ret = hash_bytes(cell->s, strlen(cell->s));
	free(cell->heap);
	return cell->type == QUERY_INT || cell->type == QUERY_TEXT;
}

static const struct column_index *index_of(const struct table_cursor *c, int column)
{
	struct column_index **index = &state_of(c)->indexes[column];
	uint32_t count = c->table->count(c->query);

	if (*index)
		return *index;
	*index = must_alloc(sizeof(**index));
	(*index)->next = must_alloc((count + 1ul) * sizeof(*(*index)->next));
	for (uint32_t i = count; i > 0; i--) {
		struct table_cursor at = { .query = c->query, .table = c->table, .number = i };
		struct cell cell;
		uint64_t key = 0, *first;

		cell.type = QUERY_NULL;
		cell.heap = NULL;
		c->table->value(&at, column, &cell);
		if (!index_key(&cell, &key))
			continue;
		first = map_insert(&(*index)->first, key);
		(*index)->next[i] = *first;
		*first = i;
	}
	return *index;
}

void table_state_done(struct table_state *state)
{
	for (size_t i = 0; i < ARRAY_LEN(state->indexes); i++)
		if (state->indexes[i]) {
			map_done(&state->indexes[i]->first);
			free(state->indexes[i]->next);
			free(TAKE(state->indexes[i]));
		}
}

static bool timeline_in_order(const struct timeline *timeline)
{
	timeline_pos pos;
	nsec_t last = 0;

	for (bool more = timeline && timeline_first(timeline, &pos); more;
	     more = timeline_next(timeline, &pos)) {
		const struct ended_item *item = timeline_at(timeline, pos);

		if (item->start < last || item->start > item->end)
			return false;
		last = item->start;
	}
	return true;
}

/* Whether the items of each timeline are sorted by start too, as system calls are. */
static bool starts_in_order(struct table_state *s)
{
	if (s->in_order >= 0)
		return s->in_order;
	s->in_order = true;
	for (uint32_t i = 1; s->in_order && i <= s->table->count(s->query); i++)
		s->in_order = timeline_in_order(s->table->timeline(s->query, i));
	return s->in_order;
}

static bool seek_in_timeline(const struct table_cursor *c, timeline_pos *ret)
{
	timeline_pos running;

	if (c->table->order == BY_END)
		return timeline_from(c->timeline, c->to_min > c->from_min ? c->to_min : c->from_min,
				     ret);
	if (!timeline_from(c->timeline, c->from_min, ret))
		return false;
	/* of the items that start before to_min, only the last can end after it */
	if (c->to_min && timeline_find(c->timeline, c->to_min - 1, &running) &&
	    (running.chunk > ret->chunk ||
	     (running.chunk == ret->chunk && running.item > ret->item)))
		*ret = running;
	return true;
}

static bool is_beyond(const struct table_cursor *c)
{
	return *(const nsec_t *)c->item > c->stop ||
	       (c->start_stop < UINT64_MAX &&
		((const struct ended_item *)c->item)->start > c->start_stop);
}

/* Go to the first item of timeline c->number; false if there is none within the bounds. */
static bool enter_timeline(struct table_cursor *c)
{
	c->timeline = c->table->timeline(c->query, c->number);
	if (!c->timeline || !seek_in_timeline(c, &c->pos))
		return false;
	c->item = timeline_at(c->timeline, c->pos);
	return !is_beyond(c);
}

static bool next_in_timeline(struct table_cursor *c)
{
	if (!timeline_next(c->timeline, &c->pos))
		return false;
	c->item = timeline_at(c->timeline, c->pos);
	return !is_beyond(c);
}

static void next_number(struct table_cursor *c)
{
	if (c->index)
		c->number = c->index->next[c->number];
	else if (c->only || c->number >= c->table->count(c->query))
		c->number = 0;
	else
		c->number++;
}

/* Advance a cursor to the next row, which can be the current item. */
static void advance_to_row(struct table_cursor *c, bool at_item)
{
	while (c->number) {
		while (at_item && c->table->is_row && !c->table->is_row(c))
			at_item = next_in_timeline(c);
		if (at_item)
			return;
		next_number(c);
		at_item = c->number && enter_timeline(c);
	}
}

static int table_next(sqlite3_vtab_cursor *base)
{
	struct table_cursor *c = (struct table_cursor *)base;

	if (!c->table->timeline)
		next_number(c);
	else
		advance_to_row(c, next_in_timeline(c));
	return SQLITE_OK;
}

static int table_eof(sqlite3_vtab_cursor *base)
{
	return ((struct table_cursor *)base)->number == 0;
}

/* Numbers are below 2^31, and items of a chunk below 2^11. */
static int table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct table_cursor *c = (const struct table_cursor *)base;

	*ret = c->number;
	if (c->table->timeline)
		*ret = *ret << 32 | (c->pos.chunk << 11 | c->pos.item);
	return SQLITE_OK;
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
	struct table_cursor *c = (struct table_cursor *)base;
	struct cell cell;

	cell.type = QUERY_NULL;
	cell.heap = NULL;
	c->table->value(c, column, &cell);
	if (cell.type == QUERY_INT)
		sqlite3_result_int64(ctx, cell.i);
	else if (cell.type == QUERY_REAL)
		sqlite3_result_double(ctx, cell.real);
	else if (cell.heap)
		sqlite3_result_text64(ctx, cell.heap, strlen(cell.heap), free, SQLITE_UTF8);
	else if (cell.type == QUERY_TEXT)
		sqlite3_result_text(ctx, cell.s, -1,
				    cell.s == cell.buffer ? SQLITE_TRANSIENT : SQLITE_STATIC);
	return SQLITE_OK;
}

/* Round a number up or down to an integer; false if the value is not a number. */
static bool to_integer(sqlite3_value *value, bool up, int64_t *ret)
{
	int type = sqlite3_value_type(value);
	double real;

	if (type == SQLITE_INTEGER) {
		*ret = sqlite3_value_int64(value);
		return true;
	}
	if (type != SQLITE_FLOAT)
		return false;
	real = up ? ceil(sqlite3_value_double(value)) : floor(sqlite3_value_double(value));
	*ret = real >= 0x1p63 ? INT64_MAX : real < -0x1p63 ? INT64_MIN : (int64_t)real;
	return true;
}

struct bounds {
	nsec_t from_min, from_max, to_min, to_max;
	bool none; /* no time meets the conditions */
};

/* Apply a condition on a time.  Times above INT64_MAX appear as INT64_MAX. */
static void bounds_add(struct bounds *b, enum column_use use, char op, sqlite3_value *value)
{
	nsec_t *min = use == COLUMN_TO ? &b->to_min : &b->from_min;
	nsec_t *max = use == COLUMN_TO ? &b->to_max : &b->from_max;
	int64_t t;

	if (sqlite3_value_type(value) == SQLITE_NULL)
		b->none = true;
	if (op != '<' && to_integer(value, false, &t) && t > 0 && (nsec_t)t > *min)
		*min = t;
	if (op != '>' && to_integer(value, true, &t)) {
		b->none |= t < 0;
		if (t < INT64_MAX && (nsec_t)t < *max)
			*max = t;
	}
}

static void set_bounds(struct table_cursor *c, const struct bounds *b)
{
	c->from_min = b->from_min;
	c->to_min = b->to_min;
	c->start_stop = UINT64_MAX;
	c->stop = b->to_max;
	if (c->table->order == BY_START && b->from_max < c->stop)
		c->stop = b->from_max;
	if (c->table->order == BY_END && b->from_max < UINT64_MAX && starts_in_order(state_of(c)))
		c->start_stop = b->from_max;
}

static bool value_key(sqlite3_value *value, enum query_type type, uint64_t *ret)
{
	int64_t down, up;

	if (type == QUERY_TEXT && sqlite3_value_type(value) == SQLITE_TEXT) {
		*ret = hash_bytes(sqlite3_value_text(value), sqlite3_value_bytes(value));
		return true;
	}
	if (type != QUERY_INT || !to_integer(value, false, &down) || !to_integer(value, true, &up))
		return false;
	*ret = down == up ? (uint64_t)down : UINT64_MAX;
	return true;
}

/* Go to the first number with a value.  Without a usable index key, scan all numbers. */
static void seek_key(struct table_cursor *c, int column, sqlite3_value *value)
{
	const struct column *k = &c->table->columns[column];
	const uint64_t *first;
	uint64_t key;

	if (sqlite3_value_type(value) == SQLITE_NULL) {
		c->number = 0;
		return;
	}
	if (!value_key(value, k->type, &key))
		return;
	if (k->use == COLUMN_ID) {
		c->number = key <= c->table->count(c->query) ? key : 0;
		c->only = true;
		return;
	}
	c->index = index_of(c, column);
	first = map_find(&c->index->first, key);
	c->number = first ? *first : 0;
}

static int table_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
			sqlite3_value **argv)
{
	struct table_cursor *c = (struct table_cursor *)base;
	struct bounds b = { .from_max = UINT64_MAX, .to_max = UINT64_MAX };

	c->index = NULL;
	c->only = false;
	c->number = c->table->count(c->query) ? 1 : 0;
	for (int i = 0; i < argc; i++) {
		int column = plan[2 * i + 1] - PLAN_LETTER;
		enum column_use use = c->table->columns[column].use;

		if (use == COLUMN_ID || use == COLUMN_KEY)
			seek_key(c, column, argv[i]);
		else
			bounds_add(&b, use, plan[2 * i], argv[i]);
	}
	if (b.none)
		c->number = 0;
	set_bounds(c, &b);
	if (c->table->timeline)
		advance_to_row(c, c->number && enter_timeline(c));
	return SQLITE_OK;
}

int table_register(struct query *q, struct table_state *state)
{
	static const sqlite3_module module = {
		.xConnect = table_connect, /* no xCreate: the table exists from the start */
		.xBestIndex = table_best_index,
		.xDisconnect = table_disconnect,
		.xOpen = table_open,
		.xClose = table_close,
		.xFilter = table_filter,
		.xNext = table_next,
		.xEof = table_eof,
		.xColumn = table_column,
		.xRowid = table_rowid,
	};

	return sqlite3_create_module_v2(q->db, state->table->name, &module, state, NULL);
}
