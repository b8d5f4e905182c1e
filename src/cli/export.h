/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export - the inputs of an export, and writing its output.
 *
 * One input keeps its own times; several are merged onto one clock.
 */
#ifndef SONDE_CLI_EXPORT_H
#define SONDE_CLI_EXPORT_H

#include <stdio.h>

#include "cli/stream.h"
#include "model/model.h"
#include "read/merge.h"

struct export_input {
	char **paths;            /* borrowed, NULL-terminated */
	const char *format;      /* borrowed; NULL to detect */
	struct input_stream one; /* if there is one path */
	struct merge *merge;     /* if there are several */
	struct lost lost;        /* records lost in the records read so far */
};

/* Optional: reading the first record opens the inputs. */
int export_input_open(struct export_input *e, struct err *err);
void export_input_done(struct export_input *e);

struct record_stream export_input_records(struct export_input *e);

/* Hosts, by the number in struct source; an unknown name is "". */
size_t export_input_host_count(const struct export_input *e);
const char *export_input_host(const struct export_input *e, size_t host);

/* The offset to add to times to get CLOCK_REALTIME, in ns; 0 if unknown. */
int64_t export_input_realtime(const struct export_input *e);

/* After the last record: print warnings and the number of lost records to stderr. */
void export_input_warn(const struct export_input *e);

/*
 * Write a CTF trace to a new directory, or one trace per host below it.  The
 * directory appears under its name only once it is complete.
 */
int export_ctf(struct export_input *e, const char *directory, struct err *err);

/* Writes the output to a file; arg is that of export_to_file(). */
typedef int export_writer(void *arg, FILE *file, struct err *err);

/*
 * Call `write` with a file that appears under its name only once it is complete.
 * Pipes and devices are written directly; no path, or "-", means stdout.
 */
int export_to_file(const char *path, export_writer *write, void *arg, struct err *err);

struct span_output {
	const char *url;  /* of a collector; NULL for a file */
	const char *path; /* of the file */
	bool json;
};

/*
 * Write the spans of all inputs as OTLP, joined with rebuilt requests; with `requests`, rebuilt
 * requests stand beside the spans instead.
 */
int export_spans(char **paths, const char *format, bool requests, const struct span_output *to,
		 struct err *err);

#endif
