/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf - reads traces in the Common Trace Format 1.8, which LTTng and others write.
 *
 * A trace is a directory with a file `metadata` and one file per stream, usually
 * one per CPU.  An LTTng session contains several traces in sibling directories
 * (kernel, ust/uid/1000/64-bit); they are merged by time.  Traces in an archive
 * are read the same way, through a file_set.
 */
#ifndef SONDE_READ_CTF_CTF_H
#define SONDE_READ_CTF_CTF_H

#include "read/file/file_set.h"
#include "read/input_internal.h"
#include "read/raw/raw.h"

/* Whether the files include a trace. */
bool ctf_has_trace(const struct file_set *files);

/*
 * Takes ownership of the files, also on failure.  Returns -ENOTSUP if the trace can
 * be valid but uses a feature that this decoder does not support.
 */
int ctf_source_new(const char *name, struct file_set *files, struct raw_source **ret,
		   struct err *err);

/* Kernel and tracer as named in the metadata; the source owns the strings. */
void ctf_source_meta(const struct raw_source *source, struct input_meta *ret);

/* Opens the same traces as an input. */
int ctf_open_files(const char *name, struct file_set *files, struct input **ret, struct err *err);

/* Maps the files of all traces in a directory tree; finding none is not an error. */
int ctf_find_traces(const char *path, struct file_set *ret, struct err *err);

#endif
