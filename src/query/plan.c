/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan - choose how to find rows.
 *
 * SQLite proposes sets of conditions and asks for the cost of a scan with each of them,
 * to choose the cheapest join order.  A plan uses at most one number or key, to find rows
 * or timelines, and any number of time bounds, to find positions in timelines.  It is
 * encoded as text, with two characters for each argument of the scan: the operator
 * (= < >) and the letter of the column.  SQLite checks each row again, so a scan may
 * return too many rows, but never too few.
 */
#include "query/plan.h"

#include <math.h>
#include <string.h>

struct plan {
	int key; /* index of its constraint, or -1 */
	enum column_use key_use;
	bool lower, upper; /* there are lower, upper time bounds */
	char text[2 * PLAN_ARGS_MAX + 1];
	int args;
};

static double timeline_rows(struct query *q, const struct query_table *table)
{
	double rows = 0;

	for (uint32_t i = 1; i <= table->count(q); i++) {
		const struct timeline *timeline = table->timeline(q, i);

		rows += timeline ? timeline_count(timeline) : 0;
	}
	return rows;
}

static double row_count(struct table_state *s)
{
	if (s->rows < 0)
		s->rows = s->table->timeline ? timeline_rows(s->query, s->table)
					     : s->table->count(s->query);
	return s->rows;
}

/* The operator '=', '<' or '>' of a condition that a scan can use; 0 for others. */
static char plan_op(const struct query_table *table, const struct sqlite3_index_constraint *c)
{
	enum column_use use = table->columns[c->iColumn].use;
	bool is_time = use == COLUMN_FROM || use == COLUMN_TO || use == COLUMN_TIME;

	if (is_time && !table->timeline)
		return 0;
	switch (c->op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return use == COLUMN_PLAIN ? 0 : '=';
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return is_time ? '>' : 0;
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return is_time ? '<' : 0;
	}
	return 0;
}

static void plan_add(struct plan *plan, sqlite3_index_info *info, int i, char op)
{
	plan->text[2 * plan->args] = op;
	plan->text[2 * plan->args + 1] = PLAN_LETTER + info->aConstraint[i].iColumn;
	info->aConstraintUsage[i].argvIndex = ++plan->args;
}

static void plan_consider(struct plan *plan, const struct query_table *table,
			  sqlite3_index_info *info, int i)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];
	char op;

	if (!c->usable || c->iColumn < 0 || plan->args == PLAN_ARGS_MAX)
		return;
	op = plan_op(table, c);
	if (!op)
		return;

	enum column_use use = table->columns[c->iColumn].use;

	if (use == COLUMN_ID || use == COLUMN_KEY) {
		/* an index is case-sensitive */
		if (strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
			return;
		if (plan->key < 0 || use == COLUMN_ID) {
			plan->key = i;
			plan->key_use = use;
		}
		return;
	}
	plan->lower |= op != '<';
	plan->upper |= op != '>';
	plan_add(plan, info, i, op);
}

/* Whether the scan returns rows in the requested order. */
static bool is_sorted(const struct plan *plan, const struct query_table *table,
		      const sqlite3_index_info *info)
{
	const char *sorted = table->sorted;

	if (plan->key >= 0 && plan->key_use == COLUMN_ID && *sorted &&
	    info->aConstraint[plan->key].iColumn == *sorted - PLAN_LETTER &&
	    (info->nOrderBy == 0 || info->aOrderBy[0].iColumn != *sorted - PLAN_LETTER))
		sorted++; /* constant in all rows */
	for (int i = 0; i < info->nOrderBy; i++)
		if (!sorted[i] || info->aOrderBy[i].desc ||
		    info->aOrderBy[i].iColumn != sorted[i] - PLAN_LETTER)
			return false;
	return true;
}

/* A rough estimate, sufficient to rank plans. */
static void estimate(const struct plan *plan, struct table_state *s, sqlite3_index_info *info)
{
	double rows = row_count(s), numbers = s->table->count(s->query) + 1, found = rows;

	if (plan->key >= 0 && s->table->timeline)
		found = rows / numbers * (plan->key_use == COLUMN_ID ? 1 : 2);
	else if (plan->key >= 0)
		found = plan->key_use == COLUMN_ID ? 1 : sqrt(rows);
	if (plan->lower || plan->upper)
		found /= plan->lower && plan->upper ? 64 : 4;
	if (found < 1)
		found = 1;

	/* one search per timeline */
	double searches = plan->key >= 0 || !s->table->timeline ? 1 : numbers;

	info->estimatedRows = found;
	info->estimatedCost = 10 + searches * 4 + found;
	if (plan->key >= 0 && plan->key_use == COLUMN_ID && !s->table->timeline)
		info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
}

int plan_best(struct table_state *s, sqlite3_index_info *info)
{
	struct plan plan = { .key = -1 };

	for (int i = 0; i < info->nConstraint; i++)
		plan_consider(&plan, s->table, info, i);
	if (plan.key >= 0 && plan.args < PLAN_ARGS_MAX)
		plan_add(&plan, info, plan.key, '=');
	else
		plan.key = -1;
	estimate(&plan, s, info);
	info->orderByConsumed = info->nOrderBy && is_sorted(&plan, s->table, info);
	info->idxStr = sqlite3_mprintf("%s", plan.text);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}
