/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf - traces of LTTng and others in the Common Trace Format, version 1.8.
 *
 * A trace is a directory with a file `metadata` and one file for each stream,
 * mostly one for each CPU.  LTTng puts the traces of a session side by side
 * (kernel, ust/uid/1000/64-bit): they are read as one, by time.  So is what a
 * file_set has of an archive.
 */
#ifndef SONDE_READ_CTF_CTF_H
#define SONDE_READ_CTF_CTF_H

#include "read/file/file_set.h"
#include "read/input_internal.h"
#include "read/raw/raw.h"

/* Whether there is a trace among the files. */
bool ctf_has_trace(const struct file_set *files);

/* Takes the files, also when it fails; -ENOTSUP is for a trace that may be good but is not for us.
 */
int ctf_source_new(const char *name, struct file_set *files, struct raw_source **ret,
		   struct err *err);

/* What its metadata says of its making; the strings are the source's. */
void ctf_source_meta(const struct raw_source *source, struct input_meta *ret);

/* The same as an input. */
int ctf_open_files(const char *name, struct file_set *files, struct input **ret, struct err *err);

/* Maps the files of the traces in a directory and below; 0 traces are no failure. */
int ctf_find_traces(const char *path, struct file_set *ret, struct err *err);

#endif
