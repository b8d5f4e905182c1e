/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpftrace_meta - the container of each thread, as listed by MiSeRTrace's script.
 *
 *	1966384|nginx-thrift|172.18.0.2|6f3c0d1e...
 *
 * Thread, name of the container, its address, its id; with or without quotes.  The log
 * itself does not contain containers, so an entry of the list becomes the cgroup of a
 * process, "container/nginx-thrift/172.18.0.2".  The list does not contain process ids, so
 * each thread counts as a process.
 */
#ifndef SONDE_READ_TEXT_BPFTRACE_META_H
#define SONDE_READ_TEXT_BPFTRACE_META_H

#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "base/view.h"

struct bpftrace_row {
	uint32_t tid;
	str_id group;
};

/* Initialise with zeros. */
struct bpftrace_meta {
	VEC(struct bpftrace_row) rows;
	struct map groups; /* tid -> id of the string */
	struct strtab *strings;
	uint64_t invalid; /* number of lines that are not rows */
};

void bpftrace_meta_read(struct bpftrace_meta *meta, struct view text);

/* Reads the list for a log, if there is one: LOG.meta, or meta.psv in the same directory. */
void bpftrace_meta_open_for(struct bpftrace_meta *meta, const char *log);

/* Adds a new thread to the container of its parent.  False if that is unknown. */
bool bpftrace_meta_fork(struct bpftrace_meta *meta, uint32_t parent, uint32_t child);

/* The cgroup of a thread; "" if unknown. */
const char *bpftrace_meta_group(const struct bpftrace_meta *meta, uint32_t tid);

void bpftrace_meta_done(struct bpftrace_meta *meta);

#endif
