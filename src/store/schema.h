/* SPDX-License-Identifier: Apache-2.0 */
/* schema - the tables of a baseline file and its identification. */
#ifndef SONDE_STORE_SCHEMA_H
#define SONDE_STORE_SCHEMA_H

#include "base/view.h"
#include "diagnose/baseline.h"

enum {
	BASELINE_APPLICATION = 0x736f6e62, /* "sonb" */
	BASELINE_VERSION = 1,
};

/* In the order in which they are written and read. */
enum baseline_table {
	BASELINE_OPTIONS,
	BASELINE_RECORDINGS,
	BASELINE_TYPES,
	BASELINE_KEYS,
	BASELINE_SPANS,
	/* derived from the tables above */
	BASELINE_PROFILES,
	BASELINE_PATTERNS,
	BASELINE_BANDS,
	BASELINE_PARTS,
	BASELINE_TABLES
};

struct table_schema {
	const char *name;
	const char *sql; /* that creates it, as SQLite keeps it */
	int columns;
};

extern const struct table_schema baseline_tables[BASELINE_TABLES];

/* The interval number that stands for all intervals of a span. */
enum { BASELINE_ALL_INTERVALS = -1 };

/* "position", "subtree", "operation". */
extern const char *const key_kind_names[KEY_KINDS];

struct option_schema {
	const char *name;
	double least, most;
	bool is_integer;
};

enum { LEARN_OPTIONS = 6 };
extern const struct option_schema baseline_options[LEARN_OPTIONS];

/* The options as numbers, in the order of baseline_options, and back. */
void options_to_numbers(const struct learn_options *options, double ret[LEARN_OPTIONS]);
struct learn_options options_of_numbers(const double numbers[LEARN_OPTIONS]);

struct baseline_header {
	uint32_t version;
	uint64_t size; /* bytes of a complete file */
	bool has_log;  /* is in WAL mode: a second file may contain a part of the content */
};

/* Returns whether bytes start as a baseline does. */
bool baseline_read_header(struct view bytes, struct baseline_header *ret);

#endif
