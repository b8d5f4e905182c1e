/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_parts - what the files of query/ share with each other and nobody else.
 *
 * A table is described as data: its columns, how many rows it has, and a
 * function that gives one value.  There are two sorts.  The rows of a plain table
 * have numbers from 1 on.  A lined table is made of lines of the model (line.h),
 * which are numbered so, mostly one for each thread; in a line, rows are in the
 * order of their time.
 */
#ifndef SONDE_QUERY_QUERY_INTERNAL_H
#define SONDE_QUERY_QUERY_INTERNAL_H

#include <sqlite3.h>

#include "analyse/requests/requests.h"
#include "base/map.h"
#include "query/query.h"
#include "report/names.h"

/* What a column is good for when rows are looked for. */
enum column_use {
	COLUMN_PLAIN,
	COLUMN_ID,   /* the number of the row, or of the line */
	COLUMN_KEY,  /* has an index, made when it is first needed; the same in all of a line */
	COLUMN_FROM, /* lined: when the row begins; */
	COLUMN_TO,   /* when it ends; */
	COLUMN_TIME, /* or when it is, if it has no length */
};

struct column {
	const char *name;
	enum query_type type;
	enum column_use use;
	const char *meaning;
};

/* One value of a row. */
struct cell {
	enum query_type type;
	int64_t i;
	double real;
	const char *s;    /* TEXT: lives as long as the model, unless it is */
	char *heap;       /* this, which whoever takes the value frees, or in */
	char buffer[144]; /* this */
};

/* A place in a line from which others near it are found faster than from anywhere. */
struct follower {
	const struct timeline *line;
	timeline_pos pos;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct query *query;
	const struct table *table;
	uint32_t number;           /* of the row, or of the line; 0 at the end */
	const struct index *index; /* NULL: numbers are taken in their order */
	bool only;                 /* this number is the only one */

	const struct timeline *line;
	timeline_pos pos;
	const void *item;
	nsec_t from_min, to_min; /* rows that begin, or end, before need not be shown, */
	nsec_t stop;             /* nor those of a higher time */
	nsec_t start_stop;       /* nor, where lines are by end, those that start later */
	struct follower other;   /* in the thread's other line */
};

/* What the time is by which a line is sorted. */
enum line_order { BY_START, BY_END };

/* What items of a line by end begin with, as struct syscall does. */
struct ended {
	nsec_t end, start;
};

struct table {
	const char *name, *meaning;
	const struct column *columns;
	int column_count;
	const char *sorted; /* the columns by which rows come sorted, as letters from 'a' */

	uint32_t (*count)(struct query *q); /* the highest number */
	void (*value)(struct cursor *c, int column, struct cell *ret);

	/* lined */
	const struct timeline *(*line)(struct query *q, uint32_t number); /* may be NULL */
	enum line_order order;
	bool (*has)(struct cursor *c); /* whether an item is a row; NULL if all are */
};

/* Rows or lines by the value of a column; those of one value in ascending order. */
struct index {
	struct map first;
	uint32_t *next;
};

enum { TABLE_MAX = 24, COLUMN_MAX = 26 }; /* columns have letters */

struct lane { /* turns on one CPU */
	uint16_t host, cpu;
	const struct timeline *line;
};

struct query {
	const struct model *model; /* borrowed */
	sqlite3 *db;
	bool (*stop)(void);
	struct requests requests;
	bool has_requests;
	nsec_t *span_cpu;  /* by span; NULL until it is asked for */
	bool is_declaring; /* a table, which SQLite sees as a change of the schema */
	VEC(struct lane) lanes;
	struct {
		bool known;
		uint16_t host;
		uint64_t object;
		struct socket_name name;
	} named; /* the last socket that was */
	struct table_state {
		struct query *query;
		const struct table *table;
		double rows;  /* about; negative if not yet counted */
		int in_order; /* lines by end: whether their starts are in order too; -1: not known
			       */
		struct index *indexes[COLUMN_MAX];
	} tables[TABLE_MAX];
};

extern const struct table *const query_tables[]; /* up to NULL */

int table_register(struct query *q, struct table_state *state);
void table_state_done(struct table_state *state);

const char *type_name(enum query_type type); /* as SQL has it */

int functions_register(struct query *q);

/* For sqlite3_set_authorizer(), with the query as its argument. */
int query_authorize(void *arg, int action, const char *a, const char *b, const char *database,
		    const char *by);

/* Filling cells, which are NULL at first. */
void cell_int(struct cell *cell, int64_t n);
void cell_time(struct cell *cell, nsec_t t);
void cell_length(struct cell *cell, nsec_t from, nsec_t to);
void cell_real(struct cell *cell, double n);
void cell_text(struct cell *cell, const char *s); /* that lives as long as the model, or NULL */
void cell_string(struct cell *cell, const struct model *model, str_id id); /* NULL for none */
void cell_hex(struct cell *cell, const uint8_t *bytes, size_t size);       /* NULL if all is 0 */
void cell_error(struct cell *cell, int64_t negative_errno);                /* its name */
enum address_side { ADDRESS_LOCAL, ADDRESS_PEER };
void cell_address(struct cell *cell, struct query *q, uint16_t host, uint64_t object,
		  enum address_side side); /* of a socket */
void cell_device(struct cell *cell, const struct model *model, uint16_t host, uint32_t device);

/* What tables that are about threads begin with, and the first of them (of another name). */
#define THREAD_COLUMNS(name, use) \
	{ name, QUERY_INT, use, "number of the thread, as in threads.id" }, \
		{ "pid", QUERY_INT, COLUMN_KEY, "its process" }, \
		{ "tid", QUERY_INT, COLUMN_KEY, "the number that the system has for it" }, \
		{ "comm", QUERY_TEXT, COLUMN_KEY, "its name" }, \
		{ "host", QUERY_INT, COLUMN_PLAIN, "number of the machine, from 0" }
enum { THREAD_ID, THREAD_PID, THREAD_TID, THREAD_COMM, THREAD_HOST, THREAD_COLUMN_COUNT };

/* One of these columns. */
void cell_thread(struct cell *cell, const struct model *model, thread_id thread, int column);

#endif
