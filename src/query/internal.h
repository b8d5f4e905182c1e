/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal - declarations shared by the files of query/ only.
 *
 * A table is described as data: its columns, its number of rows, and a function
 * that returns one value.  There are two sorts.  A plain table has rows numbered
 * from 1.  A timeline table consists of timelines of the model (model/timeline.h),
 * mostly one per thread, which are numbered from 1; its rows are the items of the
 * timelines, sorted by time within each.
 */
#ifndef SONDE_QUERY_INTERNAL_H
#define SONDE_QUERY_INTERNAL_H

#include <sqlite3.h>

#include "analyse/requests/requests.h"
#include "base/map.h"
#include "event/socket_name.h"
#include "query/query.h"

/* How a column helps to find rows. */
enum column_use {
	COLUMN_PLAIN,
	COLUMN_ID,   /* the number of the row or timeline */
	COLUMN_KEY,  /* has an index, built when first needed; constant within a timeline */
	COLUMN_FROM, /* timeline tables: the start of the row */
	COLUMN_TO,   /* timeline tables: the end of the row */
	COLUMN_TIME, /* timeline tables: the time of a row without a duration */
};

struct column {
	const char *name;
	enum query_type type;
	enum column_use use;
	const char *description;
};

/* One value of a row. */
struct cell {
	enum query_type type;
	int64_t i;
	double real;
	const char *s;    /* TEXT: points to the model, to heap or to buffer */
	char *heap;       /* owned; freed by the consumer of the value */
	char buffer[144]; /* storage for short texts */
};

/* A position in a timeline from which a search for a close time starts. */
struct timeline_hint {
	const struct timeline *timeline;
	timeline_pos pos;
};

/* A scan of a table. */
struct table_cursor {
	sqlite3_vtab_cursor base;
	struct query *query;
	const struct query_table *table;
	uint32_t number;                  /* of the row or timeline; 0 at the end */
	const struct column_index *index; /* NULL: numbers are visited in ascending order */
	bool only;                        /* visit this number alone */

	const struct timeline *timeline;
	timeline_pos pos;
	const void *item;
	nsec_t from_min, to_min;    /* skip rows that start, or end, earlier */
	nsec_t stop;                /* leave the timeline at a later sort time */
	nsec_t start_stop;          /* BY_END: leave the timeline at a later start */
	struct timeline_hint other; /* position in another timeline of the thread */
};

/* The time by which a timeline is sorted. */
enum timeline_order { BY_START, BY_END };

/* The first fields of an item of a BY_END timeline, such as struct syscall. */
struct ended_item {
	nsec_t end, start;
};

struct query_table {
	const char *name, *description;
	const struct column *columns;
	int column_count;
	const char *sorted; /* the columns by which rows are sorted, as letters from 'a' */

	uint32_t (*count)(struct query *q); /* the highest number */
	void (*value)(struct table_cursor *c, int column, struct cell *ret);

	/* timeline tables only */
	const struct timeline *(*timeline)(struct query *q, uint32_t number); /* can be NULL */
	enum timeline_order order;
	bool (*is_row)(struct table_cursor *c); /* whether an item is a row; NULL: every item is */
};

/* Numbers by the value of a column; numbers with one value in ascending order. */
struct column_index {
	struct map first; /* key of the value: first number */
	uint32_t *next;   /* by number: the next number with the same value; 0 at the end */
};

enum { TABLE_MAX = 24, COLUMN_MAX = 26 }; /* a letter for each column */

struct cpu_slices { /* on-CPU slices of one CPU */
	uint16_t host, cpu;
	const struct timeline *timeline;
};

struct query {
	const struct model *model; /* borrowed */
	sqlite3 *db;
	bool (*stop)(void);
	struct requests requests;
	bool has_requests;
	nsec_t *span_cpu;  /* by span; NULL until first needed */
	bool is_declaring; /* a table; SQLite reports that as a change of the schema */
	VEC(struct cpu_slices) cpu_slices;
	struct {
		bool valid;
		uint16_t host;
		uint64_t object;
		struct socket_name name;
	} last_socket; /* the socket most recently named */
	struct table_state {
		struct query *query;
		const struct query_table *table;
		double rows;  /* estimate; negative until counted */
		int in_order; /* BY_END: 1 if starts are sorted too, 0 if not, -1 if unknown */
		struct column_index *indexes[COLUMN_MAX];
	} tables[TABLE_MAX];
};

extern const struct query_table *const query_tables[]; /* ends with NULL */

int table_register(struct query *q, struct table_state *state);
void table_state_done(struct table_state *state);

const char *query_type_name(enum query_type type); /* the SQL name */

int query_register_functions(struct query *q);

/* A callback for sqlite3_set_authorizer(); its argument is the query. */
int query_authorize(void *arg, int action, const char *a, const char *b, const char *database,
		    const char *by);

/* These set the value of a cell, which is NULL before. */
void cell_int(struct cell *cell, int64_t n);
void cell_time(struct cell *cell, nsec_t t);
void cell_duration(struct cell *cell, nsec_t from, nsec_t to);
void cell_real(struct cell *cell, double n);
void cell_text(struct cell *cell, const char *s); /* s lives as long as the model, or is NULL */
void cell_string(struct cell *cell, const struct model *model, str_id id); /* id 0: NULL */
void cell_hex(struct cell *cell, const uint8_t *bytes, size_t size);       /* all 0: NULL */
void cell_error(struct cell *cell, int64_t negative_errno);                /* the error's name */
enum address_side { ADDRESS_LOCAL, ADDRESS_PEER };
void cell_address(struct cell *cell, struct query *q, uint16_t host, uint64_t object,
		  enum address_side side); /* of a socket */
void cell_device(struct cell *cell, const struct model *model, uint16_t host, uint32_t device);

/* The columns of a thread, which most tables have; the name of the first one differs. */
#define THREAD_COLUMNS(name, use) \
	{ name, QUERY_INT, use, "number of the thread, as in threads.id" }, \
		{ "pid", QUERY_INT, COLUMN_KEY, "process ID" }, \
		{ "tid", QUERY_INT, COLUMN_KEY, "thread ID" }, \
		{ "comm", QUERY_TEXT, COLUMN_KEY, "thread name" }, \
		{ "host", QUERY_INT, COLUMN_PLAIN, "host number, from 0" }
enum { THREAD_ID, THREAD_PID, THREAD_TID, THREAD_COMM, THREAD_HOST, THREAD_COLUMN_COUNT };

void cell_thread(struct cell *cell, const struct model *model, thread_id thread, int column);

#endif
