/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_table - the names behind the numbers in records, at the current record.
 *
 * Threads, sockets, files and devices are named by records that precede the first
 * record that refers to them.  Numbers are reused: after the exit of a thread, another
 * thread can get its ID, with a TASK record of its own.  So a name is valid from its
 * record until the next record for the same number.  Add each record in order, and look
 * names up in between.
 *
 * A table holds the names of one host.  Probe types are numbered per input.
 */
#ifndef SONDE_REPORT_NAME_TABLE_H
#define SONDE_REPORT_NAME_TABLE_H

#include "event/event.h"
#include "event/socket_name.h"
#include "event/source.h"
#include "report/probe_format.h"

struct name_table;

struct name_table *name_table_new(void);
void name_table_free(struct name_table *table);
DEFINE_FREEP(name_table)

void name_table_add(struct name_table *table, const struct source *source,
		    const struct record *record);

/* Results are borrowed, and valid until the next name_table_add(). */

struct thread_name {
	uint32_t pid;     /* 0 if unknown */
	const char *comm; /* "" if unknown */
};

struct thread_name name_table_thread(const struct name_table *table, uint32_t tid);

/* The process that a record is about; 0 if there is none. */
uint32_t name_table_pid(const struct name_table *table, const struct record *record);

/* These return NULL if the name is unknown. */
const struct socket_name *name_table_socket(const struct name_table *table, uint64_t object);
const char *name_table_file(const struct name_table *table, uint64_t object);
const char *name_table_device(const struct name_table *table, uint32_t device);

struct probe_name {
	const char *event; /* category:name */
	struct probe_format *format;
	uint32_t text; /* string number of the parsed format */
};

const struct probe_name *name_table_probe(const struct name_table *table,
					  const struct source *source, uint32_t type);

#endif
