/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export - the inputs of an export, and what takes more than one file to write.
 *
 * One input is read with times as it has them; several are merged, on one line.
 */
#ifndef SONDE_CLI_EXPORT_H
#define SONDE_CLI_EXPORT_H

#include <stdio.h>

#include "cli/stream.h"
#include "model/model.h"
#include "read/merge.h"

struct export_input {
	char **paths; /* borrowed, as is */
	const char *format;
	struct input_stream one;
	struct merge *merge; /* of several */
	struct lost lost;    /* in the records so far */
};

/* Also done when the first record is asked for. */
int export_input_open(struct export_input *e, struct err *err);
void export_input_done(struct export_input *e);

struct record_stream export_input_records(struct export_input *e);

/* The machines, by the numbers that sources have; the name is "" if it is not known. */
size_t export_input_host_count(const struct export_input *e);
const char *export_input_host(const struct export_input *e, size_t host);

/* What to add to times to get CLOCK_REALTIME; 0 if that is not known. */
int64_t export_input_realtime(const struct export_input *e);

/* After the last record: what could not be used, and what was lost, on stderr. */
void export_input_warn(const struct export_input *e);

/*
 * A trace in a new directory, or a directory of traces if there are several
 * machines.  It is there when it is whole, and not before.
 */
int export_ctf(struct export_input *e, const char *directory, struct err *err);

/* Writes to a file; the argument is its own. */
typedef int export_writer(void *arg, FILE *file, struct err *err);

/*
 * What `write` writes, to a file that is there when it is whole, and not
 * before; a pipe or device is just written to.  Without a path, or with "-", to stdout.
 */
int export_to_file(const char *path, export_writer *write, void *arg, struct err *err);

/* The spans of all inputs as OTLP; and of rebuilt requests, if wanted or if there are none. */
int export_spans(char **paths, const char *format, bool requests, bool json, const char *output,
		 struct err *err);

#endif
